"""What the page of an extra run shows of its traces."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.core import numbers
from fsbench_web.core.traces.requests import PARTS, RequestTrace
from fsbench_web.core.traces.tracers import REQUESTS, TRACERS, Tracer
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


def shown(run: Run) -> list[ShownTrace]:
    """One of each tracer that has ended; none of a run that is not traced. Two queries."""
    if not run.is_extra:
        return []
    found = []
    for tracer, kept in traces.of_run(run.pk).items():
        if tracer in TRACERS:
            found.append(_shown(run.pk, TRACERS[tracer], kept.problem))
    return found


def _shown(run_id: int, tracer: Tracer, problem: str) -> ShownTrace:
    try:
        trace = traces.trace_of(run_id, tracer.slug) if tracer.slug == REQUESTS else None
    except UnreadableBlock as error:
        return ShownTrace(tracer, str(error))
    if trace is None:
        return ShownTrace(tracer, problem or "Nothing is kept of it.")
    bins: dict[str, list[tuple[int, int, int]]] = {}
    for operation, low, high, count in trace.latency_rows():
        bins.setdefault(operation, []).append((low, high, count))
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


def _coarser(cells: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """The sums of what is drawn as one."""
    found: Counter[tuple[int, int]] = Counter()
    for (when, where), count in cells.items():
        found[when * DRAWN[0] // PARTS, where * DRAWN[1] // PARTS] += count
    return dict(found)


def _notes(trace: RequestTrace) -> list[str]:
    """What the trace does not hold."""
    said = []
    if trace.is_cut:
        said.append(
            f"The trace came to its bound after {numbers.duration(trace.seconds)}: what the "
            "benchmark did behind that is not in it."
        )
    if trace.lost:
        said.append(f"The kernel had no room for {trace.lost:,} events, which are missing.")
    if trace.without_end:
        said.append(f"Of {trace.without_end:,} requests no end was seen: they have no latency.")
    if trace.without_start:
        said.append(f"{trace.without_start:,} requests had begun before the trace did.")
    if trace.outside:
        said.append(f"{trace.outside:,} requests began outside the LUN, and are not on the map.")
    return said
