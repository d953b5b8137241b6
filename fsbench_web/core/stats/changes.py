"""Where a line of measurements over kernels or dates changes its level. Pure.

Method and sources: docs/method.md#a-line-over-time. ``benchmarks/simulations/trends.py`` simulates
how often noise makes a change; ``benchmarks/detection`` scores the rule on labelled series.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, frexp, fsum, isfinite, ldexp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from fsbench_web.core.distributions import stdtr
from fsbench_web.core.stats.verdicts import (
    EQUIVALENCE_PERCENT,
    UNPAIRED,
    Verdict,
    decided,
    estimated,
)

LEVEL = 0.05
LEAST_VALUES = 4
LEAST_OF_A_PART = 3
"""Fewest points on one side of a change that are searched for further changes."""
LEAST_AFTER = 2
"""Points of a level that confirm it."""

LEAST_OVERLAPPING = 5
"""The same of a level that points of the one before reach."""

NEIGHBOURS = 3
"""Points on each side that a spike is set against."""
LEAST_NEIGHBOURS = 4
SPIKE_DEVIATIONS = 5.0
MOST_SPIKES = 0.1
"""A larger share of the points are no spikes: the line scatters so."""
CHANCE_RUNS = 0.01
_MAD = 1.4826  # standard deviations in a median absolute deviation of normal values

LEAST_OF_A_MODE = 0.1
LEAST_SWITCHES = 5
MODE_DEVIATIONS = 4.0
"""Between two modes, in deviations within them; halves of one normal mode are 2.7 apart."""
_ROUNDING = 1e-9
"""What binary rounding makes of a mean at most."""


@dataclass(frozen=True)
class Change:
    """The levels around point ``place``, up to the next steps; a corrected ``p_value``.

    ``points``: how many points the new level has; ``needed``: how many confirm it.
    """

    place: int
    before: float
    after: float
    change_percent: float
    p_value: float
    points: int = LEAST_AFTER
    needed: int = LEAST_AFTER

    @property
    def is_confirmed(self) -> bool:
        return self.points >= self.needed


@dataclass(frozen=True)
class Modes:
    """Two levels between which a line switches, ``switches`` times."""

    low: float
    high: float
    switches: int


@dataclass(frozen=True)
class Levels:
    """The significant steps of a line. ``spikes``: places of lone points, which are no steps.

    ``modes``: of a bimodal line; its switches are no steps.
    """

    steps: tuple[Change, ...] = ()
    spikes: tuple[int, ...] = ()
    modes: Modes | None = None

    def changes(self, margin_percent: float) -> list[Change]:
        """The steps between levels that differ by the margin or more."""
        return [step for step in self.steps if abs(step.change_percent) >= margin_percent]


def changes(points: Sequence[Sequence[float]], margin_percent: float = 10.0) -> list[Change]:
    """The changes of a line by at least the margin; ``points`` are the repeats of each place."""
    return levels(points).changes(margin_percent)


def levels(points: Sequence[Sequence[float]]) -> Levels:
    """The levels of a line; ``points`` are the repeats of each place, finite numbers."""
    if not all(points) or not all(isfinite(value) for point in points for value in point):
        raise ValueError("a point without values, or a value that is not a finite number")
    # By a power of two, which is exact: squares of very large or small values vanish.
    exponent = frexp(max((abs(value) for point in points for value in point), default=0.0))[1]
    found = _scaled_levels([[ldexp(value, -exponent) for value in point] for point in points])

    def unscaled(value: float) -> float:
        return ldexp(value, exponent)

    modes = found.modes
    return Levels(
        tuple(
            replace(step, before=unscaled(step.before), after=unscaled(step.after))
            for step in found.steps
        ),
        found.spikes,
        modes and replace(modes, low=unscaled(modes.low), high=unscaled(modes.high)),
    )


def _scaled_levels(points: Sequence[Sequence[float]]) -> Levels:
    means = np.array([fsum(point) / len(point) for point in points])
    modes = _modes(means)
    spikes = set() if modes else _spikes(means)
    while True:
        kept = [place for place in range(len(points)) if place not in spikes]
        steps = _steps_of([points[place] for place in kept], means[kept], modes)
        lone = _there_and_back(steps)
        if not lone:
            needed = _confirming(len(spikes), len(points))
            placed = tuple(
                replace(step, place=kept[step.place], needed=max(step.needed, needed))
                for step in steps
            )
            return Levels(placed, tuple(sorted(spikes)), modes)
        spikes |= {kept[place] for place in lone}


def _confirming(spikes: int, count: int) -> int:
    """How many points in a row are no chance run of spikes, in all but CHANCE_RUNS of lines."""
    if not spikes:
        return LEAST_AFTER
    return max(LEAST_AFTER + 1, ceil(log(CHANCE_RUNS / count) / log(spikes / count)))


def _steps_of(
    points: Sequence[Sequence[float]], means: NDArray[np.float64], modes: Modes | None
) -> list[Change]:
    """The steps of a line without its spikes, with the levels between neighbouring steps."""
    if len(points) < 2:
        return []
    line = _Line(points, means, modes)
    steps: list[Change] = []
    _find_steps(line, 0, len(points), steps)
    steps.sort(key=lambda step: step.place)
    return _with_levels(line.means, steps)


def _there_and_back(steps: Sequence[Change]) -> list[int]:
    """The places of single points between a step and one the other way."""
    return [
        step.place
        for step, following in pairwise(steps)
        if following.place - step.place == 1
        and (step.after > step.before) != (following.after > following.before)
    ]


def newest_against_level(
    points: Sequence[Sequence[float]], found: Levels, *, lower_is_better: bool
) -> tuple[int, Verdict] | None:
    """The speed of the newest point relative to the level before it, and that level's points.

    The interval is that of one further point (G. J. Hahn and W. Q. Meeker, Statistical Intervals,
    1991), or of its repeats if wider. None for fewer than two points and for values not above zero.
    """
    newest = len(points) - 1
    steps = found.changes(EQUIVALENCE_PERCENT)
    start = max((step.place for step in steps if step.place < newest), default=0)
    before = [points[place] for place in range(start, newest) if place not in found.spikes]
    count = len(before)
    if count < LEAST_AFTER or any(value <= 0 for point in (*before, points[-1]) for value in point):
        return None
    logs = [log(fsum(point) / len(point)) for point in before]
    centre = fsum(logs) / count
    between = sqrt(fsum((value - centre) ** 2 for value in logs) / (count - 1))
    sign = -1.0 if lower_is_better else 1.0
    difference = sign * (log(fsum(points[-1]) / len(points[-1])) - centre)
    errors = [(between * sqrt(1 + 1 / count), float(count - 1))]
    squares, freedom = _within([*before, points[-1]])
    if freedom:
        share = 1 / len(points[-1]) + fsum(1 / len(point) for point in before) / count**2
        errors.append((sqrt(squares / freedom * share), float(freedom)))
    verdicts = [estimated(difference, *error, EQUIVALENCE_PERCENT) for error in errors]
    widest = max(verdicts, key=lambda verdict: verdict.ratio_high or 0.0)
    return count, decided(widest._replace(method=UNPAIRED))


def _within(points: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The squared deviations of logarithms within points, and their degrees of freedom."""
    squares, freedom = 0.0, 0
    for point in points:
        logs = [log(value) for value in point]
        centre = fsum(logs) / len(logs)
        squares += fsum((value - centre) ** 2 for value in logs)
        freedom += len(logs) - 1
    return squares, freedom


