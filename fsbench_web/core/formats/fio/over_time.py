"""A histogram log of fio (``--write_hist_log``) as latencies over time.

Each line is an interval of one process: its end in milliseconds from the first that was measured,
direction (0 read, 1 write, 2 trim), block size, and the completions of that interval in fio's bins
(``stat.c``, fio 3.33, without coarseness). Lines of the same interval are added, bin by bin.
fio writes a line with the first completion behind an interval: what comes behind the last line is
in none (tried with fio 3.33: from the requests in flight at the end up to a whole interval).
"""

from collections.abc import Iterable

from fsbench_web.core.formats.fio.logs import percentile
from fsbench_web.core.formats.result import Problem, UnreadableFile
from fsbench_web.core.latency_over_time import PERCENTS, LatencySeries

BINS = 1856
DIRECTIONS = {"read": "0", "write": "1", "trim": "2"}


def series(
    text: str, direction: str, interval_ms: int, *, test: str, load: str = ""
) -> LatencySeries | None:
    """The latencies of a direction; None where it has none. Raises UnreadableFile."""
    merged: dict[int, tuple[int, list[int]]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        words = line.split(", ")
        if len(words) != BINS + 3 or not all(one.isascii() and one.isdigit() for one in words):
            message = f"The line is no interval of {BINS} bins: it is cut off, or of another fio."
            raise UnreadableFile([Problem(number, None, message)])
        if words[1] != DIRECTIONS[direction]:
            continue
        end_ms, bins = int(words[0]), [int(one) for one in words[3:]]
        place = round(end_ms / interval_ms)
        known = merged.get(place)
        merged[place] = (
            (end_ms, bins)
            if known is None
            else (max(end_ms, known[0]), [a + b for a, b in zip(known[1], bins, strict=True)])
        )
    intervals = [merged[place] for place in sorted(merged) if any(merged[place][1])]
    return _of(intervals, test, load) if intervals else None


def _of(intervals: Iterable[tuple[int, list[int]]], test: str, load: str) -> LatencySeries:
    rows = [
        (end_ms, sum(bins), *(percentile(bins, percent) for percent in (*PERCENTS, "100")))
        for end_ms, bins in intervals
    ]
    ends_ms, counts, *percentiles, most = zip(*rows, strict=True)
    return LatencySeries(test, load, "ns", ends_ms, counts, tuple(percentiles), most)
