"""What sysbench 0.4 to 1.1 prints: its file test, cpu, memory, threads, mutex and SQL scripts.

0.4 and 0.5 print one rate of all requests of the file test, later versions each kind. Of the other
tests only cpu and memory say which one it was (0.4 and 0.5 all do). A command line in the file, as
of a terminal, does as well. Mb, Gb, MB and MiB are all of 1024 * 1024 bytes and so on; rates of
data are kept in MiB/s. Source: sysbench's manual, its sources, and output of 0.4.12, 0.5 and
1.0.20.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import (
    Collector,
    every_sign,
    number,
    prefixed,
    reads,
    test_name,
)

_TITLE = re.compile(r"^\W*sysbench (?:v)?([0-9][0-9A-Za-z.-]*)")
_FILEIO = re.compile(
    r"Extra file open flags|File operations:|Requests/sec executed|^\s*(?:read|written), MiB/s:"
)
_N = r"([0-9]+(?:[.,][0-9]+)?)"
_MODES = {
    "random r/w test": "rndrw",
    "random read test": "rndrd",
    "random write test": "rndwr",
    "sequential write (creation) test": "seqwr",
    "sequential rewrite test": "seqrewr",
    "sequential read test": "seqrd",
}
_DOING = re.compile(r"^\s*Doing (.*test)\s*$")
_THREADS = re.compile(r"^\s*Number of threads:\s*([0-9]{1,9})\s*$")
_FILE_SETTING = re.compile(
    r"^\s*+(Extra file open flags:.*|[0-9]+ files, .* each|.* total file size|Block size .*|"
    r"Read/Write ratio .*|Periodic FSYNC enabled.*|Calling fsync\(\) .*|Using .* I/O mode|"
    r"Number of IO requests: [1-9].*|Number of random requests for random IO: .*|"
    r"Target transaction rate: .*|Additional request validation enabled.*)\s*$"
)
_COMMAND = re.compile(r"^(?>.*?\bsysbench\b)(?>.*?\s(?:--test=)?([a-z]\w+)(?:\.lua)?\s).*\brun\b")
_OPTION = re.compile(r"(?<!\S)--[a-z][a-z0-9-]*(?:=\S+)?")
_MAY_DIFFER = re.compile(
    r"--(?:test|threads|num-threads|report-interval|rand-seed|seed|verbosity|percentile|debug|"
    r"(?:mysql|pgsql|db)-(?:host|port|user|password|socket|db|driver)|"
    # What the output says itself.
    r"file-[a-z-]+|max-requests|rate|cpu-max-prime|memory-[a-z-]+|mutex-[a-z-]+|thread-[a-z-]+)\b"
)
"""Load, seeds, places, what is printed, and what sysbench prints itself (its manual)."""
_BOTH = re.compile(rf"^\s*(read|write|fsync):\s+IOPS={_N}(?:\s+{_N} MiB/s)?")
_FILE_RATES = (
    (re.compile(rf"^\s*(reads|writes|fsyncs)/s:\s+{_N}\s*$"), "{}", "ops/s"),
    (re.compile(rf"^\s*(read|written), MiB/s:\s+{_N}\s*$"), "{}_throughput", "MiB/s"),
    (re.compile(rf"^\s*{_N}\s+Requests/sec executed"), "requests", "ops/s"),
)
"""Pattern, name and unit of each rate; a name may have the first group."""
_OLD_DATA = re.compile(rf"Total transferred \S+\s+\({_N}\s?([KMGT]?i?)b/sec\)", re.IGNORECASE)
_LATENCY = re.compile(
    rf"^\s*(min|avg|max|(?:approx\.\s+)?([0-9]{{1,3}})(?:th)? percentile):\s+{_N}(?:ms)?\s*$"
)
_END = re.compile(r"^\s*(?:sum:\s|Threads fairness)")
"""What stands behind all results of a run; of 0.x without a sum."""
_CHECKPOINT = re.compile(r"^\[\s*[0-9]+s\s*\] Checkpoint report:")
_OF_PARTS = (
    "sysbench reports here a part of a run, from one of --report-checkpoints to the next: what it "
    "measured before and behind is no repeat of it. Run it without that option."
)
_OTHER_COMMAND = re.compile(
    r"^(?:Creating files for the test|Removing test files|Creating table '|Dropping table '|"
    r"Inserting [0-9]+ records into|Creating a secondary index on|'\w+' test does not implement )"
)
"""What prepare and cleanup print of the tests, which measure nothing that is kept."""
_CUT = "The file ends before sysbench's report does: the rest is missing."
_FILE_INTERVAL = re.compile(
    rf"^\s*\[\s*[0-9]+s\s*\]\s+reads:\s+{_N} Mi?B/s\s+writes:\s+{_N} Mi?B/s\s+"
    rf"fsyncs:\s+{_N}/s"
)
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
_RATES = (
    (re.compile(rf"^\s*events per second:\s+{_N}\s*$"), "events", "ops/s"),
    (re.compile(rf"^Total operations: [0-9]+ \(\s*{_N} per second\)"), "operations", "ops/s"),
    (re.compile(rf"^Operations performed: [0-9]+ \(\s*{_N} ops/sec\)"), "operations", "ops/s"),
    (
        re.compile(rf"^[0-9.]+ Mi?B transferred \(\s*{_N} Mi?B/sec\)"),
        "throughput",
        "MiB/s",
    ),
    (
        re.compile(rf"^\s*transactions:\s+[0-9]+\s+\(\s*{_N} per sec\.\)"),
        "transactions",
        "ops/s",
    ),
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
class _Run:
    """One run of sysbench, as far as read. ``command`` is the test that a command line names."""

    line: int
    version: str
    command: str
    options: tuple[str, ...]
    has_end: bool = False
    is_other_command: bool = False
    checkpoint: int | None = None
    mode: str = ""
    title: str = ""
    operation: str = ""
    threads: int | None = None
    is_fileio: bool = False
    has_summary: bool = False
    settings: list[str] = field(default_factory=list)
    # Name, text, unit, factor, line; the load is known before, the mode maybe not.
    values: list[tuple[str, str, str, Decimal | int, int]] = field(default_factory=list)
    intervals: list[tuple[str | None, ...]] = field(default_factory=list)
    total_time: tuple[str, int] | None = None
    errors: list[tuple[int, str]] = field(default_factory=list)

    @property
    def test(self) -> str:
        """``cpu``, ``memory_write``, ``oltp_read_only``; unknown parts are left out."""
        name = self.command if self.title in ("", "sql") and self.command else self.title
        return "_".join(word for word in (name, self.operation) if word)

    @property
    def is_known(self) -> bool:
        """Whether the output or a command above it says which test it was."""
        return bool(self.command) or self.title not in ("", "sql")

    def add_latency(self, line: str, line_number: int) -> bool:
        """Keep a latency; False for any other line."""
        if (latency := _LATENCY.match(line)) is None:
            return False
        name = f"p{latency[2]}" if latency[2] else latency[1]
        self.values.append((f"latency_{name}", latency[3], "ms", 1, line_number))
        return True

    def add_rates(
        self, rates: tuple[tuple[re.Pattern[str], str, str], ...], line: str, line_number: int
    ) -> None:
        for pattern, name, unit in rates:
            if (rate := pattern.match(line)) is not None:
                text = rate.groups()[-1]
                self.values.append((name.format(rate[1]), text, unit, 1, line_number))


def _runs(
    lines: list[str],
    read_line: Callable[[_Run, str, int], None],
    is_named: Callable[[str], bool] = lambda test: True,
) -> Iterator[_Run]:
    """All runs. ``is_named``: whether a command line is of a test that is looked for."""
    run: _Run | None = None
    command = ""
    options: tuple[str, ...] = ()
    for line_number, line in enumerate(lines, start=1):
        if (match := _COMMAND.search(line)) is not None and is_named(match[1]):
            # What changes the workload.
            found = dict.fromkeys(_OPTION.findall(line))
            command = match[1]
            options = tuple(sorted(option for option in found if not _MAY_DIFFER.match(option)))
        elif (title := _TITLE.match(line)) is not None:
            if run is not None:
                yield run
            run = _Run(line_number, title[1], command, options)
            command, options = "", ()
        elif run is not None:
            run.has_end = run.has_end or _END.match(line) is not None
            run.is_other_command = run.is_other_command or _OTHER_COMMAND.match(line) is not None
            if run.checkpoint is None and _CHECKPOINT.match(line):
                run.checkpoint = line_number
            read_line(run, line, line_number)
    if run is not None:
        yield run


@reads("sysbench-fileio", "sysbench", every_sign(_TITLE.match, _FILEIO.search))
def parse_fileio(lines: list[str], collector: Collector) -> ParsedResult:
    """All runs in the file. Raises UnreadableFile where none has a result."""
    result = collector.result
    is_cut = bool(lines and lines[-1].strip())
    has_end = True
    for run in _runs(lines, _file_line):
        result.tool_version = result.tool_version or run.version
        if run.checkpoint is not None:
            collector.refuse(run.checkpoint, _OF_PARTS)
        if not run.values:
            result.complete = result.complete and run.is_other_command
            continue
        has_end = run.has_end
        collector.begin([*run.settings, *run.options])
        collector.load = load_text(threads=run.threads)
        places = {"read_throughput": (0,), "written_throughput": (1,), "fsyncs": (2,)}
        samples = _samples(run, places)
        for name, text, unit, times, line in run.values:
            test = "_".join(word for word in ("sysbench", run.mode, name) if word)
            if line == len(lines) and is_cut:
                # Without its newline the number may have been longer.
                result.complete = False
                continue
            test_samples = samples.get(name, [])
            collector.add(test, text, unit, line, times=times, samples=test_samples)
    if not result.complete:
        collector.warn(len(lines), "A run of sysbench did not end: what it measured is missing.")
    elif not has_end:
        collector.warn(len(lines), _CUT)
    return collector.finish(
        "No result of sysbench's file test is there: the run did not end, or it was another test.",
        1,
    )


def _file_line(run: _Run, line: str, line_number: int) -> None:
    if (threads := _THREADS.match(line)) is not None:
        run.threads = int(threads[1])
    elif (match := _DOING.match(line)) is not None:
        run.mode = _MODES.get(match[1], "")
    elif (setting := _FILE_SETTING.match(line)) is not None:
        run.settings.append(setting[1].strip()[:200])
    elif (interval := _FILE_INTERVAL.match(line)) is not None:
        run.intervals.append(interval.groups())
    elif (both := _BOTH.match(line)) is not None:
        run.values.append((f"{both[1]}s", both[2], "ops/s", 1, line_number))
        if both[3]:
            kind = {"write": "written"}.get(both[1], both[1])
            run.values.append((f"{kind}_throughput", both[3], "MiB/s", 1, line_number))
    elif (old := _OLD_DATA.search(line)) is not None:
        times = prefixed(old[2].lower(), "M")
        run.values.append(("throughput", old[1], "MiB/s", times, line_number))
    elif not (run.values and run.add_latency(line, line_number)):
        run.add_rates(_FILE_RATES, line, line_number)


def _samples(run: _Run, places: Mapping[str, tuple[int, ...]]) -> dict[str, list[float]]:
    """What the intervals say of each rate, which stands at one of its places."""
    return {
        name: [
            value
            for interval in run.intervals
            for place in columns
            if interval[place] and (value := number(interval[place] or "")) is not None
        ]
        for name, columns in places.items()
    }


def _is_of_others(test: str) -> bool:
    return test in _TESTS or test.startswith(("oltp_", "select_", "bulk_"))


def _recognises(lines: list[str]) -> bool:
    """Whether a run has a summary of a test that is not the file test."""
    if not any(map(_TITLE.match, lines)):
        return False
    runs = _runs(lines, _line, _is_of_others)
    return any(run.has_summary or run.title for run in runs if not run.is_fileio)


@reads("sysbench", "sysbench", _recognises)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All runs of other tests in the file. Raises UnreadableFile where none has a result."""
    result = collector.result
    unknown: int | None = None
    whole_lines = lines if lines and not lines[-1].strip() else lines[:-1]
    has_end = True
    for run in _runs(whole_lines, _line, _is_of_others):
        result.tool_version = result.tool_version or run.version
        if run.is_fileio or (run.is_other_command and not run.values):
            continue
        if not run.values and run.total_time is None:
            collector.lose(run.line, "This run of sysbench did not end: it has no result.")
            continue
        if run.checkpoint is not None:
            collector.refuse(run.checkpoint, _OF_PARTS)
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
        collector.warn(len(lines), _CUT)
    return collector.finish("No result of sysbench is there: the run did not end.", len(lines))


