"""Which changes of a line its watch must report. Pure. Method: docs/method.md.

A point of change may move as runs are added: a change near a reported one is not new. Every look
may see a fall in noise, so reports need a smaller p-value than pages show (S. J. Pocock,
Biometrika 64, 1977). ``benchmarks/detection`` measures LEVEL_OF_DAYS.
"""

from collections.abc import Mapping, Sequence

from fsbench_web.core.stats.changes import Change
from fsbench_web.core.stats.verdicts import SLOWER, Verdict

LEVEL = 0.01
"""Of reported changes of kernels; a page shows those from ``core.stats.changes.LEVEL``."""
LEVEL_OF_DAYS = 0.0001
"""A year has 365 looks at days, and a few at kernels."""
LEAST_POINTS = 3
LEAST_REPEATS = 2
"""Of a single kernel that is reported."""
# What rounds say that measure a change again.
CONFIRMED = "slower"  # significantly, and the interval reaches the margin
LESS = "less_than_limit"  # the interval excludes a fall as large as the margin
INCONCLUSIVE = "inconclusive"


def slowdowns(
    changes: Sequence[Change], margin_percent: float, lower_is_better: bool
) -> list[tuple[Change, tuple[int, int]]]:
    """The changes to the worse by the margin, each with the places of its neighbours.

    The margin is between neighbouring levels. Without a neighbour: -1, or a place beyond the line.
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
    """Of ``slowdowns``, those that were not reported.

    ``names``: the points of the line. ``reported``: levels by the point where a change began. Each
    reported change stands for one found: at its point, else the nearest between its neighbours,
    unless that one is worse by the margin.
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
    """The changes that may be reported; ``points`` are the repeats of each.

    A second day has to confirm a change, and as many make the level before it: a spike on the first
    day of a line is no level. Repeats confirm the newest kernel.
    """
    if len(points) < LEAST_POINTS:
        return []
    if of_kernels:
        return [
            change
            for change in changes
            if change.p_value < LEVEL
            and (change.is_confirmed or len(points[change.place]) >= LEAST_REPEATS)
        ]
    return [
        change
        for change in changes
        if change.p_value < LEVEL_OF_DAYS and min(change.place, change.points) >= change.needed
    ]


def outcome_of(verdict: Verdict, margin_percent: float, lower_is_better: bool) -> str:
    """What rounds say of a change: CONFIRMED, LESS or INCONCLUSIVE.

    ``verdict``: new relative to old, in speed; the margin is of the value.
    ``benchmarks/simulations/confirming.py`` measures how often each is wrong.
    """
    share = margin_percent / 100
    limit = 1 / (1 + share) if lower_is_better else 1 - share
    if verdict.ratio_low is not None and verdict.ratio_low > limit:
        return LESS
    return CONFIRMED if verdict.direction == SLOWER else INCONCLUSIVE
