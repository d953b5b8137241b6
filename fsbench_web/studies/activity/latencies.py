"""Distributions of latencies in the database. Nobody else reads or writes them there."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet

from fsbench_web.core import latency, latency_blocks
from fsbench_web.core.latency import Distribution
from fsbench_web.core.latency_over_time import LatencySeries
from fsbench_web.studies.models import (
    UNTRACED,
    Artefact,
    LatencyBlock,
    LatencySeriesBlock,
    Run,
    RunState,
)

Latencies = TypeVar("Latencies", Distribution, LatencySeries)
MOST_RUNS = 100
"""Of a series, the latest: their distributions are merged into one."""


def store(run: Run, artefact: Artefact | None, distributions: Sequence[Distribution]) -> None:
    """Keep what one output holds. The caller holds the transaction."""
    if distributions:
        new_block(run.pk, artefact, distributions).save()


def new_block(
    run_id: int, artefact: Artefact | None, distributions: Sequence[Distribution]
) -> LatencyBlock:
    """What keeps them, not written yet; at least one."""
    return LatencyBlock(
        run_id=run_id,
        artefact=artefact,
        tests=[
            [distribution.test, distribution.load, distribution.unit, distribution.total]
            for distribution in distributions
        ],
        content=latency_blocks.encode(distributions),
    )


def of_output(artefact: Artefact) -> dict[int, list[Distribution]]:
    """By run, what is kept of one output. Raises UnreadableBlock."""
    return _by_run(LatencyBlock.objects.filter(artefact=artefact), latency_blocks.decode)


def store_series(run: Run, artefact: Artefact | None, serieses: Sequence[LatencySeries]) -> None:
    """Keep the latencies over time that one output holds. The caller holds the transaction."""
    if serieses:
        LatencySeriesBlock.objects.create(
            run=run,
            artefact=artefact,
            tests=[
                [series.test, series.load, series.unit, len(series.ends_ms)] for series in serieses
            ],
            content=latency_blocks.encode_over_time(serieses),
        )


def series_of_output(artefact: Artefact) -> dict[int, list[LatencySeries]]:
    """By run, the latencies over time that are kept of one output. Raises UnreadableBlock."""
    blocks = LatencySeriesBlock.objects.filter(artefact=artefact)
    return _by_run(blocks, latency_blocks.decode_over_time)


def replace_of_output(
    artefact: Artefact,
    distributions: Mapping[int, Sequence[Distribution]],
    over_time: Mapping[int, Sequence[LatencySeries]],
) -> None:
    """Keep these of an output in place of what these runs have of it, the caller's transaction."""
    LatencyBlock.objects.filter(artefact=artefact, run__in=distributions).delete()
    LatencySeriesBlock.objects.filter(artefact=artefact, run__in=over_time).delete()
    for run in Run.objects.filter(pk__in={*distributions, *over_time}):
        store(run, artefact, distributions.get(run.pk, ()))
        store_series(run, artefact, over_time.get(run.pk, ()))


def of_run(run_id: int) -> list[Distribution]:
    """Those of a run, merged by test and load. Raises UnreadableBlock."""
    by_run = _by_run(LatencyBlock.objects.filter(run_id=run_id), latency_blocks.decode)
    return list(latency.by_test(by_run.get(run_id, ())).values())


def series_of_run(run_id: int) -> list[LatencySeries]:
    """Those of a run, in the order in which they were stored. Raises UnreadableBlock."""
    blocks = LatencySeriesBlock.objects.filter(run_id=run_id)
    return _by_run(blocks, latency_blocks.decode_over_time).get(run_id, [])


def _by_run(
    blocks: QuerySet[Any], decode: Callable[[bytes], Sequence[Latencies]]
) -> dict[int, list[Latencies]]:
    by_run: dict[int, list[Latencies]] = {}
    for run_id, content in blocks.order_by("id").values_list("run_id", "content"):
        by_run.setdefault(run_id, []).extend(decode(bytes(content)))
    return by_run


def newest_over_time(
    series_ids: Collection[int], test: str, load: str
) -> dict[int, tuple[LatencySeries, int]]:
    """A latency over time of the newest done run of each series. Raises UnreadableBlock."""
    newest: dict[int, tuple[int, int]] = {}
    rows = LatencySeriesBlock.objects.filter(
        run__series__in=series_ids, run__state=RunState.DONE, run__tracing=UNTRACED
    ).order_by("-run_id", "-pk")
    listed = rows.values_list("pk", "run__series", "run_id", "tests")
    for pk, series_id, run_id, tests in listed[: MOST_RUNS * len(series_ids)]:
        if any((entry[0], entry[1]) == (test, load) for entry in tests):
            newest.setdefault(series_id, (pk, run_id))
    contents = dict(
        LatencySeriesBlock.objects.filter(pk__in=[pk for pk, _ in newest.values()]).values_list(
            "pk", "content"
        )
    )
    return {
        series_id: (series, run_id)
        for series_id, (pk, run_id) in newest.items()
        for series in latency_blocks.decode_over_time(bytes(contents[pk]))
        if (series.test, series.load) == (test, load)
    }


def of_series(
    series_ids: Collection[int], test: str, load: str
) -> dict[int, tuple[Distribution, list[int]]]:
    """The merged distribution of each series, and its runs. Raises UnreadableBlock."""
    by_series: dict[int, tuple[list[Distribution], list[int]]] = {}
    rows = LatencyBlock.objects.filter(
        run__series__in=series_ids, run__state=RunState.DONE, run__tracing=UNTRACED
    ).order_by("-run_id")
    for pk, series_id, run_id, tests in rows.values_list("pk", "run__series", "run_id", "tests"):
        if not any((entry[0], entry[1]) == (test, load) for entry in tests):
            continue
        distributions, runs = by_series.setdefault(series_id, ([], []))
        if run_id not in runs and len(runs) >= MOST_RUNS:
            continue
        content = LatencyBlock.objects.filter(pk=pk).values_list("content", flat=True).get()
        distributions += [
            distribution
            for distribution in latency_blocks.decode(bytes(content))
            if (distribution.test, distribution.load) == (test, load)
        ]
        if run_id not in runs:
            runs.append(run_id)
    return {
        key: (latency.merged(distributions), runs)
        for key, (distributions, runs) in by_series.items()
        if distributions
    }
