"""Benchmarks of data bases: pgbench of PostgreSQL, db_bench of RocksDB and LevelDB.

pgbench of PostgreSQL 9 to 17: rates are transactions/s, latencies ms. Source: PostgreSQL's manual
("pgbench"), and output of 15.

db_bench prints a line a benchmark. Its MB are 1024 * 1024 bytes. Source: RocksDB's
``db_bench_tool.cc``, and output of 7.8.3.
"""

import re
from dataclasses import dataclass, field

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, any_line, number, reads, test_name

_N = r"([0-9]+(?:\.[0-9]+)?)"
# pgbench
_PGBENCH_VERSION = re.compile(r"^pgbench \((?:PostgreSQL\) )?([0-9][0-9A-Za-z.]*)")
_TYPE = re.compile(r"^transaction type: (?:<builtin: )?(.+?)(?<!\s)>?\s*$")
_SCRIPT = re.compile(r"^SQL script [0-9]+: (?:<builtin: )?(.+?)(?<!\s)>?\s*$")
_OF_SCRIPT = re.compile(rf"^ - [0-9]+ transactions \([0-9.]+% of total, tps = {_N}\)")
# With -C pgbench connects for each transaction, and prints no rate without that.
_TPS = re.compile(
    rf"^tps = {_N} \((without initial connection|excluding connection|including connection|"
    "including reconnection)"
)
_LATENCY = re.compile(rf"^( - )?latency average(?: =|:) {_N} ms(?: \(including failures\))?\s*$")
_CONNECTION = re.compile(rf"^(?:initial|average) connection time = {_N} ms\s*$")
_PROGRESS = re.compile(rf"^progress: [0-9.]+ s, {_N} tps, ")
_COUNT = re.compile(r"^number of (clients|threads): ([0-9]{1,9})\s*$")
_PGBENCH_SETTING = re.compile(
    r"^((?:scaling factor|query mode|partition method|partitions|maximum number of tries|duration|"
    r"number of transactions per client): \S.*)$"
)
# How many a second -R asked for, no version prints.
_RATE_LIMIT = "rate limit"
_LOST = re.compile(r"^number of (?:failed transactions|transactions skipped): ([1-9][0-9]*)\b.*")


@dataclass
class _Run:
    line: int
    kind: str
    settings: list[str]
    counts: dict[str, int | None] = field(default_factory=dict)
    script: str = ""
    # Name, text, unit, line.
    values: list[tuple[str, str, str, int]] = field(default_factory=list)
    progress: list[float] = field(default_factory=list)
    lost: list[tuple[int, str]] = field(default_factory=list)


def _is_pgbench(lines: list[str]) -> bool:
    return any(map(_TPS.match, lines)) or (
        any(map(_TYPE.match, lines)) and any(line.startswith("scaling factor:") for line in lines)
    )


@reads("pgbench", "pgbench", _is_pgbench)
def parse_pgbench(lines: list[str], collector: Collector) -> ParsedResult:
    """All runs, which must have the same settings. Raises UnreadableFile."""
    result = collector.result
    runs = _runs(lines, result)
    for run in runs:
        if not run.values:
            collector.lose(run.line, "This run of pgbench did not end: it has no rate.")
    runs = [run for run in runs if run.values]
    for run in runs:
        collector.refuse_other_settings(run.line, (run.settings, run.counts))
        collector.begin()
        collector.load = load_text(**run.counts)
        for name, text, unit, line in run.values:
            samples = run.progress if name == "tps" else []
            test = test_name("pgbench", run.kind, name)
            collector.add(test, text, unit, line, samples=samples)
        for line, text in run.lost:
            collector.warn(line, f'pgbench says "{text[:80]}".')
    if runs:
        result.modes = tuple(runs[0].settings)
    return collector.finish("pgbench's report has no rate: the run did not end.", len(lines))


def _runs(lines: list[str], result: ParsedResult) -> list[_Run]:
    runs: list[_Run] = []
    progress: list[float] = []
    # What follows the last newline may be cut off.
    for line_number, line in enumerate(lines[:-1], start=1):
        if (version := _PGBENCH_VERSION.match(line)) is not None:
            result.tool_version = result.tool_version or version[1]
        elif (rate := _PROGRESS.match(line)) is not None:
            value = number(rate[1])
            progress += [] if value is None else [value]
        elif (kind := _TYPE.match(line)) is not None:
            runs.append(_Run(line_number, kind[1], [line.strip()[:200]], progress=progress))
            progress = []
        elif runs:
            _line(runs[-1], line, line_number)
    return runs


