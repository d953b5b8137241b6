"""The median of repeats with its interval, whatever their distribution is. Pure.

The interval is that of order statistics: of n independent values the r-th least and the r-th
greatest, with the largest r for which a median below or above both has a chance of 2.5% each, by
the binomial distribution (J.-Y. Le Boudec, *Performance Evaluation of Computer and Communication
Systems*, 2010, theorem 2.1). Fewer than six values have none at 95%.
``benchmarks/simulations/medians.py`` simulates it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

LEVEL = 0.95
LEAST = 6


@dataclass(frozen=True)
class MedianInterval:
    """In the unit of the ``count`` repeats. ``level`` is the exact one, 0.95 or more."""

    median: float
    low: float
    high: float
    count: int
    level: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


def median_interval(values: Sequence[float]) -> MedianInterval | None:
    """Of independent repeats; None for fewer than six.

    Raises ValueError for a value that is not a finite number.
    """
    if not all(map(isfinite, values)):
        raise ValueError("a value is not a finite number")
    count = len(values)
    if count < LEAST:
        return None
    ordered = sorted(values)
    rank, level = _rank(count)
    return MedianInterval(
        _median(ordered),
        ordered[rank - 1],
        ordered[-rank],
        count,
        level,
    )


@lru_cache(maxsize=256)
def _rank(count: int) -> tuple[int, float]:
    """(r, level): the interval goes from the r-th least to the r-th greatest value."""
    outside, rank, ways = 0, 0, 1
    while outside + ways <= (1 - LEVEL) / 2 * 2**count:
        outside += ways
        rank += 1
        ways = ways * (count - rank + 1) // rank
    return rank, 1 - 2 * (outside / 2**count)


def _median(ordered: Sequence[float]) -> float:
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    # Halves first: the sum of two of the largest numbers is none.
    return ordered[middle - 1] / 2 + ordered[middle] / 2
