"""The table of AIM Multiuser Benchmark, Suite VII: jobs per minute by number of tasks.

Source: multitask.c, and tables posted to the Linux kernel mailing list in 2005 and 2006.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector, any_line, reads

_HEADER = re.compile(r"\s*Tasks\s+jobs/min\s+jti\s+jobs/min/task\s+real\s+cpu\s*", re.IGNORECASE)
_VERSION = re.compile(r"AIM Multiuser Benchmark - Suite VII v?([0-9][0-9.]*)")
_NUMBER = r"\s+([0-9]+(?:\.[0-9]+)?)"
# What follows is the date, which a mail program may have put into the next line.
_ROW = re.compile(rf"\s*([0-9]{{1,9}}){_NUMBER}\s+[0-9]+{_NUMBER}{_NUMBER}{_NUMBER}(?:\s.*)?")
_UNFINISHED = re.compile(r"\s*[0-9]{1,9}\s*")


@reads("aim7", "AIM7", any_line(_HEADER.fullmatch))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """Jobs/min and seconds at each number of tasks. Raises UnreadableFile."""
    result = collector.result
    in_table = False
    for number, line in enumerate(lines, start=1):
        if (version := _VERSION.search(line)) is not None:
            result.tool_version = version[1].rstrip(".")
        if _HEADER.fullmatch(line):
            collector.begin()
            in_table = True
        elif in_table and (row := _ROW.fullmatch(line)) is not None:
            tasks, jobs, _, real, cpu = row.groups()
            load = load_text(tasks=int(tasks))
            collector.add("aim7_jobs", jobs, "jobs/min", number, load=load)
            collector.add("aim7_real", real, "s", number, load=load)
            collector.add("aim7_cpu", cpu, "s", number, load=load)
        elif in_table and _UNFINISHED.fullmatch(line):
            # AIM7 prints the number of tasks first, and the rest when they have ended.
            collector.lose(number, f"The row of {quoted(line)} tasks was not finished.")
    return collector.finish("This is AIM7's table, and no row of it has numbers.")
