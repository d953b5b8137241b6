"""What fio's ``--write_bw_log``, ``_iops_log``, ``_lat_log`` and ``_hist_log`` write over time.

A log is lines of numbers and says neither its job nor its kind: both are in its name
(``job_clat.1.log``), which fio gives it. Lines are ``time (ms), value, direction, block size`` and
more, or ``time, direction, block size`` and a histogram of completion latencies. Rates are KiB/s
and operations/s, latencies ns in fio 3 and µs before. Source: fio's HOWTO ("Log File Formats"),
its ``stat.c`` and ``stat.h`` (bins), and logs of 2.2.10 and 3.33.

Bins are exact to 128, then 64 to each power of two. fio writes a line with
the first completion behind an interval, so what comes after the last line is in none (tried with
fio 3.33).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate, pairwise
from statistics import fmean, median

from fsbench_web.core import identity
from fsbench_web.core.formats.fio.naming import (
    NOTHING_BESIDE,
    Beside,
    logged_by,
    note_names,
    settings_of,
    work_unsaid,
)
from fsbench_web.core.formats.result import ParsedResult, Problem, UnreadableFile
from fsbench_web.core.formats.values import Collector, test_name
from fsbench_web.core.latency import distribution
from fsbench_web.core.latency_over_time import MOST_KEPT, PERCENTS, LatencySeries

FORMAT = "fio-log"
BINS = 1856
_NAME = re.compile(
    r"(?:.*[/\\])?(?P<job>[^/\\]*?)_?(?P<kind>bw|iops|slat|clat|lat|clat_hist|hist)"
    r"(?:\.(?P<process>[0-9]{1,6}))?\.log(?:\.txt)?"
)
_LINE = re.compile(r"[0-9]+(?:, [0-9]+){3,5}(?:, 0x[0-9a-f]+)?(?:, [0-9]+)?")
_BINS_START = re.compile(r"[0-9]+, [0-2], [0-9]+(?:, [0-9]+){16}")
_DIRECTIONS = {"0": "read", "1": "write", "2": "trim"}
_PRIORITIES = re.compile("[01]|0x[0-9a-f]{4}")
_RATES = {"bw": "KB/s", "iops": "ops/s"}
# Bins of 64 a group, halved by each step of log_hist_coarseness.
_UNITS = {
    **{BINS >> coarse: ("ns", coarse) for coarse in range(7)},
    **{1216 >> coarse: ("µs", coarse) for coarse in range(7)},
}
_PERCENTILES = ("50", "90", "95", "99", "99.9")
_MOST_SAMPLES = 20_000


def recognises(lines: list[str]) -> bool:
    filled_lines = [line for line in lines if line.strip()]
    # What follows the last newline may be cut off.
    return bool(filled_lines) and all(
        _LINE.fullmatch(line) for line in filled_lines[:-1] or filled_lines
    )


def recognises_histogram(lines: list[str]) -> bool:
    filled_lines = [line for line in lines if line.strip()]
    return bool(filled_lines) and all(_BINS_START.match(line) for line in filled_lines)


def is_named(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def parse(name: str, lines: list[str], beside: Beside = NOTHING_BESIDE) -> ParsedResult:
    """The mean of each direction, with all values as samples. Raises UnreadableFile.

    ``beside`` names the tests where it says that one job writes this log.
    """
    match = _NAME.fullmatch(name)
    assert match is not None
    job = match["job"] or "job"
    if match["process"] and int(match["process"]) > 1:
        job = f"{job}.{int(match['process'])}"
    result = ParsedResult(FORMAT, "fio")
    collector = Collector(result)
    job, collector.load = _named(result, job, logged_by(beside, match["job"], match["kind"]))
    if lines[-1].strip():
        collector.lose(len(lines), "The last line has no end: it may be cut off, and is not read.")
    whole_lines = [
        (number, line) for number, line in enumerate(lines[:-1], start=1) if line.strip()
    ]
    if recognises_histogram(lines):
        _histograms(collector, job, whole_lines)
    elif match["kind"].endswith("hist"):
        collector.refuse(1, "The file is called as a histogram log, and its lines have no bins.")
    else:
        _values(collector, job, match["kind"], whole_lines)
    return collector.finish("The log has no values.", 1)


def _named(result: ParsedResult, job: str, beside: Beside) -> tuple[str, str]:
    """The name of a log's tests, and its load: by what one job did, or the job's own name."""
    result.beside = beside
    for options in (options for jobs in beside.values() for options in jobs.values()):
        found = identity.of_fio(options)
        # Each process of a job has a log of its own.
        if found is not None and found.jobs == 1:
            note_names(result, [options["name"]])
            result.modes = tuple(settings_of(options))
            return found.stem, found.load
    result.warnings.append(work_unsaid(1))
    return test_name(job), ""


@dataclass
class _Series:
    """The values of one direction, in order of time, and the line of the first."""

    line: int
    times_ms: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    last_line: int = 0
    # Histograms, one an interval.
    bins: list[list[int]] = field(default_factory=list)


def _values(collector: Collector, job: str, kind: str, lines: Sequence[tuple[int, str]]) -> None:
    rows = [(number, line.split(", ")) for number, line in lines]
    for number, row in rows:
        if len(row) < 4:
            collector.refuse(
                number, "A line of fio's logs has four values or more; this has fewer."
            )
            return
    # With log_window_value=both the highest value of the window stands before the direction.
    has_both = any(row[2] not in _DIRECTIONS for _, row in rows) and all(
        len(row) > 5 and row[3] in _DIRECTIONS for _, row in rows
    )
    place = 3 if has_both else 2
    by_direction: dict[str, _Series] = {}
    for number, row in rows:
        direction = _DIRECTIONS.get(row[place])
        if direction is None:
            collector.refuse(
                number, f'"{row[place][:20]}" is not a direction (0, 1 or 2) of fio\'s logs.'
            )
            return
        if kind in _RATES and row[place + 1] != "0":
            collector.refuse(
                number,
                "The log has a line for each I/O, and rates of single ones have no mean: "
                "run fio with --log_avg_msec.",
            )
            return
        series = by_direction.setdefault(direction, _Series(number))
        series.times_ms.append(int(row[0]))
        series.values.append(int(row[1]))
        series.last_line = number
    windowed = all(row[place + 1] == "0" for _, row in rows)
    unit = _RATES.get(kind) or _latency_unit(collector, rows)
    for direction, series in sorted(by_direction.items()):
        if not unit:
            return
        if windowed and _ends_with_a_rest(series.times_ms):
            series.values.pop()
            message = "The last window is shorter than the others by far: it is left out."
            collector.warn(series.last_line, message)
        mean = Decimal(sum(series.values)) / len(series.values)
        collector.add(
            test_name(job, direction, f"{kind}_log"),
            f"{mean:.12f}",
            unit,
            series.line,
            samples=_samples(collector, series.values, series.line),
        )
        message = f"{len(series.values):,} values are logged for {direction}: their mean is kept."
        collector.warn(series.line, message, is_note=True)


def _ends_with_a_rest(times_ms: Sequence[int]) -> bool:
    """Whether the last window is what was left when the job ended: of few I/Os."""
    lengths = [after - before for before, after in pairwise(times_ms)]
    return len(lengths) > 2 and lengths[-1] < median(lengths[:-1]) / 2


def _latency_unit(collector: Collector, rows: Sequence[tuple[int, list[str]]]) -> str:
    """ns where the lines end with a priority, as those of fio 3.18 and later do."""
    number, first = rows[0] if rows else (1, [])
    if len(first) < 5 or not all(_PRIORITIES.fullmatch(row[-1]) for _, row in rows):
        collector.refuse(
            number,
            "fio before 3.0 logs latencies in microseconds, later in nanoseconds, and this log "
            "does not say which fio wrote it. Enter its values as a table with a unit, or take the "
            "latencies of fio's JSON.",
        )
        return ""
    collector.warn(
        number,
        "Latencies are read as nanoseconds: fio 3 writes them. fio 2 with --log_offset has lines "
        "that look the same and are microseconds.",
        is_note=True,
    )
    return "ns"


def _samples(collector: Collector, values: Sequence[float], line: int) -> list[float]:
    if len(values) <= _MOST_SAMPLES:
        return [float(value) for value in values]
    message = f"{len(values):,} values are too many to be kept one by one (--log_avg_msec)."
    collector.warn(line, message)
    return []


def _histograms(collector: Collector, job: str, lines: Sequence[tuple[int, str]]) -> None:
    by_direction: dict[str, _Series] = {}
    widths = set()
    for number, line in lines:
        texts = line.split(", ")
        bins = texts[3:]
        if len(bins) not in _UNITS or not all(text.isdigit() and text.isascii() for text in bins):
            message = f"The line has {len(bins)} bins: it is cut off, or of a fio not known here."
            collector.refuse(number, message)
            return
        widths.add(len(bins))
        series = by_direction.setdefault(_DIRECTIONS[texts[1]], _Series(number))
        series.times_ms.append(int(texts[0]))
        series.bins.append([int(text) for text in bins])
    if len(widths) > 1:
        collector.refuse(lines[0][0], "Lines of the log have different numbers of bins.")
        return
    for direction, series in sorted(by_direction.items()):
        unit, coarse = _UNITS[len(series.bins[0])]
        merged = [sum(column) for column in zip(*series.bins, strict=True)]
        measured = [bins for bins in series.bins if any(bins)]
        if not measured:
            collector.warn(series.line, f"No {direction} is in any bin; it stays missing.")
            continue
        load, test = collector.load, test_name(job, direction, "clat_hist")
        for percent in _PERCENTILES:
            collector.add(
                test_name(job, direction, "clat_hist", f"p{percent}"),
                f"{percentile(merged, percent, coarse):.1f}",
                unit,
                series.line,
                samples=[percentile(bins, percent, coarse) for bins in measured],
            )
        counts = ((int(middle(place, coarse)), count) for place, count in enumerate(merged))
        collector.add_distribution(distribution(test, load, unit, counts))
        intervals = list(zip(series.times_ms, series.bins, strict=True))
        if (logged := of_intervals(intervals, test, load, unit, coarse)) is not None:
            collector.result.over_time.append(logged)
        collector.warn(
            series.line,
            f"{sum(merged):,} completions of {direction} in {len(series.bins):,} intervals: "
            "percentiles are the middles of the bins that hold them, as fio's own are.",
            is_note=True,
        )


Interval = tuple[int, Sequence[int]]
"""(its end in ms, completions by bin)"""


def latency_series(
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
        if _DIRECTIONS.get(words[1]) != direction:
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
    shift = max(0, (index >> 6) - 1)
    low = index if index < 128 else (64 + index % 64) << shift
    return low, low + (1 << shift)
