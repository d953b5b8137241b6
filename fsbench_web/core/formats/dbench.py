"""What dbench prints at the end, of versions 2 to 4: throughput, and latencies of operations.

The rates that it prints every second are running averages, not intervals, and are not kept.
MB are 1,000,000 bytes. Source: dbench(1), and output of 4.00.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name

_VERSION = re.compile(r"^\W*dbench version ([0-9][0-9.]*)")
_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_END = re.compile(rf"^\W*Throughput\s++{_NUMBER} MB/sec\b(.*)$")
_CLIENTS = re.compile(r"([0-9]{1,9}) (clients|procs)")
_SYNC = re.compile(r"\((sync (?:open|dirs))\)")
_MAX = re.compile(rf"max_latency={_NUMBER}(?: ms|\s*$)")
_TITLE = re.compile(r"^\s*Operation\s+Count\s+AvgLat\s+MaxLat\s*$")
_ROW = re.compile(rf"^\s*([A-Za-z][A-Za-z0-9_]{{0,39}})\s+[0-9]+\s+{_NUMBER}\s+{_NUMBER}\s*$")
_COMMAND = re.compile(r"^\s*Running for ([0-9]+) seconds with load '([^']*)'(.*)$")


@reads("dbench", "dbench", any_line(_VERSION.match, _END.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """Throughput and latencies of every run. Raises UnreadableFile where no run ended."""
    result = collector.result
    in_table = False
    rows: list[tuple[str, str, str, int]] = []
    started = ended = 0
    running_with = ""
    for line_number, line in enumerate(lines, start=1):
        if (version := _VERSION.match(line)) is not None:
            result.tool_version = result.tool_version or version[1]
            started += 1
        elif (command := _COMMAND.match(line)) is not None:
            load_file = command[2].rsplit("/", 1)[-1]
            running_with = f"{command[1]} seconds, load {load_file}{command[3]}"[:200]
        elif _TITLE.match(line):
            in_table = True
        elif in_table and (row := _ROW.match(line)) is not None:
            rows.append((row[1], row[2], row[3], line_number))
        elif (end := _END.match(line)) is not None:
            ended += 1
            collector.begin(filter(None, (running_with, *_SYNC.findall(end[2]))))
            clients = _CLIENTS.search(end[2])
            load = load_text(clients=int(clients[1]) if clients else None)
            for name, average, longest, row_line in rows:
                collector.add(
                    test_name("dbench", name, "latency"), average, "ms", row_line, load=load
                )
                collector.add(
                    test_name("dbench", name, "max_latency"), longest, "ms", row_line, load=load
                )
            collector.add("dbench_throughput", end[1], "MB/s", line_number, load=load)
            if (longest_of_all := _MAX.search(end[2])) is not None:
                collector.add("dbench_max_latency", longest_of_all[1], "ms", line_number, load=load)
            rows, in_table = [], False
    if started > ended:
        collector.lose(len(lines), "The last run did not end: what it measured is missing.")
    return collector.finish("No line with dbench's throughput: the run did not end.", len(lines))
