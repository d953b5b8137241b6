"""Flags of a number among others: outlying repeats, and a best case that stands alone. Pure.

Numbers come as columns of equal length: the run each is of (any integers), sizes in KB (a negative
one: no size), and values. Answers are masks over them. What is not a positive finite number is
never flagged and counts for nothing.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fsbench_web.core.distributions import stdtrit
from fsbench_web.core.scoring.quality_cells import Mask, Numbers

Whole = npt.NDArray[np.int64]

LEAST_REPEATS = 4
"""Of three, Grubbs' test at 1% flags one that is 230 deviations of the other two away: never."""
OUTLIER_LEVEL = 0.01
OUTLIERS_OF = 4
"""At most one of so many repeats is an outlier; of two out of five nobody knows which."""
MOST_OUTLIERS = 10
MOST_DECIMALS = 6
SPIKE_RATIO = 1.5
LEAST_NEIGHBOURS = 2
LEAST_CELLS = 8


def outliers(records: Whole, files: Whole, values: Numbers, cells: Whole | None = None) -> Mask:
    """Values far from the other repeats of their cell, by the scatter of these repeats.

    The generalized ESD test at 1% for each cell, for up to a quarter of its repeats; for 4 to 7
    repeats this is Grubbs' test. Sources: B. Rosner, Technometrics 25, 1983; F. E. Grubbs, Ann.
    Math. Stat. 21, 1950. The deviation includes the rounding to the last digit, so that 12, 12, 12,
    12, 13 has no outlier. Limit: with four repeats only a value 23 deviations of the other three
    away is found. ``cells``: the number of each value's cell, where known (``cells_of``).
    """
    positions = np.flatnonzero(np.isfinite(values) & (values > 0))
    flagged = np.zeros(len(values), dtype=np.bool_)
    if len(positions) < LEAST_REPEATS:
        return flagged
    x = values[positions]
    cell, counts = _cells_at(positions, records, files, cells)
    enough = counts[cell] >= LEAST_REPEATS
    positions, x, cell = positions[enough], x[enough], cell[enough]
    if not len(positions):
        return flagged
    rounding = _steps(cell, x, len(counts)) ** 2 / 12
    is_left = np.ones(len(x), dtype=np.bool_)
    left_in = np.zeros(len(x), dtype=np.int64)
    last_round = np.zeros(len(counts), dtype=np.int64)
    for this_round in range(1, MOST_OUTLIERS + 1):
        n = np.bincount(cell[is_left], minlength=len(counts))
        mean = np.bincount(cell, np.where(is_left, x, 0.0), len(counts)) / np.maximum(n, 1)
        off = np.where(is_left, np.abs(x - mean[cell]), 0.0)
        variance = np.bincount(cell, off * off, len(counts)) / np.maximum(n - 1, 1) + rounding
        farthest = np.zeros(len(counts))
        np.maximum.at(farthest, cell, off)
        # Values of one distance leave together: nothing but their order would choose among them.
        leaves = is_left & (off > 0) & (off >= farthest[cell] * (1 - 1e-9))
        gone = counts - n + np.bincount(cell[leaves], minlength=len(counts))
        has_room = gone <= counts // OUTLIERS_OF
        leaves &= has_room[cell]
        if not leaves.any():
            break
        left_in[leaves] = this_round
        is_left &= ~leaves
        last_round[has_room & (farthest > _critical_distance(n) * np.sqrt(variance))] = this_round
    flagged[positions] = (left_in > 0) & (left_in <= last_round[cell])
    return flagged


def _critical_distance(n: Whole) -> Numbers:
    """How many deviations the farthest of ``n`` values may be from their mean, at 1%."""
    freedom = np.maximum(n - 2, 1)
    t = stdtrit(freedom, 1 - OUTLIER_LEVEL / (2 * np.maximum(n, 3)))
    return np.asarray((n - 1) * t / np.sqrt((freedom + t * t) * np.maximum(n, 1)))


def _steps(cell: Whole, values: Numbers, cells: int) -> Numbers:
    """The place of the last decimal that any value of each cell has: 0.1 of 2.5 and 3."""
    decimals = np.zeros(cells, dtype=np.int64)
    for place in range(MOST_DECIMALS):
        scaled = values * 10.0**place
        decimals[cell[np.abs(scaled - np.rint(scaled)) > 1e-14 * scaled]] = place + 1
    return np.asarray(10.0**-decimals)


