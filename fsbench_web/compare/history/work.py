"""Work profiles over time: what the runs of one kernel or day come to together."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fsbench_web.compare.selection import profiles
from fsbench_web.core import units
from fsbench_web.core.conversion import Printed
from fsbench_web.core.scoring import categories
from fsbench_web.core.scoring.profiles.combining import NoScore, combined
from fsbench_web.core.scoring.profiles.definition import RATIO, Demand, Profile
from fsbench_web.studies.models import Run
from fsbench_web.studies.scores.cells import TooManyValues
from fsbench_web.studies.scores.profile_values import Measure, SeriesValues, profile_values


def offered(tests: Collection[str], asked: str = "") -> list[str]:
    """The profiles, as categories, all of whose tests a line has: the latest version of each, and
    the one that is ``asked`` for, as watches of an older one do. Two queries at most.
    """
    has = set(tests)
    found = [
        f"{categories.PROFILE}{one.name}" for one in profiles.latest() if has.issuperset(one.tests)
    ]
    if asked and asked not in found:
        older = profile_of(asked)
        if older is not None and asked == f"{categories.PROFILE}{older.name}":
            found += [asked] if has.issuperset(older.tests) else []
    return found


def profile_of(category: str) -> Profile | None:
    """The profile that stands in the place of a category; None of any other."""
    if not category.startswith(categories.PROFILE):
        return None
    return profiles.profile_named(category.removeprefix(categories.PROFILE))


@dataclass(frozen=True)
class Scored:
    """What ``runs`` come to together, and each repeat by itself that has every cell."""

    runs: tuple[int, ...]
    level: float
    of_repeats: Mapping[str, float]

    def against(self, baseline: float) -> "Scored":
        """In multiples of the baseline."""
        repeats = {name: value / baseline for name, value in self.of_repeats.items()}
        return Scored(self.runs, self.level / baseline, repeats)


def scored(
    groups: Mapping[Any, Sequence[int]], tools: Mapping[int, str | None], profile: Profile
) -> tuple[dict[Any, Scored], Printed]:
    """Each group of runs that has every cell, scored as a contender is; and the unit. Five queries.

    Of each cell the mean of the repeats, then the formula of the profile. A repeat is a block of
    runs that were measured beside each other and have each cell once; else each run.
    """
    rows = Run.objects.filter(pk__in=list(tools)).values_list("pk", "series_id", "block")
    facts = {pk: (series, block) for pk, series, block in rows}
    tool_of = {series: tools[pk] or "" for pk, (series, _) in facts.items()}
    try:
        found = profile_values(set(tool_of), profile.demands, tool_of)
    except TooManyValues:
        return {}, (units.RATIO, None)
    measures: dict[str, Measure] = {}
    for series in found.values():
        measures |= series.measures
    lower = {test: one.lower_is_better for test, one in measures.items()}
    of_groups: dict[Any, Scored] = {}
    for name, runs in groups.items():
        values = _values(runs, facts, found, measures)
        try:
            one = combined(profile, values, lower)
        except NoScore:
            continue
        used = {run for run in runs if _has_any(run, facts, found)}
        of_groups[name] = Scored(tuple(sorted(used)), one.level, one.of_repeats)
    if profile.together == RATIO:
        return of_groups, (units.RATIO, None)
    if len({one.dimension for one in measures.values()}) > 1 or not measures:
        return {}, (units.RATIO, None)
    measure = measures.get(profile.tests[0])
    if measure is None:
        return {}, (units.RATIO, None)
    tool = next(iter(tools.values()), None)
    return (
        {name: one.against(measure.factor) for name, one in of_groups.items()},
        (measure.unit, tool),
    )


Facts = Mapping[int, tuple[int, str]]
"""(series, block) by run."""


def _values(
    runs: Sequence[int],
    facts: Facts,
    found: Mapping[int, SeriesValues],
    measures: Mapping[str, Measure],
) -> dict[Demand, dict[str, float]]:
    """By cell and repeat, of one group; what was measured in another dimension is not there."""
    cells: dict[Demand, list[tuple[int, float]]] = {}
    for run in runs:
        series = found.get(facts[run][0])
        for demand, of_runs in series.values.items() if series else ():
            own = series.measures[demand.test] if series else measures[demand.test]
            if run in of_runs and own.dimension == measures[demand.test].dimension:
                cells.setdefault(demand, []).append((run, of_runs[run]))
    twice = {
        block
        for some in cells.values()
        for block, count in Counter(facts[run][1] for run, _ in some).items()
        if count > 1
    }

    def repeat_of(run: int) -> str:
        block = facts[run][1]
        return f"#{run}" if not block or block in twice else block

    return {
        demand: {repeat_of(run): value for run, value in some} for demand, some in cells.items()
    }


def _has_any(run: int, facts: Facts, found: Mapping[int, SeriesValues]) -> bool:
    series = found.get(facts[run][0])
    return series is not None and any(run in of_runs for of_runs in series.values.values())
