"""Benchmarks that do what servers do to files: dbench, filebench and AIM7.

dbench 2 to 4 prints throughput, and latencies of operations, at the end. The rates that it prints
every second are running averages, not intervals, and are not kept. MB are 1,000,000 bytes. Source:
dbench(1), and output of 4.00.

filebench 1.3 to 1.5 prints a summary of each run: "IO Summary". Its mb are 1024 * 1024 bytes.
Source: filebench's own output, 1.4.8 to 1.5-alpha3.

AIM Multiuser Benchmark, Suite VII, prints a table: jobs per minute by number of tasks. Source:
multitask.c, and tables posted to the Linux kernel mailing list in 2005 and 2006.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name

# dbench
_DBENCH_VERSION = re.compile(r"^\W*dbench version ([0-9][0-9.]*)")
_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_END = re.compile(rf"^\W*Throughput\s++{_NUMBER} MB/sec\b(.*)$")
_CLIENTS = re.compile(r"([0-9]{1,9}) (clients|procs)")
_SYNC = re.compile(r"\((sync (?:open|dirs))\)")
_MAX = re.compile(rf"max_latency={_NUMBER}(?: ms|\s*$)")
_TITLE = re.compile(r"^\s*Operation\s+Count\s+AvgLat\s+MaxLat\s*$")
_DBENCH_ROW = re.compile(
    rf"^\s*([A-Za-z][A-Za-z0-9_]{{0,39}})\s+[0-9]+\s+{_NUMBER}\s+{_NUMBER}\s*$"
)
_COMMAND = re.compile(r"^\s*Running for ([0-9]+) seconds with load '([^']*)'(.*)$")


@reads("dbench", "dbench", any_line(_DBENCH_VERSION.match, _END.match))
def parse_dbench(lines: list[str], collector: Collector) -> ParsedResult:
    """Throughput and latencies of every run. Raises UnreadableFile where no run ended."""
    result = collector.result
    in_table = False
    rows: list[tuple[str, str, str, int]] = []
    started = ended = 0
    running_with = ""
    for line_number, line in enumerate(lines, start=1):
        if (version := _DBENCH_VERSION.match(line)) is not None:
            result.tool_version = result.tool_version or version[1]
            started += 1
        elif (command := _COMMAND.match(line)) is not None:
            load_file = command[2].rsplit("/", 1)[-1]
            running_with = f"{command[1]} seconds, load {load_file}{command[3]}"[:200]
        elif _TITLE.match(line):
            in_table = True
        elif in_table and (row := _DBENCH_ROW.match(line)) is not None:
            rows.append((row[1], row[2], row[3], line_number))
        elif (end := _END.match(line)) is not None:
            ended += 1
            collector.begin(filter(None, (running_with, *_SYNC.findall(end[2]))))
            clients = _CLIENTS.search(end[2])
            collector.load = load_text(clients=int(clients[1]) if clients else None)
            for name, average, longest, row_line in rows:
                collector.add(test_name("dbench", name, "latency"), average, "ms", row_line)
                collector.add(test_name("dbench", name, "max_latency"), longest, "ms", row_line)
            collector.add("dbench_throughput", end[1], "MB/s", line_number)
            if (longest_of_all := _MAX.search(end[2])) is not None:
                collector.add("dbench_max_latency", longest_of_all[1], "ms", line_number)
            rows, in_table = [], False
    if started > ended:
        collector.lose(len(lines), "The last run did not end: what it measured is missing.")
    return collector.finish("No line with dbench's throughput: the run did not end.", len(lines))


# filebench
_SUMMARY = re.compile(
    rf"IO Summary:\s*[0-9]+ ops,?\s+{_NUMBER} ops/s,?\s+"
    rf"\(?([0-9]+)/([0-9]+) (?:r/w|rd/wr)\)?,?\s+{_NUMBER}\s?mb/s,?"
    rf"(?:\s+{_NUMBER}\s?us cpu/op,?)?\s+{_NUMBER}\s?ms(?:/op| latency)"
)
_STARTED = re.compile(r"IO Summary:")
_FILEBENCH_VERSION = re.compile(r"Filebench Version ([0-9][0-9A-Za-z.-]*)")
_PERSONALITY = re.compile(
    r"(?:^|[0-9]:\s+)([A-Za-z][A-Za-z0-9_ -]{0,60}?)(?: Version [0-9.]+)? personality "
    r"successfully loaded"
)
_SETTING = re.compile(r"(?:[0-9]:\s+)(Run took [0-9]+ seconds|\S+ populated: .*?)(?<![.\s])[.\s]*$")
"""How long it ran, and the files that it ran on (their sizes come from a fixed seed)."""
_THREADS = re.compile(r"Starting ([0-9]{1,9}) \S+ (instances|threads)")


@reads("filebench", "filebench", any_line(_FILEBENCH_VERSION.search, _STARTED.search))
def parse_filebench(lines: list[str], collector: Collector) -> ParsedResult:
    """The numbers of every summary. Raises UnreadableFile where there is none."""
    result = collector.result
    personality = ""
    threads: list[int] = []
    instances: list[int] = []
    settings: list[str] = []
    for line_number, line in enumerate(lines, start=1):
        if (version := _FILEBENCH_VERSION.search(line)) is not None:
            result.tool_version = result.tool_version or version[1]
            personality, threads, instances, settings = "", [], [], []
        elif (match := _PERSONALITY.search(line)) is not None:
            personality = match[1]
        elif (count := _THREADS.search(line)) is not None:
            (threads if count[2] == "threads" else instances).append(int(count[1]))
        elif (setting := _SETTING.search(line)) is not None:
            settings.append(setting[1][:200])
        elif (summary := _SUMMARY.search(line)) is not None:
            collector.begin(settings)
            rate, reads, writes, data, cpu, latency = summary.groups()
            # Threads of several kinds, or of several processes, are no one number.
            thread_count = threads[0] if len(threads) == 1 and instances in ([], [1]) else None
            collector.load = load_text(threads=thread_count)
            for name, text, unit in (
                ("ops", rate, "ops/s"),
                ("reads", reads, "ops/s"),
                ("writes", writes, "ops/s"),
                ("throughput", data, "MiB/s"),
                ("cpu", cpu, "µs"),
                ("latency", latency, "ms"),
            ):
                if text is not None:
                    test = test_name("filebench", personality, name)
                    collector.add(test, text, unit, line_number)
            threads, instances, settings = [], [], []
        elif _STARTED.search(line):
            collector.refuse(line_number, "The summary of filebench is cut off or was changed.")
    return collector.finish("No IO Summary of filebench is there: the run did not end.", len(lines))


# AIM7
_HEADER = re.compile(r"\s*Tasks\s+jobs/min\s+jti\s+jobs/min/task\s+real\s+cpu\s*", re.IGNORECASE)
_AIM7_VERSION = re.compile(r"AIM Multiuser Benchmark - Suite VII v?([0-9][0-9.]*)")
_AIM7_NUMBER = r"\s+([0-9]+(?:\.[0-9]+)?)"
# What follows is the date, which a mail program may have put into the next line.
_AIM7_ROW = re.compile(
    rf"\s*([0-9]{{1,9}}){_AIM7_NUMBER}\s+[0-9]+{_AIM7_NUMBER}{_AIM7_NUMBER}{_AIM7_NUMBER}(?:\s.*)?"
)
_UNFINISHED = re.compile(r"\s*[0-9]{1,9}\s*")


@reads("aim7", "AIM7", any_line(_HEADER.fullmatch))
def parse_aim7(lines: list[str], collector: Collector) -> ParsedResult:
    """Jobs/min and seconds at each number of tasks. Raises UnreadableFile."""
    result = collector.result
    in_table = False
    for number, line in enumerate(lines, start=1):
        if (version := _AIM7_VERSION.search(line)) is not None:
            result.tool_version = version[1].rstrip(".")
        if _HEADER.fullmatch(line):
            collector.begin()
            in_table = True
        elif in_table and (row := _AIM7_ROW.fullmatch(line)) is not None:
            tasks, jobs, _, real, cpu = row.groups()
            collector.load = load_text(tasks=int(tasks))
            collector.add("aim7_jobs", jobs, "jobs/min", number)
            collector.add("aim7_real", real, "s", number)
            collector.add("aim7_cpu", cpu, "s", number)
        elif in_table and _UNFINISHED.fullmatch(line):
            # AIM7 prints the number of tasks first, and the rest when they have ended.
            collector.lose(number, f"The row of {quoted(line)} tasks was not finished.")
    return collector.finish("This is AIM7's table, and no row of it has numbers.")