def spikes(
    runs: Whole, records: Whole, files: Whole, values: Numbers, lower_is_better: bool = False
) -> Mask:
    """The best value of each run where it is a lone spike rather than a plateau.

    It is when it is more than 1.5 times the best of its neighbours: the up to eight cells of the
    same run that are next in record size, in file size, or in both, among the sizes that the run
    has. It takes two neighbours that were measured, and eight cells: a smaller matrix has no room
    for a plateau. A best that two cells share is no lone one.
    Where less is better the reciprocals are compared. Source: the definition is fsbench's own.
    """
    flagged = np.zeros(len(values), dtype=np.bool_)
    sized = (records >= 0) & (files >= 0) & np.isfinite(values) & (values > 0)
    positions = np.flatnonzero(sized)
    if not len(positions):
        return flagged
    positions = positions[np.argsort(runs[positions], kind="stable")]
    starts = np.flatnonzero(np.diff(runs[positions], prepend=runs[positions[0]] - 1))
    counts = np.diff(starts, append=len(positions))
    speed = 1.0 / values[positions] if lower_is_better else values[positions]
    is_best = speed == np.repeat(np.maximum.reduceat(speed, starts), counts)
    is_lone = (counts >= LEAST_CELLS) & (np.add.reduceat(is_best.astype(np.int64), starts) == 1)
    # Of runs whose best is of one cell alone: each run's numbers, and where its best stands.
    places = np.flatnonzero(np.repeat(is_lone, counts))
    if not len(places):
        return flagged
    counts = counts[is_lone]
    starts = np.cumsum(counts) - counts
    positions, speed, is_best = positions[places], speed[places], is_best[places]
    best = np.flatnonzero(is_best)
    near = _near_best(records[positions], best, starts, counts) & ~is_best
    near &= _near_best(files[positions], best, starts, counts)
    neighbours = np.add.reduceat(near.astype(np.int64), starts)
    fastest = np.maximum.reduceat(np.where(near, speed, 0.0), starts)
    is_spike = (neighbours >= LEAST_NEIGHBOURS) & (speed[best] > SPIKE_RATIO * fastest)
    flagged[positions[best[is_spike]]] = True
    return flagged


def _near_best(sizes: Whole, best: Whole, starts: Whole, counts: Whole) -> Mask:
    """Which of the sizes are that of their run's ``best``, or the next smaller or larger that the
    run has. Runs stand behind each other, from ``starts`` on, with ``counts`` numbers each.
    """
    size = np.repeat(sizes[best], counts)
    # Sizes are not negative, and one that is as large as can be has no larger one.
    limit = np.iinfo(np.int64).max
    smaller = np.maximum.reduceat(np.where(sizes < size, sizes, -1), starts)
    larger = np.minimum.reduceat(np.where(sizes > size, sizes, limit), starts)
    near = (sizes == size) | (sizes == np.repeat(smaller, counts))
    near |= (sizes == np.repeat(larger, counts)) & (sizes > size)
    return np.asarray(near, dtype=np.bool_)


def cells_of(records: Whole, files: Whole) -> tuple[Whole, Whole]:
    """The number of each value's cell, and how many values each cell has."""
    low, high = int(files.min(initial=0)), int(files.max(initial=0))
    span = high - low + 1
    if max(int(records.max(initial=0)), -int(records.min(initial=0))) < 2**62 // span:
        # One key of both: repeats come in the order of their cells, which this sort makes use of.
        order = np.argsort(records * span + (files - low), kind="stable")
    else:
        order = np.lexsort((files, records))
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (np.diff(records[order]) != 0) | (np.diff(files[order]) != 0)
    cell = np.empty(len(order), dtype=np.int64)
    cell[order] = np.cumsum(starts) - 1
    return cell, np.bincount(cell).astype(np.int64)


def _cells_at(
    positions: Whole, records: Whole, files: Whole, cells: Whole | None
) -> tuple[Whole, Whole]:
    """``cells_of`` for the values at ``positions``; those of all are not found again."""
    if cells is None or len(positions) < len(cells):
        return cells_of(records[positions], files[positions])
    return cells, np.bincount(cells).astype(np.int64)


def narrowed(cell: Whole, cells: int | None = None) -> npt.NDArray[Any]:
    """Numbers of ``cells`` cells, from 0, such that those of few are sorted in one go over them."""
    count = int(cell.max(initial=0)) + 1 if cells is None else cells
    return cell.astype(np.uint16 if count <= 1 << 16 else np.int64)


def _medians(cell: Whole, values: Numbers, cells: int) -> Numbers:
    """The median of the values of each cell; NaN for a cell without any."""
    order = np.argsort(values)
    order = order[np.argsort(narrowed(cell[order], cells), kind="stable")]
    counts = np.bincount(cell, minlength=cells)
    ends = np.cumsum(counts)
    starts = ends - counts
    medians = np.full(cells, np.nan)
    filled = counts > 0
    low = starts[filled] + (counts[filled] - 1) // 2
    high = starts[filled] + counts[filled] // 2
    ranked = values[order]
    medians[filled] = (ranked[low] + ranked[high]) / 2
    return medians


def cell_medians(
    records: Whole, files: Whole, values: Numbers, cells: Whole | None = None
) -> dict[tuple[int, int], float]:
    """The median of the repeats of each cell: {(record KB, file KB): value}; sized cells alone.

    ``cells`` as of ``outliers``.
    """
    positions = np.flatnonzero((records >= 0) & (files >= 0) & np.isfinite(values))
    if not len(positions):
        return {}
    cell, counts = _cells_at(positions, records, files, cells)
    medians = _medians(cell, values[positions], len(counts))
    first = np.zeros(len(counts), dtype=np.int64)
    first[cell] = positions
    return dict(
        zip(
            zip(records[first].tolist(), files[first].tolist(), strict=True),
            medians.tolist(),
            strict=True,
        )
    )
