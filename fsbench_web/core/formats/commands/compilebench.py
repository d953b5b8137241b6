"""The summary that compilebench prints, of 0.6: means of all runs of an operation.

Its MB are 1024 * 1024 bytes. Source: compilebench's script (``print_stat``), and output of 0.6.
"""

import re

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name

_ROW = re.compile(
    r"^(intial create|create|patch|compile|clean|(?:read|delete|stat)(?: compiled)? tree) total "
    r"runs ([1-9][0-9]*) avg ([0-9]+(?:\.[0-9]+)?) (MB/s|seconds) \(user "
)
_START = re.compile(r"^using working directory .*, ([0-9]+ intial dirs [0-9]+ runs)\s*$")


@reads("compilebench", "compilebench", any_line(_START.match, _ROW.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All operations that were run; a further summary is a repeat. Raises UnreadableFile."""
    result = collector.result
    settings: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        if (start := _START.match(line)) is not None:
            settings[start[1]] = None
            collector.begin()
            if len(settings) > 1:
                message = "A run with other numbers of directories starts here: a file of its own."
                collector.refuse(number, message)
        elif (row := _ROW.match(line)) is not None:
            if row[1] == "intial create" and not settings:
                collector.begin()
            # compilebench misspells its first operation.
            name = row[1].replace("intial", "initial")
            unit = "MiB/s" if row[4] == "MB/s" else "s"
            collector.add(test_name("compilebench", name), row[3], unit, number)
            if row[2] == "1":
                collector.warn(number, f"The mean of {name} is of a single run.", is_note=True)
    result.modes = tuple(settings)
    if not any(line.startswith(("no runs for stat compiled", "stat compiled")) for line in lines):
        collector.lose(
            len(lines), "The summary does not end with stat compiled tree: it is cut off."
        )
    return collector.finish("compilebench's summary is not there: the run did not end.", len(lines))
