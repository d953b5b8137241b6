"""The summary of mdtest 1.8 to 4: maximum, minimum and mean of each operation over its iterations.

Rates are operations a second; a summary of times is in seconds, or in what its title says. Source:
mdtest(1), and output of 1.9.3, 3.4 and 4.1.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.settings import of_command
from fsbench_web.core.formats.values import Collector, number, test_name

FORMAT = "mdtest"
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
_TIMES = {"ms/op": "ms", "us/op": "µs", "ms": "ms"}


def recognises(lines: list[str]) -> bool:
    """Whether a summary of mdtest is there."""
    return any(_SUMMARY.match(line) or _VERSION.search(line) for line in lines)


def parse(lines: list[str]) -> ParsedResult:
    """All operations that were run. Raises UnreadableFile where there is no summary."""
    result = ParsedResult(FORMAT, "mdtest")
    collector = Collector(result)
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
            settings = of_command(command[1], _MAY_DIFFER)
        elif (title := _SUMMARY.match(line)) is not None:
            summary, is_mean_last = title, False
            collector.begin((*settings, *counted, *nodes))
        elif summary is not None and "per Iteration" in line:
            is_mean_last = "Std Dev" in line.partition("per Iteration")[0]
        elif summary is not None and (row := _ROW.match(line)) is not None:
            numbers = row[2].split()
            # The columns of the ranks stand before those of the iterations.
            means = numbers[-3:] if is_mean_last and len(numbers) == 7 else numbers[-4:-1]
            load = load_text(tasks=tasks)
            if not _row(collector, summary, row[1], means, line_number, load):
                zeros.setdefault(row[1].strip(), line_number)
    if zeros:
        names = ", ".join(list(zeros)[:_MOST_NAMED])
        message = f"mdtest prints 0 for what it did not run, or what took no time: {names}."
        collector.warn(min(zeros.values()), message, is_note=True)
    return collector.finish("No summary of mdtest is there: the run did not end.", len(lines))


def _row(
    collector: Collector,
    summary: re.Match[str],
    operation: str,
    texts: list[str],
    line: int,
    load: str,
) -> bool:
    """Keep largest, smallest and mean of an operation; False where one is 0, which is none."""
    is_time = summary[1] == "time"
    unit = _TIMES.get(summary[2] or "", "s") if is_time else "ops/s"
    name = test_name("mdtest", operation, "time" if is_time else "")
    largest, smallest, mean = texts
    for kind, text in (("mean", mean), ("max", largest), ("min", smallest)):
        if number(text) != 0:
            collector.add(f"{name}_{kind}", text, unit, line, load=load)
    return all(number(text) != 0 for text in texts)
