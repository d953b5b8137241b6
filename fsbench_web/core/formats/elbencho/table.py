"""The table that elbencho prints, and appends to a file with --resfile; of versions 1.6 to 3.

Each result is given twice: "first done" when the fastest thread was done, "last done" when the
slowest was. Rates of data are MiB/s (MB/s with --base10); times become ms, latencies µs, as in its
CSV, exactly. Source: elbencho's ``Statistics.cpp`` and ``UnitTk.cpp``, and output of 1.6 and 3.1.
"""

import re
from dataclasses import dataclass, field
from decimal import Decimal

from fsbench_web.core.formats.elbencho.command import settings_of
from fsbench_web.core.formats.elbencho.json_file import HOUSEKEEPING
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, test_name

FORMAT = "elbencho"
_HEADER = re.compile(r"^OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*$")
_DATE = re.compile(r"^ISO DATE(?: start)?\s*: (\S{10,40})")
_COMMAND = re.compile(r"^COMMAND LINE: (.+)$")
_ROW = re.compile(r"^(?:([A-Z][A-Z0-9+_-]{1,20})\s+|\s+)(\S.*?)(?<!\s)\s*:\s+(\S.*?)(?<!\s)\s*$")
_PAIR = re.compile(r"(\S+)\s+(\S+)")
_RATE = re.compile(r"(?:(IOPS|(?:Files|Dirs|Objects|Entries|Buckets)/s)|(?:Throughput )?(Mi?B/s))")
_SIDE = re.compile(r" (read|write|total)$")
_LATENCY = re.compile(r"(IO|\S+)(?: (rd))? latency")
_PERCENTILES = re.compile(r"(IO|\S+)(?: (rd))? lat % us")
_END = re.compile(r"(min|avg|max)=([0-9]+(?:\.[0-9]+)?)(us|ms|s)\b")
_PERCENT = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,6})?)%<=([0-9]+(?:\.[0-9]+)?)")
_ELAPSED = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+(?:\.[0-9]+)?)s)?(?:([0-9]+)ms)?")
_MICROSECONDS = {"us": 1, "ms": 1000, "s": 10**6}


@dataclass
class _Run:
    """One invocation: from its header to the next."""

    line: int
    command: str = ""
    # Operation, kind, text, unit, factor, line.
    values: list[tuple[str, str, str, str, Decimal | int, int]] = field(default_factory=list)
    operation: str = ""


def recognises(lines: list[str]) -> bool:
    """Whether a line is the header of elbencho's table."""
    return any(_HEADER.match(line) for line in lines)


def parse(lines: list[str]) -> ParsedResult:
    """All phases of all runs, which must be runs of one command.

    Raises UnreadableFile where several runs do not say that they are, and where none has a result.
    """
    result = ParsedResult(FORMAT, "elbencho")
    collector = Collector(result)
    runs: list[_Run] = []
    command = ""
    for number, line in enumerate(lines, start=1):
        if (match := _COMMAND.match(line)) is not None:
            command = match[1].strip()
        elif (date := _DATE.match(line)) is not None:
            if not result.facts:
                result.facts.append(("Run at", date[1]))
        elif _HEADER.match(line):
            runs.append(_Run(number, command))
            command = ""
        elif runs and number < len(lines):
            _line(collector, runs[-1], line, number)
    runs = [run for run in runs if run.values]
    _check(collector, runs)
    for run in runs:
        settings, load = settings_of(run.command)
        result.command = result.command or run.command[:2000]
        result.modes = result.modes or settings
        collector.begin()
        for operation, kind, text, unit, times, value_line in run.values:
            is_random = "--rand" in settings and operation in ("READ", "WRITE")
            test = test_name("elbencho", "random" if is_random else "", operation, kind)
            collector.add(test, text, unit, value_line, times=times, load=load)
    return collector.finish("elbencho's table is there, and no phase with a result.", len(lines))


def _check(collector: Collector, runs: list[_Run]) -> None:
    for run in runs[1:]:
        first = runs[0]
        if not run.command or not first.command:
            collector.refuse(
                run.line,
                f"A run of elbencho starts here and another one in line {first.line}, and none "
                "says its settings: make each a file of its own, or take what --csvfile, "
                "--jsonfile or --resfile wrote.",
            )
        elif settings_of(run.command) != settings_of(first.command):
            collector.refuse(
                run.line,
                f"A run of elbencho with other settings than that in line {first.line} starts "
                "here: make it a file of its own.",
            )


def _line(collector: Collector, run: _Run, line: str, number: int) -> None:
    row = _ROW.match(line)
    if row is None:
        return
    run.operation = row[1] or run.operation
    if not run.operation or run.operation in HOUSEKEEPING:
        return
    side = _SIDE.search(row[2])
    name = row[2][: side.start()] if side else row[2]
    suffix = f"_{side[1]}" if side else ""
    if (latency := _LATENCY.fullmatch(row[2])) is not None:
        kind = _latency_kind(latency)
        for end, text, unit in _END.findall(row[3]):
            _add(run, f"{kind}_{end}", text, "µs", _MICROSECONDS[unit], number)
    elif (percentiles := _PERCENTILES.fullmatch(row[2])) is not None:
        kind = _latency_kind(percentiles)
        for percent, text in _PERCENT.findall(row[3]):
            _add(run, f"{kind}_p{percent}", text, "µs", 1, number)
    elif (pair := _PAIR.fullmatch(row[3])) is not None:
        for when, text in zip(("first", "last"), pair.groups(), strict=True):
            if name in ("Elapsed time", "Elapsed ms"):
                _elapsed(collector, run, when, text, number)
            elif (rate := _RATE.fullmatch(name)) is not None:
                kind = "throughput" if rate[2] else "iops" if rate[1] == "IOPS" else "entries"
                _add(run, f"{kind}{suffix}_{when}", text, rate[2] or "ops/s", 1, number)


def _latency_kind(match: re.Match[str]) -> str:
    kind = "io_latency" if match[1] == "IO" else "entry_latency"
    return f"{kind}_read" if match[2] else kind


def _add(run: _Run, kind: str, text: str, unit: str, times: int, line: int) -> None:
    run.values.append((run.operation, kind, text, unit, times, line))


def _elapsed(collector: Collector, run: _Run, when: str, text: str, line: int) -> None:
    """Milliseconds of ``2m3.241s``, ``586ms`` or, before 1.7, a number of them."""
    parts = _ELAPSED.fullmatch(text)
    if text.isdigit():
        _add(run, f"time_{when}", text, "ms", 1, line)
    elif parts is not None and any(parts.groups()):
        hours, minutes, seconds, millis = (Decimal(part or 0) for part in parts.groups())
        total = (hours * 3600 + minutes * 60 + seconds) * 1000 + millis
        _add(run, f"time_{when}", f"{total:f}", "ms", 1, line)
    else:
        collector.warn(line, f'"{text[:40]}" is no time; it stays missing.')