def _line(run: _Run, line: str, line_number: int) -> None:
    if (setting := _PGBENCH_SETTING.match(line)) is not None:
        run.settings.append(setting[1].strip()[:200])
    elif (count := _COUNT.match(line)) is not None:
        run.counts[count[1]] = int(count[2])
    elif (script := _SCRIPT.match(line)) is not None:
        run.script = script[1]
    elif (rate := _OF_SCRIPT.match(line)) is not None:
        run.values.append((f"{run.script} tps", rate[1], "ops/s", line_number))
    elif (tps := _TPS.match(line)) is not None:
        name = "tps including connections" if tps[2].startswith("including") else "tps"
        run.values.append((name, tps[1], "ops/s", line_number))
    elif (latency := _LATENCY.match(line)) is not None:
        name = f"{run.script} latency avg" if latency[1] else "latency avg"
        run.values.append((name, latency[2], "ms", line_number))
    elif (connection := _CONNECTION.match(line)) is not None:
        run.values.append(("connection time", connection[1], "ms", line_number))
    elif line.startswith("rate limit schedule lag: "):
        run.settings.append(_RATE_LIMIT)
    elif _LOST.match(line):
        run.lost.append((line_number, line.strip()))


# db_bench
_ROW = re.compile(
    rf"^([a-z]\w{{1,60}})\s*:\s+{_N} micros/op(?: {_N} ops/sec)?\b[^;]*;?(?:\s+{_N} MB/s)?"
)
_DB_BENCH_VERSION = re.compile(r"^(?:RocksDB|LevelDB):\s+version ([0-9][0-9.]*)")
_DATE = re.compile(r"^Date:\s+(\S.{8,40}\S)\s*$")
_HISTOGRAM = re.compile(r"^Microseconds per (\w+):\s*$")
_PERCENTILES = re.compile(r"^Percentiles: P50:")
_PERCENTILE = re.compile(rf"\bP([0-9]{{1,2}}(?:\.[0-9]{{1,4}})?): {_N}(?!\S)")
_DB_BENCH_SETTING = re.compile(
    r"^((?:Keys|Values|Entries|Prefix|Keys per prefix|Write rate|Read rate|Compression|Memtablerep|"
    r"Perf Level):\s+\S.*)$"
)
_WARNING = re.compile(r"^WARNING: (.+)$")


@reads("db_bench", "db_bench", any_line(_ROW.match))
def parse_db_bench(lines: list[str], collector: Collector) -> ParsedResult:
    """All benchmarks; one that ran again is a repeat. Raises UnreadableFile."""
    result = collector.result
    settings: dict[str, None] = {}
    benchmark = operation = ""
    # What follows the last newline may be cut off.
    for line_number, line in enumerate(lines[:-1], start=1):
        if (row := _ROW.match(line)) is not None:
            benchmark, operation = row[1], ""
            collector.begin(settings)
            _row(collector, row, line_number)
        elif (histogram := _HISTOGRAM.match(line)) is not None:
            operation = histogram[1]
        elif benchmark and operation and _PERCENTILES.match(line):
            for percent, text in _PERCENTILE.findall(line):
                test = test_name("db_bench", benchmark, operation, f"latency_p{percent}")
                collector.add(test, text, "µs", line_number)
        elif (setting := _DB_BENCH_SETTING.match(line)) is not None:
            if line.startswith("Keys:"):  # another db_bench
                settings = {}
            settings[re.sub(r"\s+", " ", setting[1].strip())[:200]] = None
        elif (version := _DB_BENCH_VERSION.match(line)) is not None:
            result.tool_version = result.tool_version or version[1]
        elif (date := _DATE.match(line)) is not None and not result.facts:
            result.facts.append(("Run at", date[1]))
        elif (warning := _WARNING.match(line)) is not None:
            collector.warn(line_number, f"db_bench says: {warning[1][:200]}")
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
