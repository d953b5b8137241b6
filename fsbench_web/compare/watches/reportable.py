"""Which of the changes of a line are news to somebody who was told of some before. Pure.

A change is known by the point where its new level begins. That point moves: with more runs the most
likely place of one and the same step may turn out to be a kernel earlier or later. So a change is
also old news when a step that was told lies between its neighbours: there is but one step there.

A line is looked at after each further point, and who looks often enough sees a fall in noise: what
is told has to be more significant than what a page shows (P. Armitage, C. K. McPherson and B. C.
Rowe, JRSS A 132, 1969; one smaller level for all looks: S. J. Pocock, Biometrika 64, 1977). Two
points tell nothing: how much one evening differs from the next is not in their repeats.
``benchmarks/detection`` shows what LEVEL_OF_DAYS is worth.
"""

from collections.abc import Mapping, Sequence

from fsbench_web.core.stats.changes import Change
from fsbench_web.core.stats.verdicts import SLOWER, Verdict

LEVEL = 0.01
"""Of what is told of kernels; a page shows changes from ``core.stats.changes.LEVEL``."""
LEVEL_OF_DAYS = 0.0001
"""A year has 365 looks at days, and a few at kernels."""
LEAST_POINTS = 3
LEAST_REPEATS = 2
"""Of a single kernel that is told of."""
# What rounds say that measure a change again.
CONFIRMED = "slower"  # significantly, and the interval reaches the margin
LESS = "less_than_limit"  # the interval excludes a fall as large as the margin
INCONCLUSIVE = "inconclusive"


def slowdowns(
    changes: Sequence[Change], margin_percent: float, lower_is_better: bool
) -> list[tuple[Change, tuple[int, int]]]:
    """The changes to the worse by at least the margin, each with the ends of its two levels.

    ``changes`` are all changes of a line, in its order (stats.changes): they passed the tests of
    noise and margin between whole sides of the line; what is told is the difference between the
    levels next to each other, so that this has to reach the margin too. The ends are the places of
    the change before it and of the one behind it; -1 and a place beyond the line where there is
    none.
    """
    places = [-1, *(change.place for change in changes), 1 << 30]
    return [
        (change, (places[number], places[number + 2]))
        for number, change in enumerate(changes)
        if abs(change.change_percent) >= margin_percent
        and (change.change_percent > 0) == lower_is_better
    ]


def unreported_changes(
    slower_changes: Sequence[tuple[Change, tuple[int, int]]],
    names: Sequence[str],
    reported: Mapping[str, float],
    margin_percent: float,
    lower_is_better: bool,
) -> list[Change]:
    """Of ``slowdowns``, those that nobody was told of.

    ``names`` are the points of the line; ``reported`` has the points at which told changes began,
    with the levels they led to. Each told change stands for one found change: the one at its own
    point, else the nearest of those between whose neighbours it lies, unless that leads to a level
    which is worse by the margin than what was told.
    """
    exact = {change.place for change, _ in slower_changes if names[change.place] in reported}
    moved = [place for place, name in enumerate(names) if name in reported and place not in exact]
    taken = set(exact)
    for place in moved:
        level = reported[names[place]]
        nearby_places = [
            change.place
            for change, (start, end) in slower_changes
            if start < place < end
            and change.place not in taken
            and not is_worse(change.after, level, margin_percent, lower_is_better)
        ]
        if nearby_places:
            taken.add(min(nearby_places, key=lambda other: (abs(other - place), other)))
    return [change for change, _ in slower_changes if change.place not in taken]


def is_worse(after: float, level: float, margin_percent: float, lower_is_better: bool) -> bool:
    """Whether a level is worse than another one by the margin."""
    difference = after - level if lower_is_better else level - after
    return difference > 0 and 100 * difference >= margin_percent * abs(level)


def significant_changes(
    changes: Sequence[Change], points: Sequence[Sequence[float]], *, of_kernels: bool
) -> list[Change]:
    """Of the changes of a line, those that may be told; ``points`` are the repeats of each.

    A second day has to confirm a change. A kernel may have no second point: its repeats do.
    """
    if len(points) < LEAST_POINTS:
        return []
    level = LEVEL if of_kernels else LEVEL_OF_DAYS
    return [
        change
        for change in changes
        if change.p_value < level
        and (change.is_confirmed or (of_kernels and len(points[change.place]) >= LEAST_REPEATS))
    ]


def outcome_of(verdict: Verdict, margin_percent: float, lower_is_better: bool) -> str:
    """What rounds say of a change: CONFIRMED, LESS or INCONCLUSIVE.

    ``verdict`` is of new against old. The margin is of the measured value, the ratio of speeds.
    ``benchmarks/simulations/confirming.py`` shows how often each is wrong.
    """
    share = margin_percent / 100
    limit = 1 / (1 + share) if lower_is_better else 1 - share
    if verdict.ratio_low is not None and verdict.ratio_low > limit:
        return LESS
    return CONFIRMED if verdict.direction == SLOWER else INCONCLUSIVE
