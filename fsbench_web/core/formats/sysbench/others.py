"""What sysbench prints of its tests other than fileio: cpu, memory, threads, mutex and SQL scripts.

Only cpu and memory say which test it was (0.4 and 0.5 all do); a command line in the file, as of a
terminal, does as well. MiB and MB are 1024 * 1024 bytes. Source: sysbench's manual, its sources,
and output of 0.4.12 and 1.0.20.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.sysbench.fileio import (
    COMMAND,
    CUT,
    FILEIO,
    LATENCY,
    OF_PARTS,
    THREADS,
    TITLE,
    Marks,
    options_of,
)
from fsbench_web.core.formats.values import Collector, number, reads, test_name

_TESTS = frozenset({"cpu", "memory", "threads", "mutex", "oltp"})
_TITLES = (
    (re.compile(r"CPU speed:|Prime numbers limit|Maximum prime number|Doing CPU perf"), "cpu"),
    (re.compile(r"Running memory speed test|Doing memory operations speed test"), "memory"),
    (re.compile(r"Doing thread subsystem performance test"), "threads"),
    (re.compile(r"Doing mutex performance test"), "mutex"),
    (re.compile(r"^\s*Doing OLTP test\."), "oltp"),
    (re.compile(r"SQL statistics:|OLTP test statistics:"), "sql"),
)
_SUMMARY = re.compile(r"^\s*(?:General statistics|Test execution summary|SQL statistics|CPU speed)")
_SETTING = re.compile(
    r"^\s*((?:Prime numbers limit|Maximum prime number checked in CPU test|block size|total size|"
    r"Memory block size|Memory transfer size|operation|Memory operations type|scope|"
    r"Memory scope type|Thread yields per test|Locks used|Number of mutexes|Number of locks"
    r"): \S.*|"
    # Of the OLTP test of 0.4.
    r"Running \w+ OLTP test|Doing read-only test|Skipping BEGIN/COMMIT|"
    r"Using (?:\w+ distribution|\"|auto_inc).*|Maximum number of requests for OLTP test .*)$"
)
_OPERATION = re.compile(r"^\s*(?:Memory operations type|operation): (\w+)")
_N = r"([0-9]+(?:[.,][0-9]+)?)"
# Name, unit.
_RATES = (
    (re.compile(rf"^\s*events per second:\s+{_N}\s*$"), "events", "ops/s"),
    (re.compile(rf"^Total operations: [0-9]+ \(\s*{_N} per second\)"), "operations", "ops/s"),
    (re.compile(rf"^Operations performed: [0-9]+ \(\s*{_N} ops/sec\)"), "operations", "ops/s"),
    (
        re.compile(rf"^[0-9.]+ Mi?B transferred \(\s*{_N} Mi?B/sec\)"),
        "throughput",
        "MiB/s",
    ),
    (re.compile(rf"^\s*transactions:\s+[0-9]+\s+\(\s*{_N} per sec\.\)"), "transactions", "ops/s"),
    (re.compile(rf"^\s*queries:\s+[0-9]+\s+\(\s*{_N} per sec\.\)"), "queries", "ops/s"),
    (
        re.compile(rf"^\s*read/write requests:\s+[0-9]+\s+\(\s*{_N} per sec\.\)"),
        "read_write_requests",
        "ops/s",
    ),
)
_TOTAL = re.compile(rf"^\s*total time:\s+{_N}s\s*$")
_ERRORS = re.compile(r"^\s*(?:ignored errors|reconnects|deadlocks):\s+([1-9][0-9]*)\s+\(")
_INTERVAL = re.compile(
    rf"^\[\s*[0-9]+s\s*\] (?:{_N} MiB/sec|thds: [0-9]+ (?:eps: {_N} |tps: {_N} qps: {_N} )|"
    rf"threads: [0-9]+, tps: {_N}, reads)"
)


@dataclass
class _Run(Marks):
    """One run of sysbench, as far as read."""

    line: int
    command: str = ""
    options: tuple[str, ...] = ()
    title: str = ""
    operation: str = ""
    threads: int | None = None
    is_fileio: bool = False
    has_summary: bool = False
    settings: list[str] = field(default_factory=list)
    # Name, text, unit, line.
    values: list[tuple[str, str, str, int]] = field(default_factory=list)
    total_time: tuple[str, int] | None = None
    errors: list[tuple[int, str]] = field(default_factory=list)
    intervals: list[tuple[str | None, ...]] = field(default_factory=list)

    @property
    def test(self) -> str:
        """``cpu``, ``memory_write``, ``oltp_read_only``; what is not known is left out."""
        name = self.command if self.title in ("", "sql") and self.command else self.title
        return "_".join(word for word in (name, self.operation) if word)

    @property
    def is_known(self) -> bool:
        """Whether the output or a command above it says which test it was."""
        return bool(self.command) or self.title not in ("", "sql")


def _recognises(lines: list[str]) -> bool:
    """Whether a run has a summary of a test that is not the file test."""
    if not any(TITLE.match(line) for line in lines):
        return False
    return any(run.has_summary or run.title for run in _runs(lines) if not run.is_fileio)


@reads("sysbench", "sysbench", _recognises)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All runs in the file. Raises UnreadableFile where none has a result."""
    result = collector.result
    unknown: int | None = None
    whole_lines = lines if lines and not lines[-1].strip() else lines[:-1]
    has_end = True
    for run in _runs(whole_lines):
        title = TITLE.match(lines[run.line - 1])
        result.tool_version = result.tool_version or (title[1] if title else "")
        if run.is_fileio or (run.is_other_command and not run.values):
            continue
        if not run.values and run.total_time is None:
            collector.lose(run.line, "This run of sysbench did not end: it has no result.")
            continue
        if run.checkpoint is not None:
            collector.refuse(run.checkpoint, OF_PARTS)
        if not run.is_known:
            if unknown is not None:
                collector.refuse(
                    run.line,
                    f"This run and that of line {unknown} do not say which test of sysbench they "
                    "are: make each a file of its own, or put its command above it.",
                )
            unknown = run.line
        has_end = run.has_end
        collector.begin([*run.settings, *run.options])
        _values(collector, run)
    if not has_end:
        collector.warn(len(lines), CUT)
    return collector.finish("No result of sysbench is there: the run did not end.", len(lines))