class _Line:
    """Sums up to each place of a line, so that each place takes constant time."""

    def __init__(
        self, points: Sequence[Sequence[float]], means: NDArray[np.float64], modes: Modes | None
    ) -> None:
        """``modes`` are taken out of the means."""
        self.means = _without_modes(means, modes)
        self.centre = float(np.median(self.means))
        self.scale = float(np.max(np.abs(self.means)))
        centred = self.means - self.centre
        squares = [
            fsum((value - mean) ** 2 for value in point) if len(point) > 1 else 0.0
            for point, mean in zip(points, means.tolist(), strict=True)
        ]
        counts = np.array([len(point) for point in points], dtype=float)
        self.sums, self.squares, self.within, self.freedom, self.shares = (
            np.concatenate(([0.0], np.cumsum(column)))
            for column in (centred, centred**2, squares, counts - 1, 1 / counts)
        )

    def best_step(self, start: int, end: int) -> Change | None:
        """The most significant step among points ``start`` to ``end``; p not corrected.

        None where nothing says how large the noise is.
        """
        size = end - start
        left = np.arange(1, size)
        right = size - left
        middle = start + left
        before = (self.sums[middle] - self.sums[start]) / left
        after = (self.sums[end] - self.sums[middle]) / right
        difference = np.abs(after - before)
        difference[difference <= _ROUNDING * self.scale] = 0.0
        p_values = np.full(left.size, -1.0)
        freedom = self.freedom[end] - self.freedom[start]
        if freedom > 0:
            # A mean of points: of each the mean of its repeats has its own error.
            shares = (self.shares[middle] - self.shares[start]) / left**2
            shares = shares + (self.shares[end] - self.shares[middle]) / right**2
            variance = max(0.0, (self.within[end] - self.within[start]) / freedom)
            p_values = _p_values(difference, variance * shares, freedom)
        if size > 2:
            squares = self.squares[end] - self.squares[start]
            between = np.maximum(0.0, squares - left * before**2 - right * after**2)
            between[between <= (_ROUNDING * self.scale) ** 2] = 0.0
            error2 = between / (size - 2) * (1 / left + 1 / right)
            p_values = np.maximum(p_values, _p_values(difference, error2, size - 2))
        old, new = before + self.centre, after + self.centre
        p_values[(p_values < 0) | (old == 0)] = 2.0
        # Of places whose p-values both vanish, the one with the larger step.
        best = int(np.lexsort((-difference * np.sqrt(left * right), p_values))[0])
        if p_values[best] > 1:
            return None
        levels_there = float(old[best]), float(new[best])
        percent = 100.0 * (levels_there[1] - levels_there[0]) / abs(levels_there[0])
        p_value = float(p_values[best])
        return Change(start + int(left[best]), *levels_there, percent, p_value)

    def values(self, start: int, end: int) -> int:
        return int(self.freedom[end] - self.freedom[start]) + end - start


