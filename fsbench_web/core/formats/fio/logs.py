"""What fio's ``--write_bw_log``, ``_iops_log``, ``_lat_log`` and ``_hist_log`` write over time.

A log is lines of numbers and says neither its job nor its kind: both are in its name
(``job_clat.1.log``), which fio gives it. Lines are ``time (ms), value, direction, block size`` and
more, or ``time, direction, block size`` and a histogram of completion latencies. Rates are KiB/s
and operations/s, latencies ns in fio 3 and µs before. Source: fio's HOWTO ("Log File Formats"),
its ``stat.c`` (bins), and logs of 2.2.10 and 3.33.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from statistics import median

from fsbench_web.core import identity
from fsbench_web.core.formats.fio import over_time
from fsbench_web.core.formats.fio.naming import (
    NOTHING_BESIDE,
    Beside,
    logged_by,
    note_names,
    settings_of,
    work_unsaid,
)
from fsbench_web.core.formats.fio.over_time import middle, percentile
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, test_name
from fsbench_web.core.latency import distribution

FORMAT = "fio-log"
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
    **{1856 >> coarse: ("ns", coarse) for coarse in range(7)},
    **{1216 >> coarse: ("µs", coarse) for coarse in range(7)},
}
_PERCENTILES = ("50", "90", "95", "99", "99.9")
_MOST_SAMPLES = 20_000


def recognises(lines: list[str]) -> bool:
    """Whether all lines are numbers as fio logs them; a first one is there."""
    filled_lines = [line for line in lines if line.strip()]
    # What follows the last newline may be cut off.
    return bool(filled_lines) and all(
        _LINE.fullmatch(line) for line in filled_lines[:-1] or filled_lines
    )


def recognises_histogram(lines: list[str]) -> bool:
    """Whether all lines begin as those of a histogram log do."""
    filled_lines = [line for line in lines if line.strip()]
    return bool(filled_lines) and all(_BINS_START.match(line) for line in filled_lines)


def is_named(name: str) -> bool:
    """Whether a file is called as fio calls its logs."""
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
    job, load = _named(result, job, logged_by(beside, match["job"], match["kind"]))
    if lines[-1].strip():
        collector.lose(len(lines), "The last line has no end: it may be cut off, and is not read.")
    whole_lines = [
        (number, line) for number, line in enumerate(lines[:-1], start=1) if line.strip()
    ]
    if recognises_histogram(lines):
        _histograms(collector, job, load, whole_lines)
    elif match["kind"].endswith("hist"):
        collector.refuse(1, "The file is called as a histogram log, and its lines have no bins.")
    else:
        _values(collector, job, load, match["kind"], whole_lines)
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


def _values(
    collector: Collector, job: str, load: str, kind: str, lines: Sequence[tuple[int, str]]
) -> None:
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
                number, f'"{row[place][:20]}" is no direction (0, 1 or 2) of fio\'s logs.'
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
            load=load,
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


def _histograms(
    collector: Collector, job: str, load: str, lines: Sequence[tuple[int, str]]
) -> None:
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
        for percent in _PERCENTILES:
            collector.add(
                test_name(job, direction, "clat_hist", f"p{percent}"),
                f"{percentile(merged, percent, coarse):.1f}",
                unit,
                series.line,
                load=load,
                samples=[percentile(bins, percent, coarse) for bins in measured],
            )
        collector.add_distribution(
            distribution(
                test_name(job, direction, "clat_hist"),
                load,
                unit,
                ((int(middle(place, coarse)), count) for place, count in enumerate(merged)),
            )
        )
        intervals = list(zip(series.times_ms, series.bins, strict=True))
        test = test_name(job, direction, "clat_hist")
        if (logged := over_time.of_intervals(intervals, test, load, unit, coarse)) is not None:
            collector.result.over_time.append(logged)
        collector.warn(
            series.line,
            f"{sum(merged):,} completions of {direction} in {len(series.bins):,} intervals: "
            "percentiles are the middles of the bins that hold them, as fio's own are.",
            is_note=True,
        )
