"""Distributions of latencies in the database. Nobody else reads or writes them there."""

from collections.abc import Collection, Mapping, Sequence

from fsbench_web.core import latency, latency_blocks
from fsbench_web.core.latency import Distribution
from fsbench_web.core.latency_over_time import LatencySeries
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.studies.models import (
    UNTRACED,
    Artefact,
    LatencyBlock,
    LatencySeriesBlock,
    Run,
    RunState,
)

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
        content=latency_blocks.encode(some),
    )


def of_output(artefact: Artefact) -> dict[int, list[Distribution]]:
    """By run, what is kept of one output. Raises UnreadableBlock."""
    found: dict[int, list[Distribution]] = {}
    rows = LatencyBlock.objects.filter(artefact=artefact).order_by("id")
    for run_id, content in rows.values_list("run_id", "content"):
        found.setdefault(run_id, []).extend(latency_blocks.decode(bytes(content)))
    return found


def replace_of_output(artefact: Artefact, by_run: Mapping[int, Sequence[Distribution]]) -> None:
    """Keep these of an output in place of what these runs have of it, the caller's transaction."""
    if by_run:
        LatencyBlock.objects.filter(artefact=artefact, run__in=by_run).delete()
    for run_id, some in by_run.items():
        if some:
            new_block(run_id, artefact, some).save()


def store_series(run: Run, artefact: Artefact | None, some: Sequence[LatencySeries]) -> None:
    """Keep the latencies over time that one output holds. The caller holds the transaction."""
    if some:
        LatencySeriesBlock.objects.create(
            run=run,
            artefact=artefact,
            tests=[[one.test, one.load, one.unit, len(one.ends_ms)] for one in some],
            content=latency_blocks.encode_over_time(some),
        )


def series_of_output(artefact: Artefact) -> dict[int, list[LatencySeries]]:
    """By run, the latencies over time that are kept of one output. Raises UnreadableBlock."""
    found: dict[int, list[LatencySeries]] = {}
    rows = LatencySeriesBlock.objects.filter(artefact=artefact).order_by("id")
    for run_id, content in rows.values_list("run_id", "content"):
        found.setdefault(run_id, []).extend(latency_blocks.decode_over_time(bytes(content)))
    return found


def replace_series_of_output(
    artefact: Artefact, by_run: Mapping[int, Sequence[LatencySeries]]
) -> None:
    """As ``replace_of_output``, of latencies over time."""
    if by_run:
        LatencySeriesBlock.objects.filter(artefact=artefact, run__in=by_run).delete()
    for run in Run.objects.filter(pk__in=by_run):
        store_series(run, artefact, by_run[run.pk])


def series_of_run(run_id: int) -> list[LatencySeries]:
    """Those of a run, in the order in which they were stored. Raises UnreadableBlock."""
    blocks = LatencySeriesBlock.objects.filter(run_id=run_id).values_list("content", flat=True)
    return [one for block in blocks for one in latency_blocks.decode_over_time(bytes(block))]


def newest_over_time(
    series_ids: Collection[int], test: str, load: str
) -> dict[int, tuple[LatencySeries, int]]:
    """A latency over time of the newest done run of each series that kept it, and that run.

    Two queries. Raises UnreadableBlock.
    """
    found: dict[int, tuple[int, int]] = {}
    rows = LatencySeriesBlock.objects.filter(
        run__series__in=series_ids, run__state=RunState.DONE, run__tracing=UNTRACED
    ).order_by("-run_id", "-pk")
    listed = rows.values_list("pk", "run__series", "run_id", "tests")
    for pk, series_id, run_id, tests in listed[: MOST_RUNS * len(series_ids)]:
        if any((one[0], one[1]) == (test, load) for one in tests):
            found.setdefault(series_id, (pk, run_id))
    contents = dict(
        LatencySeriesBlock.objects.filter(pk__in=[pk for pk, _ in found.values()]).values_list(
            "pk", "content"
        )
    )
    return {
        series_id: (one, run_id)
        for series_id, (pk, run_id) in found.items()
        for one in latency_blocks.decode_over_time(bytes(contents[pk]))
        if (one.test, one.load) == (test, load)
    }


def of_run(run_id: int) -> list[Distribution]:
    """Those of a run, merged by test and load. Raises UnreadableBlock."""
    blocks = LatencyBlock.objects.filter(run_id=run_id).values_list("content", flat=True)
    found = (one for block in blocks for one in latency_blocks.decode(bytes(block)))
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
            one
            for one in latency_blocks.decode(bytes(content))
            if (one.test, one.load) == (test, load)
        ]
        if run_id not in runs:
            runs.append(run_id)
    return {key: (latency.merged(some), runs) for key, (some, runs) in found.items() if some}


__all__ = [
    "UnreadableBlock",
    "new_block",
    "newest_over_time",
    "of_output",
    "of_run",
    "of_series",
    "replace_of_output",
    "replace_series_of_output",
    "series_of_output",
    "series_of_run",
    "store",
    "store_series",
]