def _find_steps(line: _Line, start: int, end: int, steps: list[Change]) -> None:
    """Add the steps between points ``start`` and ``end``: the best, then those of both sides."""
    if line.values(start, end) < LEAST_VALUES:
        return
    best = line.best_step(start, end)
    if best is None:
        return
    p_value = min(1.0, best.p_value * (end - start - 1))
    if p_value >= LEVEL:
        return
    steps.append(replace(best, p_value=p_value))
    for side_start, side_end in ((start, best.place), (best.place, end)):
        if side_end - side_start >= LEAST_OF_A_PART:
            _find_steps(line, side_start, side_end, steps)


def _p_values(
    difference: NDArray[np.float64], error2: NDArray[np.float64], freedom: float
) -> NDArray[np.float64]:
    """Of Student's t, two-sided; ``error2`` are the variances of ``difference``."""
    is_still = error2 == 0
    t = difference / np.sqrt(np.where(is_still, 1.0, error2))
    still = np.where(difference == 0, 1.0, 0.0)
    p_values: NDArray[np.float64] = np.where(is_still, still, 2 * stdtr(freedom, -t))
    return p_values


def _with_levels(means: NDArray[np.float64], steps: Sequence[Change]) -> list[Change]:
    """The steps with the levels between neighbouring ones, not those of whole sides."""
    bounds = [0, *(step.place for step in steps), len(means)]
    parts = [means[start:end].tolist() for start, end in pairwise(bounds)]
    averages = [fsum(part) / len(part) for part in parts]
    return [
        Change(
            step.place,
            before,
            after,
            100.0 * (after - before) / abs(before) if before else step.change_percent,
            step.p_value,
            len(part),
            LEAST_AFTER if not min(old) <= after <= max(old) else LEAST_OVERLAPPING,
        )
        for step, before, after, old, part in zip(
            steps, averages, averages[1:], parts, parts[1:], strict=False
        )
    ]