def _runs(lines: list[str]) -> Iterator[_Run]:
    run: _Run | None = None
    command = ""
    options: tuple[str, ...] = ()
    for number_of_line, line in enumerate(lines, start=1):
        if TITLE.match(line):
            if run is not None:
                yield run
            run = _Run(number_of_line, command, options)
            command, options = "", ()
        elif (match := COMMAND.search(line)) is not None and (
            match[1] in _TESTS or match[1].startswith(("oltp_", "select_", "bulk_"))
        ):
            command, options = match[1], options_of(line)
        elif run is not None:
            _line(run, line, number_of_line)
    if run is not None:
        yield run


def _line(run: _Run, line: str, line_number: int) -> None:
    run.note(line, line_number)
    run.is_fileio = run.is_fileio or FILEIO.search(line) is not None
    run.has_summary = run.has_summary or _SUMMARY.match(line) is not None
    for pattern, name in _TITLES:
        if pattern.search(line) and not (name == "sql" and run.title):
            run.title = name
    if (operation := _OPERATION.match(line)) is not None:
        run.operation = operation[1]
    if (setting := _SETTING.match(line)) is not None:
        run.settings.append(setting[1].strip()[:200])
    elif (threads := THREADS.match(line)) is not None:
        run.threads = int(threads[1])
    elif (total := _TOTAL.match(line)) is not None:
        run.total_time = (total[1], line_number)
    elif _ERRORS.match(line):
        run.errors.append((line_number, line.strip()))
    elif (interval := _INTERVAL.match(line)) is not None:
        run.intervals.append(interval.groups())
    elif run.has_summary and (latency := LATENCY.match(line)) is not None:
        name = f"p{latency[2]}" if latency[2] else latency[1]
        run.values.append((f"latency_{name}", latency[3], "ms", line_number))
    else:
        for pattern, name, unit in _RATES:
            if (rate := pattern.match(line)) is not None:
                run.values.append((name, rate[1], unit, line_number))


def _values(collector: Collector, run: _Run) -> None:
    load = load_text(threads=run.threads)
    if not run.is_known:
        collector.warn(
            run.line,
            "sysbench does not say here which test it ran "
            f"({'an SQL script' if run.title else 'threads and mutex print the same'}): runs of "
            "others are no repeats of it. A line with its command above the output says it.",
            is_note=True,
        )
    rates = {name for name, *_ in run.values if not name.startswith("latency_")}
    # Transactions stand in another place in 0.5.
    places = {"throughput": (0,), "events": (1,), "transactions": (2, 4), "queries": (3,)}
    samples = {
        name: [
            value
            for interval in run.intervals
            for place in columns
            if interval[place] and (value := number(interval[place] or "")) is not None
        ]
        for name, columns in places.items()
    }
    for name, text, unit, line in run.values:
        test = test_name("sysbench", run.test, name)
        collector.add(test, text, unit, line, load=load, samples=samples.get(name, ()))
    # Of a test that runs for a given time the time is no measurement.
    if run.total_time is not None and not rates:
        text, line = run.total_time
        collector.add(test_name("sysbench", run.test, "total_time"), text, "s", line, load=load)
    for line, text in run.errors:
        collector.warn(line, f'sysbench counted "{text[:80]}".')
