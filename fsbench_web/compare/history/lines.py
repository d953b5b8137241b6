"""One configuration over time: the same work on the same disk, kernel after kernel or day by day.

Every finished run is scored by itself; the runs of one kernel, or of one day, are a point with the
95% interval of their scores. scoring.changes finds where the level changes.

A line is of a team, or of a study that has none: what a label says anybody may say of theirs.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import plotly.graph_objects as go
from django.db.models import Case, Count, F, Max, Min, Q, When
from django.db.models.functions import Coalesce, TruncDate
from django.http import Http404

from fsbench_web.catalog.workers.machines import GUEST
from fsbench_web.compare.history import work
from fsbench_web.compare.history.own import OwnLine, own_line
from fsbench_web.compare.models import Watch
from fsbench_web.compare.tables.uncertainty import NO_SCATTER, probability
from fsbench_web.core import numbers
from fsbench_web.core.conversion import Printed, converted, shown_units
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.changes import Change, changes
from fsbench_web.core.scoring.confidence import Interval, interval
from fsbench_web.core.scoring.scores import mean, score_mean, score_repeats
from fsbench_web.core.units import UnknownUnit, lower_is_better, overall_unit
from fsbench_web.figures import lines
from fsbench_web.platform import limits
from fsbench_web.studies.models import UNTRACED, MeasurementBlock, Run, RunState, Score, Series
from fsbench_web.studies.scores import measurements

MOST_LINES = 100
"""Offered of one study."""
OWN = "The LUN itself"
MINUS = "\u2212"
DEFAULT_CATEGORY = "total_average"
MOST_RUNS = 150
"""Of one line, the latest: each is scored from its cells, whenever the page is asked for."""
ALONG = {"kernel": "Kernels", "date": "Dates"}
LINE = ("configuration", "workload", "hardware", "lun", "journal_lun", "stack_luns", "preparation")
LINE_VALUES = ("stack_luns", "preparation")
"""Those of ``LINE`` that are no rows."""
"""The columns that series of one line share; a watch has them too."""
MACHINE = tuple(f"machine__{key}" for key in ("executor", "accelerator", "memory_bytes", "cpus"))
"""What they share of the machine: of guests all but the kernel, which lines go along."""


@dataclass(frozen=True)
class Point:
    """The runs of one kernel or day: ``values`` are their scores, ``runs`` their numbers."""

    name: str
    runs: tuple[int, ...]
    values: tuple[float, ...]
    interval: Interval | None

    @property
    def mean(self) -> float:
        return mean(self.values)


@dataclass(frozen=True)
class ShownChange:
    """A change of level in words; ``is_slower`` says which way, ``disk`` whether it is the disk."""

    change: Change
    sentence: str
    is_slower: bool
    disk: str = ""


@dataclass(frozen=True)
class History:
    """A line: its points in order, and where its level changes.

    ``left_out`` is how many older runs there are beyond MOST_RUNS; ``undated`` are those whose
    file does not say when they were measured: they have the date of their import. ``problem`` says
    in a sentence why nothing can be shown or judged. ``printed_units`` are those of the runs, where
    they were converted to ``unit``. ``own`` is what the LUN did by itself beside each point.
    """

    points: list[Point] = field(default_factory=list)
    changes: list[ShownChange] = field(default_factory=list)
    unit: str = ""
    lower_is_better: bool = False
    left_out: int = 0
    undated: frozenset[int] = frozenset()
    problem: str = ""
    printed_units: tuple[str, ...] = ()
    own: OwnLine = field(default_factory=OwnLine)
    margin_percent: float = 0.0

    @property
    def own_changes(self) -> list[str]:
        """Where the LUN itself changed, in sentences."""
        return [
            f"From {self.points[place - 1].name} to {self.points[place].name}: "
            f"{f'{percent:+.1f}%'.replace('-', MINUS)}"
            for place, percent in self.own.changes(self.margin_percent)
        ]

    @property
    def rows(self) -> list[tuple[Point, float | None, float | None]]:
        """Each point with what the LUN itself did, and the score in percent of that."""
        return [
            (point, self.own.mean_at(place), self.own.share_at(place))
            for place, point in enumerate(self.points)
        ]

    @property
    def has_repeats(self) -> bool:
        return any(len(point.values) > 1 for point in self.points)


def owner_of(series: Series) -> tuple[int | None, int | None]:
    """Whose line a series is on: (study, None) or (None, team), by key.

    Its team's, whichever of the team's studies measured it; its study's alone where that has no
    team, and where nobody says on what it was measured: two unknown machines are not the same.
    """
    team = series.study.team_id
    if team is None or (series.hardware_id is None and series.lun_id is None):
        return series.study_id, None
    return None, team


def same_line(line: Series | Watch, studies: Collection[int] = ()) -> Q:
    """The series that measure the same as this one: all but the system's software.

    They are of one owner, or of ``studies``, by key, where these are named (with known hardware).
    """
    # By key: a watch is looked at every minute, and its rows need not be fetched for that.
    values = {name: getattr(line, name if name in LINE_VALUES else f"{name}_id") for name in LINE}
    study, team = (line.study_id, line.team_id) if isinstance(line, Watch) else owner_of(line)
    if studies and (line.hardware_id or line.lun_id):
        of_owner = Q(study__in=studies)
    else:
        of_owner = Q(study=study) if team is None else Q(study__team=team)
    return (
        of_owner
        & Q(**{name: value for name, value in values.items() if value is not None})
        & Q(**{f"{name}__isnull": True for name, value in values.items() if value is None})
        & _same_machine(line.machine)
    )


def _same_machine(stored: Mapping[str, Any]) -> Q:
    """Series of the same kind of machine: a guest is never on a line with the host itself."""
    if stored.get("executor") != GUEST:
        return Q(machine=dict(stored))
    return Q(**{name: stored.get(name.removeprefix("machine__")) for name in MACHINE})


def choices(
    series: Series, asked: str = "", studies: Collection[int] = ()
) -> list[tuple[str, list[str]]]:
    """What can be shown of the line: its tests in order, each with its categories. One query.

    Of more than ``limits.MOST_TESTS`` tests the first by name, and the one that is ``asked`` for;
    another query then.
    """
    of_line = Series.objects.filter(same_line(series, studies)).values("pk")
    every = (
        Score.objects.filter(series__in=of_line)
        .order_by()
        .values_list("test", "category")
        .distinct()
    )
    most = limits.MOST_TESTS * len(categories.all_slugs())
    pairs = list(every.order_by("test", "category")[: most + 1])
    tests = list(dict.fromkeys(test for test, _ in pairs))
    if len(tests) > limits.MOST_TESTS:
        kept = set(tests[: limits.MOST_TESTS])
        pairs = [pair for pair in pairs if pair[0] in kept]
        if asked not in kept:
            pairs += every.filter(test=asked)
    found: dict[str, list[str]] = defaultdict(list)
    for test, category in sorted(pairs, key=lambda pair: categories.place(pair[1])):
        found[test].append(category)
    shown = [(test, found[test]) for test in sorted(found, key=testnames.place)]
    of_work = work.offered(found) if found else []
    return [*shown, (testnames.WORK, of_work)] if of_work else shown


def history(
    line: Series | Watch,
    test: str,
    category: str,
    along: str,
    margin: float,
    studies: Collection[int] = (),
    units: str = "",
) -> History:
    """The line that a series belongs to, or that is watched. Three queries.

    ``units`` as a comparison has them: runs in several units of one dimension are one line.
    """
    runs = (
        Run.objects.filter(
            series__in=Series.objects.filter(same_line(line, studies)).values("pk"),
            state=RunState.DONE,
            tracing=UNTRACED,
        )
        .annotate(
            kernel=F("series__kernel"),
            when=Coalesce("measured_at", "ended_at"),
            tool=F("series__workload__tool"),
            is_undated=Q(origin=Run.Origin.IMPORTED, measured_at=None),
        )
        .annotate(day=TruncDate("when"))
        .order_by("-when", "-pk")
    )
    count = runs.count()
    columns = ("pk", "kernel", "day", "is_undated", "tool", "probe")
    latest = list(runs.values_list(*columns)[:MOST_RUNS])
    tools = {row[0]: row[4] for row in latest}
    profile = work.profile_of(category)
    if profile is not None:
        scores, printed = work.scores_of_runs(tools, profile)
    elif categories.is_of_work(category):
        return History(problem="The work profile of this line is not there any more.")
    else:
        scores, printed = _scores(tools, test, category)
    if profile is not None and not scores:
        return History(
            problem=f"No run of this line has all {len(profile.demands)} data points of "
            f"{profile.label}."
        )
    shown = shown_units(set(printed.values()), units)
    if len({(one.unit, one.is_unexplained) for one in shown.values()}) > 1:
        names = sorted({unit for unit, _ in shown})
        return History(
            problem=f"Its runs measured in {' and in '.join(names)}: no line can hold both."
        )
    for pk, one in printed.items():
        if pk in scores and shown[one].is_converted:
            scores[pk] = converted(scores[pk], shown[one].times)
    groups: dict[Any, list[int]] = defaultdict(list)
    undated = set()
    for pk, kernel, day, is_undated, *_ in reversed(latest):
        if pk in scores:
            groups[kernel if along == "kernel" else day].append(pk)
            undated |= {pk} if is_undated else set()
    unknown = len(groups.pop(None, [])) + len(groups.pop("", []))
    ordered = sorted(groups, key=version_key if along == "kernel" else None)
    points = [_point(str(name), groups[name], scores) for name in ordered]
    unit = next((one.unit for one in shown.values()), "")
    unit = overall_unit(unit) if unit and category == "overall" else unit
    lower = _lower(unit)
    steps = changes([point.values for point in points], margin) if points else []
    probes = {row[0]: row[5] for row in latest if row[0] in scores and row[5] is not None}
    own = own_line(line, [point.runs for point in points], probes, scores, (test, category, unit))
    return History(
        points=points,
        changes=[
            replace(
                _said(change, points, unit, lower), disk=own.said_of_change(change.place, margin)
            )
            for change in steps
        ],
        own=own,
        margin_percent=margin,
        unit=unit,
        lower_is_better=lower,
        left_out=count - len(latest),
        undated=frozenset(undated),
        problem=f"{unknown} of its runs do not say their {along}, and are left out."
        if unknown
        else "",
        printed_units=tuple(sorted({name for name, _ in shown}))
        if any(one.is_converted for one in shown.values())
        else (),
    )


def version_key(version: str) -> tuple[tuple[int, int | str], ...]:
    """Versions in their order: 6.9 before 6.10, and 6.1.0-rc1 before 6.1.0."""
    parts = re.findall(r"\d+|[a-z]+", version.lower())
    key = [(2, int(part)) if part.isdigit() else (0 if part == "rc" else 3, part) for part in parts]
    return (*key, (1, 0))


def chart(shown: History, title: str, along: str) -> go.Figure | None:
    """The line with its intervals, and a dashed upright where its level changes."""
    if not shown.points:
        return None
    own = [
        lines.Point(float(place), value, note="without a file system")
        for place, (_, value, _) in enumerate(shown.rows)
        if value is not None
    ]
    figure = lines.curves(
        [
            *([lines.Line(OWN, own)] if own else []),
            lines.Line(
                "Score",
                [
                    lines.Point(
                        float(place),
                        point.mean,
                        (point.interval.low, point.interval.high) if point.interval else None,
                        f"{len(point.runs)} run{'' if len(point.runs) == 1 else 's'}",
                        f"/runs/{point.runs[-1]}/",
                    )
                    for place, point in enumerate(shown.points)
                ],
            ),
        ],
        shown.unit,
        title,
        "Kernel" if along == "kernel" else "Day on which the runs were measured",
        {float(place): point.name for place, point in enumerate(shown.points)},
        shown.lower_is_better,
    )
    # There is one line, and an interval may be shorter than a marker is high: its ends stand out
    # sideways.
    figure.update_layout(showlegend=bool(own))
    figure.update_traces(marker_size=6)
    figure.update_traces(selector={"name": OWN}, line={"dash": "dash", "color": "#8a96a5"})
    if any(point.interval for point in shown.points):
        figure.update_traces(error_y={"width": 9, "thickness": 2})
    for entry in shown.changes:
        figure.add_vline(x=entry.change.place - 0.5, line={"dash": "dash", "color": "#8a96a5"})
    return figure


@dataclass(frozen=True)
class LineChoice:
    """A line that can be looked at, by one of its series."""

    series: Series
    kernels: int
    runs: int


def line_choices(studies: Collection[int], most: int) -> list[LineChoice]:
    """The lines of studies, taken together; those over most kernels first. Two queries."""
    rows = list(
        Series.objects.filter(study__in=studies)
        .annotate(alone=Case(When(hardware=None, lun=None, then=F("study"))))
        .order_by()
        .values(*LINE, *MACHINE, "alone")
        .annotate(
            first=Min("pk"),
            kernels=Count("kernel", distinct=True, filter=~Q(kernel="")),
            done=Count("runs", filter=Q(runs__state=RunState.DONE, runs__tracing=UNTRACED)),
            latest=Max("runs__pk"),
        )
        .filter(done__gt=0)
        .order_by("-kernels", "-done", "first")[:most]
    )
    series = Series.objects.select_related(
        "configuration", "workload", "hardware", "lun__worker"
    ).in_bulk([row["first"] for row in rows])
    return [LineChoice(series[row["first"]], row["kernels"], row["done"]) for row in rows]


def _scores(
    tools: Mapping[int, str | None], test: str, category: str
) -> tuple[dict[int, float], dict[int, Printed]]:
    """The score of each run by itself, and the unit of what it measured. One query.

    ``tools`` are those of the runs.
    """
    names = {testnames.parts(test)}
    blocks = MeasurementBlock.objects.filter(run__in=list(tools))
    cells: dict[int, dict[tuple[int, int], float]] = defaultdict(dict)
    single: dict[int, list[float]] = defaultdict(list)
    units: dict[int, Printed] = {}
    for of_run in measurements.read(blocks, names.__contains__):
        for name, record_kb, file_kb, value, _ in of_run.columns.rows():
            units[of_run.run_id] = (name.unit, tools[of_run.run_id])
            if record_kb is None or file_kb is None:
                single[of_run.run_id].append(value)
            else:
                cells[of_run.run_id][record_kb, file_kb] = value
    found: dict[int, float] = {}
    if category == categories.MEAN:
        for run_id, values in single.items():
            score = score_mean(values)
            if score is not None:
                found[run_id] = score.value
    else:
        for run_id, matrix in cells.items():
            scores = score_repeats([matrix])
            if category in scores:
                found[run_id] = scores[category].value
    return found, units


def _point(name: str, runs: Sequence[int], scores: Mapping[int, float]) -> Point:
    values = tuple(scores[run] for run in runs)
    return Point(name, tuple(runs), values, interval(values))


def _said(change: Change, points: Sequence[Point], unit: str, lower: bool) -> ShownChange:
    old, new = points[change.place - 1].name, points[change.place].name
    is_slower = (change.change_percent > 0) == lower
    beside = (points[change.place - 1], points[change.place])
    # Zero is also what vanishes: of very many points that scatter by very little.
    is_still = change.p_value == 0 and all(len(set(point.values)) == 1 for point in beside)
    size = f"{change.change_percent:+.1f}%".replace("-", MINUS)
    return ShownChange(
        change,
        f"From {old} to {new}: {size}, from {numbers.with_unit(change.before, unit)} to "
        f"{numbers.with_unit(change.after, unit)}: {'slower' if is_slower else 'faster'}, "
        f"significant (p is {probability(change.p_value)})."
        f"{f' {NO_SCATTER}' if is_still else ''}",
        is_slower,
    )


def _lower(unit: str) -> bool:
    try:
        return lower_is_better(unit)
    except UnknownUnit:
        return False


def series_of(text: str) -> Series:
    """The series of a number in an address. Raises Http404."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        found = (
            Series.objects.select_related(
                *("study__team", "configuration", "workload", "hardware"),
                *("lun__worker", "journal_lun"),
            )
            .filter(pk=int(text))
            .first()
        )
        if found is not None:
            return found
    raise Http404("There is no such series. Over time, /history/, lists the lines of each study.")
