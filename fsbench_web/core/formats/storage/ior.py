"""The "Summary of all tests" of IOR 2.10 to 4, and its ``summaryFormat`` JSON and CSV of 3.2 to 4.

Where there is none (IOR inside of another program, such as IO500's, prints none), the rows of the
results table are read, one for each iteration, under names without mean, max and min. The JSON has
rates over all repetitions, and those of each one; the CSV has a line a repetition, and no settings.
Source: IOR's user guide ("Understanding IOR's output"), its ``ior-output.c``, and output of 2.10,
3.0, 3.2, 3.4, 4.0 and 4.1.

IO500 runs IOR and mdtest. Its ``result_summary.txt`` has each phase with its rate and its time, and
the score. kIOPS are 1000 operations a second. Until SC19 IO500 wrote "GB/s" for 2^30 bytes a
second, as IOR's logs of 224 summaries show. Source: IO500's rules, and summaries of 2017 to 2025.
"""

import re
from dataclasses import dataclass, field
from decimal import Decimal

from fsbench_web.core.formats.json_text import JsonObject, Number, documents
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import cut_off, quoted
from fsbench_web.core.formats.values import (
    Collector,
    any_line,
    count_of,
    reads,
    settings_of_command,
    sizes_kb,
    test_name,
)

_VERSION = re.compile(r"IOR-([0-9][0-9A-Za-z.+-]{0,80}): MPI Coordinated Test of Parallel I/O")
_HEADER = re.compile(r"^\W*Operation\s+Max ?\((MiB|MB)\)\s+Min ?\(")
_ROW = re.compile(r"^[\s>|]*(write|read|remove|rewrite|reread)\s+(?=[0-9])")
_TABLE = re.compile(r"^\W*access\s+bw\(MiB/s\)\s")
_ITERATION = re.compile(r"^[\s>|]*(write|read|remove|rewrite|reread)\s+(?=[0-9-])")
_COUNTED = re.compile(r"^\W*(segments|repetitions)\s*[:=]\s*([0-9]{1,12})\s*$")
_COMMAND = re.compile(r"Command line(?: used)?\s*:\s*(.+)")
_TASKS = re.compile(r"^\W*(?:tasks|clients)\s*[:=]\s*([0-9]{1,9})\b")
_NODES = re.compile(r"^\W*nodes\s*[:=]\s*([0-9]{1,9})\s*$")
_PER_NODE = re.compile(
    r"^\W*clients(?: per node\s*[:=]\s*|\s*[:=]\s*[0-9]{1,9} \()([1-9][0-9]{0,8})"
    r"(?: per node\))?\s*$"
)
_MAY_DIFFER = (
    *("-o", "-G", "-i", "-v", "-V", "-O stoneWallingStatusFile", "-O summaryFile"),
    *("-O saveRankPerformanceDetailsCSV", "-O summaryFormat"),
    # Said by "api", "access", "tasks" and "stonewallingTime" of the options that are printed.
    *("-a", "-F", "-N", "-D"),
)
"""Files, the seed, repetitions, and how much is said (IOR's user guide, "Options")."""
_SETTING = re.compile(
    r"^\s*(api|access|type|ordering in a file|ordering inter file|xfersize|blocksize|"
    r"aggregate filesize|pattern|stonewallingTime|stoneWallingWearOut)\s*[:=]\s*+(.+?)(?<!\s)\s*$"
)
_KEPT = {
    "Max(MiB)": ("max", "MiB/s"),
    "Min(MiB)": ("min", "MiB/s"),
    "Mean(MiB)": ("mean", "MiB/s"),
    "Max(MB)": ("max", "MB/s"),
    "Min(MB)": ("min", "MB/s"),
    "Mean(MB)": ("mean", "MB/s"),
    "Max(OPs)": ("max_ops", "ops/s"),
    "Min(OPs)": ("min_ops", "ops/s"),
    "Mean(OPs)": ("mean_ops", "ops/s"),
    "Mean(s)": ("time", "s"),
}
_OF_ITERATION = {
    "bw(MiB/s)": ("", "MiB/s"),
    "IOPS": ("ops", "ops/s"),
    "Latency(s)": ("latency", "s"),
    "total(s)": ("time", "s"),
}

