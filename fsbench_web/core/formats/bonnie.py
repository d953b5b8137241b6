"""The CSV lines of bonnie++ 1.03 and of its CSV formats 1.96 to 1.98 (48 and 50 fields).

Rates of data are K of 1024 bytes a second, all others operations a second; latencies are printed
as 293us, 127ms or 3s and kept in microseconds. ``+++++`` is what bonnie++ prints for a test that
was too short to measure. Source: bonnie++(8), bon_csv2html(1), and output of 1.03, 1.97 and 2.00a.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import csv_fields, quoted
from fsbench_web.core.formats.values import Collector, any_line, reads

_RATES = (
    *(("putc", "KB/s"), ("put_block", "KB/s"), ("rewrite", "KB/s")),
    *(("getc", "KB/s"), ("get_block", "KB/s"), ("seeks", "ops/s")),
)
_FILES = ("seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del")
_SEEKS = ("seek chunk", "seek processes")
_SETUP = ("files", "largest", "smallest", "directories", "file chunk")
_LATENCY = re.compile(r"([0-9]{1,15}(?:[.,][0-9]{1,6})?)(us|ms|s)")
_MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000}
_SIZE = r"[0-9]+(?:\.[0-9]+)?[KMGTkmgt]"
_NEW = re.compile(r'^\s*"?1\.9[678]"?,')
# The size always has its unit, which tells the line from a row of a table of numbers.
_REPORT = re.compile(r"^Version\s+([0-9][0-9.]*[a-z]?)\s+-+\s*Sequential Output")
"""The head of the report in words, above a line of 1.03, which has no version."""
_OLD = re.compile(rf"^[^,]*,{_SIZE}(?::{_SIZE})?(?:,(?:[0-9.]+|\++)?){{12}}(?:,|$)")


def _version(line: str) -> str:
    """The format's version; empty for any other line."""
    if _NEW.match(line):
        fields = csv_fields(line.strip())
        return fields[0] if len(fields) >= 40 else ""
    if line.count(",") in (12, 13, 14, 26) and _OLD.match(line):
        return "1.03"
    return ""


@reads("bonnie-csv", "bonnie++", any_line(_version))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All tests that were long enough. Raises UnreadableFile for a line that is cut off."""
    result = collector.result
    rows = [
        (number, version, csv_fields(line.strip()))
        for number, line in enumerate(lines, start=1)
        if (version := _version(line))
    ]
    machines = {row[0] if version == "1.03" else row[2] for _, version, row in rows}
    for number, version, row in rows:
        if version == "1.03":
            _old_row(collector, row, number, is_named=len(machines) > 1)
        else:
            # Of a line of 1.98 that is cut 48 fields may be left, which stand elsewhere then.
            is_cut = version == "1.98" and number == len(lines)
            _new_row(
                collector,
                version,
                row,
                number,
                is_named=len(machines) > 1,
                least=50 if is_cut else 48,
            )
    if not result.tool_version:
        versions = [head[1] for line in lines if (head := _REPORT.match(line)) is not None]
        result.tool_version = versions[0] if len(set(versions)) == 1 else ""
    if len(machines) == 1 and (machine := machines.pop()):
        result.facts.append(("Machine", quoted(machine, 80).strip('"')))
    return collector.finish("bonnie++ measured nothing: every test was too short (+++++).")


def _old_row(collector: Collector, row: list[str], line: int, *, is_named: bool) -> None:
    if len(row) > 15:
        row = row + [""] * (27 - len(row))
        collector.begin([f"size {row[1]}, files {row[14]}"[:200]])
        rates, files = row[2:14], row[15:27]
    else:
        collector.begin([f"size {row[1]}"[:200]])
        rates, files = row[2:14], []
    _add_values(collector, rates, files, [], line, row[0] if is_named else "")


def _new_row(
    collector: Collector, version: str, row: list[str], line: int, *, is_named: bool, least: int
) -> None:
    # 1.98 has two fields more before the rates: chunk size of seeks, and processes that seek.
    first = 9 if len(row) >= 50 else 7
    if len(row) not in (48, 50) or len(row) < least:
        message = (
            f"The line has {len(row)} fields, expected 48 or 50 in bonnie++'s CSV {version}: it is "
            "cut off or was changed."
        )
        collector.refuse(line, message)
        return
    collector.result.tool_version = collector.result.tool_version or row[1][:40]
    concurrency = int(row[3]) if re.fullmatch("[0-9]{1,6}", row[3]) else None
    rates = row[first : first + 12]
    setup = row[first + 12 : first + 17]
    files = row[first + 17 : first + 29]
    # All that the line has of settings but the seed, and the concurrency, which is the load.
    named_settings = [("size", row[5]), ("chunk", row[6])]
    named_settings += zip(_SEEKS, row[7:first], strict=False)
    named_settings += zip(_SETUP, setup, strict=True)
    collector.begin([", ".join(f"{name} {text}" for name, text in named_settings if text)[:200]])
    collector.load = load_text(processes=concurrency)
    _add_values(collector, rates, files, row[first + 29 :], line, row[2] if is_named else "")


def _add_values(
    collector: Collector,
    rates: list[str],
    files: list[str],
    latencies: list[str],
    line: int,
    machine: str,
) -> None:
    """Rates stand at every second place, with the CPU load behind them."""
    tests = [(name, unit, text) for (name, unit), text in zip(_RATES, rates[::2], strict=False)]
    tests += [(name, "ops/s", text) for name, text in zip(_FILES, files[::2], strict=False)]
    for name, unit, text in tests:
        if _is_measured(collector, name, text, line):
            collector.add(f"bonnie_{name}", text, unit, line, hardware=machine)
    names = [*(name for name, _ in _RATES), *_FILES]
    for name, text in zip(names, latencies, strict=False):
        if _is_measured(collector, f"{name} latency", text, line):
            parts = _LATENCY.fullmatch(text)
            test = f"bonnie_{name}_latency"
            if parts is None:
                collector.warn(line, f"{test}: {quoted(text)} is not a time such as 293us.")
                continue
            times = _MICROSECONDS[parts[2]]
            collector.add(test, parts[1], "µs", line, times=times, hardware=machine)


def _is_measured(collector: Collector, name: str, text: str, line: int) -> bool:
    if text.strip("+") == "":
        if text:
            message = f"{name} was too short to measure ({text}); it stays missing."
            collector.warn(line, message, is_note=True)
        return False
    return True
