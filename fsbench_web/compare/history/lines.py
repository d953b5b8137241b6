"""One configuration over time: the same work on the same disk, by kernel or by day.

The runs of one kernel or day are a point. By a category each run has a score, and the point has
their 95% interval; by a work profile a point has one score, as a contender has.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce, TruncDate

from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.compare.history.choices import profile_of
from fsbench_web.compare.history.events import events_of, facts_changed_at, named_events
from fsbench_web.compare.history.line_series import same_line
from fsbench_web.compare.history.profile_line import (
    LunLine,
    ProfileScoreUnavailable,
    lun_line_of_runs,
    lun_line_of_work,
    titles_of,
    work_line,
)
from fsbench_web.compare.models import LineEvent, Watch
from fsbench_web.compare.selection.wording import flag_label
from fsbench_web.compare.tables.verdicts.uncertainty import NO_SCATTER, size_words
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.profiles.definition import RATIO, Profile
from fsbench_web.core.scoring.scores import score_mean, score_repeats
from fsbench_web.core.stats.changes import Change, Levels, levels, newest_against_level
from fsbench_web.core.stats.intervals import Interval, interval, mean
from fsbench_web.core.stats.verdicts import Repeats, Verdict, compared, rounding_of
from fsbench_web.core.units import (
    DisplayUnit,
    Printed,
    converted,
    is_known,
    lower_is_better,
    overall_unit,
    shown_units,
)
from fsbench_web.core.versions import version_key
from fsbench_web.studies.models import UNTRACED, MeasurementBlock, Run, RunState, Score, Series
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.quality import NOTED, flags_of_run

MOST_RUNS = 150
"""Of one line, the latest: each is scored from its cells, whenever the page is asked for."""
LUN_ITSELF = "The LUN itself"
ALONG = {"kernel": "Kernels", "date": "Dates"}
_EMULATED_LINE = "This line was emulated: for function, not for speed."
_ONE_POINT = "One point, not confirmed."
_OF_TWO = (
    "With two points, noise is the scatter of their repeats: it lacks the difference between "
    "evenings."
)


@dataclass(frozen=True)
class Point:
    """The runs of one kernel or day; ``values`` are the scores of its repeats.

    ``score``: of all together, where it is not their mean. ``blocks``: of the values, if each is a
    run. ``days``: of its first and last run.
    """

    name: str
    runs: tuple[int, ...]
    values: tuple[float, ...]
    interval: Interval | None
    score: float | None = None
    blocks: tuple[str, ...] = ()
    days: tuple[date, ...] = ()

    @property
    def mean(self) -> float:
        return mean(self.values) if self.score is None else self.score

    @property
    def repeats(self) -> Repeats:
        """As the statistics take it."""
        blocks = self.blocks or ("",) * len(self.values)
        values = tuple(zip(blocks, self.values, strict=True))
        return Repeats(self.mean, values, rounding=rounding_of(self.values), interval=self.interval)


@dataclass(frozen=True)
class ShownChange:
    """A change of level in words; ``disk``: whether it is the disk.

    ``events``: recorded facts that changed at the same point, and events that owners added.
    """

    change: Change
    sentence: str
    is_slower: bool
    disk: str = ""
    events: tuple[str, ...] = ()


@dataclass(frozen=True)
class LatestStep:
    """The speed of the newest point relative to the one before it.

    ``level``: relative to the ``level_points`` points of the level before; None for fewer than two.
    """

    previous: str
    current: str
    verdict: Verdict
    level: Verdict | None = None
    level_points: int = 0

    @property
    def size(self) -> str:
        """By how much, between what at 95%: ``10.9% slower, 10.0 to 11.8%``."""
        return size_words(self.verdict)

    @property
    def level_size(self) -> str:
        """The same against the level before it."""
        return size_words(self.level) if self.level else ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"previous": self.previous, "current": self.current, **_ratio_dict(self.verdict)}

    def stored(self) -> dict[str, Any]:
        """As ``Watch.latest`` keeps it; the inverse of ``of``."""
        verdict = self.verdict.as_dict()
        return {"previous": self.previous, "current": self.current, "verdict": verdict}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "LatestStep":
        return cls(stored["previous"], stored["current"], Verdict.from_dict(stored["verdict"]))

    def level_as_dict(self) -> dict[str, Any] | None:
        """The comparison with the level before it, for JSON."""
        return self.level and {"points": self.level_points, **_ratio_dict(self.level)}


def _ratio_dict(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.direction,
        "ratio": verdict.ratio,
        "ratio_low": verdict.ratio_low,
        "ratio_high": verdict.ratio_high,
    }


@dataclass(frozen=True)
class History:
    """A line: its points in order, and where its level changes.

    ``left_out``: older runs beyond MOST_RUNS. ``undated``: runs with the date of their import.
    ``problem``: why nothing can be shown or judged. ``printed_units``: where runs were converted.
    ``reference``: the speed that is 1.00 of a work profile in multiples. ``workloads``: titles, if
    several. ``small_changes``: below the margin. ``levels``: has spikes and modes.
    """

    points: list[Point] = field(default_factory=list)
    changes: list[ShownChange] = field(default_factory=list)
    small_changes: list[ShownChange] = field(default_factory=list)
    levels: Levels = field(default_factory=Levels)
    unit: str = ""
    lower_is_better: bool = False
    left_out: int = 0
    undated: frozenset[int] = frozenset()
    problem: str = ""
    printed_units: tuple[str, ...] = ()
    lun_line: LunLine = field(default_factory=LunLine)
    margin_percent: float = 0.0
    reference: float | None = None
    workloads: tuple[str, ...] = ()
    flags: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    is_emulated: bool = False
    events: tuple[LineEvent, ...] = ()

    @property
    def latest(self) -> LatestStep | None:
        """The newest point against the one before; None where either has no repeats."""
        if len(self.points) < 2 or not is_known(self.unit):
            return None
        previous, current = self.points[-2:]
        verdict = compared(current.repeats, previous.repeats, lower_is_better=self.lower_is_better)
        if verdict is None:
            return None
        values = [point.values for point in self.points]
        level = newest_against_level(values, self.levels, lower_is_better=self.lower_is_better)
        count, against_level = level or (0, None)
        return LatestStep(previous.name, current.name, verdict, against_level, count)

    @property
    def spikes(self) -> list[str]:
        """The names of lone points far from their neighbours."""
        return [self.points[place].name for place in self.levels.spikes]

    @property
    def modes(self) -> str:
        """Between which levels a bimodal line switches, in words; "" of any other."""
        modes = self.levels.modes
        if modes is None:
            return ""
        low, high = (numbers.with_unit(value, self.unit) for value in (modes.low, modes.high))
        return f"{low} and {high}, {modes.switches} switches"

    @property
    def lun_changes(self) -> list[str]:
        """Where the LUN itself changed, in sentences."""
        return [
            f"From {self.points[place - 1].name} to {self.points[place].name}: "
            f"{numbers.signed_percent(percent)}%"
            for place, percent in self.lun_line.changes(self.margin_percent)
        ]

    @property
    def rows(self) -> list[tuple[Point, float | None, float | None]]:
        """Each point with what the LUN itself did, and the score in percent of that."""
        return [
            (point, self.lun_line.mean_at(place), self.lun_line.share_at(place))
            for place, point in enumerate(self.points)
        ]

    def flags_of(self, point: Point) -> dict[str, int]:
        """How many runs of a point have each flag."""
        return Counter(flag for run in point.runs for flag in self.flags.get(run, ()))

    def places_of(self, event: LineEvent) -> list[int]:
        """The points before which an event may have happened, by its day; [] for more than two."""
        days = [point.days for point in self.points]
        places = [
            place
            for place, (before, after) in enumerate(itertools.pairwise(days), 1)
            if before and after and before[-1] <= event.day <= after[0]
        ]
        return places if len(places) <= 2 else []

    def events_at(self, place: int) -> list[str]:
        """What owners say happened before a point."""
        return [str(event) for event in self.events if place in self.places_of(event)]

    @property
    def has_repeats(self) -> bool:
        return any(len(point.values) > 1 for point in self.points)


class _LineUnavailable(ValueError):
    """Why nothing can be shown, in a sentence."""


class _RunOfLine(NamedTuple):
    """A finished run; from ``environment`` on what ``flags_of_run`` takes."""

    pk: int
    kernel: str
    day: date
    is_undated: bool
    tool: str | None
    probe: int | None
    environment: int | None
    block: str
    study: int
    is_contended: bool
    drift_percent: float | None
    busy: Any
    swap: Any
    promise: Any
    durability: Any


def history(
    line: Series | Watch,
    test: str,
    category: str,
    along: str,
    margin: float,
    studies: Collection[int] = (),
    units: str = "",
) -> History:
    """The line of a series or a watch. Four queries. ``units`` as a comparison has them."""
    profile = profile_of(category)
    try:
        if profile is not None:
            count, latest, measured = _of_work(line, profile, along, units, studies)
        elif categories.is_of_work(category):
            raise _LineUnavailable("The work profile of this line is not there any more.")
        else:
            count, latest = _latest_runs(line, studies)
            measured = _by_category(line, latest, test, category, along, units)
    except (_LineUnavailable, ProfileScoreUnavailable) as error:
        return History(problem=str(error))
    drawn_runs = {run for point in measured.points for run in point.runs}
    unit = measured.unit
    days = {run.pk: run.day for run in latest}
    shown = replace(
        measured,
        points=[_dated(point, days) for point in measured.points],
        events=tuple(events_of(line, studies)),
        margin_percent=margin,
        lower_is_better=is_known(unit) and lower_is_better(unit),
        left_out=count - len(latest),
        undated=frozenset(run.pk for run in latest if run.is_undated and run.pk in drawn_runs),
        flags={run.pk: flags_of_run(*run[9:]) for run in latest if run.pk in drawn_runs},
        is_emulated=Machine.of(line.machine).is_emulated,
    )
    shown = replace(shown, levels=levels([point.values for point in shown.points]))
    found = shown.levels.changes(margin)
    environments = {run.pk: run.environment for run in latest if run.environment is not None}
    facts = facts_changed_at(
        [step.place for step in found],
        [
            [environments[run] for run in point.runs if run in environments]
            for point in shown.points
        ],
    )
    return replace(
        shown,
        changes=[
            replace(
                _shown_change(step, shown),
                events=named_events([*shown.events_at(step.place), *facts[step.place]]),
            )
            for step in found
        ],
        small_changes=[
            _shown_change(step, shown) for step in shown.levels.steps if step not in found
        ],
    )


def _dated(point: Point, days: Mapping[int, date]) -> Point:
    of_runs = [days[run] for run in point.runs]
    return replace(point, days=(min(of_runs), max(of_runs)))


def _latest_runs(
    line: Series | Watch, studies: Collection[int], tests: Collection[str] = ()
) -> tuple[int, list[_RunOfLine]]:
    """How many finished runs are on the line, and the latest of them, newest first.

    With ``tests``: of any workload that measured one of them in the same place.
    """
    series = Series.objects.filter(same_line(line, studies, any_workload=bool(tests)))
    if tests:
        scored = Score.objects.filter(test__in=list(tests), series=OuterRef("pk"))
        series = series.filter(Exists(scored))
    runs = (
        Run.objects.filter(
            series__in=series.values("pk"),
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
    columns = (
        *("pk", "kernel", "day", "is_undated", "tool", "probe"),
        *("environment", "block", "series__study"),
        *("is_contended", "drift_percent", *(f"conditions__{name}" for name in NOTED)),
    )
    rows = runs.values_list(*columns)[:MOST_RUNS]
    return runs.count(), [_RunOfLine(*row) for row in rows]


def _by_category(
    line: Series | Watch,
    latest: Sequence[_RunOfLine],
    test: str,
    category: str,
    along: str,
    units: str,
) -> History:
    """Each run has a score. Raises _LineUnavailable."""
    scores, printed = _scores({run.pk: run.tool for run in latest}, test, category)
    display_units = _one_unit(printed.values(), units)
    for pk, printed_unit in printed.items():
        if pk in scores:
            scores[pk] = _in_unit(scores[pk], display_units[printed_unit])
    groups = _groups([run for run in latest if run.pk in scores], along)
    unknown = len(groups.pop("", []))
    blocks = {run.pk: run.block and f"{run.study} {run.block}" for run in latest}
    points = []
    for name in _sort_names(groups, along):
        values = tuple(scores[run] for run in groups[name])
        runs = tuple(groups[name])
        of_runs = tuple(blocks[run] for run in runs)
        points.append(Point(str(name), runs, values, interval(values), blocks=of_runs))
    unit = next((display.unit for display in display_units.values()), "")
    unit = overall_unit(unit) if unit and category == "overall" else unit
    probes = {pk: probe for pk, probe in _probes(latest).items() if pk in scores}
    return History(
        points=points,
        unit=unit,
        problem=left_out_in_words(unknown, along),
        printed_units=_printed_units(display_units),
        lun_line=lun_line_of_runs(
            line.workload_id,
            [point.runs for point in points],
            probes,
            scores,
            (test, category, unit),
        ),
    )


def _of_work(
    line: Series | Watch, profile: Profile, along: str, units: str, studies: Collection[int]
) -> tuple[int, list[_RunOfLine], History]:
    """As ``_latest_runs``, with the line: of its own workload, else of all in the same place.

    Raises _LineUnavailable, ProfileScoreUnavailable.
    """
    count, latest = _latest_runs(line, studies)
    try:
        return count, latest, _by_work(line, latest, profile, along, units)
    except ProfileScoreUnavailable:
        count, latest = _latest_runs(line, studies, profile.tests)
        return count, latest, _by_work(line, latest, profile, along, units)


def _by_work(
    line: Series | Watch, latest: Sequence[_RunOfLine], profile: Profile, along: str, units: str
) -> History:
    """The runs of a point are scored together. Raises as ``_of_work``."""
    groups = _groups(latest, along)
    tools = {run.pk: run.tool for run in latest}
    work = work_line(groups, tools, profile, line.workload_id)
    display_units = _one_unit([work.printed], units)
    display = display_units[work.printed]
    names = _sort_names((name for name in work.points if name != ""), along)
    is_ratio = profile.together == RATIO
    base = work.points[names[0]].score.level if names and is_ratio else work.factor
    points = []
    for name in names:
        scored = work.points[name].score.against(base)
        level = _in_unit(scored.level, display)
        # What no repeat has all of is known of all together alone.
        values = tuple(_in_unit(value, display) for value in scored.of_repeats.values()) or (level,)
        runs = work.points[name].cells.run_ids
        points.append(Point(str(name), runs, values, interval(values), level))
    times = float(display.times)
    unknown = work.points[""].cells.run_ids if "" in work.points else ()
    workloads = work.workloads
    return History(
        points=points,
        unit=display.unit,
        problem=left_out_in_words(len(unknown), along),
        printed_units=_printed_units(display_units),
        reference=base if is_ratio else None,
        lun_line=lun_line_of_work(work, names, _probes(latest)).in_multiples_of(base / times),
        workloads=titles_of(workloads) if len(workloads) > 1 else (),
    )


def _probes(latest: Sequence[_RunOfLine]) -> dict[int, int]:
    return {run.pk: run.probe for run in latest if run.probe is not None}


def _groups(runs: Sequence[_RunOfLine], along: str) -> dict[Any, list[int]]:
    """The runs of each kernel or day, oldest first; "" of those that do not say it."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for run in reversed(runs):
        groups[(run.kernel if along == "kernel" else run.day) or ""].append(run.pk)
    return groups


