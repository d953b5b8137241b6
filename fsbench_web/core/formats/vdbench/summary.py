"""Vdbench's ``summary.html``, and ``totals.html``, which has the means alone.

Each run begins with "Starting RD=", has two lines of header, a row an interval, and a row of means.
MB are 1024 * 1024 bytes, as the header says; response times are ms. Source: Vdbench's user guide
("summary.html", "totals.html"), and files of 5.04 (raw I/O and file systems).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, test_name
from fsbench_web.core.formats.vdbench.intervals import READ_PERCENT, samples

SUMMARY_FORMAT, TOTALS_FORMAT = "vdbench-summary", "vdbench-totals"
_TITLE = re.compile(r"<title>Vdbench \S*?(summary|totals)\.html</title>")
_START = re.compile(r"Starting RD=([^;<]+)([^<]*)")
_LOOPS = re.compile(r"For loops: (.*)")
_ROW = re.compile(r"\s*[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}\s+(?:avg_([0-9]+)-([0-9]+)|([0-9]+))\s")
_HEADER = re.compile(r"\s*[^\s<]+ [0-9]{2}, [0-9]{4}\s+\.*interval\.*\s(.*)", re.IGNORECASE)
_WHOLE = {
    ("i/o", "rate"): ("iops", "ops/s"),
    ("reqstdops", "rate"): ("iops", "ops/s"),
    ("reqstdops", "resp"): ("response", "ms"),
    ("resp", "time"): ("response", "ms"),
    ("mb/sec", "1024**2"): ("throughput", "MiB/s"),
    ("mb/sec", "total"): ("throughput", "MiB/s"),
    ("mb/sec", "read"): ("throughput_read", "MiB/s"),
    ("mb/sec", "write"): ("throughput_write", "MiB/s"),
    ("read", "pct"): (READ_PERCENT, "%"),
}
_OPERATION = re.compile("read|write|mkdir|rmdir|create|open|close|delete|getattr|setattr|access")
_OF_OPERATION = {"rate": ("iops", "ops/s"), "resp": ("response", "ms")}
_ONE_COLUMN = ".xfer"
Columns = list[tuple[str, str] | None]
"""What each column is, as kind and unit; None: not read."""


@dataclass
class _Run:
    """A run as its line says it, with the rows of its intervals."""

    name: str
    description: str
    columns: Columns = field(default_factory=list)
    intervals: list[tuple[int, list[str]]] = field(default_factory=list)
    has_mean: bool = False


def recognises_summary(lines: list[str]) -> bool:
    """Whether the title is that of a summary; reports of hosts and devices look the same."""
    return _is_titled(lines, "summary")


def recognises_totals(lines: list[str]) -> bool:
    """Whether the title is that of totals."""
    return _is_titled(lines, "totals")


def _is_titled(lines: list[str], name: str) -> bool:
    return any((title := _TITLE.search(line)) and title[1] == name for line in lines[:20])


def parse_summary(lines: list[str]) -> ParsedResult:
    """The means of all runs, with their intervals as samples. Raises UnreadableFile."""
    return _parse(lines, SUMMARY_FORMAT)


def parse_totals(lines: list[str]) -> ParsedResult:
    """The means of all runs. Raises UnreadableFile."""
    return _parse(lines, TOTALS_FORMAT)


def _parse(lines: list[str], name: str) -> ParsedResult:
    collector = Collector(ParsedResult(name, "vdbench"))
    run: _Run | None = None
    columns: Columns = []
    # What follows the last newline may be cut off.
    for number, line in enumerate(lines[:-1], start=1):
        if start := _START.search(line):
            _end(collector, run, number)
            run = _Run(start[1].strip(), start[2])
        elif header := _HEADER.match(line):
            columns = list(_columns(header[1].split(), lines[number].split()))
        elif run is not None and (row := _ROW.match(line)):
            words = line.split()[2:]
            if len(words) != len(columns):
                collector.warn(
                    number, f"The row has {len(words)} numbers of {len(columns)}: left out."
                )
                collector.result.complete = False
            elif row[3]:
                run.intervals.append((int(row[3]), words))
            else:
                run.has_mean, run.columns = True, columns
                _keep(collector, run, number, words, (int(row[1]), int(row[2])))
    _end(collector, run, len(lines))
    return collector.finish("The file has no mean of a run: Vdbench did not end.", len(lines))


def _end(collector: Collector, run: _Run | None, line: int) -> None:
    if run is not None and run.intervals and not run.has_mean:
        collector.result.complete = False
        count = len(run.intervals)
        collector.warn(
            line, f"Run {run.name[:60]} has {count} intervals and no mean: it did not end."
        )


def _columns(above: list[str], below: list[str]) -> Iterator[tuple[str, str] | None]:
    """What each column is by both lines of the header.

    Over columns of file systems stand groups with dots, of two columns each but for the size.
    """
    names = []
    for word in above:
        is_two = word.startswith(".") and not word.startswith(_ONE_COLUMN)
        names += [word.strip(".").lower()] * (2 if is_two else 1)
    for pair in zip(names, (word.lower() for word in below), strict=False):
        if pair in _WHOLE:
            yield _WHOLE[pair]
        elif _OPERATION.fullmatch(pair[0]) and pair[1] in _OF_OPERATION:
            kind, unit = _OF_OPERATION[pair[1]]
            yield f"{pair[0]}_{kind}", unit
        else:
            yield None


def _keep(
    collector: Collector, run: _Run, line: int, words: list[str], span: tuple[int, int]
) -> None:
    """Keep a row of means; ``span`` are its first and its last interval."""
    loops = _LOOPS.search(run.description)
    sentences = [] if loops is None or loops[1] == "None" else loops[1].split()
    threads = next(
        (word[8:] for word in sentences if re.fullmatch("threads=[1-9][0-9]{0,8}", word)), ""
    )
    name = test_name("vdbench", run.name, *(w for w in sentences if not w.startswith("threads=")))
    parts = run.description.split("For loops:")[0].split(";")
    collector.begin([f"{run.name}: {part.strip()}"[:200] for part in parts if part.strip()])
    load = load_text(threads=int(threads) if threads else None)
    # Intervals below another header have other columns.
    intervals = [
        row
        for place, row in run.intervals
        if span[0] <= place <= span[1] and len(row) == len(run.columns)
    ]
    rows = [
        {column[0]: text for column, text in zip(run.columns, row, strict=True) if column}
        for row in intervals
    ]
    for column, text in zip(run.columns, words, strict=True):
        # Most operations are not part of a run, and 0 then.
        if column is None or column[0] == READ_PERCENT or not re.search("[1-9]", text):
            continue
        test = f"{name}_{column[0]}"
        test_samples = samples(collector, column[0], rows, line, test)
        collector.add(test, text, column[1], line, load=load, samples=test_samples)
