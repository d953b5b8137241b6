"""How sure a mean or a median of repeats is. Pure.

The mean's interval is Student's; the median's is that of order statistics (J.-Y. Le Boudec,
*Performance Evaluation of Computer and Communication Systems*, 2010, theorem 2.1), simulated by
``benchmarks/simulations/medians.py``. See docs/method.md#repeats.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import fsum, isfinite, sqrt
from typing import Any

from fsbench_web.core.distributions import betaincinv, stdtrit

LEVEL = 0.95
LEAST_REPEATS = 2  # one value has no interval
LEAST_OF_MEDIAN = 6
REPEATS = "repeats"
SAMPLES = "samples"
TRIALS = "trials"


def mean(values: Sequence[float]) -> float:
    """The mean, summed exactly; of equal values their value."""
    if values[0] == values[-1] and min(values) == max(values):
        return values[0]
    return fsum(values) / len(values)


@dataclass(frozen=True)
class Interval:
    """``mean`` ± ``half_width``, in the unit of the ``count`` values behind it.

    ``of``: scores of repeats, samples of one run, or trials. ``autocorrelation``: of neighbours.
    """

    mean: float
    half_width: float
    count: int
    of: str = REPEATS
    autocorrelation: float | None = None

    @property
    def low(self) -> float:
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        return self.mean + self.half_width

    def scaled(self, times: float) -> "Interval":
        """The same in another unit: one of its own is ``times`` as many."""
        return replace(self, mean=self.mean * times, half_width=self.half_width * times)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Interval":
        """The inverse of ``as_dict``; what another version wrote besides is left out."""
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})

    @property
    def follows(self) -> bool:
        """Whether neighbouring samples correlate (above 2 / sqrt(n)): it is too narrow."""
        return self.autocorrelation is not None and self.autocorrelation > 2 / sqrt(self.count)

    @property
    def relative_percent(self) -> float | None:
        """The half-width in percent of the mean; None where the mean is zero."""
        return None if self.mean == 0 else 100.0 * self.half_width / abs(self.mean)


def interval(values: Sequence[float], level: float = LEVEL) -> Interval | None:
    """The interval of the mean; None for fewer than two. Raises ValueError if not finite."""
    count = len(values)
    if count < LEAST_REPEATS:
        return None
    if not all(map(isfinite, values)):
        raise ValueError("a value is not a finite number")
    centre = mean(values)
    deviation = sqrt(fsum((value - centre) ** 2 for value in values) / (count - 1))
    quantile = float(stdtrit(count - 1, 0.5 + level / 2))
    return Interval(centre, quantile * deviation / sqrt(count), count)


def sample_interval(samples: Sequence[float], of: str = SAMPLES) -> Interval | None:
    """The interval of the mean of one run's samples (or TRIALS), in their order.

    None for fewer than two. Raises ValueError if not finite.
    """
    mean_interval = interval(samples)
    return mean_interval and replace(mean_interval, of=of, autocorrelation=autocorrelation(samples))


def autocorrelation(values: Sequence[float]) -> float | None:
    """The lag-1 autocorrelation, between -1 and 1; None where all values are the same."""
    centre = mean(values)
    distances = [value - centre for value in values]
    square = fsum(distance * distance for distance in distances)
    if square == 0:
        return None
    return fsum(a * b for a, b in pairwise(distances)) / square


def share_interval(hits: int, tries: int) -> tuple[float, float]:
    """The exact 95% interval of a share (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934)."""
    tail = (1 - LEVEL) / 2
    low = float(betaincinv(hits, tries - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, tries - hits, 1 - tail)) if hits < tries else 1.0
    return low, high


def share_at_most(hits: int, tries: int) -> float:
    """The exact upper bound of a share, one-sided at 95% (``share_interval`` has the source)."""
    return float(betaincinv(hits + 1, tries - hits, LEVEL)) if hits < tries else 1.0


def intervals_of(scores: Mapping[str, Mapping[int, float]]) -> dict[str, Interval]:
    """The 95% interval of each category, of the scores of each run; not for fewer than two."""
    return {
        category: mean_interval
        for category, of_runs in scores.items()
        if (mean_interval := interval(list(of_runs.values()))) is not None
    }


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
    """Of independent repeats; None for fewer than six. Raises ValueError if not finite."""
    if not all(map(isfinite, values)):
        raise ValueError("a value is not a finite number")
    count = len(values)
    if count < LEAST_OF_MEDIAN:
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
