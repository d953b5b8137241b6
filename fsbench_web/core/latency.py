"""Latencies as distributions: counts by value, merged exactly. Pure.

fio counts latencies in bins, exact to 128 ns and then 64 to each power of two (its ``stat.h``,
FIO_IO_U_PLAT_BITS), so counts of repeats and jobs add without loss. A percentile's interval is that
of order statistics. See docs/method.md#latencies-as-distributions.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import ceil, isfinite

from fsbench_web.core.distributions import bdtr, bdtrik

LEVEL = 0.95
_NS = {"ns": 1, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
TAILS = ("50", "90", "99", "99.9", "99.99")
"""The percentiles that are shown, as texts: their digits are part of their names."""


@dataclass(frozen=True)
class Distribution:
    """``values`` rise, in ``unit``; ``counts`` are above 0. ``least`` and ``most`` are as they were
    measured, where the tool tells them, and not the middle of a bin. ``repeat`` is which of several
    repeats of one file it is of, as the file's values have it; no block keeps it.
    """

    test: str
    load: str
    unit: str
    values: tuple[int, ...]
    counts: tuple[int, ...]
    least: float | None = None
    most: float | None = None
    repeat: int | None = None

    @cached_property
    def cumulative(self) -> list[int]:
        return list(accumulate(self.counts))

    @property
    def total(self) -> int:
        return self.cumulative[-1] if self.counts else 0

    def at_rank(self, rank: int) -> int:
        """The value of the so many smallest, from 1."""
        return self.values[bisect_left(self.cumulative, rank)]

    def percentile(self, percent: str) -> int:
        """The value that so many percent do not exceed, as fio's calc_clat_percentiles."""
        return self.at_rank(_rank_of(percent, self.total))

    def interval(self, percent: str) -> tuple[int, int] | None:
        """Between which values it lies at 95%; None where there are too few to tell."""
        share, count = float(percent) / 100, self.total
        low = _quantile((1 - LEVEL) / 2, count, share)
        high = _quantile((1 + LEVEL) / 2, count, share) + 1
        if low < 1 or high > count:
            return None
        return self.at_rank(low), self.at_rank(high)

    def shares(self) -> list[tuple[int, float]]:
        """(value, share of all that do not exceed it), rising."""
        return [
            (value, count / self.total)
            for value, count in zip(self.values, self.cumulative, strict=True)
        ]


def distribution(
    test: str,
    load: str,
    unit: str,
    counts: Iterable[tuple[int, int]],
    least: float | None = None,
    most: float | None = None,
) -> Distribution | None:
    """Of (value, count) in any order; None where none counts. Raises ValueError below 0."""
    totals: Counter[int] = Counter()
    for value, count in counts:
        if value < 0 or count < 0:
            raise ValueError("a distribution has a number below 0")
        totals[value] += count
    rising = sorted((value, count) for value, count in totals.items() if count)
    if not rising:
        return None
    values, numbers = zip(*rising, strict=True)
    return Distribution(test, load, unit, values, numbers, least, most)


def merged(parts: Sequence[Distribution]) -> Distribution:
    """At least one as one; several units of time become ns. Raises ValueError for another unit."""
    if len({part.unit for part in parts}) > 1:
        parts = [in_ns(part) for part in parts]
    first = parts[0]
    pairs = (pair for part in parts for pair in zip(part.values, part.counts, strict=True))
    lows = [part.least for part in parts if part.least is not None and isfinite(part.least)]
    highs = [part.most for part in parts if part.most is not None and isfinite(part.most)]
    whole = distribution(
        first.test,
        first.load,
        first.unit,
        pairs,
        min(lows) if len(lows) == len(parts) else None,
        max(highs) if len(highs) == len(parts) else None,
    )
    assert whole is not None  # each has a count
    return whole


def in_ns(distribution: Distribution) -> Distribution:
    """The same in nanoseconds: whole ones, as values are whole. Raises ValueError."""
    if distribution.unit not in _NS:
        raise ValueError(
            f"distributions in {distribution.unit} and in another unit cannot be merged"
        )
    times = _NS[distribution.unit]
    return replace(
        distribution,
        unit="ns",
        values=tuple(value * times for value in distribution.values),
        least=None if distribution.least is None else distribution.least * times,
        most=None if distribution.most is None else distribution.most * times,
    )


def by_test(distributions: Iterable[Distribution]) -> dict[tuple[str, str], Distribution]:
    """Merged by test and load, in the order of their first."""
    groups: dict[tuple[str, str], list[Distribution]] = {}
    for distribution in distributions:
        groups.setdefault((distribution.test, distribution.load), []).append(distribution)
    return {key: merged(group) for key, group in groups.items()}


def _rank_of(percent: str, count: int) -> int:
    """The smallest rank that is at least so many percent of all, in whole numbers."""
    whole, _, rest = percent.partition(".")
    scaled, scale = int(whole + rest), 100 * 10 ** len(rest)
    return max(1, -(-scaled * count // scale))


def _quantile(probability: float, count: int, share: float) -> int:
    """The smallest number of successes of ``count`` tries that reaches the probability."""
    successes = max(0, ceil(float(bdtrik(probability, count, share))) - 1)
    while float(bdtr(successes, count, share)) < probability:
        successes += 1
    return successes
