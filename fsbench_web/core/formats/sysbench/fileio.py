"""What ``sysbench fileio`` prints: 0.4 and 0.5 (one rate of all requests), 1.0 and 1.1 (each kind).

Mb, Gb and MiB are all of 1024 * 1024 bytes and so on; rates of data are kept in MiB/s. Source:
sysbench's manual, and output of 0.4.12, 0.5 and 1.0.20.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, number, reads

TITLE = re.compile(r"^\W*sysbench (?:v)?([0-9][0-9A-Za-z.-]*)")
FILEIO = re.compile(
    r"Extra file open flags|File operations:|Requests/sec executed|^\s*(?:read|written), MiB/s:"
)
_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_MODES = {
    "random r/w test": "rndrw",
    "random read test": "rndrd",
    "random write test": "rndwr",
    "sequential write (creation) test": "seqwr",
    "sequential rewrite test": "seqrewr",
    "sequential read test": "seqrd",
}
_DOING = re.compile(r"^\s*Doing (.*test)\s*$")
THREADS = re.compile(r"^\s*Number of threads:\s*([0-9]{1,9})\s*$")
_SETTINGS = re.compile(
    r"^\s*+(Extra file open flags:.*|[0-9]+ files, .* each|.* total file size|Block size .*|"
    r"Read/Write ratio .*|Periodic FSYNC enabled.*|Calling fsync\(\) .*|Using .* I/O mode|"
    r"Number of IO requests: [1-9].*|Number of random requests for random IO: .*|"
    r"Target transaction rate: .*|Additional request validation enabled.*)\s*$"
)
COMMAND = re.compile(r"^(?>.*?\bsysbench\b)(?>.*?\s(?:--test=)?([a-z]\w+)(?:\.lua)?\s).*\brun\b")
_OPTION = re.compile(r"(?<!\S)--[a-z][a-z0-9-]*(?:=\S+)?")
_MAY_DIFFER = re.compile(
    r"--(?:test|threads|num-threads|report-interval|rand-seed|seed|verbosity|percentile|debug|"
    r"(?:mysql|pgsql|db)-(?:host|port|user|password|socket|db|driver)|"
    # What the output says itself.
    r"file-[a-z-]+|max-requests|rate|cpu-max-prime|memory-[a-z-]+|mutex-[a-z-]+|thread-[a-z-]+)\b"
)
"""Load, seeds, places, what is printed, and what sysbench prints itself (its manual)."""
_RATE = re.compile(rf"^\s*(reads|writes|fsyncs)/s:\s+{_NUMBER}\s*$")
_DATA = re.compile(rf"^\s*(read|written), MiB/s:\s+{_NUMBER}\s*$")
_BOTH = re.compile(rf"^\s*(read|write|fsync):\s+IOPS={_NUMBER}(?:\s+{_NUMBER} MiB/s)?")
_OLD_DATA = re.compile(rf"Total transferred \S+\s+\({_NUMBER}\s?([KMGT]?i?)b/sec\)", re.IGNORECASE)
_OLD_RATE = re.compile(rf"^\s*{_NUMBER}\s+Requests/sec executed")
LATENCY = re.compile(
    rf"^\s*(min|avg|max|(?:approx\.\s+)?([0-9]{{1,3}})(?:th)? percentile):\s+{_NUMBER}(?:ms)?\s*$"
)
END = re.compile(r"^\s*(?:sum:\s|Threads fairness)")
"""What stands behind all results of a run; of 0.x without a sum."""
CHECKPOINT = re.compile(r"^\[\s*[0-9]+s\s*\] Checkpoint report:")
OF_PARTS = (
    "sysbench reports here a part of a run, from one of --report-checkpoints to the next: what it "
    "measured before and behind is no repeat of it. Run it without that option."
)
OTHER_COMMAND = re.compile(
    r"^(?:Creating files for the test|Removing test files|Creating table '|Dropping table '|"
    r"Inserting [0-9]+ records into|Creating a secondary index on|'\w+' test does not implement )"
)
"""What prepare and cleanup print of the tests, which measure nothing that is kept."""
CUT = "The file ends before sysbench's report does: the rest is missing."
_INTERVAL = re.compile(
    rf"^\s*\[\s*[0-9]+s\s*\]\s+reads:\s+{_NUMBER} Mi?B/s\s+writes:\s+{_NUMBER} Mi?B/s\s+"
    rf"fsyncs:\s+{_NUMBER}/s"
)
_MEBIBYTES: dict[str, Decimal | int] = {
    "": Decimal(1) / 1048576,
    "K": Decimal(1) / 1024,
    "M": 1,
    "G": 1024,
    "T": 1048576,
}


def options_of(command: str) -> tuple[str, ...]:
    """The options of a command above the output, as of a terminal, that make another workload."""
    options = dict.fromkeys(_OPTION.findall(command))
    return tuple(sorted(option for option in options if not _MAY_DIFFER.match(option)))


def _recognises(lines: list[str]) -> bool:
    """Whether sysbench's title and something of its file test are there."""
    return any(TITLE.match(line) for line in lines) and any(FILEIO.search(line) for line in lines)


