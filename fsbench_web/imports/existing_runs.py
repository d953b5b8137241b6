"""The same numbers twice: digests of what runs hold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import F

from fsbench_web.imports.models import RunContent
from fsbench_web.studies.models import Run, RunState, Series
from fsbench_web.studies.scores import measurements, quality
from fsbench_web.studies.scores.digests import digest_of_columns


@dataclass
class Known:
    """What a series holds: its finished runs by the digest of their numbers; the number of the next
    repeat, which is used by no run, whatever became of it; and its finished runs in their order, of
    which is read what ``quality.basis_of`` wants, key and repeat.
    """

    runs: dict[str, Run] = field(default_factory=dict)
    following: int = 1
    finished: list[Run] = field(default_factory=list)


def of_series(serieses: Iterable[Series]) -> dict[int, Known]:
    """What each series holds, by its key. Whoever goes by it holds their locks (series.lock_all).

    A finished run without a digest (measured here, or read again since) is counted now.
    """
    found = {series.pk: Known() for series in serieses}
    for run in (
        Run.objects.filter(series__in=found)
        .annotate(digest=F("content__digest"))
        .only("series_id", "repeat", "state", *quality.READ_OF_RUNS)
        .order_by("id")
    ):
        there = found[run.series_id]
        there.following = max(there.following, run.repeat + 1)
        if run.state == RunState.DONE:
            there.finished.append(run)
            there.runs[run.digest or digest_of(run.pk)] = run
    return found


def known(series: Series) -> dict[str, Run]:
    """The finished runs of a series by the digest of their numbers."""
    return of_series([series])[series.pk].runs


def digest_of(run_id: int) -> str:
    """The digest of the numbers that a run holds, counted now."""
    blocks = measurements.read(measurements.of_run(run_id))
    return digest_of_columns([numbers.columns for numbers in blocks])


def forget(run_ids: Sequence[int]) -> None:
    """The numbers of these runs have changed."""
    RunContent.objects.filter(run_id__in=run_ids).delete()
