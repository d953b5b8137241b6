"""The summary of mdtest 1.8 to 4: maximum, minimum and mean of each operation over its iterations.

Rates are operations a second; a summary of times is in seconds, or in what its title says. With
``--saveRankPerformanceDetails`` mdtest 4 writes a file with each rank: its row *all* has those of
all ranks together, in the first iteration alone. Source: mdtest(1), its ``StoreRankInformation``,
and output of 1.9.3, 3.4 and 4.1.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import NODE_MAP
from fsbench_web.core.formats.values import (
    Collector,
    any_line,
    number,
    reads,
    settings_of_command,
    test_name,
)

_SUMMARY = re.compile(
    r"^\W*SUMMARY(?: (rate|time))?(?: \(in ([^)]*)\))?\s*+:?\s*+\(of ([0-9]+) iterations?\)"
)
_ROW = re.compile(
    r"^[\s>|]*((?:File|Directory|Tree)\b[A-Za-z() -]{0,60}?)(?<!\s)(?:\s*+:)?"
    r"((?:\s++[0-9][0-9.,eE+-]*){4}(?:(?:\s++[0-9][0-9.,eE+-]*){3,4})?)\s*$"
)
_VERSION = re.compile(
    r"mdtest-([0-9][0-9A-Za-z.+-]{0,80}) was launched with ([0-9]{1,9}) total task"
    r"(?:\(?s\)? on ([0-9]{1,9}) node)?"
)
_TASKS = re.compile(r"^\W*([0-9]{1,9}) tasks, ([0-9]+) (files/directories|files|directories)")
_COMMAND = re.compile(r"Command line used: (.+)")
_MAY_DIFFER = ("-d", "-x", "-G", "-i", "-v", "-V", "--saveRankPerformanceDetails")
"""Folders and files, the seed, iterations, and how much is said (mdtest(1))."""
_MOST_NAMED = 12
# The report has no reading of directories, and other numbers of trees: these are left out.
_RANK_COLUMN = re.compile("(rate|time)-((?:File|Directory) (?!read$).+|File read)")
_TIMES = {"ms/op": "ms", "us/op": "µs", "ms": "ms"}


@reads("mdtest", "mdtest", any_line(_SUMMARY.match, _VERSION.search), long_line=NODE_MAP)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All operations that were run. Raises UnreadableFile where there is no summary."""
    result = collector.result
    tasks: int | None = None
    summary: re.Match[str] | None = None
    settings: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    zeros: dict[str, int] = {}
    is_mean_last = False
    for line_number, line in enumerate(lines, start=1):
        if (version := _VERSION.search(line)) is not None:
            result.tool_version = result.tool_version or version[1]
            tasks, summary, settings, counted = int(version[2]), None, (), ()
            # As many tasks on one machine are the rule, and what files of before were kept as.
            nodes = (f"{version[3]} nodes",) if int(version[3] or 1) > 1 else ()
        elif (tasks_line := _TASKS.match(line)) is not None:
            tasks = int(tasks_line[1])
            counted = (f"{tasks_line[2]} {tasks_line[3]}",)
        elif (command := _COMMAND.search(line)) is not None and "mdtest" in command[1]:
            result.command = result.command or command[1].strip()[:2000]
            settings = settings_of_command(command[1], _MAY_DIFFER)
        elif (title := _SUMMARY.match(line)) is not None:
            summary, is_mean_last = title, False
            collector.begin((*settings, *counted, *nodes))
        elif summary is not None and "per Iteration" in line:
            is_mean_last = "Std Dev" in line.partition("per Iteration")[0]
        elif summary is not None and (row := _ROW.match(line)) is not None:
            numbers = row[2].split()
            # The columns of the ranks stand before those of the iterations.
            means = numbers[-3:] if is_mean_last and len(numbers) == 7 else numbers[-4:-1]
            collector.load = load_text(tasks=tasks)
            if not _row(collector, summary, row[1], means, line_number):
                zeros.setdefault(row[1].strip(), line_number)
    if zeros:
        names = ", ".join(list(zeros)[:_MOST_NAMED])
        message = f"mdtest prints 0 for what it did not run, or what took no time: {names}."
        collector.warn(min(zeros.values()), message, is_note=True)
    return collector.finish("No summary of mdtest is there: the run did not end.", len(lines))


def _row(
    collector: Collector, summary: re.Match[str], operation: str, texts: list[str], line: int
) -> bool:
    """Keep largest, smallest and mean of an operation; False where one is 0, which is none."""
    is_time = summary[1] == "time"
    unit = _TIMES.get(summary[2] or "", "s") if is_time else "ops/s"
    name = test_name("mdtest", operation, "time" if is_time else "")
    largest, smallest, mean = texts
    for kind, text in (("mean", mean), ("max", largest), ("min", smallest)):
        if number(text) != 0:
            collector.add(f"{name}_{kind}", text, unit, line)
    return all(number(text) != 0 for text in texts)


def _is_rank_header(line: str) -> bool:
    return line.startswith("rank,items,rate-")


@reads("mdtest-csv", "mdtest", any_line(_is_rank_header))
def parse_ranks(lines: list[str], collector: Collector) -> ParsedResult:
    """Rates and times of all ranks together. Raises UnreadableFile where no row says them."""
    header: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    for line_number, line in enumerate(lines, start=1):
        if _is_rank_header(line):
            _keep_ranks(collector, header, rows)
            header, rows = line.strip().split(","), []
        elif header and line.strip():
            rows.append((line_number, line.strip().split(",")))
    _keep_ranks(collector, header, rows)
    return collector.finish("The file has ranks, and no row of all of them together.", len(lines))


def _keep_ranks(collector: Collector, header: list[str], rows: list[tuple[int, list[str]]]) -> None:
    ranks = {row[0] for _, row in rows if row[0].isdecimal()}
    collector.begin()
    collector.load = load_text(tasks=len(ranks) or None)
    for line_number, row in rows:
        if row[0] != "all":
            continue
        if len(row) != len(header):
            collector.lose(
                line_number, f"The row has {len(row)} fields of {len(header)}: it is left out."
            )
            continue
        for column, text in zip(header, row, strict=True):
            kind = _RANK_COLUMN.fullmatch(column)
            # What was not run has an empty field.
            if kind is not None and text:
                unit = "ops/s" if kind[1] == "rate" else "s"
                collector.add(test_name("mdtest", kind[2], kind[1]), text, unit, line_number)
        collector.warn(
            line_number,
            'mdtest\'s row "all" is of its first iteration; further iterations and single ranks '
            f"({len(rows) - 1} rows) are not read. Its report has them all.",
        )
