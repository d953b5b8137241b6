"""What the page of a run shows of its activity, its latencies and its traces."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fsbench_web.core import latency
from fsbench_web.core.activity import costs
from fsbench_web.core.activity.series import Activity
from fsbench_web.core.latency import TAILS, Distribution
from fsbench_web.core.latency_over_time import PERCENTS, LatencySeries
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.core.traces.operations import OperationTrace
from fsbench_web.core.traces.requests import PARTS, RequestTrace
from fsbench_web.core.traces.tracers import TRACERS, Tracer
from fsbench_web.figures import lines, over_time, requests
from fsbench_web.figures.over_time import Panel, Phase, timeline
from fsbench_web.studies.activity import latencies, records, traces
from fsbench_web.studies.models import Run, RunActivity

MOST_POINTS = 300
"""Of a line: more than a page has pixels for; means of neighbours are drawn then, and said."""
_MIB, _SECTORS_IN_MIB = 2**20, 2**20 / costs.SECTOR_BYTES

Line = list[float | None]


@dataclass(frozen=True)
class ShownCost:
    """A cost with its definition."""

    test: str
    value: float
    unit: str
    definition: str


@dataclass(frozen=True)
class ShownActivity:
    """``rows`` are the table: (from, to in seconds, phase, a value a line)."""

    run_activity: RunActivity
    choices: dict[str, Any]
    heads: list[str]
    rows: list[tuple[float, float, str, list[float | None]]]
    costs: list[ShownCost]
    absent: Sequence[tuple[str, str]]
    every_s: float
    merged: int
    problem: str = ""

    @property
    def is_thinned(self) -> bool:
        """Whether what is kept is less than was sampled."""
        return self.run_activity.seconds > 2 * self.every_s * max(self.run_activity.samples, 1)


def activity_of_run(run_id: int) -> ShownActivity | None:
    """What is kept of a run, drawn; None where nothing was sampled."""
    run_activity = records.of_run(run_id)
    if run_activity is None:
        return None
    cost_rows = [
        ShownCost(test, value, costs.COSTS[test].unit, costs.COSTS[test].definition)
        for test in costs.COSTS
        if (value := run_activity.costs.get(test)) is not None
    ]
    try:
        activity = records.activity_of(run_activity)
    except UnreadableBlock as error:
        return ShownActivity(run_activity, {}, [], [], cost_rows, (), 1.0, 1, str(error))
    panels, merged = _panels(activity)
    ends = [float(ms) / 1000 for ms in activity.times_ms.tolist()]
    spans = _spans(ends, merged)
    phases = _phases(activity)
    rows = [
        (
            start,
            end,
            _phase_at(phases, (start + end) / 2),
            [line[place] for panel in panels for line in panel.lines.values()],
        )
        for place, (start, end) in enumerate(spans)
    ]
    heads = [f"{name}, {panel.unit}" for panel in panels for name in panel.lines]
    middles = [(start + end) / 2 for start, end in spans]
    choices = {panel.name: timeline(panel, middles, phases) for panel in panels}
    return ShownActivity(
        run_activity, choices, heads, rows, cost_rows, activity.absent, activity.every_s, merged
    )


class _Panel(NamedTuple):
    """A chart over time: ``columns`` {line: column}, ``per`` how many of them are one ``unit``."""

    name: str
    unit: str
    per: float
    columns: Mapping[str, str]
    is_level: bool = False


_OF_A_DEVICE = (
    _Panel(
        "Throughput of the device",
        "MiB/s",
        _SECTORS_IN_MIB,
        {"read": "sectors_read", "written": "sectors_written"},
    ),
    _Panel(
        "Requests of the device",
        "requests/s",
        1,
        {"reads": "reads", "writes": "writes", "merged": "writes_merged", "flushes": "flushes"},
    ),
    _Panel("Discards of the device", "MiB/s", _SECTORS_IN_MIB, {"discarded": "sectors_discarded"}),
    _Panel("Queue depth of the device", "requests", 1000, {"on average": "weighted_ms"}),
    _Panel("Utilisation of the device", "% of time", 10, {"busy": "busy_ms"}),
)
_PANELS = (
    *(
        panel._replace(
            name=prefix + panel.name,
            columns={line: f"{role}.{column}" for line, column in panel.columns.items()},
        )
        for role, prefix in (("data", ""), ("journal", "Journal: "))
        for panel in _OF_A_DEVICE
    ),
    _Panel(
        "Processors",
        "CPU seconds/s",
        1000,
        {
            "user": "cpu.user_ms",
            "system": "cpu.system_ms",
            "interrupts": "cpu.irq_ms",
            "waiting for I/O": "cpu.iowait_ms",
            "stolen": "cpu.steal_ms",
        },
    ),
    _Panel("Context switches", "switches/s", 1, {"of the machine": "cpu.context_switches"}),
    _Panel(
        "Dirty pages",
        "MiB",
        _MIB,
        {"dirty": "memory.dirty_bytes", "in writeback": "memory.writeback_bytes"},
        is_level=True,
    ),
    _Panel(
        "Pressure",
        "% of time",
        10_000,
        {
            "I/O": "pressure.io_some_us",
            "processors": "pressure.cpu_some_us",
            "memory": "pressure.memory_some_us",
        },
    ),
    # Two layouts of control groups: of one name the first that has values is drawn.
    _Panel(
        "Control group: processors",
        "CPU seconds/s",
        1e6,
        {
            "user": "group.cpu_user_usec",
            "system": "group.cpu_system_usec",
            "throttled": "group.cpu_throttled_usec",
        },
    ),
    _Panel(
        "Control group: processors",
        "CPU seconds/s",
        1000,
        {"user": "group.cpu_user_ms", "system": "group.cpu_system_ms"},
    ),
    _Panel(
        "Control group: I/O",
        "MiB/s",
        _MIB,
        {"read": "group.io_rbytes", "written": "group.io_wbytes"},
    ),
    _Panel(
        "Control group: memory",
        "MiB",
        _MIB,
        {"anonymous": "group.memory_anon_bytes", "page cache": "group.memory_file_bytes"},
        is_level=True,
    ),
    _Panel(
        "Control group: pressure",
        "% of time",
        10_000,
        {
            "I/O": "group.pressure_io_some_us",
            "processors": "group.pressure_cpu_some_us",
            "memory": "group.pressure_memory_some_us",
        },
    ),
)


def _panels(activity: Activity) -> tuple[list[Panel], int]:
    """The charts with any values, and how many intervals one point is of."""
    merged = max(1, -(-(len(activity) - 1) // MOST_POINTS))
    panels: dict[str, Panel] = {}
    for name, unit, per, columns, is_level in _PANELS:
        lines = {}
        for line, column in columns.items():
            if column in activity.columns:
                values = activity.levels(column)[1:] if is_level else activity.rates(column)
                lines[line] = _neighbour_means([value and value / per for value in values], merged)
        lines = {line: values for line, values in lines.items() if _any_known(values)}
        # Discards are those of mkfs: a chart without any is left out.
        is_still = "Discards" in name and not any(map(any, lines.values()))
        if lines and not is_still:
            panels.setdefault(name, Panel(name, unit, lines))
    return list(panels.values()), merged


def _any_known(values: Iterable[float | None]) -> bool:
    return any(value is not None for value in values)


def _neighbour_means(values: Sequence[float | None], count: int) -> Line:
    """Means of so many neighbours each; None where any is not known."""
    if count == 1:
        return list(values)
    parts = [values[start : start + count] for start in range(0, len(values), count)]
    return [
        None if None in part else sum(value or 0 for value in part) / len(part) for part in parts
    ]


def _spans(times: Sequence[float], merged: int) -> list[tuple[float, float]]:
    last = len(times) - 1
    return [(times[start], times[min(start + merged, last)]) for start in range(0, last, merged)]


def _phases(activity: Activity) -> list[Phase]:
    """Neighbours of one phase are one."""
    phases: list[Phase] = []
    for step in activity.steps:
        if phases and phases[-1].name == step.phase:
            phases[-1] = Phase(step.phase, phases[-1].start_s, step.end_s)
        else:
            phases.append(Phase(step.phase, step.start_s, step.end_s))
    return phases


def _phase_at(phases: Sequence[Phase], at_s: float) -> str:
    return next((phase.name for phase in phases if phase.start_s <= at_s <= phase.end_s), "")


MOST_SHOWN = 40
"""Distributions of a page, in the order of the run; the API has all."""


@dataclass(frozen=True)
class Tail:
    """One percentile, and between which values it lies at 95%; None where nobody can tell."""

    percent: str
    value: float
    ends: tuple[float, float] | None


@dataclass(frozen=True)
class ShownLatency:
    """A distribution of a run; ``maximum`` is the largest latency, as it was measured."""

    label: str
    unit: str
    total: int
    tails: list[Tail]
    maximum: float | None


@dataclass(frozen=True)
class ShownLatencies:
    """``choices`` are figures by what they are called; ``hidden`` distributions are not shown."""

    rows: list[ShownLatency]
    choices: dict[str, Any]
    percents: tuple[str, ...] = TAILS
    hidden: int = 0
    problem: str = ""


def latencies_of_run(run_id: int) -> ShownLatencies | None:
    """None where the run has none."""
    try:
        distributions = latencies.of_run(run_id)
        serieses = latencies.series_of_run(run_id) if distributions else []
    except UnreadableBlock as error:
        return ShownLatencies([], {}, problem=str(error))
    if not distributions:
        return None
    logs = {(series.test, series.load): series for series in serieses}
    ordered = sorted(
        distributions, key=lambda distribution: testnames.place(name_of(distribution))
    )[:MOST_SHOWN]
    choices = {}
    for distribution in ordered:
        label = label_of(distribution)
        curves = [lines.of_histogram(label, distribution.shares())]
        choices[f"{label}: percentiles"] = lines.percentiles(curves, distribution.unit, label)
        choices[f"{label}: share of all (CDF)"] = lines.percentiles(
            curves, distribution.unit, label, is_cdf=True
        )
        if (logged := logs.get((distribution.test, distribution.load))) is not None:
            title = f"{label}, {logged.total:,} of {distribution.total:,} completions"
            choices[f"{label}: over time"] = _over_time(logged, title)
    return ShownLatencies(
        [row_of(label_of(distribution), distribution) for distribution in ordered],
        choices,
        hidden=len(distributions) - len(ordered),
    )


def _over_time(series: LatencySeries, label: str) -> Any:
    names = [f"p{percent}" for percent in PERCENTS]
    columns = {**dict(zip(names, series.percentiles, strict=True)), "maximum": series.maxima}
    seconds = [end_ms / 1000 for end_ms in series.ends_ms]
    return over_time.latencies(
        {name: (values, seconds, series.counts) for name, values in columns.items()},
        series.unit,
        label,
    )


def name_of(distribution: Distribution) -> str:
    return testnames.at_load(distribution.test, distribution.load)


def label_of(distribution: Distribution) -> str:
    """What people read of it, with its load."""
    label = testnames.label_of_latency(distribution.test)
    return label if not distribution.load else f"{label} at {loads.words(distribution.load)}"


def row_of(label: str, distribution: Distribution) -> ShownLatency:
    """Its tails, each with the interval of order statistics."""
    tails = [
        Tail(percent, float(distribution.percentile(percent)), distribution.interval(percent))
        for percent in latency.TAILS
    ]
    return ShownLatency(label, distribution.unit, distribution.total, tails, distribution.most)


DRAWN = (128, 64)
"""Parts of the time and of the device that are drawn, each some of those that are kept."""


@dataclass(frozen=True)
class ShownTrace:
    """``rows`` of requests are (operation, requests, bytes); of operations (operation, how many,
    their mean latency in ns or None, bytes or "", failed, queued). ``latencies`` are (operation,
    from ns, below ns, how many), ``figures`` by what they show.
    """

    tracer: Tracer
    problem: str = ""
    trace: RequestTrace | OperationTrace | None = None
    rows: Sequence[tuple[Any, ...]] = ()
    latencies: Sequence[tuple[str, int, int, int]] = ()
    queued: int = 0
    histogram: Any = None
    figures: Mapping[str, Any] = field(default_factory=dict)


def traces_of_run(run: Run) -> list[ShownTrace]:
    """One of each tracer that has ended; none of a run that is not traced."""
    if not run.is_extra:
        return []
    return [
        _trace(run.pk, TRACERS[slug], kept.problem)
        for slug, kept in traces.of_run(run.pk).items()
        if slug in TRACERS
    ]


def _trace(run_id: int, tracer: Tracer, problem: str) -> ShownTrace:
    try:
        trace = traces.read(run_id, tracer.slug)
    except UnreadableBlock as error:
        return ShownTrace(tracer, str(error))
    if isinstance(trace, OperationTrace):
        return _operations(tracer, trace)
    if trace is not None:
        return _requests(tracer, trace)
    return ShownTrace(tracer, problem or "Nothing is stored of it.")


def _requests(tracer: Tracer, trace: RequestTrace) -> ShownTrace:
    latencies = [(name, low * 1000, high * 1000, n) for name, low, high, n in trace.latency_rows()]
    bins = _by_operation(latencies)
    return ShownTrace(
        tracer,
        trace=trace,
        rows=[(name, count, trace.bytes_of.get(name, 0)) for name, count in trace.requests.items()],
        latencies=latencies,
        histogram=requests.latencies(bins, "Latency of requests") if bins else None,
        figures={
            f"{name.capitalize()} requests over time": requests.over_device(
                _coarser(cells),
                DRAWN,
                (trace.seconds, trace.device_bytes),
                f"Where {name} requests went",
            )
            for name, cells in trace.maps.items()
        },
    )


def _operations(tracer: Tracer, trace: OperationTrace) -> ShownTrace:
    latencies = list(trace.latency_rows())
    bins = _by_operation(latencies)
    title = "Latency of operations"
    curves = [lines.of_histogram(name, _shares(rows)) for name, rows in bins.items()]
    return ShownTrace(
        tracer,
        trace=trace,
        rows=[
            (name, ended, total / ended if ended else None, size, failed, queued)
            for name, ended, total, size, failed, queued in trace.summary_rows()
        ],
        latencies=latencies,
        queued=sum(trace.queued.values()),
        figures={
            "How many by latency": requests.latencies(bins, title, "operations", 1),
            "Share of all (CDF)": lines.percentiles(curves, "ns", title, is_cdf=True),
        }
        if bins
        else {},
    )


def _by_operation(
    latencies: Iterable[tuple[str, int, int, int]],
) -> dict[str, list[tuple[int, int, int]]]:
    bins: dict[str, list[tuple[int, int, int]]] = {}
    for operation, *latency_bin in latencies:
        bins.setdefault(operation, []).append((latency_bin[0], latency_bin[1], latency_bin[2]))
    return bins


def _shares(bins: Sequence[tuple[int, int, int]]) -> list[tuple[float, float]]:
    """(below ns, share of all that took less), of bins that rise."""
    total, seen, shares = sum(count for *_, count in bins), 0, []
    for _, high, count in bins:
        seen += count
        shares.append((float(high), seen / total))
    return shares


def _coarser(cells: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """The sums of what is drawn as one."""
    sums: Counter[tuple[int, int]] = Counter()
    for (when, where), count in cells.items():
        sums[when * DRAWN[0] // PARTS, where * DRAWN[1] // PARTS] += count
    return dict(sums)