def _line(run: _Run, line: str, line_number: int) -> None:
    run.is_fileio = run.is_fileio or _FILEIO.search(line) is not None
    run.has_summary = run.has_summary or _SUMMARY.match(line) is not None
    for pattern, name in _TITLES:
        if pattern.search(line) and not (name == "sql" and run.title):
            run.title = name
    if (operation := _OPERATION.match(line)) is not None:
        run.operation = operation[1]
    if (setting := _SETTING.match(line)) is not None:
        run.settings.append(setting[1].strip()[:200])
    elif (threads := _THREADS.match(line)) is not None:
        run.threads = int(threads[1])
    elif (total := _TOTAL.match(line)) is not None:
        run.total_time = (total[1], line_number)
    elif _ERRORS.match(line):
        run.errors.append((line_number, line.strip()))
    elif (interval := _INTERVAL.match(line)) is not None:
        run.intervals.append(interval.groups())
    elif not (run.has_summary and run.add_latency(line, line_number)):
        run.add_rates(_RATES, line, line_number)


def _values(collector: Collector, run: _Run) -> None:
    collector.load = load_text(threads=run.threads)
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
    samples = _samples(run, places)
    for name, text, unit, _, line in run.values:
        test = test_name("sysbench", run.test, name)
        collector.add(test, text, unit, line, samples=samples.get(name, []))
    # Of a test that runs for a given time the time is not a measurement.
    if run.total_time is not None and not rates:
        text, line = run.total_time
        collector.add(test_name("sysbench", run.test, "total_time"), text, "s", line)
    for line, text in run.errors:
        collector.warn(line, f'sysbench counted "{text[:80]}".')