_REPETITION = (
    ("bw(MiB/s)", "bwMiB", "bw", "MiB/s"),
    ("IOPS", "iops", "iops", "ops/s"),
    ("Latency", "latency", "latency", "s"),
    ("open(s)", "openTime", "open_time", "s"),
    ("wr/rd(s)", "wrRdTime", "access_time", "s"),
    ("close(s)", "closeTime", "close_time", "s"),
    ("total(s)", "totalTime", "total_time", "s"),
)
"""Column of the CSV, key of the JSON, end of the test's name, unit. Source: ``ior-output.c``."""
_JSON_MARK = re.compile(r'"(?:bwMaxMIB|bwMiB|deadlineForStonewall)"\s*:')
_JSON_SUMMARY = {
    "bwMaxMIB": ("max", "MiB/s"),
    "bwMinMIB": ("min", "MiB/s"),
    "bwMeanMIB": ("mean", "MiB/s"),
    "OPsMax": ("max_ops", "ops/s"),
    "OPsMin": ("min_ops", "ops/s"),
    "OPsMean": ("mean_ops", "ops/s"),
    "MeanTime": ("time", "s"),
}
# What may differ between repeats: names, places, seeds and how much is printed. IOR prints
# "options" as the address that it has in memory.
_NO_JSON_SETTINGS = frozenset(
    {
        *("testID", "refnum", "platform", "testFileName", "test filename", "options", "verbose"),
        *("keepFile", "keepFileWithError", "warningAsErrors", "apiVersion", "repetitions"),
        *("tasks", "clients per node", "tasksPerNode", "nodes", "interTestDelay", "dryRun"),
        *("reorderTasksRandomSeed", "reorder random seed"),
        "setTimeStampSignature/incompressibleSeed",
    }
)


@dataclass
class _Test:
    """What the options of a test say, and the rows of its results table."""

    tasks: int | None = None
    settings: dict[str, None] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    rows: list[tuple[int, dict[str, str], int | None, int]] = field(default_factory=list)
    """Line, words by column, tasks and segments."""
    are_nodes_known: bool = False

    def on_nodes(self, count: int) -> None:
        """As many tasks on several machines are another workload than on one."""
        if count > 1 and not self.are_nodes_known:
            self.settings[f"{count} nodes"] = None
        self.are_nodes_known = True


