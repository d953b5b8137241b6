"""Flags of a number among others: outlying repeats, and a best case that stands alone. Pure.

Numbers come as columns of equal length: the run each is of (any integers), sizes in KB (a negative
one: no size), and values. Answers are masks over them. What is not a positive finite number is
never flagged and counts for nothing.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fsbench_web.core.scoring.quality_cells import Mask, Numbers

Whole = npt.NDArray[np.int64]

LEAST_REPEATS = 4
"""With three values two are always closer to each other, and the third proves nothing."""
OUTLIER_SCORE = 3.5
OUTLIER_SHARE = 0.10
SPIKE_RATIO = 1.5
LEAST_NEIGHBOURS = 2
LEAST_CELLS = 8
# That of a normal distribution: MAD and mean deviation over the standard deviation.
_MAD_OF_SIGMA = 0.6745
_SIGMA_OF_MEAN_DEVIATION = 1.2533


def outliers(records: Whole, files: Whole, values: Numbers, cells: Whole | None = None) -> Mask:
    """Values far from the other repeats of their cell.

    A value counts as far off when its modified z-score, 0.6745 · \\|x − median\\| / MAD, is above
    3.5 and it is more than 10% from the median. Where more than half of the repeats are equal the
    MAD is 0 and the mean deviation takes its place: \\|x − median\\| / (1.2533 · mean deviation).
    It takes four repeats of a cell. Source: Iglewicz and Hoaglin, How to Detect and Handle
    Outliers, ASQC 1993; the 10% is the FREENIX rule's, because a millisecond's difference among
    steady repeats concerns nobody. Limit: with four to six repeats the MAD is itself uncertain.
    ``cells``: the number of each value's cell, where somebody has them (``cells_of``).
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
    centre = _medians(cell, x, len(counts))
    off = np.abs(x - centre[cell])
    mad = _medians(cell, off, len(counts))
    mean = np.bincount(cell, off, len(counts)) / np.maximum(counts, 1)
    sigma = np.where(mad > 0, mad / _MAD_OF_SIGMA, _SIGMA_OF_MEAN_DEVIATION * mean)
    flagged[positions] = (off > OUTLIER_SCORE * sigma[cell]) & (off > OUTLIER_SHARE * centre[cell])
    return flagged


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
