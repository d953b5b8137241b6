"""Work profiles over time: what each run of a line comes to by itself."""

from collections.abc import Collection, Mapping

from fsbench_web.compare.selection import profiles
from fsbench_web.core import units
from fsbench_web.core.conversion import Printed
from fsbench_web.core.scoring import categories
from fsbench_web.core.scoring.profiles.combining import NoScore, combined
from fsbench_web.core.scoring.profiles.definition import RATIO, Profile
from fsbench_web.studies.models import Run
from fsbench_web.studies.scores.cells import TooManyValues
from fsbench_web.studies.scores.profile_values import SeriesValues, profile_values


def offered(tests: Collection[str]) -> list[str]:
    """The profiles, as categories, all of whose tests a line has. One query."""
    has = set(tests)
    return [
        f"{categories.PROFILE}{one.name}" for one in profiles.latest() if has.issuperset(one.tests)
    ]


def profile_of(category: str) -> Profile | None:
    """The profile that stands in the place of a category; None of any other."""
    if not category.startswith(categories.PROFILE):
        return None
    return profiles.profile_named(category.removeprefix(categories.PROFILE))


def scores_of_runs(
    runs: Mapping[int, str | None], profile: Profile
) -> tuple[dict[int, float], dict[int, Printed]]:
    """The score of each run that has every cell, and its unit. Four queries.

    ``runs`` are in order, newest first, with their tools. Ratios are to the oldest of them: what
    is told of a line are changes, which no baseline changes.
    """
    series_of = dict(Run.objects.filter(pk__in=list(runs)).values_list("pk", "series_id"))
    tools = {series: runs[pk] or "" for pk, series in series_of.items()}
    try:
        found = profile_values(set(series_of.values()), profile.demands, tools)
    except TooManyValues:
        return {}, {}
    levels: dict[int, float] = {}
    for pk, series_id in series_of.items():
        values = found.get(series_id)
        level = _level(pk, values, profile) if values is not None else None
        if level is not None:
            levels[pk] = level
    if not levels:
        return {}, {}
    if profile.together == RATIO:
        first = levels[next(pk for pk in reversed(list(runs)) if pk in levels)]
        return (
            {pk: level / first for pk, level in levels.items()},
            dict.fromkeys(levels, (units.RATIO, None)),
        )
    test = profile.tests[0]
    measures = {pk: found[series_of[pk]].measures[test] for pk in levels}
    return (
        {pk: level / measures[pk].factor for pk, level in levels.items()},
        {pk: (measures[pk].unit, runs[pk]) for pk in levels},
    )


def _level(run_id: int, values: SeriesValues, profile: Profile) -> float | None:
    own = {
        demand: {"": of_runs[run_id]}
        for demand, of_runs in values.values.items()
        if run_id in of_runs
    }
    lower = {test: one.lower_is_better for test, one in values.measures.items()}
    dimensions = {one.dimension for one in values.measures.values()}
    if profile.together != RATIO and len(dimensions) > 1:
        return None
    try:
        return combined(profile, own, lower).level
    except NoScore:
        return None
