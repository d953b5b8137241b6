"""Which of the changes of a line are news to somebody who was told of some before. Pure.

A change is known by the point where its new level begins. That point moves: with more runs the most
likely place of one and the same step may turn out to be a kernel earlier or later. So a change is
also old news when a step that was told lies between its neighbours: there is but one step there.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from fsbench_web.core.scoring.changes import Change

BACK_OFF = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
)
MOST_TRIES = len(BACK_OFF) + 1


def slower(
    changes: Sequence[Change], margin_percent: float, lower_is_better: bool
) -> list[tuple[Change, tuple[int, int]]]:
    """The changes to the worse by at least the margin, each with the ends of its two levels.

    ``changes`` are all changes of a line, in its order (scoring.changes): they passed the tests of
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


def unreported(
    slower_changes: Sequence[tuple[Change, tuple[int, int]]],
    names: Sequence[str],
    reported: Mapping[str, float],
    margin_percent: float,
    lower_is_better: bool,
) -> list[Change]:
    """Of ``slower`` changes, those that nobody was told of.

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


def wait_after(tries: int) -> timedelta | None:
    """How long to wait behind that many failed tries; None: give up."""
    return BACK_OFF[tries - 1] if tries < MOST_TRIES else None
