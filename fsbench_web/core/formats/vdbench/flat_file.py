"""Vdbench's ``flatfile.html``: a row an interval, and a row of means at the end of each run.

MB are 1024 * 1024 bytes, as the file itself says; response times are ms. Source: Vdbench's user
guide ("flatfile.html"), and files of 5.0 (raw I/O) and 5.04 (file systems).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, test_name
from fsbench_web.core.formats.vdbench.intervals import READ_PERCENT, samples

FORMAT = "vdbench"
_HEADER = re.compile(r"^\s*tod\s+(?:timestamp\s+)?Run\s+Interval\s")
_MEAN = re.compile(r"avg_([0-9]+)-([0-9]+)")
_OPERATION = re.compile(
    r"(read|write|mkdir|rmdir|create|open|close|delete|getattr|setattr|access|move|copy)_"
    r"(rate|resp)"
)
_WHOLE = {
    "rate": ("iops", "ops/s"),
    "mb/sec": ("throughput", "MiB/s"),
    "mb_read": ("throughput_read", "MiB/s"),
    "mb_write": ("throughput_write", "MiB/s"),
    "resp": ("response", "ms"),
    "read%": (READ_PERCENT, "%"),
}
# Rates that are asked for, sizes and threads are in the names of tests, in cells and in the load.
_SETTINGS = ("rdpct", "rhpct", "whpct", "seekpct", "lunsize", "compratio", "dedupratio")


@dataclass
class _Mean:
    """The row of means of one run, and the rows of its intervals."""

    line: int
    row: dict[str, str]
    intervals: list[dict[str, str]] = field(default_factory=list)


def recognises(lines: list[str]) -> bool:
    """Whether the header of a flat file is there."""
    return any(_HEADER.match(line) for line in lines)


def parse(lines: list[str]) -> ParsedResult:
    """The means of all runs, with their intervals as samples. Raises UnreadableFile."""
    result = ParsedResult(FORMAT, "vdbench")
    collector = Collector(result)
    means = list(_means(lines, collector))
    rates: dict[str, set[str]] = {}
    for mean in means:
        rates.setdefault(mean.row["run"], set()).add(mean.row.get("reqrate", ""))
    for mean in means:
        collector.begin(_settings(mean.row))
        # A curve runs the same again at other rates.
        row = mean.row
        at_rate = row.get("reqrate", "") if len(rates[row["run"]]) > 1 else ""
        name = test_name("vdbench", row["run"], f"at {at_rate}" if at_rate else "")
        _values(collector, name, mean)
        if (stamp := row.get("timestamp", "")) and not result.facts:
            result.facts.append(("Run at", stamp[:80]))
    return collector.finish("The flat file has no mean of a run: Vdbench did not end.", len(lines))


def _settings(row: dict[str, str]) -> list[str]:
    """What a row of means says of its run's parameters, with the run's name."""
    parts = [f"{name} {row[name]}" for name in _SETTINGS if row.get(name, "n/a") != "n/a"]
    if not row["run"].startswith("format_for_"):  # which lasts as long as it takes
        parts.append(f"intervals {row['interval']}")
    return [f"{row['run']}: {text}"[:200] for text in parts]


def _means(lines: list[str], collector: Collector) -> Iterator[_Mean]:
    header: list[str] = []
    intervals: list[dict[str, str]] = []
    last = 1
    # What follows the last newline may be cut off.
    for number, line in enumerate(lines[:-1], start=1):
        words = line.split()
        if _HEADER.match(line):
            header = [word.lower() for word in words]
        elif header and words and re.match(r"[0-9]{2}:[0-9]{2}:", words[0]):
            if len(words) != len(header):
                collector.warn(
                    number, f"The row has {len(words)} fields of {len(header)}: left out."
                )
                collector.result.complete = False
                continue
            row = dict(zip(header, words, strict=True))
            if intervals and intervals[-1]["run"] != row["run"]:
                _without_mean(collector, intervals, last)
                intervals = []
            last = number
            if _MEAN.fullmatch(row["interval"]):
                yield _Mean(number, row, intervals)
                intervals = []
            else:
                intervals.append(row)
    if intervals:
        _without_mean(collector, intervals, last)


def _without_mean(collector: Collector, intervals: list[dict[str, str]], line: int) -> None:
    collector.result.complete = False
    name = intervals[-1]["run"][:60]
    collector.warn(line, f"Run {name} has {len(intervals)} intervals and no mean: it did not end.")


def _values(collector: Collector, name: str, mean: _Mean) -> None:
    span = _MEAN.fullmatch(mean.row["interval"])
    assert span is not None
    first, last = int(span[1]), int(span[2])
    # Intervals below another header have other columns.
    intervals = [
        row
        for row in mean.intervals
        if row["interval"].isdecimal()
        and first <= int(row["interval"]) <= last
        and row.keys() == mean.row.keys()
    ]
    threads = mean.row.get("threads", "")
    load = load_text(threads=int(threads) if re.fullmatch("[1-9][0-9]{0,8}", threads) else None)
    size = mean.row.get("xfersize", "")
    in_kb = int(size) // 1024 if re.fullmatch("[1-9][0-9]{0,12}", size) else 0
    record = in_kb if in_kb and in_kb * 1024 == int(size) and in_kb < 2**31 else None
    if size and record is None and size not in ("0", "n/a"):
        name = test_name(name, f"{size} bytes")
    columns = {column: meaning for column in mean.row if (meaning := _kind(column)) is not None}
    rows = [{kind: row[column] for column, (kind, _) in columns.items()} for row in intervals]
    for column, (kind, unit) in columns.items():
        text = mean.row[column]
        # Most operations are not part of a run, and 0 then.
        if kind == READ_PERCENT or not re.search("[1-9]", text):
            continue
        test = f"{name}_{kind}" if record is None else f"{name}_{record}k_{kind}"
        test_samples = samples(collector, kind, rows, mean.line, test)
        collector.add(test, text, unit, mean.line, load=load, samples=test_samples)


def _kind(column: str) -> tuple[str, str] | None:
    """What a column is, and its unit; None: not read."""
    operation = _OPERATION.fullmatch(column)
    if operation is None:
        return _WHOLE.get(column)
    if operation[2] == "rate":
        return f"{operation[1]}_iops", "ops/s"
    return f"{operation[1]}_response", "ms"
