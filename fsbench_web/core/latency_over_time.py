"""Latencies over the seconds of a test: percentiles of each interval, how many there were. Pure.

Each is of the completions of its interval alone: nothing is averaged over intervals, and an
interval without completions has no percentile.
"""

from dataclasses import dataclass

PERCENTS = ("50", "99", "99.9")
"""The percentiles that are kept, with the largest."""
MOST_INTERVALS = 300
"""Of one test of a workload, which makes them as long as that takes."""
MOST_KEPT = 320
"""Of any log: completions of neighbours are counted together until there are no more."""


@dataclass(frozen=True)
class LatencySeries:
    """``ends_ms`` of intervals rise; ``counts`` are above 0. ``percentiles`` (by PERCENTS) and
    ``maxima`` are middles of bins, in ``unit``, a value an interval.
    """

    test: str
    load: str
    unit: str
    ends_ms: tuple[int, ...]
    counts: tuple[int, ...]
    percentiles: tuple[tuple[float, ...], ...]
    maxima: tuple[float, ...]

    @property
    def total(self) -> int:
        return sum(self.counts)