def _sort_names(names: Iterable[Any], along: str) -> list[Any]:
    return sorted(names, key=version_key if along == "kernel" else None)


def _one_unit(printed: Iterable[Printed], units: str) -> Mapping[Printed, DisplayUnit]:
    """How each printed unit is shown. Raises _LineUnavailable where no line can hold them all."""
    display_units = shown_units(set(printed), units)
    if len({(display.unit, display.is_unexplained) for display in display_units.values()}) > 1:
        names = sorted({unit for unit, _ in display_units})
        raise _LineUnavailable(
            f"Its runs measured in {' and in '.join(names)}: no line can hold both."
        )
    return display_units


def _in_unit(value: float, display: DisplayUnit) -> float:
    return converted(value, display.times) if display.is_converted else value


def _printed_units(display_units: Mapping[Printed, DisplayUnit]) -> tuple[str, ...]:
    is_any = any(display.is_converted for display in display_units.values())
    return tuple(sorted({name for name, _ in display_units})) if is_any else ()


def _scores(
    tools: Mapping[int, str | None], test: str, category: str
) -> tuple[dict[int, float], dict[int, Printed]]:
    """The score of each run, and the unit of what it measured. One query. ``tools``: by run."""
    names = {testnames.parts(test)}
    blocks = MeasurementBlock.objects.filter(run__in=list(tools))
    cells: dict[int, dict[tuple[int, int], float]] = defaultdict(dict)
    single_values: dict[int, list[float]] = defaultdict(list)
    units: dict[int, Printed] = {}
    for of_run in measurements.read(blocks, names.__contains__):
        for name, record_kb, file_kb, value, _ in of_run.columns.rows():
            units[of_run.run_id] = (name.unit, tools[of_run.run_id])
            if record_kb is None or file_kb is None:
                single_values[of_run.run_id].append(value)
            else:
                cells[of_run.run_id][record_kb, file_kb] = value
    run_scores: dict[int, float] = {}
    if category == categories.MEAN:
        for run_id, values in single_values.items():
            score = score_mean(values)
            if score is not None:
                run_scores[run_id] = score.value
    else:
        for run_id, matrix in cells.items():
            scores = score_repeats([matrix])
            if category in scores:
                run_scores[run_id] = scores[category].value
    return run_scores, units


