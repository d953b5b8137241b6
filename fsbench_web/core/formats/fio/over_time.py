"""A histogram log of fio (``--write_hist_log``) as latencies over time.

Each line is an interval of one process: its end in milliseconds, direction (0 read, 1 write, 2
trim), block size, and the completions by fio's bins. Bins are exact to 128, then 64 to each power
of two (``stat.c``, ``stat.h``). fio writes a line with the first completion behind an interval, so
what comes after the last line is in none (tried with fio 3.33).
"""

from collections.abc import Sequence
from decimal import Decimal
from itertools import accumulate, pairwise
from statistics import fmean

from fsbench_web.core.formats.result import Problem, UnreadableFile
from fsbench_web.core.latency_over_time import MOST_KEPT, PERCENTS, LatencySeries

BINS = 1856
DIRECTIONS = {"read": "0", "write": "1", "trim": "2"}
Interval = tuple[int, Sequence[int]]
"""(its end in ms, completions by bin)"""


def series(
    text: str, direction: str, interval_ms: int, *, test: str, load: str = ""
) -> LatencySeries | None:
    """The latencies of a direction in a log of intervals of ``interval_ms``; None: it has none.

    Of fio 3 without coarseness. Lines of one interval are added. Raises UnreadableFile.
    """
    by_place: dict[int, Interval] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        words = line.split(", ")
        if len(words) != BINS + 3 or not all(word.isascii() and word.isdigit() for word in words):
            message = f"The line is no interval of {BINS} bins: it is cut off, or of another fio."
            raise UnreadableFile([Problem(number, None, message)])
        if words[1] != DIRECTIONS[direction]:
            continue
        interval = (int(words[0]), [int(word) for word in words[3:]])
        place = round(interval[0] / interval_ms)
        by_place[place] = _merged([by_place[place], interval]) if place in by_place else interval
    return of_intervals([by_place[place] for place in sorted(by_place)], test, load, "ns")


def of_intervals(
    intervals: Sequence[Interval], test: str, load: str, unit: str, coarse: int = 0
) -> LatencySeries | None:
    """At most MOST_KEPT intervals; None where nothing was completed, or where their ends do not
    rise.
    """
    if any(after <= before for (before, _), (after, _) in pairwise(intervals)):
        return None
    at_once = max(1, -(-len(intervals) // MOST_KEPT))
    joined = [
        _merged(intervals[start : start + at_once]) for start in range(0, len(intervals), at_once)
    ]
    rows = [
        (
            end_ms,
            sum(bins),
            *(percentile(bins, percent, coarse) for percent in (*PERCENTS, "100")),
        )
        for end_ms, bins in joined
        if any(bins)
    ]
    if not rows:
        return None
    ends_ms, counts, *percentiles, maxima = zip(*rows, strict=True)
    return LatencySeries(test, load, unit, ends_ms, counts, tuple(percentiles), maxima)


def _merged(intervals: Sequence[Interval]) -> Interval:
    if len(intervals) == 1:
        return intervals[0]
    return max(end for end, _ in intervals), [
        sum(column) for column in zip(*(bins for _, bins in intervals), strict=True)
    ]


def percentile(bins: Sequence[int], percent: str, coarse: int = 0) -> float:
    """The middle of the bin that holds a percentile, as fio's ``calc_clat_percentiles``.

    ``bins`` are counts, merged by 2 to the power of ``coarse``; not all may be 0.
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
