"""Distributions of latencies in the database. Nobody else reads or writes them there."""

from collections.abc import Collection, Mapping, Sequence

from fsbench_web.core import latency
from fsbench_web.core.latency import Distribution
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.studies.models import UNTRACED, Artefact, LatencyBlock, Run, RunState

MOST_RUNS = 100
"""Of a series, the latest: their distributions are merged into one."""


def store(run: Run, artefact: Artefact | None, some: Sequence[Distribution]) -> None:
    """Keep what one output holds. The caller holds the transaction."""
    if some:
        new_block(run.pk, artefact, some).save()


def new_block(run_id: int, artefact: Artefact | None, some: Sequence[Distribution]) -> LatencyBlock:
    """What keeps them, not written yet; at least one."""
    return LatencyBlock(
        run_id=run_id,
        artefact=artefact,
        tests=[[one.test, one.load, one.unit, one.total] for one in some],
        content=latency.encode(some),
    )


def of_output(artefact: Artefact) -> dict[int, list[Distribution]]:
    """By run, what is kept of one output. Raises UnreadableBlock."""
    found: dict[int, list[Distribution]] = {}
    rows = LatencyBlock.objects.filter(artefact=artefact).order_by("id")
    for run_id, content in rows.values_list("run_id", "content"):
        found.setdefault(run_id, []).extend(latency.decode(bytes(content)))
    return found


def replace_of_output(artefact: Artefact, by_run: Mapping[int, Sequence[Distribution]]) -> None:
    """Keep these of an output in place of what these runs have of it, the caller's transaction."""
    if by_run:
        LatencyBlock.objects.filter(artefact=artefact, run__in=by_run).delete()
    for run_id, some in by_run.items():
        if some:
            new_block(run_id, artefact, some).save()


def of_run(run_id: int) -> list[Distribution]:
    """Those of a run, merged by test and load. Raises UnreadableBlock."""
    blocks = LatencyBlock.objects.filter(run_id=run_id).values_list("content", flat=True)
    found = (one for block in blocks for one in latency.decode(bytes(block)))
    return list(latency.by_test(found).values())


def of_series(
    series_ids: Collection[int], test: str, load: str
) -> dict[int, tuple[Distribution, list[int]]]:
    """By series: the distribution of its finished runs as one, and which runs these are.

    Raises UnreadableBlock.
    """
    found: dict[int, tuple[list[Distribution], list[int]]] = {}
    rows = LatencyBlock.objects.filter(
        run__series__in=series_ids, run__state=RunState.DONE, run__tracing=UNTRACED
    ).order_by("-run_id")
    for pk, series_id, run_id, tests in rows.values_list("pk", "run__series", "run_id", "tests"):
        if not any((one[0], one[1]) == (test, load) for one in tests):
            continue
        some, runs = found.setdefault(series_id, ([], []))
        if run_id not in runs and len(runs) >= MOST_RUNS:
            continue
        content = LatencyBlock.objects.filter(pk=pk).values_list("content", flat=True).get()
        some += [
            one for one in latency.decode(bytes(content)) if (one.test, one.load) == (test, load)
        ]
        if run_id not in runs:
            runs.append(run_id)
    return {key: (latency.merged(some), runs) for key, (some, runs) in found.items() if some}


__all__ = [
    "UnreadableBlock",
    "new_block",
    "of_output",
    "of_run",
    "of_series",
    "replace_of_output",
    "store",
]