def _spikes(means: NDArray[np.float64]) -> set[int]:
    """The places of lone points far from the median of their neighbours; the ends are none.

    The scale is that of all such distances: F. R. Hampel, J. Am. Stat. Assoc. 69 (1974).
    """
    count = len(means)
    if count < LEAST_NEIGHBOURS + 1:
        return set()
    centres = _medians_around(means)
    distances = means - centres
    deviation = max(_MAD * float(np.median(np.abs(distances))), _ROUNDING * float(np.max(means)))
    found = []
    for place in np.flatnonzero(np.abs(distances) > SPIKE_DEVIATIONS * deviation).tolist():
        neighbours = min(place, NEIGHBOURS) + min(count - 1 - place, NEIGHBOURS)
        if place in (0, count - 1) or neighbours < LEAST_NEIGHBOURS:
            continue
        beside = np.array([means[place - 1], means[place + 1]]) - centres[place]
        if not np.any(beside * np.sign(distances[place]) > abs(distances[place]) / 2):
            found.append(place)
    return set(found) if len(found) <= max(1, MOST_SPIKES * count) else set()


def _medians_around(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each point the median of up to NEIGHBOURS points on each side, without itself."""
    padded = np.concatenate(([np.nan] * NEIGHBOURS, means, [np.nan] * NEIGHBOURS))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * NEIGHBOURS + 1)
    others = np.sort(np.delete(windows, NEIGHBOURS, axis=1), axis=1)  # NaN last
    known = np.count_nonzero(~np.isnan(others), axis=1)
    places = np.arange(len(means))
    return (others[places, (known - 1) // 2] + others[places, known // 2]) / 2


def _modes(means: NDArray[np.float64]) -> Modes | None:
    """The two modes between which a line switches, parted where the squares within are least."""
    count = len(means)
    least = max(LEAST_OF_A_PART, int(np.ceil(LEAST_OF_A_MODE * count)))
    if count < 2 * least or count <= LEAST_SWITCHES:
        return None
    ordered = np.sort(means) - np.median(means)
    sizes = np.arange(least, count - least + 1)
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    explained = sums[sizes] ** 2 / sizes + (sums[-1] - sums[sizes]) ** 2 / (count - sizes)
    size = int(sizes[np.argmax(explained)])
    border = np.sort(means)[size - 1 : size + 1]
    is_high = means > border[0]
    low, high = means[~is_high], means[is_high]
    switches = int(np.count_nonzero(is_high[1:] != is_high[:-1]))
    if len(low) < least or len(high) < least or switches < LEAST_SWITCHES:
        return None
    spread = sqrt((float(np.var(low)) + float(np.var(high))) / 2)
    if float(np.mean(high) - np.mean(low)) <= MODE_DEVIATIONS * spread:
        return None
    return Modes(float(np.mean(low)), float(np.mean(high)), switches)


def _without_modes(means: NDArray[np.float64], modes: Modes | None) -> NDArray[np.float64]:
    """Each mean as far from the line's mean as from the mean of its mode."""
    if modes is None:
        return means
    is_high = means > (modes.low + modes.high) / 2
    return means - np.where(is_high, modes.high, modes.low) + float(np.mean(means))
