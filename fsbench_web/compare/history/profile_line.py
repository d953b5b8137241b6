"""Work profiles over time: what the runs of one kernel or day come to together."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fsbench_web.catalog.models import Workload
from fsbench_web.compare.history.line_series import same_line
from fsbench_web.compare.models import Watch
from fsbench_web.compare.selection import profiles
from fsbench_web.core import units
from fsbench_web.core.conversion import Printed
from fsbench_web.core.scoring import categories
from fsbench_web.core.scoring.profiles.combining import (
    CellsMissing,
    ScoreUnavailable,
    combined,
    put_together,
    repeat_names,
)
from fsbench_web.core.scoring.profiles.definition import RATIO, Profile, RequiredCell
from fsbench_web.studies.models import Run, Score, Series
from fsbench_web.studies.scores.cells import TooManyValues
from fsbench_web.studies.scores.profile_values import (
    Measure,
    SeriesValues,
    kind_of,
    profile_values,
)

MOST_NAMED = 3


class ProfileScoreUnavailable(ValueError):
    """Why a line has no score of a profile, in a sentence."""


def offered_categories(
    line: Series, own_tests: Collection[str], chosen_category: str, studies: Collection[int]
) -> list[str]:
    """The profiles, as categories, all of whose tests were measured of the line, some by its own
    workload, others by any in the same place: the latest version of each, and
    ``chosen_category``, as watches have an older one. ``own_tests`` are tests of the line. Two
    queries.
    """
    latest = profiles.latest()
    older = profile_of(chosen_category)
    if older is not None and chosen_category == category_of(older) and older not in latest:
        latest = [*latest, older]
    tests = {test for profile in latest for test in profile.tests}
    pairs = _measured_tests(line, tests, studies)
    by_own = set(own_tests) | {test for test, workload in pairs if workload == line.workload_id}
    by_any = by_own | {test for test, _ in pairs}
    return [
        category_of(profile)
        for profile in latest
        if by_any.issuperset(profile.tests) and not by_own.isdisjoint(profile.tests)
    ]


def category_of(profile: Profile) -> str:
    """What stands for a profile in the place of a category."""
    return f"{categories.PROFILE}{profile.name}"


def profile_of(category: str) -> Profile | None:
    """The profile that stands in the place of a category; None of any other."""
    if not category.startswith(categories.PROFILE):
        return None
    return profiles.profile_named(category.removeprefix(categories.PROFILE))


def why_not(line: Series, category: str, studies: Collection[int] = ()) -> str:
    """Why a profile that is asked for is no line, in a sentence. Two queries."""
    profile = profile_of(category)
    if profile is None:
        name = category.removeprefix(categories.PROFILE)[:60]
        return f'There is no work profile "{name}": Lab, Work profiles, lists all that there are.'
    by_any = {test for test, _ in _measured_tests(line, profile.tests, studies)}
    missing = [part.words for part in profile.parts if part.test not in by_any]
    if missing:
        return (
            f"{profile.label} is no line of this configuration: nothing in this place measured "
            f"{cells_in_words(missing)}."
        )
    return (
        f"{profile.label} is no line of this workload, which measures none of its parts: others in "
        "the same place do, and their lines have it."
    )


def _measured_tests(
    line: Series | Watch, tests: Collection[str], studies: Collection[int]
) -> list[tuple[str, int | None]]:
    """Those of ``tests`` that were measured in the place of a line, with the workload of
    each. One query.
    """
    series = Series.objects.filter(same_line(line, studies, any_workload=True))
    rows = Score.objects.filter(series__in=series.values("pk"), test__in=list(tests))
    return list(rows.order_by().values_list("test", "series__workload_id").distinct())


@dataclass(frozen=True)
class ProfileScore:
    """What ``runs`` come to together, and each repeat by itself that has every cell.

    ``sources`` are the runs that gave each cell, by repeat.
    """

    runs: tuple[int, ...]
    level: float
    of_repeats: Mapping[str, float]
    sources: Mapping[RequiredCell, Mapping[str, int]]

    def in_multiples_of(self, baseline: float) -> "ProfileScore":
        """In multiples of the baseline."""
        repeats = {name: value / baseline for name, value in self.of_repeats.items()}
        return replace(self, level=self.level / baseline, of_repeats=repeats)


@dataclass(frozen=True)
class WorkLine:
    """What each group of runs comes to, in the dimension's own unit, of which one ``printed`` unit
    is ``factor``. ``measures`` are those of the tests, ``workload_of`` the workloads of the runs.
    """

    profile: Profile
    groups: dict[Any, ProfileScore]
    printed: Printed
    factor: float
    measures: Mapping[str, Measure]
    workload_of: Mapping[int, int | None] = field(default_factory=dict)

    @property
    def lower(self) -> dict[str, bool]:
        """Whether less is better, by test."""
        return {test: measure.lower_is_better for test, measure in self.measures.items()}

    @property
    def workloads(self) -> set[int | None]:
        """Those that gave any cell."""
        return {self.workload_of[run] for score in self.groups.values() for run in score.runs}


@dataclass(frozen=True)
class _RunContext:
    """Series, block and workload of a run."""

    series: int
    block: str
    workload: int | None


def score_groups(
    groups: Mapping[Any, Sequence[int]],
    tools: Mapping[int, str | None],
    profile: Profile,
    own_workload: int | None,
) -> WorkLine:
    """Each group of runs that has every cell, scored as a contender is. Five queries.

    Of each cell the mean of the repeats, then the formula of the profile. A repeat is a block of
    runs that were measured beside each other and have each cell once; else each run, or of several
    workloads that share no block what came first of each, second, and so on. Of several workloads
    that measured an operation those count, for the whole line, that measured most of its cells in
    one way (``put_together``), and of these the line's ``own_workload``. Raises
    ProfileScoreUnavailable.
    """
    rows = Run.objects.filter(pk__in=list(tools))
    columns = ("pk", "series_id", "block", "series__workload_id")
    facts = {pk: _RunContext(*fields) for pk, *fields in rows.values_list(*columns)}
    tool_of = {context.series: tools[pk] or "" for pk, context in facts.items()}
    try:
        series_values = profile_values(set(tool_of), profile.demands, tool_of)
    except TooManyValues:
        raise ProfileScoreUnavailable(
            "The runs of this line have too many numbers to be scored at once."
        ) from None
    workload_of_series = {context.series: context.workload for context in facts.values()}
    sources = _sources(series_values, workload_of_series, profile, own_workload)
    by_test: dict[str, list[SeriesValues]] = {}
    for kind, workloads in sources.items():
        of_workload = [
            series for pk, series in series_values.items() if workload_of_series[pk] == workloads[0]
        ]
        by_test.setdefault(
            kind.test, [series for series in of_workload if kind.test in series.measures]
        )
    measures = {test: of_test[0].measures[test] for test, of_test in by_test.items()}
    lower = {test: measure.lower_is_better for test, measure in measures.items()}
    if profile.together != RATIO and len({measure.dimension for measure in measures.values()}) > 1:
        raise ProfileScoreUnavailable(
            f"The parts of {profile.label} have several units here, of which no amount of work is "
            "made."
        )
    of_groups: dict[Any, ProfileScore] = {}
    reason = ""
    for name, runs in groups.items():
        values, of_cells = _values(runs, facts, series_values, measures, sources)
        try:
            profile_score = combined(profile, values, lower)
        except ScoreUnavailable as error:
            reason = "" if isinstance(error, CellsMissing) else str(error)
            continue
        used = {run for cell_runs in of_cells.values() for run in cell_runs.values()}
        of_groups[name] = ProfileScore(
            tuple(sorted(used)), profile_score.level, profile_score.of_repeats, of_cells
        )
    if not of_groups:
        raise ProfileScoreUnavailable(
            _missing_sentence(profile, series_values, workload_of_series, sources, reason)
        )
    workload_of = {pk: context.workload for pk, context in facts.items()}
    if profile.together == RATIO:
        return WorkLine(profile, of_groups, (units.RATIO, None), 1.0, measures, workload_of)
    measure = measures[profile.tests[0]]
    tool = tool_of[by_test[profile.tests[0]][0].series_id] or None
    printed = (measure.unit, tool)
    return WorkLine(profile, of_groups, printed, measure.factor, measures, workload_of)


def _missing_sentence(
    profile: Profile,
    series_values: Mapping[int, SeriesValues],
    workload_of: Mapping[int, int | None],
    sources: "_RankedWorkloads",
    reason: str,
) -> str:
    """What no group of runs has all of. One query where workloads are not put together.

    ``reason`` says why the last group has no score; "" if cells are missing.
    """
    measured_by: dict[RequiredCell, set[int | None]] = defaultdict(set)
    for pk, series in series_values.items():
        for demand in series.values:
            measured_by[demand].add(workload_of[pk])
    missing = [demand.words for demand in profile.demands if demand not in measured_by]
    text = f"No run of this line has all {len(profile.demands)} data points of {profile.label}"
    if missing:
        return f"{text}: nobody measured {cells_in_words(missing)}."
    apart = [
        demand
        for demand in profile.demands
        if measured_by[demand].isdisjoint(sources.get(kind_of(demand), ()))
    ]
    if apart:
        titles = titles_of({workload for demand in apart for workload in measured_by[demand]})
        return (
            f"{text} in one way: {cells_in_words([demand.words for demand in apart])} "
            f"{'was' if len(apart) == 1 else 'were'} measured by another workload alone "
            f"({cells_in_words(titles) or 'not known'}), which measures in another way or does not "
            "say how."
        )
    return f"{text}: {reason}." if reason else f"{text} together."


def cells_in_words(cells: Sequence[str]) -> str:
    """Cells in words, which have commas: MOST_NAMED of them."""
    more = len(cells) - MOST_NAMED
    return "; ".join(cells[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def titles_of(workloads: Collection[int | None]) -> tuple[str, ...]:
    """In their order. One query."""
    rows = Workload.objects.filter(pk__in=[pk for pk in workloads if pk is not None])
    return tuple(rows.order_by("title").values_list("title", flat=True))


_RankedWorkloads = Mapping[RequiredCell, Sequence[int | None]]
"""By kind of demand the workloads whose numbers count; each cell is of the first that has it."""


def _sources(
    series_values: Mapping[int, SeriesValues],
    workload_of: Mapping[int, int | None],
    profile: Profile,
    own_workload: int | None,
) -> _RankedWorkloads:
    cells: dict[int | None, set[RequiredCell]] = defaultdict(set)
    measurement_of: dict[int | None, str] = {}
    for pk, series in series_values.items():
        cells[workload_of[pk]].update(series.values)
        measurement_of[workload_of[pk]] = series.measurement
    demands_of: dict[RequiredCell, list[RequiredCell]] = defaultdict(list)
    for demand in profile.demands:
        demands_of[kind_of(demand)].append(demand)
    return {
        kind: put_together(
            workloads,
            demands,
            lambda workload: cells[workload],
            lambda workload: measurement_of[workload],
            lambda workload: (workload == own_workload, -(workload or 0)),
        )
        for kind, demands in demands_of.items()
        if (
            workloads := [workload for workload in cells if not cells[workload].isdisjoint(demands)]
        )
    }


_Values = dict[RequiredCell, dict[str, float]]
_Sources = dict[RequiredCell, dict[str, int]]


def _values(
    runs: Sequence[int],
    facts: Mapping[int, _RunContext],
    series_values: Mapping[int, SeriesValues],
    measures: Mapping[str, Measure],
    sources: _RankedWorkloads,
) -> tuple[_Values, _Sources]:
    """By cell and repeat, of one group; and the run of each. What was measured in another
    dimension, or by a workload that is not of the line, is not there.
    """
    by_cell: dict[RequiredCell, dict[int | None, list[tuple[int, float]]]] = {}
    for run in runs:
        series = series_values.get(facts[run].series)
        for demand, of_runs in series.values.items() if series else ():
            if run not in of_runs or series is None:
                continue
            own_measure = series.measures[demand.test]
            if own_measure.dimension == measures[demand.test].dimension:
                of_cell = by_cell.setdefault(demand, defaultdict(list))
                of_cell[facts[run].workload].append((run, of_runs[run]))
    cells: dict[RequiredCell, list[tuple[int, float]]] = {}
    for demand, of_cell in by_cell.items():
        for workload in sources[kind_of(demand)]:
            if workload in of_cell:
                cells[demand] = of_cell[workload]
                break
    sources_of: dict[int | None, dict[int, str]] = defaultdict(dict)
    for run in sorted({run for pairs in cells.values() for run, _ in pairs}):
        sources_of[facts[run].workload][run] = facts[run].block
    names = repeat_names(
        list(sources_of.values()), [[run for run, _ in pairs] for pairs in cells.values()]
    )
    return (
        {demand: {names[run]: value for run, value in pairs} for demand, pairs in cells.items()},
        {demand: {names[run]: run for run, _ in pairs} for demand, pairs in cells.items()},
    )
