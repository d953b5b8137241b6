"""The "Summary of all tests" of IOR 2.10 to 4: rates of each operation over its repetitions.

Where there is none (IOR inside of another program, such as IO500's, prints none), the rows of the
results table are read, one for each iteration, under names without mean, max and min. Source: IOR's
user guide ("Understanding IOR's output"), and output of 2.10, 3.0, 3.2, 3.4 and 4.0.
"""

import re
from dataclasses import dataclass, field
from decimal import Decimal

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.settings import of_command
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector, test_name

FORMAT = "ior"
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


def recognises(lines: list[str]) -> bool:
    """Whether IOR's title or the header of its summary is there."""
    return any(_VERSION.search(line) or _HEADER.match(line) for line in lines)


def parse(lines: list[str]) -> ParsedResult:
    """All rows of all summaries, and of results tables without one. Raises UnreadableFile."""
    result = ParsedResult(FORMAT, "ior")
    collector = Collector(result)
    columns: list[str] = []
    test = _Test()
    for line_number, line in enumerate(_without_last_word(lines), start=1):
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
            test.settings |= dict.fromkeys(of_command(command[1], _MAY_DIFFER))
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


def _without_last_word(lines: list[str]) -> list[str]:
    """Without the word at which the file ends, which may have been longer."""
    return [*lines[:-1], lines[-1].rpartition(" ")[0]] if lines else []


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
        for column, (kind, unit) in _OF_ITERATION.items():
            if (text := row.get(column, "-")) != "-":
                name = test_name("ior", row["access"], kind)
                load, sizes = load_text(tasks=tasks), _sizes_of_iteration(row, segments)
                collector.add(name, text, unit, line, load=load, sizes=sizes)
    counts = [sum(1 for access, _ in measured if access == operation) for operation, _ in measured]
    if test.rows and min(counts) < test.counts.get("repetitions", 1):
        collector.result.complete = False
        message = "The results end before the last repetition: what follows is missing."
        collector.warn(last_line, message)
    test.rows.clear()


def _summary_row(
    collector: Collector, columns: list[str], words: list[str], line: int, tasks: int | None
) -> None:
    if len(words) < len(columns):
        message = f"The row has {len(words)} fields of {len(columns)}: it is left out."
        collector.warn(line, message)
        collector.result.complete = False
        return
    _row(collector, dict(zip(columns, words, strict=False)), line, tasks)


def _row(collector: Collector, row: dict[str, str], line: int, tasks: int | None) -> None:
    if re.fullmatch("[0-9]{1,9}", row.get("#Tasks", "")):
        tasks = int(row["#Tasks"])
    load = load_text(tasks=tasks)
    sizes = _sizes(row)
    for column, (kind, unit) in _KEPT.items():
        if (text := row.get(column)) is None:
            continue
        test = test_name("ior", row["Operation"], kind)
        if not text[:1].isdigit():
            collector.warn(line, f"{test}: {quoted(text)} is no number; it stays missing.")
            continue
        collector.add(test, text, unit, line, load=load, sizes=sizes)


def _sizes(row: dict[str, str]) -> tuple[int | None, int | None]:
    """Transfer size, and what a task writes (block size times segments), in KB of 1024 bytes."""
    texts = [row.get(name, "") for name in ("xsize", "blksiz", "segcnt")]
    if not all(re.fullmatch("[0-9]{1,15}", text) for text in texts):
        return None, None
    transfer, block, segments = map(int, texts)
    size = block * segments
    if transfer % 1024 or size % 1024 or not 0 < transfer < 2**41 or not 0 < size < 2**60:
        return None, None
    return transfer // 1024, size // 1024


def _sizes_of_iteration(row: dict[str, str], segments: int) -> tuple[int | None, int | None]:
    """The same of a row of the results table, which gives KiB with two digits at most."""
    texts = [row.get(name, "") for name in ("xfer(KiB)", "block(KiB)")]
    if not all(re.fullmatch(r"[0-9]{1,13}(\.[0-9]{1,3})?", text) for text in texts):
        return None, None
    transfer, block = map(Decimal, texts)
    size = block * segments
    if transfer % 1 or size % 1 or not 0 < transfer < 2**31 or not 0 < size < 2**50:
        return None, None
    return int(transfer), int(size)
