"""How often noise alone makes a change of a line.

    .venv/bin/python -m benchmarks.simulations.trends

Points scatter around a level that never changes, and repeats around their point, in percent, with a
fixed seed. *At once* (no margin): at most 5 of 100 lines of three points or more may change. *After
each run* (a watch): at most one of ten may ever tell of a fall. Exits with 1 otherwise.
"""

import sys
from collections.abc import Iterator

import numpy as np

from fsbench_web.compare.watches import reportable
from fsbench_web.core.stats.changes import changes

SEED = 20_261_127
TRIALS = 1000
WATCHED = 200
MARGIN = 10.0
MOST_PERCENT = 7.1
"""5%, and three standard deviations of chance in TRIALS."""
MOST_WATCHED_PERCENT = 10.0


def line(
    draw: np.random.Generator, points: int, repeats: int, between: float, within: float
) -> list[list[float]]:
    """Values by point; ``between`` and ``within`` are deviations in percent."""
    level = 1 + between / 100 * draw.normal(size=(points, 1))
    values = 1000 * level + 10 * within * draw.normal(size=(points, repeats))
    by_point: list[list[float]] = values.tolist()
    return by_point


def first_alarm(values: list[list[float]], margin: float) -> tuple[int | None, int | None]:
    """After how many runs a watch reported a fall, and a page would have; None: never."""
    of_page = None
    for run, points in enumerate(looks(values), 1):
        falls = [
            change for change, _ in reportable.slowdowns(changes(points, margin), margin, False)
        ]
        if of_page is None and falls:
            of_page = run
        if reportable.significant_changes(falls, points, of_kernels=False):
            return run, of_page
    return None, of_page


def looks(values: list[list[float]]) -> Iterator[list[list[float]]]:
    """The line after each of its runs."""
    for last, point in enumerate(values):
        for repeats in range(1, len(point) + 1):
            yield [*values[:last], point[:repeats]]


def main() -> int:
    draw = np.random.default_rng(SEED)
    is_kept = True
    print("At once: points, repeats of each, scatter between and within: lines with a change")
    for points, repeats, between, within in (
        *((2, 3, 0, 2), (2, 3, 2, 2), (2, 3, 5, 1)),
        *((3, 3, 5, 1), (3, 2, 5, 2), (4, 3, 5, 3), (6, 3, 3, 5)),
        *((10, 1, 5, 0), (10, 3, 3, 3), (40, 1, 5, 0)),
    ):
        false_alarms = sum(
            bool(changes(line(draw, points, repeats, between, within), 0)) for _ in range(TRIALS)
        )
        percent = 100 * false_alarms / TRIALS
        is_promised = points > 2 or between == 0
        is_kept &= percent <= MOST_PERCENT or not is_promised
        note = "" if is_promised else "not promised"
        print(f"  {points:2} x {repeats}, {between}% and {within}%: {percent:5.1f}% {note}")
    print("At once, behind a true step of -30%, margin 10%: lines with another change beside it")
    for points, place, between, within in ((4, 2, 5, 1), (6, 4, 5, 1), (12, 10, 5, 1)):
        others = 0
        for _ in range(TRIALS):
            values = np.array(line(draw, points, 3, between, within))
            values[place:] *= 0.7
            others += any(change.place != place for change in changes(values.tolist(), 10))
        percent = 100 * others / TRIALS
        is_kept &= percent <= MOST_PERCENT
        print(f"  {points:2} x 3, step at {place}, {between}% and {within}%: {percent:5.1f}%")
    print("After each run of 60 points, margin 10%: watches that ever told of a fall")
    for repeats, between, within in ((1, 3, 0), (1, 5, 0), (1, 8, 0), (3, 5, 2), (3, 5, 5)):
        told = [
            first_alarm(line(draw, 60, repeats, between, within), MARGIN) for _ in range(WATCHED)
        ]
        ever, of_page = (
            100 * sum(runs is not None for runs in column) / WATCHED
            for column in zip(*told, strict=True)
        )
        is_kept &= ever <= MOST_WATCHED_PERCENT
        print(
            f"  60 x {repeats}, {between}% and {within}%: {ever:5.1f}%, "
            f"{of_page:5.1f}% at the level of a page"
        )
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
