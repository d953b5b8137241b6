"""How often noise alone makes a change of a line.

    .venv/bin/python -m benchmarks.simulations.trends

Simulated with a fixed seed: points of a line (kernels, days) whose level never changes. Points
scatter around it, and the repeats of a point around the point, both in percent and normally
distributed. *At once* is a line that is looked at when it is whole, without a margin: at most 5 of
100 may have a change, but of two points, where nothing tells a point from a level. *After each
point* is a watch: whether it ever told of a fall. Exits with 1 where a promise is not kept.
"""

import sys

import numpy as np

from fsbench_web.core.scoring.changes import changes

SEED = 20_261_127
TRIALS = 1000
WATCHED = 200
MOST_PERCENT = 7.1
"""5%, and three standard deviations of chance in TRIALS."""


def line(
    draw: np.random.Generator, points: int, repeats: int, between: float, within: float
) -> list[list[float]]:
    """Values by point; ``between`` and ``within`` are deviations in percent."""
    level = 1 + between / 100 * draw.normal(size=(points, 1))
    values = 1000 * level + 10 * within * draw.normal(size=(points, repeats))
    by_point: list[list[float]] = values.tolist()
    return by_point


def tells_a_fall(values: list[list[float]], margin: float) -> bool:
    """Whether a watch told of one, looking after each further point."""
    return any(
        change.change_percent < 0
        for seen in range(2, len(values) + 1)
        for change in changes(values[:seen], margin)
    )


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
    print("After each of 60 points of one run, margin 10%: watches that ever told of a fall")
    for noise in (3, 5, 8):
        ever = sum(tells_a_fall(line(draw, 60, 1, noise, 0), 10) for _ in range(WATCHED))
        print(f"  scatter {noise}%: {100 * ever / WATCHED:5.1f}%")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
