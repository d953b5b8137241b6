"""The same numbers twice: digests of what runs hold."""

from collections.abc import Sequence

from fsbench_web.imports.models import RunContent
from fsbench_web.studies.content import digest_of_rows
from fsbench_web.studies.models import Measurement, Run, RunState, Series


def known(series: Series) -> dict[str, Run]:
    """The finished runs of a series by the digest of their numbers.

    A run without one (measured here, or read again since) is counted now.
    """
    runs = {run.pk: run for run in series.runs.filter(state=RunState.DONE)}
    digests = dict(RunContent.objects.filter(run__series=series).values_list("run_id", "digest"))
    for pk in runs.keys() - digests.keys():
        digests[pk] = digest_of(pk)
    return {digests[pk]: run for pk, run in runs.items()}


def digest_of(run_id: int) -> str:
    """The digest of the numbers that a run holds, counted now."""
    fields = ("test", "load", "unit", "record_size_kb", "file_size_kb", "value")
    rows = Measurement.objects.filter(run_id=run_id).order_by()
    return digest_of_rows(rows.values_list(*fields).iterator())


def remember(run: Run, digest: str) -> None:
    """Keep the digest of a run that was just stored."""
    RunContent.objects.create(run=run, digest=digest)


def forget(run_ids: Sequence[int]) -> None:
    """The numbers of these runs have changed."""
    RunContent.objects.filter(run_id__in=run_ids).delete()
