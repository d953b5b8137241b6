"""What the page of a run shows of its activity: charts over time, their table, its costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fsbench_web.core.activity import costs
from fsbench_web.core.activity.series import Activity
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.figures.over_time import Panel, Phase, timeline
from fsbench_web.studies.activity import records
from fsbench_web.studies.models import RunActivity

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


def of_run(run_id: int) -> ShownActivity | None:
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


def _panels(activity: Activity) -> tuple[list[Panel], int]:
    """What can be drawn of what was sampled, and how many intervals one point is of."""
    merged = max(1, -(-(len(activity) - 1) // MOST_POINTS))

    def rate(name: str, per: float = 1.0) -> Line:
        return _neighbour_means([v and v / per for v in activity.rates(name)], merged)

    def level(name: str, per: float = 1.0) -> Line:
        return _neighbour_means([v and v / per for v in activity.levels(name)[1:]], merged)

    panels = []
    for role in ("data", "journal"):
        prefix = "" if role == "data" else "Journal: "
        panels += [
            Panel(
                f"{prefix}Throughput of the device",
                "MiB/s",
                _lines(
                    activity,
                    rate,
                    {
                        "read": f"{role}.sectors_read",
                        "written": f"{role}.sectors_written",
                    },
                    _SECTORS_IN_MIB,
                ),
            ),
            Panel(
                f"{prefix}Requests of the device",
                "requests/s",
                _lines(
                    activity,
                    rate,
                    {
                        "reads": f"{role}.reads",
                        "writes": f"{role}.writes",
                        "merged": f"{role}.writes_merged",
                        "flushes": f"{role}.flushes",
                    },
                ),
            ),
            Panel(
                f"{prefix}Discards of the device",
                "MiB/s",
                _lines(activity, rate, {"discarded": f"{role}.sectors_discarded"}, _SECTORS_IN_MIB),
            ),
            Panel(
                f"{prefix}Queue depth of the device",
                "requests",
                _lines(activity, rate, {"on average": f"{role}.weighted_ms"}, 1000),
            ),
            Panel(
                f"{prefix}Utilisation of the device",
                "% of time",
                _lines(activity, rate, {"busy": f"{role}.busy_ms"}, 10),
            ),
        ]
    panels += [
        Panel(
            "Processors",
            "CPU seconds/s",
            _lines(
                activity,
                rate,
                {
                    "user": "cpu.user_ms",
                    "system": "cpu.system_ms",
                    "interrupts": "cpu.irq_ms",
                    "waiting for I/O": "cpu.iowait_ms",
                    "stolen": "cpu.steal_ms",
                },
                1000,
            ),
        ),
        Panel(
            "Context switches",
            "switches/s",
            _lines(activity, rate, {"of the machine": "cpu.context_switches"}),
        ),
        Panel(
            "Dirty pages",
            "MiB",
            _lines(
                activity,
                level,
                {"dirty": "memory.dirty_bytes", "in writeback": "memory.writeback_bytes"},
                _MIB,
            ),
        ),
        Panel(
            "Pressure",
            "% of time",
            _lines(
                activity,
                rate,
                {
                    "I/O": "pressure.io_some_us",
                    "processors": "pressure.cpu_some_us",
                    "memory": "pressure.memory_some_us",
                },
                10_000,
            ),
        ),
        Panel(
            "Control group: processors",
            "CPU seconds/s",
            _lines(
                activity,
                rate,
                {
                    "user": "group.cpu_user_usec",
                    "system": "group.cpu_system_usec",
                    "throttled": "group.cpu_throttled_usec",
                },
                1e6,
            )
            or _lines(
                activity, rate, {"user": "group.cpu_user_ms", "system": "group.cpu_system_ms"}, 1000
            ),
        ),
        Panel(
            "Control group: I/O",
            "MiB/s",
            _lines(activity, rate, {"read": "group.io_rbytes", "written": "group.io_wbytes"}, _MIB),
        ),
        Panel(
            "Control group: memory",
            "MiB",
            _lines(
                activity,
                level,
                {"anonymous": "group.memory_anon_bytes", "page cache": "group.memory_file_bytes"},
                _MIB,
            ),
        ),
        Panel(
            "Control group: pressure",
            "% of time",
            _lines(
                activity,
                rate,
                {
                    "I/O": "group.pressure_io_some_us",
                    "processors": "group.pressure_cpu_some_us",
                    "memory": "group.pressure_memory_some_us",
                },
                10_000,
            ),
        ),
    ]
    return [panel for panel in panels if _has_values(panel)], merged


def _has_values(panel: Panel) -> bool:
    """Discards are mkfs's, if anybody's: of none there is no chart."""
    is_still = all(not value for line in panel.lines.values() for value in line)
    return bool(panel.lines) and not (is_still and "Discards" in panel.name)


def _lines(
    activity: Activity,
    values_of: Callable[[str, float], Line],
    names: dict[str, str],
    per: float = 1.0,
) -> dict[str, Line]:
    """The lines that have any value, by what they are called."""
    lines = {
        sentence: values_of(name, per)
        for sentence, name in names.items()
        if name in activity.columns
    }
    return {
        sentence: line
        for sentence, line in lines.items()
        if any(value is not None for value in line)
    }


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