@dataclass(kw_only=True)
class Marks:
    """What lines of any test say of a run besides its numbers."""

    has_end: bool = False
    is_other_command: bool = False
    checkpoint: int | None = None

    def note(self, line: str, line_number: int) -> None:
        """Take in a line."""
        self.has_end = self.has_end or END.match(line) is not None
        self.is_other_command = self.is_other_command or OTHER_COMMAND.match(line) is not None
        if self.checkpoint is None and CHECKPOINT.match(line):
            self.checkpoint = line_number


@dataclass
class _Run(Marks):
    """One run of sysbench, as far as read."""

    mode: str = ""
    threads: int | None = None
    settings: list[str] = field(default_factory=list)
    options: tuple[str, ...] = ()
    # Test, text, unit, factor, line; the load is known before, the mode maybe not.
    values: list[tuple[str, str, str, Decimal | int, int]] = field(default_factory=list)
    intervals: list[tuple[str, ...]] = field(default_factory=list)


@reads("sysbench-fileio", "sysbench", _recognises)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All runs in the file. Raises UnreadableFile where none has a result."""
    result = collector.result
    cut = lines[-1] if lines and lines[-1].strip() else None
    has_end = True
    for run in _runs(lines, result):
        if run.checkpoint is not None:
            collector.refuse(run.checkpoint, OF_PARTS)
        if not run.values:
            result.complete = result.complete and run.is_other_command
            continue
        has_end = run.has_end
        collector.begin([*run.settings, *run.options])
        load = load_text(threads=run.threads)
        samples = _samples(run)
        for name, text, unit, times, line in run.values:
            test = "_".join(word for word in ("sysbench", run.mode, name) if word)
            test_samples = samples.get(name, ())
            if line == len(lines) and cut is not None:
                # Without its newline the number may have been longer.
                result.complete = False
                continue
            collector.add(test, text, unit, line, times=times, load=load, samples=test_samples)
    if not result.complete:
        collector.warn(len(lines), "A run of sysbench did not end: what it measured is missing.")
    elif not has_end:
        collector.warn(len(lines), CUT)
    return collector.finish(
        "No result of sysbench's file test is there: the run did not end, or it was another test.",
        1,
    )


def _runs(lines: list[str], result: ParsedResult) -> Iterator[_Run]:
    run: _Run | None = None
    options: tuple[str, ...] = ()
    for line_number, line in enumerate(lines, start=1):
        if COMMAND.search(line):
            options = options_of(line)
        elif (title := TITLE.match(line)) is not None:
            if run is not None:
                yield run
            run, options = _Run(options=options), ()
            result.tool_version = result.tool_version or title[1]
        elif run is not None:
            _line(run, line, line_number)
    if run is not None:
        yield run


def _line(run: _Run, line: str, line_number: int) -> None:
    run.note(line, line_number)
    if (threads := THREADS.match(line)) is not None:
        run.threads = int(threads[1])
    elif (match := _DOING.match(line)) is not None:
        run.mode = _MODES.get(match[1], "")
    elif (setting := _SETTINGS.match(line)) is not None:
        run.settings.append(setting[1].strip()[:200])
    elif (interval := _INTERVAL.match(line)) is not None:
        run.intervals.append(interval.groups())
    elif (rate := _RATE.match(line)) is not None:
        run.values.append((rate[1], rate[2], "ops/s", 1, line_number))
    elif (data := _DATA.match(line)) is not None:
        run.values.append((f"{data[1]}_throughput", data[2], "MiB/s", 1, line_number))
    elif (both := _BOTH.match(line)) is not None:
        run.values.append((f"{both[1]}s", both[2], "ops/s", 1, line_number))
        if both[3]:
            kind = {"write": "written"}.get(both[1], both[1])
            run.values.append((f"{kind}_throughput", both[3], "MiB/s", 1, line_number))
    elif (old := _OLD_DATA.search(line)) is not None:
        times = _MEBIBYTES[old[2].upper().removesuffix("I")]
        run.values.append(("throughput", old[1], "MiB/s", times, line_number))
    elif (requests := _OLD_RATE.match(line)) is not None:
        run.values.append(("requests", requests[1], "ops/s", 1, line_number))
    elif run.values and (latency := LATENCY.match(line)) is not None:
        name = f"p{latency[2]}" if latency[2] else latency[1]
        run.values.append((f"latency_{name}", latency[3], "ms", 1, line_number))


def _samples(run: _Run) -> dict[str, tuple[float, ...]]:
    names = ("read_throughput", "written_throughput", "fsyncs")
    return {
        name: tuple(value for texts in run.intervals if (value := number(texts[place])) is not None)
        for place, name in enumerate(names)
    }
