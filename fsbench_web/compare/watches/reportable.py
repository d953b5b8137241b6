"""Which of the changes of a line are news to somebody who was told of some before. Pure.

A change is known by the point where its new level begins. That point moves: with more runs the most
likely place of one and the same step may turn out to be a kernel earlier or later. So a change is
also old news when a step that was told lies between its neighbours: there is but one step there.

A line is looked at after each further point, and whoever looks at noise often enough sees a fall in
it: what is told has to be surer than what a page shows (P. Armitage, C. K. McPherson and B. C.
Rowe, *Repeated significance tests on accumulating data*, JRSS A 132, 1969; one smaller level for
all looks: S. J. Pocock, Biometrika 64, 1977). Of two points nothing is told, because there the
repeats alone say how large the noise is, and not what one evening differs from the next by.
``benchmarks/simulations/trends.py`` shows what LEVEL is worth: in 60 evenings a level that never
changed is told to have fallen in 2 to 9 of 100 watches (4 to 40 at the level of a page), and half
of true falls are told at most one run later.
"""

from collections.abc import Mapping, Sequence

from fsbench_web.core.stats.changes import Change

LEVEL = 0.01
"""Of what is told; a page shows changes from ``core.stats.changes.LEVEL``."""
LEAST_POINTS = 3


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
            and not _is_worse(change.after, level, margin_percent, lower_is_better)
        ]
        if nearby_places:
            taken.add(min(nearby_places, key=lambda other: (abs(other - place), other)))
    return [change for change, _ in slower_changes if change.place not in taken]


def _is_worse(after: float, level: float, margin_percent: float, lower_is_better: bool) -> bool:
    difference = after - level if lower_is_better else level - after
    return difference > 0 and 100 * difference >= margin_percent * abs(level)


def significant_changes(changes: Sequence[Change], points: int) -> list[Change]:
    """Of the changes of a line of so many points, those that may be told."""
    if points < LEAST_POINTS:
        return []
    return [change for change in changes if change.p_value < LEVEL]
