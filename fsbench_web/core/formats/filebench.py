"""The summary that filebench 1.3 to 1.5 prints of each run: "IO Summary".

Its mb are 1024 * 1024 bytes. Source: filebench's own output, 1.4.8 to 1.5-alpha3.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name

_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_SUMMARY = re.compile(
    rf"IO Summary:\s*[0-9]+ ops,?\s+{_NUMBER} ops/s,?\s+"
    rf"\(?([0-9]+)/([0-9]+) (?:r/w|rd/wr)\)?,?\s+{_NUMBER}\s?mb/s,?"
    rf"(?:\s+{_NUMBER}\s?us cpu/op,?)?\s+{_NUMBER}\s?ms(?:/op| latency)"
)
_STARTED = re.compile(r"IO Summary:")
_VERSION = re.compile(r"Filebench Version ([0-9][0-9A-Za-z.-]*)")
_PERSONALITY = re.compile(
    r"(?:^|[0-9]:\s+)([A-Za-z][A-Za-z0-9_ -]{0,60}?)(?: Version [0-9.]+)? personality "
    r"successfully loaded"
)
_SETTING = re.compile(r"(?:[0-9]:\s+)(Run took [0-9]+ seconds|\S+ populated: .*?)(?<![.\s])[.\s]*$")
"""How long it ran, and the files that it ran on (their sizes come from a fixed seed)."""
_THREADS = re.compile(r"Starting ([0-9]{1,9}) \S+ (instances|threads)")


@reads("filebench", "filebench", any_line(_VERSION.search, _STARTED.search))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """The numbers of every summary. Raises UnreadableFile where there is none."""
    result = collector.result
    personality = ""
    threads: list[int] = []
    instances: list[int] = []
    settings: list[str] = []
    for line_number, line in enumerate(lines, start=1):
        if (version := _VERSION.search(line)) is not None:
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
            load = load_text(threads=thread_count)
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
                    collector.add(test, text, unit, line_number, load=load)
            threads, instances, settings = [], [], []
        elif _STARTED.search(line):
            collector.refuse(line_number, "The summary of filebench is cut off or was changed.")
    return collector.finish("No IO Summary of filebench is there: the run did not end.", len(lines))