@reads("ior", "ior", any_line(_VERSION.search, _HEADER.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All rows of all summaries, and of results tables without one. Raises UnreadableFile."""
    result = collector.result
    columns: list[str] = []
    test = _Test()
    for line_number, line in enumerate(
        ([*lines[:-1], lines[-1].rpartition(" ")[0]] if lines else []), start=1
    ):
        if (version := _VERSION.search(line)) is not None:
            result.tool_version = result.tool_version or version[1]
            _without_summary(collector, test, line_number)
            columns, test = [], _Test()
        elif _HEADER.match(line):
            header = line[line.index("Operation") :].replace("Std Dev", "StdDev")
            collector.begin(test.settings)
            columns = header.replace(" (", "(").split()
            test.rows.clear()
        elif columns and (row := _ROW.match(line)) is not None:
            _summary_row(collector, columns, line[row.start(1) :].split(), line_number, test.tasks)
        elif _TABLE.match(line):
            test.columns = line[line.index("access") :].split()
        elif test.columns and (row := _ITERATION.match(line)) is not None:
            _iteration(collector, test, line[row.start(1) :].split(), line_number)
        elif (command := _COMMAND.search(line)) is not None:
            result.command = result.command or command[1].strip()[:2000]
            test.settings |= dict.fromkeys(settings_of_command(command[1], _MAY_DIFFER))
        else:
            _option(test, line)
    _without_summary(collector, test, len(lines))
    return collector.finish(
        "Neither a summary of IOR nor a row of its results is there: the run did not end.",
        len(lines),
    )


def _option(test: _Test, line: str) -> None:
    """A line of the options that IOR prints before it measures."""
    per_node = _PER_NODE.match(line)
    if (tasks := _TASKS.match(line)) is not None:
        test.tasks = int(tasks[1])
    if (nodes := _NODES.match(line)) is not None:
        test.on_nodes(int(nodes[1]))
    elif per_node is not None and test.tasks:
        test.on_nodes(-(-test.tasks // int(per_node[1])))
    if (counted := _COUNTED.match(line)) is not None:
        test.counts[counted[1]] = int(counted[2])
        if counted[1] == "segments":
            test.settings[f"{counted[1]} {counted[2]}"] = None
    elif (setting := _SETTING.match(line)) is not None:
        test.settings[f"{setting[1]} {setting[2]}"[:200]] = None


def _iteration(collector: Collector, test: _Test, words: list[str], line: int) -> None:
    """Keep a row of the results table until it is known whether a summary follows."""
    if len(words) != len(test.columns):
        message = f"The row has {len(words)} fields of {len(test.columns)}: it is left out."
        collector.warn(line, message)
        return
    row = dict(zip(test.columns, words, strict=True))
    test.rows.append((line, row, test.tasks, test.counts.get("segments", 1)))


def _without_summary(collector: Collector, test: _Test, last_line: int) -> None:
    """The iterations of a test that has no summary: ``iter`` counts them from 0."""
    measured: set[tuple[str, str]] = set()
    for line, row, tasks, segments in test.rows:
        place = row["access"], row.get("iter", "")
        if not measured or place[1] not in {iteration for _, iteration in measured}:
            collector.begin(test.settings)
        measured.add(place)
        collector.load, collector.sizes = load_text(tasks=tasks), _sizes_of_iteration(row, segments)
        for column, (kind, unit) in _OF_ITERATION.items():
            if (text := row.get(column, "-")) != "-":
                name = test_name("ior", row["access"], kind)
                collector.add(name, text, unit, line)
    counts = [sum(1 for access, _ in measured if access == operation) for operation, _ in measured]
    if test.rows and min(counts) < test.counts.get("repetitions", 1):
        message = "The results end before the last repetition: what follows is missing."
        collector.lose(last_line, message)
    test.rows.clear()


def _summary_row(
    collector: Collector, columns: list[str], words: list[str], line: int, tasks: int | None
) -> None:
    if len(words) < len(columns):
        message = f"The row has {len(words)} fields of {len(columns)}: it is left out."
        collector.lose(line, message)
        return
    row = dict(zip(columns, words, strict=False))
    own_tasks = count_of(row.get("#Tasks", ""))
    collector.load = load_text(tasks=tasks if own_tasks is None else own_tasks)
    collector.sizes = _sizes(row)
    for column, (kind, unit) in _KEPT.items():
        if (text := row.get(column)) is None:
            continue
        test = test_name("ior", row["Operation"], kind)
        if not text[:1].isdigit():
            collector.warn(line, f"{test}: {quoted(text)} is not a number; it stays missing.")
            continue
        collector.add(test, text, unit, line)


def _sizes(row: dict[str, str]) -> tuple[int | None, int | None]:
    """Transfer size, and what a task writes (block size times segments), in KB of 1024 bytes."""
    texts = (row.get(name, "") for name in ("xsize", "blksiz", "segcnt"))
    transfer, block, segments = (count_of(text, 15) or 0 for text in texts)
    return sizes_kb(transfer, block * segments)


def _sizes_of_iteration(row: dict[str, str], segments: int) -> tuple[int | None, int | None]:
    """The same of a row of the results table, which gives KiB with two digits at most."""
    texts = [row.get(name, "") for name in ("xfer(KiB)", "block(KiB)")]
    if not all(re.fullmatch(r"[0-9]{1,13}(\.[0-9]{1,3})?", text) for text in texts):
        return None, None
    transfer, block = map(Decimal, texts)
    return sizes_kb(transfer * 1024, block * segments * 1024)


def _is_csv_header(line: str) -> bool:
    return line.startswith("access,bw(MiB/s),")


@reads("ior-csv", "ior", any_line(_is_csv_header))
def parse_csv(lines: list[str], collector: Collector) -> ParsedResult:
    """All repetitions of all operations. Raises UnreadableFile for rows that do not fit."""
    header: list[str] = []
    iteration = ""
    for number, line in enumerate(lines, start=1):
        fields = line.strip().split(",")
        if _is_csv_header(line):
            header, iteration = fields, ""
            collector.begin()
        elif header and re.match(r"(?:write|read),", line):
            # A last row may be cut off within a number.
            if len(fields) != len(header) or number == len(lines):
                message = f"The row has {len(fields)} fields of {len(header)}, or no end: left out."
                collector.lose(number, message)
                continue
            row = dict(zip(header, fields, strict=True))
            if row.get("iter", "") != iteration:
                collector.begin()
                iteration = row.get("iter", "")
            _csv_row(collector, row, number)
    return collector.finish("The header of IOR's CSV is there, and no repetition.", len(lines))


def _csv_row(collector: Collector, row: dict[str, str], line: int) -> None:
    collector.load = load_text(tasks=count_of(row.get("numTasks", "")))
    for column, _, kind, unit in _REPETITION:
        if column in row:
            collector.add(test_name("ior", row["access"], kind), row[column], unit, line)


@reads("ior-json", "ior", any_line(_JSON_MARK.search), has_long_lines=True)
def parse_json(lines: list[str], collector: Collector) -> ParsedResult:
    """Read all summaries, or all repetitions where there is none."""
    result = collector.result
    for root in documents(lines):
        tests = root.objects("tests")
        result.tool_version = result.tool_version or root.text("Version")[:40]
        result.command = result.command or root.text("Command line")[:2000]
        if (began := root.text("Began")) and not result.facts:
            result.facts.append(("Run at", began[:80]))
        made_with = {
            _whole_number(test, "TestID"): list(
                dict.fromkeys(
                    text
                    for name in ("Options", "Parameters")
                    for text in _json_settings(test.object(name))
                )
            )
            for test in tests
        }
        if summary := root.objects("summary"):
            last: int | None = None
            for place, entry in enumerate(summary):
                test_id = _whole_number(entry, "TestID")
                if not place or test_id != last:
                    collector.begin(made_with.get(test_id, ()))
                last = test_id
                _json_summary(collector, entry, tests)
        else:
            for test in tests:
                _repetitions(collector, test, made_with[_whole_number(test, "TestID")])
    return collector.finish("This is IOR's JSON, and no test in it has a result.", len(lines))


def _json_settings(options: JsonObject) -> list[str]:
    texts = [(key, v.text if isinstance(v, Number) else v) for key, v in options]
    settings = [
        f"{key} {text}"[:200]
        for key, text in texts
        if isinstance(text, str) and text and key not in _NO_JSON_SETTINGS
    ]
    # As IOR's text has it: as many tasks on several machines are another workload than on one.
    nodes = _whole_number(options, "nodes")
    return [*settings, f"{nodes} nodes"] if nodes is not None and nodes > 1 else settings


def _json_summary(collector: Collector, entry: JsonObject, tests: list[JsonObject]) -> None:
    operation = entry.text("operation")
    collector.load = load_text(tasks=_whole_number(entry, "numTasks"))
    collector.sizes = _json_sizes(entry)
    repetitions = [
        repetition
        for test in tests
        if _whole_number(test, "TestID") == _whole_number(entry, "TestID")
        for repetition in test.objects("Results")
        if repetition.text("access") == operation
    ]
    for key, (kind, unit) in _JSON_SUMMARY.items():
        value = entry.number(key)
        if value is None:
            collector.warn(entry.line, f"ior_{operation}_{kind} has no number; it stays missing.")
            continue
        rates = [repetition.number("bwMiB") for repetition in repetitions] if kind == "mean" else []
        samples = [float(rate.text) for rate in rates if rate is not None]
        name = test_name("ior", operation, kind)
        collector.add(name, value.text, unit, value.line, samples=samples)


def _whole_number(entry: JsonObject, key: str) -> int | None:
    number = entry.number(key)
    return count_of(number.text, 18) if number else None


def _json_sizes(entry: JsonObject) -> tuple[int | None, int | None]:
    """Transfer size and what a task writes, in KB, where both are whole."""
    sizes = (_whole_number(entry, key) for key in ("transferSize", "blockSize", "segmentCount"))
    transfer, block, segments = (size or 0 for size in sizes)
    return sizes_kb(transfer, block * segments)


def _repetitions(collector: Collector, test: JsonObject, settings: list[str]) -> None:
    message = "IOR's summary is not there: the run did not end. Its repetitions are read."
    collector.lose(test.line, message)
    load = load_text(tasks=_whole_number(test.object("Options"), "tasks"))
    seen: set[str] = set()
    for entry in test.objects("Results"):
        access = entry.text("access")
        if not seen or access in seen:
            collector.begin(settings)
            collector.load = load
            seen = set()
        seen.add(access)
        for _, key, kind, unit in _REPETITION:
            if (value := entry.number(key)) is not None:
                name = test_name("ior", access, kind)
                collector.add(name, value.text, unit, value.line)


_IO500_VERSION = re.compile(r"^IO500 version (\S+)(?: \(([a-z]+)\))?")
_NUMBER = r"([0-9]+(?:[.,][0-9]+)?(?:e[+-]?[0-9]{1,3})?|-?nan|-?inf)"
_PHASE = re.compile(
    r"^\[(RESULT|      )\]\s+(?:(?:BW|IOPS)\s+phase [0-9]+\s+)?([A-Za-z0-9_-]{1,60})\s+"
    rf"{_NUMBER} (G(?:i)?B/s|kIOPS|kiops)\s*: time\s+{_NUMBER} seconds(\s*\[INVALID\])?"
)
_SCORE = re.compile(
    rf"^\[SCORE(X?) ?\]\s+Bandwidth {_NUMBER} (?:GB/s|GiB/s) : IOPS {_NUMBER} kiops : "
    rf"TOTAL {_NUMBER}(\s*\[INVALID\])?"
)
# It writes a file to compare times with, and measures nothing.
_NO_PHASES = ("timestamp",)


@reads("io500", "io500", any_line(_PHASE.match, _SCORE.match))
def parse_io500(lines: list[str], collector: Collector) -> ParsedResult:
    """All phases and the scores. Raises UnreadableFile where none was measured."""
    result = collector.result
    result.complete = False
    for line_number, line in enumerate(lines, start=1):
        if (version := _IO500_VERSION.match(line)) is not None:
            result.tool_version = version[1][:40]
            result.modes = (version[2],) if version[2] else ()
        elif (phase := _PHASE.match(line)) is not None and phase[2] not in _NO_PHASES:
            test = test_name("io500", phase[2].replace("-", "_"))
            if phase[4].lower() == "kiops":
                collector.add(test, phase[3], "IOPS", line_number, times=1000)
            else:
                collector.add(test, phase[3], "GiB/s", line_number)
            collector.add(f"{test}_time", phase[5], "s", line_number)
            _check(collector, phase[6], test, line_number)
        elif (score := _SCORE.match(line)) is not None:
            result.complete = True
            test = "io500_extended" if score[1] else "io500"
            collector.add(f"{test}_bandwidth", score[2], "GiB/s", line_number)
            collector.add(f"{test}_iops", score[3], "IOPS", line_number, times=1000)
            if line_number == len(lines) and not score[5]:
                collector.warn(line_number, cut_off(score[4]))
                continue
            collector.add(f"{test}_total", score[4], "score", line_number)
            _check(collector, score[5], f"{test}_total", line_number)
    if not result.complete:
        collector.warn(len(lines), "The summary ends before the score: IO500 did not end.")
    return collector.finish("No phase of IO500 was measured.", len(lines))


def _check(collector: Collector, invalid: str | None, test: str, line: int) -> None:
    if invalid:
        collector.warn(line, f"{test}: IO500 says that it is invalid.")
