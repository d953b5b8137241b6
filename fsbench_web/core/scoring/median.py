"""The median of repeats, how sure it is, and how many repeats it takes. Asks nothing of what the
repeats are distributed like. Pure.

The interval is that of order statistics: of n independent values the r-th least and the r-th
greatest, with the largest r for which a median below or above both has a chance of 2.5% each, by
the binomial distribution (J.-Y. Le Boudec, *Performance Evaluation of Computer and Communication
Systems*, 2010, theorem 2.1). Fewer than six values have none at 95%. How many repeats give a half-
width of x% is estimated as CONFIRM does (A. Maricq, D. Duplyakin, I. Jimenez, C. Maltzahn, R.
Stutsman and R. Ricci, *Taming Performance Variability*, OSDI 2018): of the repeats that there are,
subsets of each size are taken, and the smallest size is the answer at which their ends, on average,
are within x% of their median. CONFIRM draws 200 subsets by lot, of ten values or more; here the
mean over all subsets is worked out, which the hypergeometric distribution gives, and six are
enough. ``benchmarks/simulations/medians.py`` simulates both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, fsum, isfinite
from typing import Any

LEVEL = 0.95
LEAST = 6
MOST = 1000
"""Of more repeats no number of repeats is estimated: its time grows with their square."""
PERCENTS = (5.0, 1.0)
"""Half-widths for which repeats are estimated: what is usual here, and what CONFIRM asks for."""
_ROUNDING = 1e-12
"""What binary rounding adds to a half-width, as a share of the median: 19 to 21 is 20 ± 5%."""


@dataclass(frozen=True)
class RepeatsFor:
    """``repeats`` give a median to ± ``half_width_percent``; None: more than there are."""

    half_width_percent: float
    repeats: int | None


@dataclass(frozen=True)
class MedianInterval:
    """In the unit of the ``count`` repeats. ``level`` is the exact one, 0.95 or more.

    ``repeats_for`` is empty where the median is zero, which has no percents, and of more than MOST.
    """

    median: float
    low: float
    high: float
    count: int
    level: float
    repeats_for: tuple[RepeatsFor, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return vars(self) | {"repeats_for": [vars(entry) for entry in self.repeats_for]}


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
        tuple(RepeatsFor(percent, repeats_for(ordered, percent)) for percent in PERCENTS)
        if _median(ordered) != 0 and count <= MOST
        else (),
    )


def repeats_for(ordered: Sequence[float], percent: float) -> int | None:
    """How many repeats give a median within ± ``percent`` of itself; None: more than there are.

    ``ordered`` are at least LEAST sorted repeats whose median is not zero.
    """
    largest = max(map(abs, ordered))
    shares = [value / largest for value in ordered]  # sums of the largest numbers are none
    limit = percent / 100 + _ROUNDING
    for size in range(LEAST, len(ordered) + 1):
        low, middle, high = _mean_ends(shares, size)
        if max(middle - low, high - middle) <= limit * abs(middle):
            return size
    return None


def _mean_ends(ordered: Sequence[float], size: int) -> tuple[float, float, float]:
    """Means of (low end, median, high end) over all subsets of so many values."""
    rank, _ = _rank(size)
    below, above = (size + 1) // 2, size // 2 + 1
    ends = [_mean_of_rank(ordered, size, place) for place in (rank, below, above, size + 1 - rank)]
    return ends[0], (ends[1] + ends[2]) / 2, ends[3]


def _mean_of_rank(ordered: Sequence[float], size: int, rank: int) -> float:
    """The mean of the ``rank``-th least value over all subsets of ``size`` values."""
    chances = _chances(len(ordered), size, rank)
    return fsum(
        chance * value
        for chance, value in zip(chances, ordered[rank - 1 :], strict=False)
        if chance
    )


@lru_cache(maxsize=4096)
def _chances(count: int, size: int, rank: int) -> tuple[float, ...]:
    """Of each of ``count`` ordered values, from the ``rank``-th on: the share of subsets of
    ``size`` values in which it is the ``rank``-th least.
    """
    places = range(rank, count - size + rank + 1)
    chance = comb(count - rank, size - rank) / comb(count, size)
    chances = []
    for place in places:
        chances.append(chance)
        chance *= place / (place - rank + 1) * (count - place - size + rank) / (count - place or 1)
    return tuple(chances)


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
