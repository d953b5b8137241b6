"""The report of fs_mark 3: files/s of each iteration, its overhead, and times of calls (-v).

Source: fs_mark's README, and output of 3.3.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.settings import of_command
from fsbench_web.core.formats.text import cut_off
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name

_VERSION = re.compile(r"^#\s*Version ([0-9][0-9.]*), ([0-9]{1,9}) thread\(s\)")
_COMMAND = re.compile(r"^#\s+(\S*fs_mark\s.*)$")
_SETTING = re.compile(r"^#\s*(Sync method: [A-Z0-9 ,/]+|Files info: size [0-9]+ bytes.*)")
_MAY_DIFFER = ("-d", "-l", "-t", "-v")
"""Folders, the log, and threads, which are the load. Loops (-L) fill the file system: another
number of them is another workload, and so are as many calls (fs_mark's README).
"""
_TITLE = re.compile(
    r"^FSUse%\s+Count\s+Size\s+Files/sec\s+App Overhead((?:\s+[A-Z]+ \(Min/Avg/Max\))*)\s*$"
)
_KINDS = ("min", "avg", "max")
_ROW = re.compile(
    r"^\s*[0-9]{1,3}\s+[0-9]+\s+[0-9]+\s+([0-9.]+(?:e[+-]?[0-9]+)?)\s+([0-9]+)((?:\s+[0-9]+)*)\s*$"
)


@reads("fs_mark", "fs_mark", any_line(_TITLE.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All iterations. Raises UnreadableFile where none ended."""
    result = collector.result
    threads: int | None = None
    in_table = False
    calls: list[str] = []
    settings: tuple[str, ...] = ()
    for number, line in enumerate(lines, start=1):
        if (version := _VERSION.match(line)) is not None:
            result.tool_version, threads = version[1], int(version[2])
            in_table = False
        elif (setting := _SETTING.match(line)) is not None:
            settings = (*settings, setting[1].strip(" :")[:200])
        elif (command := _COMMAND.match(line)) is not None:
            result.command = result.command or " ".join(command[1].split())[:2000]
            settings = of_command(command[1], _MAY_DIFFER)
        elif (title := _TITLE.match(line)) is not None:
            in_table, calls = True, re.findall("(?<![A-Z])[A-Z]++(?= )", title[1])
        elif in_table and (row := _ROW.match(line)) is not None:
            collector.begin(settings)
            load = load_text(threads=threads)
            collector.add("fs_mark_files", row[1], "files/s", number, load=load)
            words = [row[2], *row[3].split()]
            if number == len(lines):
                collector.warn(number, cut_off(words.pop()))
            elif len(words) != 1 + 3 * len(calls):
                message = f"The row has {len(words) + 4} fields of {5 + 3 * len(calls)}."
                collector.warn(number, message)
            if words:
                collector.add("fs_mark_app_overhead", words[0], "µs", number, load=load)
            for place, call in enumerate(calls):
                times = words[1 + 3 * place : 4 + 3 * place]
                # 0 0 0 is a call that was not made.
                for kind, text in zip(_KINDS, times if {*times} != {"0"} else (), strict=False):
                    test = test_name("fs_mark", call, kind)
                    collector.add(test, text, "µs", number, load=load)
    return collector.finish("fs_mark's table is there, and no row in it: the run did not end.", 1)
