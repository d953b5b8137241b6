"""Where a line of measurements over kernels or dates changes its level. Pure.

Binary segmentation: the place with the smallest p-value of Student's t-test between the means of
its sides is a step if significant, and a change if the means differ by ``margin_percent`` too. Both
sides of a step are searched again; a step below the margin still parts the line.

A side is tested with the scatter within points and with the scatter between points, both pooled
over the sides. The larger p-value counts (R. L. Berger, Technometrics 24, 1982), times the places
tried (Bonferroni). Two points have the scatter of repeats alone. Fewer than four values have no
step. ``benchmarks/simulations/trends.py`` simulates how often noise makes one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, isfinite, sqrt

from fsbench_web.core.distributions import stdtr

LEVEL = 0.05
LEAST_VALUES = 4
LEAST_OF_A_PART = 3
"""Points that are looked at once more beside a change."""


@dataclass(frozen=True)
class Change:
    """The levels around point ``place`` (from 0), up to the next steps; a corrected ``p_value``."""

    place: int
    before: float
    after: float
    change_percent: float
    p_value: float


def changes(
    points: Sequence[Sequence[float]], margin_percent: float = 10.0, level: float = LEVEL
) -> list[Change]:
    """The changes of a line, in its order; ``points`` are the repeats of each place.

    Raises ValueError for a value that is not finite or a point without values.
    """
    if not all(points) or not all(isfinite(value) for point in points for value in point):
        raise ValueError("a point without values, or a value that is not a finite number")
    steps: list[Change] = []
    if len(points) > 1:
        _part(points, 0, level, steps)
    steps.sort(key=lambda step: step.place)
    return [
        with_levels
        for step, with_levels in zip(steps, _with_levels(points, steps), strict=True)
        if abs(step.change_percent) >= margin_percent
    ]


def _part(
    points: Sequence[Sequence[float]], offset: int, level: float, steps: list[Change]
) -> None:
    """Add the steps of a part of a line, which begins at point ``offset``."""
    if sum(map(len, points)) < LEAST_VALUES:
        return
    best: Change | None = None
    for place in range(1, len(points)):
        comparison = _tested(points[:place], points[place:])
        if comparison is None:
            continue
        before, after, p_value = comparison
        if before and (best is None or p_value < best.p_value):
            percent = 100.0 * (after - before) / abs(before)
            best = Change(place, before, after, percent, p_value)
    if best is None:
        return
    p_value = min(1.0, best.p_value * (len(points) - 1))
    if p_value >= level:
        return
    steps.append(Change(offset + best.place, best.before, best.after, best.change_percent, p_value))
    for start, part in ((0, points[: best.place]), (best.place, points[best.place :])):
        if len(part) >= LEAST_OF_A_PART:
            _part(part, offset + start, level, steps)


def _tested(
    left: Sequence[Sequence[float]], right: Sequence[Sequence[float]]
) -> tuple[float, float, float] | None:
    """Mean before and after, and the p-value; None where nothing says how large the noise is."""
    before, after = _mean(left), _mean(right)
    difference = abs(after - before)
    p_values: list[float] = []
    repeats = [point for point in (*left, *right) if len(point) > 1]
    if repeats:
        freedom = sum(len(point) - 1 for point in repeats)
        within = fsum(
            (value - fsum(point) / len(point)) ** 2 for point in repeats for value in point
        )
        # A mean of points: of each the mean of its repeats has its own error.
        shares = fsum(
            fsum(1 / len(point) for point in side) / len(side) ** 2 for side in (left, right)
        )
        p_values.append(_p_value(difference, within / freedom * shares, freedom))
    freedom = len(left) + len(right) - 2
    if freedom > 0:
        between = fsum(
            (fsum(point) / len(point) - mean) ** 2
            for side, mean in ((left, before), (right, after))
            for point in side
        )
        error2 = between / freedom * (1 / len(left) + 1 / len(right))
        p_values.append(_p_value(difference, error2, freedom))
    return (before, after, max(p_values)) if p_values else None


def _p_value(difference: float, error2: float, freedom: int) -> float:
    """Of Student's t, two-sided; ``error2`` is the variance of ``difference``."""
    if error2 == 0:
        return 1.0 if difference == 0 else 0.0
    return 2 * float(stdtr(freedom, -difference / sqrt(error2)))


def _mean(points: Sequence[Sequence[float]]) -> float:
    return fsum(fsum(point) / len(point) for point in points) / len(points)


def _with_levels(points: Sequence[Sequence[float]], steps: Sequence[Change]) -> list[Change]:
    """The steps with the levels between neighbouring steps, not those of whole sides."""
    bounds = [0, *(step.place for step in steps), len(points)]
    levels = [_mean(points[start:end]) for start, end in pairwise(bounds) if start < end]
    return [
        Change(
            step.place,
            before,
            after,
            100.0 * (after - before) / abs(before) if before else step.change_percent,
            step.p_value,
        )
        for step, before, after in zip(steps, levels, levels[1:], strict=False)
    ]
