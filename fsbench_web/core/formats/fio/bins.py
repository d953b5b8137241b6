"""fio's bins of latencies: exact to 128, then 64 to each power of two (``stat.c``, ``stat.h``)."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import accumulate
from statistics import fmean


def percentile(bins: Sequence[int], percent: str, coarse: int = 0) -> float:
    """The middle of the bin that holds a percentile, in the unit of the bins.

    ``bins`` are counts, fio's bins merged by 2 to the power of ``coarse``; not all may be 0. As
    fio's ``calc_clat_percentiles``.
    """
    wanted = Decimal(percent) / 100 * sum(bins)
    place = next(n for n, count in enumerate(accumulate(bins)) if count and count >= wanted)
    return middle(place, coarse)


def middle(place: int, coarse: int = 0) -> float:
    """Of the bin in this place, of bins that were merged by 2 to the power of ``coarse``."""
    first, last = place << coarse, ((place + 1) << coarse) - 1
    if first == last and first < 128:
        return float(first)
    return fmean((_bounds(first)[0], _bounds(last)[1]))


def _bounds(index: int) -> tuple[int, int]:
    """From where to where a bin goes."""
    shift = max(0, (index >> 6) - 1)
    low = index if index < 128 else (64 + index % 64) << shift
    return low, low + (1 << shift)
