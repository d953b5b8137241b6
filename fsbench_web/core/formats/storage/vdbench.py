"""Vdbench's ``flatfile.html``, ``summary.html``, and ``totals.html``, which has the means alone.

A row an interval, and a row of means at the end of each run. MB are 1024 * 1024 bytes, as the files
say; response times are ms. Source: Vdbench's user guide, and files of 5.0 and 5.04 (raw I/O and
file systems).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, any_line, number, reads, test_name

_READ_PERCENT = "read_percent"
_RESPONSE = "response"
_NONE_AT = {"read_": 0.0, "write_": 100.0}
"""Of how many percent reads an operation was not done."""
_MEAN = re.compile(r"avg_([0-9]+)-([0-9]+)")
_THREADS = re.compile("[1-9][0-9]{0,8}")
_FLAT_HEADER = re.compile(r"^\s*tod\s+(?:timestamp\s+)?Run\s+Interval\s")
_FLAT_OPERATION = re.compile(
    r"(read|write|mkdir|rmdir|create|open|close|delete|getattr|setattr|access|move|copy)_"
    r"(rate|resp)"
)
_FLAT_WHOLE = {
    "rate": ("iops", "ops/s"),
    "mb/sec": ("throughput", "MiB/s"),
    "mb_read": ("throughput_read", "MiB/s"),
    "mb_write": ("throughput_write", "MiB/s"),
    "resp": (_RESPONSE, "ms"),
    "read%": (_READ_PERCENT, "%"),
}
# Rates that are asked for, sizes and threads are in the names of tests, in cells and in the load.
_SETTINGS = ("rdpct", "rhpct", "whpct", "seekpct", "lunsize", "compratio", "dedupratio")
_TITLE = re.compile(r"<title>Vdbench \S*?(summary|totals)\.html</title>")
_START = re.compile(r"Starting RD=([^;<]+)([^<]*)")
_LOOPS = re.compile(r"For loops: (.*)")
_ROW = re.compile(r"\s*[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}\s+(?:avg_([0-9]+)-([0-9]+)|([0-9]+))\s")
_HEADER = re.compile(r"\s*[^\s<]+ [0-9]{2}, [0-9]{4}\s+\.*interval\.*\s(.*)", re.IGNORECASE)
_WHOLE = {
    ("i/o", "rate"): ("iops", "ops/s"),
    ("reqstdops", "rate"): ("iops", "ops/s"),
    ("reqstdops", "resp"): (_RESPONSE, "ms"),
    ("resp", "time"): (_RESPONSE, "ms"),
    ("mb/sec", "1024**2"): ("throughput", "MiB/s"),
    ("mb/sec", "total"): ("throughput", "MiB/s"),
    ("mb/sec", "read"): ("throughput_read", "MiB/s"),
    ("mb/sec", "write"): ("throughput_write", "MiB/s"),
    ("read", "pct"): (_READ_PERCENT, "%"),
}
_OPERATION = re.compile("read|write|mkdir|rmdir|create|open|close|delete|getattr|setattr|access")
_OF_OPERATION = {"rate": ("iops", "ops/s"), "resp": (_RESPONSE, "ms")}
_ONE_COLUMN = ".xfer"
Columns = list[tuple[str, str] | None]
"""What each column is, as kind and unit; None: not read."""


@dataclass
class _FlatMean:
    line: int
    row: dict[str, str]
    intervals: list[dict[str, str]] = field(default_factory=list)


@reads("vdbench", "vdbench", any_line(_FLAT_HEADER.match))
def parse_flat(lines: list[str], collector: Collector) -> ParsedResult:
    """Keep the means of all runs, with their intervals as samples."""
    means = list(_flat_means(lines, collector))
    facts = collector.result.facts
    rates: dict[str, set[str]] = {}
    for mean in means:
        rates.setdefault(mean.row["run"], set()).add(mean.row.get("reqrate", ""))
    for mean in means:
        collector.begin(_flat_settings(mean.row))
        # A curve runs the same again at other rates.
        row = mean.row
        at_rate = row.get("reqrate", "") if len(rates[row["run"]]) > 1 else ""
        name = test_name("vdbench", row["run"], f"at {at_rate}" if at_rate else "")
        _keep_flat(collector, name, mean)
        if (stamp := row.get("timestamp", "")) and not facts:
            facts.append(("Run at", stamp[:80]))
    return collector.finish("The flat file has no mean of a run: Vdbench did not end.", len(lines))


def _flat_settings(row: dict[str, str]) -> list[str]:
    """What a row of means says of its run's parameters, with the run's name."""
    parts = [f"{name} {row[name]}" for name in _SETTINGS if row.get(name, "n/a") != "n/a"]
    if not row["run"].startswith("format_for_"):  # which lasts as long as it takes
        parts.append(f"intervals {row['interval']}")
    return [f"{row['run']}: {text}"[:200] for text in parts]


def _flat_means(lines: list[str], collector: Collector) -> Iterator[_FlatMean]:
    header: list[str] = []
    intervals: list[dict[str, str]] = []
    last = 1
    # What follows the last newline may be cut off.
    for line_number, line in enumerate(lines[:-1], start=1):
        words = line.split()
        if _FLAT_HEADER.match(line):
            header = [word.lower() for word in words]
        elif header and words and re.match(r"[0-9]{2}:[0-9]{2}:", words[0]):
            if len(words) != len(header):
                message = f"The row has {len(words)} fields of {len(header)}: left out."
                collector.lose(line_number, message)
                continue
            row = dict(zip(header, words, strict=True))
            if intervals and intervals[-1]["run"] != row["run"]:
                _note_no_mean(collector, intervals[-1]["run"], len(intervals), last)
                intervals = []
            last = line_number
            if _MEAN.fullmatch(row["interval"]):
                yield _FlatMean(line_number, row, intervals)
                intervals = []
            else:
                intervals.append(row)
    if intervals:
        _note_no_mean(collector, intervals[-1]["run"], len(intervals), last)


def _note_no_mean(collector: Collector, name: str, count: int, line: int) -> None:
    collector.lose(line, f"Run {name[:60]} has {count} intervals and no mean: it did not end.")


def _keep_flat(collector: Collector, name: str, mean: _FlatMean) -> None:
    span = _MEAN.fullmatch(mean.row["interval"])
    assert span is not None
    # Intervals below another header have other columns.
    intervals = [
        list(row.values())
        for row in mean.intervals
        if row["interval"].isdecimal()
        and int(span[1]) <= int(row["interval"]) <= int(span[2])
        and row.keys() == mean.row.keys()
    ]
    size = mean.row.get("xfersize", "")
    in_kb = int(size) // 1024 if re.fullmatch("[1-9][0-9]{0,12}", size) else 0
    if in_kb and in_kb * 1024 == int(size) and in_kb < 2**31:
        name = f"{name}_{in_kb}k"
    elif size and size not in ("0", "n/a"):
        name = test_name(name, f"{size} bytes")
    columns = [_flat_kind(column) for column in mean.row]
    collector.load = _load(mean.row.get("threads", ""))
    _keep(collector, mean.line, name, columns, [*mean.row.values()], intervals)


def _flat_kind(column: str) -> tuple[str, str] | None:
    """What a column is, and its unit; None: not read."""
    operation = _FLAT_OPERATION.fullmatch(column)
    if operation is None:
        return _FLAT_WHOLE.get(column)
    kind, unit = _OF_OPERATION[operation[2]]
    return f"{operation[1]}_{kind}", unit


def _load(threads: str) -> str:
    return load_text(threads=int(threads) if _THREADS.fullmatch(threads) else None)


@dataclass
class _Run:
    name: str
    description: str
    columns: Columns = field(default_factory=list)
    intervals: list[tuple[int, list[str]]] = field(default_factory=list)
    has_mean: bool = False


def _titled(name: str) -> Callable[[list[str]], bool]:
    """Whether the title is that of such a file; reports of hosts and devices look the same."""
    return lambda lines: any(
        title[1] == name for title in map(_TITLE.search, islice(lines, 20)) if title
    )


def _parse(lines: list[str], collector: Collector) -> ParsedResult:
    """Keep the means of all runs, with their intervals as samples where the file has some."""
    run: _Run | None = None
    columns: Columns = []
    # What follows the last newline may be cut off.
    for line_number, line in enumerate(lines[:-1], start=1):
        if start := _START.search(line):
            _end(collector, run, line_number)
            run = _Run(start[1].strip(), start[2])
        elif header := _HEADER.match(line):
            columns = list(_columns(header[1].split(), lines[line_number].split()))
        elif run is not None and (row := _ROW.match(line)):
            words = line.split()[2:]
            if len(words) != len(columns):
                message = f"The row has {len(words)} numbers of {len(columns)}: left out."
                collector.lose(line_number, message)
            elif row[3]:
                run.intervals.append((int(row[3]), words))
            else:
                run.has_mean, run.columns = True, columns
                _keep_run(collector, run, line_number, words, (int(row[1]), int(row[2])))
    _end(collector, run, len(lines))
    return collector.finish("The file has no mean of a run: Vdbench did not end.", len(lines))


parse_summary = reads("vdbench-summary", "vdbench", _titled("summary"))(_parse)
parse_totals = reads("vdbench-totals", "vdbench", _titled("totals"))(_parse)


def _end(collector: Collector, run: _Run | None, line: int) -> None:
    if run is not None and run.intervals and not run.has_mean:
        _note_no_mean(collector, run.name, len(run.intervals), line)


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


def _keep_run(
    collector: Collector, run: _Run, line: int, words: list[str], span: tuple[int, int]
) -> None:
    """Keep a row of means; ``span`` are its first and its last interval."""
    loops = _LOOPS.search(run.description)
    sentences = [] if loops is None or loops[1] == "None" else loops[1].split()
    threads = [word[8:] for word in sentences if word.startswith("threads=")]
    name = test_name("vdbench", run.name, *(w for w in sentences if not w.startswith("threads=")))
    parts = run.description.split("For loops:")[0].split(";")
    collector.begin([f"{run.name}: {part.strip()}"[:200] for part in parts if part.strip()])
    # Intervals below another header have other columns.
    intervals = [
        row
        for place, row in run.intervals
        if span[0] <= place <= span[1] and len(row) == len(run.columns)
    ]
    collector.load = _load(next(filter(_THREADS.fullmatch, threads), ""))
    _keep(collector, line, name, run.columns, words, intervals)


def _keep(
    collector: Collector,
    line: int,
    name: str,
    columns: Columns,
    words: Sequence[str],
    intervals: Iterable[list[str]],
) -> None:
    """Keep a row of means with its intervals as samples; all rows have these columns."""
    rows = [
        {column[0]: text for column, text in zip(columns, row, strict=True) if column}
        for row in intervals
    ]
    for column, text in zip(columns, words, strict=True):
        # Most operations are not part of a run, and 0 then.
        if column is None or column[0] == _READ_PERCENT or not re.search("[1-9]", text):
            continue
        kind, unit = column
        samples = _samples(collector, kind, rows, line, f"{name}_{kind}")
        collector.add(f"{name}_{kind}", text, unit, line, samples=samples)


def _samples(
    collector: Collector, kind: str, rows: Iterable[Mapping[str, str]], line: int, test: str
) -> list[float]:
    """What the intervals have of a kind (``iops``, ``read_response``); ``rows`` are texts by kind.

    Vdbench prints 0 where nothing was done. Such an interval has no latency, which a note says.
    """
    values, idle = [], 0
    for row in rows:
        value = number(row[kind])
        if value is None:
            continue
        if value == 0 and kind.endswith(_RESPONSE) and _is_idle(row, kind):
            idle += 1
        else:
            values.append(value)
    if idle:
        total = idle + len(values)
        message = f"{test}: {idle:,} of {total:,} intervals had no operation and have no latency."
        collector.warn(line, message, is_note=True)
    return values


def _is_idle(row: Mapping[str, str], kind: str) -> bool:
    """Whether the interval says that it had none of what the latency is of."""
    operation = kind.removesuffix(_RESPONSE)
    if f"{operation}iops" in row:
        return number(row[f"{operation}iops"]) == 0
    # Raw I/O has one rate, and the share of reads in it.
    none_at = _NONE_AT.get(operation)
    return number(row.get("iops", "")) == 0 or (
        none_at is not None and number(row.get(_READ_PERCENT, "")) == none_at
    )
