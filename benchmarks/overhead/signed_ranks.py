"""The interval of a median by Wilcoxon's signed ranks (J. L. Hodges and E. L. Lehmann, 1963)."""

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt

from fsbench_web.core.distributions import ndtri
from fsbench_web.core.stats.intervals import LEVEL
from fsbench_web.core.stats.verdicts import ratio_of


def rank_interval(logarithms: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """The ratios between which the median lies at ``level`` or more: order statistics of the means
    of all pairs (Walsh averages). None for too few: fewer than six cannot have 0.95.
    """
    count = len(logarithms)
    cut = _rank_cut(count, level)
    if cut < 0:
        return None
    averages = sorted(
        (logarithm + logarithms[other]) / 2
        for place, logarithm in enumerate(logarithms)
        for other in range(place, count)
    )
    return ratio_of(averages[cut]), ratio_of(averages[-1 - cut])


@lru_cache(maxsize=256)
def _rank_cut(count: int, level: float = LEVEL) -> int:
    """How many Walsh averages lie outside on each side: the most with P(outside) <= 1 - level;
    -1 where already with none outside it is more.

    From the exact distribution of the sum of signed ranks up to 100 blocks, and beyond from its
    normal approximation.
    """
    outside = (1 - level) / 2
    if count > 100:
        mean, variance = count * (count + 1) / 4, count * (count + 1) * (2 * count + 1) / 24
        return max(0, int(mean + float(ndtri(outside)) * sqrt(variance)))
    ways = [1] + [0] * (count * (count + 1) // 2)
    for rank in range(1, count + 1):
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    below = 0
    for total, number in enumerate(ways):
        below += number
        if below > outside * 2**count:
            return total - 1
    raise AssertionError("more than all ways")
