"""What the page of an extra run shows of its traces."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.core import numbers
from fsbench_web.core.traces.operations import OperationTrace
from fsbench_web.core.traces.requests import PARTS, RequestTrace
from fsbench_web.core.traces.tracers import OPERATIONS, TRACERS, Tracer
from fsbench_web.figures import lines
from fsbench_web.figures import requests as figure
from fsbench_web.studies.activity import traces
from fsbench_web.studies.activity.traces import UnreadableBlock
from fsbench_web.studies.models import Run

DRAWN = (128, 64)
"""Parts of the time and of the device that are drawn, each some of those that are kept."""


@dataclass(frozen=True)
class ShownTrace:
    """``rows`` are (operation, requests, bytes) of all, ``latencies`` (operation,
    from ns, below ns, requests) of its bins.
    """

    tracer: Tracer
    problem: str = ""
    trace: RequestTrace | None = None
    rows: list[tuple[str, int, int]] = field(default_factory=list)
    latencies: list[tuple[str, int, int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    histogram: Any = None
    maps: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ShownOperations:
    """``rows`` are (operation, how many, their mean latency in ns or None, bytes or "", failed,
    queued), ``latencies`` as of ``ShownTrace``, ``figures`` by what they show.
    """

    tracer: Tracer
    problem: str = ""
    trace: OperationTrace | None = None
    rows: list[tuple[str, int, float | None, int | str, int, int]] = field(default_factory=list)
    latencies: list[tuple[str, int, int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: Mapping[str, Any] = field(default_factory=dict)


def of_run(run: Run) -> list[ShownTrace | ShownOperations]:
    """One of each tracer that has ended; none of a run that is not traced. A query
    each, and one.
    """
    if not run.is_extra:
        return []
    shown_traces: list[ShownTrace | ShownOperations] = []
    for tracer, trace in traces.of_run(run.pk).items():
        if tracer == OPERATIONS:
            shown_traces.append(_operations(run.pk, TRACERS[tracer], trace.problem))
        elif tracer in TRACERS:
            shown_traces.append(_requests(run.pk, TRACERS[tracer], trace.problem))
    return shown_traces


def _requests(run_id: int, tracer: Tracer, problem: str) -> ShownTrace:
    try:
        trace = traces.requests_of(run_id)
    except UnreadableBlock as error:
        return ShownTrace(tracer, str(error))
    if trace is None:
        return ShownTrace(tracer, problem or "Nothing is kept of it.")
    bins: dict[str, list[tuple[int, int, int]]] = {}
    for operation, low, high, count in trace.latency_rows():
        bins.setdefault(operation, []).append((low * 1000, high * 1000, count))
    return ShownTrace(
        tracer,
        trace=trace,
        rows=[(name, count, trace.bytes_of.get(name, 0)) for name, count in trace.requests.items()],
        latencies=[
            (name, low * 1000, high * 1000, count)
            for name, low, high, count in trace.latency_rows()
        ],
        notes=list(_notes(trace)),
        histogram=figure.latencies(bins, "Latency of requests") if bins else None,
        maps={
            f"{name.capitalize()} requests over time": figure.over_device(
                _coarser(cells),
                DRAWN,
                (trace.seconds, trace.device_bytes),
                f"Where {name} requests went",
            )
            for name, cells in trace.maps.items()
        },
    )


def _operations(run_id: int, tracer: Tracer, problem: str) -> ShownOperations:
    try:
        trace = traces.operations_of(run_id)
    except UnreadableBlock as error:
        return ShownOperations(tracer, str(error))
    if trace is None:
        return ShownOperations(tracer, problem or "Nothing is kept of it.")
    bins: dict[str, list[tuple[int, int, int]]] = {}
    for operation, low, high, count in trace.latency_rows():
        bins.setdefault(operation, []).append((low, high, count))
    title = "Latency of operations"
    return ShownOperations(
        tracer,
        trace=trace,
        rows=[
            (name, ended, total / ended if ended else None, size, failed, queued)
            for name, ended, total, size, failed, queued in trace.summary_rows()
        ],
        latencies=list(trace.latency_rows()),
        notes=list(_notes_of_operations(trace)),
        figures={
            "How many by latency": figure.latencies(bins, title, "operations", 1),
            "Share of all (CDF)": lines.cdf(
                [lines.of_histogram(name, _shares(rows)) for name, rows in bins.items()],
                "ns",
                title,
            ),
        }
        if bins
        else {},
    )


def _shares(bins: Sequence[tuple[int, int, int]]) -> list[tuple[float, float]]:
    """(below ns, share of all that took less), of bins that rise."""
    total, seen, shares = sum(count for *_, count in bins), 0, []
    for _, high, count in bins:
        seen += count
        shares.append((float(high), seen / total))
    return shares


def _notes_of_operations(trace: OperationTrace) -> list[str]:
    parts = []
    if trace.is_cut:
        parts.append(
            f"The trace came to its bound after {numbers.duration(trace.seconds)}: what the "
            "benchmark did behind that is not in it."
        )
    if queued := sum(trace.queued.values()):
        were, they_were, they = _verbs(queued)
        parts.append(
            f"{numbers.counted(queued, 'operation')} {were} handed to the kernel to be done later "
            f"(libaio, io_uring): when {they_were} done is not seen, and {they} no latency here."
        )
    if trace.without_end:
        parts.append(_without_end(trace.without_end, "operation"))
    if trace.lost:
        parts.append(f"bpftrace had no room for {trace.lost:,} of its own messages.")
    return parts


def _verbs(count: int) -> tuple[str, str, str]:
    return ("was", "it was", "it has") if count == 1 else ("were", "they were", "they have")


def _without_end(count: int, noun: str) -> str:
    return f"Of {numbers.counted(count, noun)} no end was seen: {_verbs(count)[2]} no latency."


def _coarser(cells: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """The sums of what is drawn as one."""
    sums: Counter[tuple[int, int]] = Counter()
    for (when, where), count in cells.items():
        sums[when * DRAWN[0] // PARTS, where * DRAWN[1] // PARTS] += count
    return dict(sums)


def _notes(trace: RequestTrace) -> list[str]:
    """What the trace does not hold."""
    parts = []
    if trace.is_cut:
        parts.append(
            f"The trace came to its bound after {numbers.duration(trace.seconds)}: what the "
            "benchmark did behind that is not in it."
        )
    if trace.lost:
        are = "is" if trace.lost == 1 else "are"
        events = numbers.counted(trace.lost, "event")
        parts.append(f"The kernel had no room for {events}, which {are} missing.")
    if trace.without_end:
        parts.append(_without_end(trace.without_end, "request"))
    if trace.without_start:
        earlier = numbers.counted(trace.without_start, "request")
        parts.append(f"{earlier} had begun before the trace did.")
    if trace.outside:
        are = "is" if trace.outside == 1 else "are"
        outside = numbers.counted(trace.outside, "request")
        parts.append(f"{outside} began outside the LUN, and {are} not on the map.")
    return parts
