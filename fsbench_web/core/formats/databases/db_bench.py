"""What db_bench of RocksDB and LevelDB prints: a line a benchmark.

Its MB are 1024 * 1024 bytes. Source: RocksDB's ``db_bench_tool.cc``, and output of 7.8.3.
"""

import re

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name

_N = r"([0-9]+(?:\.[0-9]+)?)"
_ROW = re.compile(
    rf"^([a-z]\w{{1,60}})\s*:\s+{_N} micros/op(?: {_N} ops/sec)?\b[^;]*;?(?:\s+{_N} MB/s)?"
)
_VERSION = re.compile(r"^(?:RocksDB|LevelDB):\s+version ([0-9][0-9.]*)")
_DATE = re.compile(r"^Date:\s+(\S.{8,40}\S)\s*$")
_HISTOGRAM = re.compile(r"^Microseconds per (\w+):\s*$")
_PERCENTILES = re.compile(r"^Percentiles: P50:")
_PERCENTILE = re.compile(rf"\bP([0-9]{{1,2}}(?:\.[0-9]{{1,4}})?): {_N}(?!\S)")
_SETTING = re.compile(
    r"^((?:Keys|Values|Entries|Prefix|Keys per prefix|Write rate|Read rate|Compression|Memtablerep|"
    r"Perf Level):\s+\S.*)$"
)
_WARNING = re.compile(r"^WARNING: (.+)$")


@reads("db_bench", "db_bench", any_line(_ROW.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All benchmarks; one that ran again is a repeat. Raises UnreadableFile."""
    result = collector.result
    settings: dict[str, None] = {}
    benchmark = operation = ""
    # What follows the last newline may be cut off.
    for number, line in enumerate(lines[:-1], start=1):
        if (row := _ROW.match(line)) is not None:
            benchmark, operation = row[1], ""
            collector.begin(settings)
            _row(collector, row, number)
        elif (histogram := _HISTOGRAM.match(line)) is not None:
            operation = histogram[1]
        elif benchmark and operation and _PERCENTILES.match(line):
            for percent, text in _PERCENTILE.findall(line):
                test = test_name("db_bench", benchmark, operation, f"latency_p{percent}")
                collector.add(test, text, "µs", number)
        elif (setting := _SETTING.match(line)) is not None:
            if line.startswith("Keys:"):  # another db_bench
                settings = {}
            settings[re.sub(r"\s+", " ", setting[1].strip())[:200]] = None
        elif (version := _VERSION.match(line)) is not None:
            result.tool_version = result.tool_version or version[1]
        elif (date := _DATE.match(line)) is not None and not result.facts:
            result.facts.append(("Run at", date[1]))
        elif (warning := _WARNING.match(line)) is not None:
            collector.warn(number, f"db_bench says: {warning[1][:200]}")
    return collector.finish(
        "No benchmark of db_bench has a result: the run did not end.", len(lines)
    )


def _row(collector: Collector, row: re.Match[str], line: int) -> None:
    name = test_name("db_bench", row[1])
    collector.add(f"{name}_time", row[2], "µs", line)
    if row[3]:
        collector.add(f"{name}_ops", row[3], "ops/s", line)
    if row[4]:
        collector.add(f"{name}_throughput", row[4], "MiB/s", line)