def _shown_change(change: Change, history: History) -> ShownChange:
    """A change between two points of ``history``."""
    points = history.points
    old, new = points[change.place - 1 : change.place + 1]
    unit, flags = history.unit, history.flags_of(new)
    is_slower = (change.change_percent > 0) == history.lower_is_better
    # Zero is also what vanishes: of very many points that scatter by very little.
    is_still = change.p_value == 0 and len(set(old.values)) == len(set(new.values)) == 1
    is_alone = not change.is_confirmed
    size = f"{numbers.signed_percent(change.change_percent)}%"
    return ShownChange(
        change,
        f"From {old.name} to {new.name}: {size}, from {numbers.with_unit(change.before, unit)} to "
        f"{numbers.with_unit(change.after, unit)}: {'slower' if is_slower else 'faster'}, "
        f"significant (p is {numbers.probability(change.p_value)})."
        f"{f' {NO_SCATTER}' if is_still else ''}"
        f"{' ' + (_OF_TWO if len(points) == 2 else _ONE_POINT) if is_alone else ''}"
        f"{f' 1.00 is {points[0].name}.' if history.reference is not None else ''}"
        f"{_flags_in_words(new.name, flags)}"
        f"{f' {_EMULATED_LINE}' if history.is_emulated else ''}",
        is_slower,
        history.lun_line.explanation_of(change.place, history.margin_percent),
    )


def left_out_in_words(runs: int, along: str) -> str:
    """That runs do not say where in the line they belong; "" for none."""
    if not runs:
        return ""
    words = (
        f"does not say its {along}, and is" if runs == 1 else f"do not say their {along}, and are"
    )
    return f"{runs:,} of its runs {words} left out."


def _flags_in_words(point: str, flags: Mapping[str, int]) -> str:
    """The flags of the runs of a point, as a further sentence; "" for none."""
    parts = [f"{flag_label(flag)} {count}" for flag, count in flags.items()]
    return f" Flagged runs of {point}: {', '.join(parts)}." if parts else ""
