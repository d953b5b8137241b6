"""The CSV that elbencho (--csvfile) appends a line to for every phase, of versions 1.6 to 3.

Sizes are bytes, rates of data MiB/s, latencies microseconds, times milliseconds. Each result is
given twice: "first" when the fastest thread was done, "last" when the slowest was. Source:
elbencho's docs/csv-results.md, and headers of 1.9, 2.0 and 3.1.
"""

import csv
import re

from fsbench_web.core.formats.elbencho.command import further_settings_of
from fsbench_web.core.formats.result import ParsedResult, Problem, UnreadableFile, load_text
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector, test_name

FORMAT = "elbencho-csv"
_LOADS = {"hosts": "hosts", "threads": "threads", "iodepth": "IO depth"}
_KEPT = re.compile(
    r"(entries/s|IOPS|MiB/s|time ms|(?:Ent|IO) lat us)(?: \[?(first|last|min|avg|max)\]?)"
)
_NAMES = {
    "entries/s": ("entries", "ops/s"),
    "IOPS": ("iops", "ops/s"),
    "MiB/s": ("throughput", "MiB/s"),
    "time ms": ("time", "ms"),
    "Ent lat us": ("entry_latency", "µs"),
    "IO lat us": ("io_latency", "µs"),
}
_SETTINGS = (
    *("path type", "dirs", "files", "direct IO", "random aligned", "shared paths"),
    "truncate",
)
_MOST_KB = 2**31 - 1


def recognises(lines: list[str]) -> bool:
    """Whether a line is elbencho's header."""
    return any(_is_header(line) for line in lines)


def _is_header(line: str) -> bool:
    return (
        "operation" in line
        and ("[last]" in line or "[first]" in line)
        and ("MiB/s" in line or "IOPS" in line or "entries/s" in line)
        and line.count(",") > 4
    )


def parse(lines: list[str]) -> ParsedResult:
    """All phases. Raises UnreadableFile for rows that do not fit their header."""
    result = ParsedResult(FORMAT, "elbencho")
    collector = Collector(result)
    header: list[str] = []
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if _is_header(line):
            header = _fields(line, line_number)
            continue
        if not header:
            continue
        fields = _fields(line, line_number)
        if len(fields) != len(header):
            message = f"Found {len(fields)} fields, expected {len(header)} as in elbencho's header."
            collector.refuse(line_number, message)
            continue
        row = dict(zip(header, fields, strict=True))
        if not row.get("operation"):
            collector.refuse(line_number, "The row names no operation.")
            continue
        _row(collector, row, line_number)
        version = row.get("version", "")
        result.tool_version = result.tool_version or version[:40]
        result.command = result.command or row.get("command", "")[:2000]
    return collector.finish("elbencho's header is there, and no phase with a result.", len(lines))


def _fields(line: str, number: int) -> list[str]:
    try:
        return [text.strip() for text in next(csv.reader([line]), [])]
    except csv.Error as error:
        message = f"The row cannot be read: {error}."
        raise UnreadableFile([Problem(number, None, message)]) from None


def _row(collector: Collector, row: dict[str, str], line: int) -> None:
    counts = {
        kind: int(row[column])
        for kind, column in _LOADS.items()
        if re.fullmatch("[0-9]{1,9}", row.get(column, ""))
    }
    load = load_text(**counts)
    collector.begin(
        [
            *(f"{name} {row[name]}"[:200] for name in _SETTINGS if row.get(name)),
            *further_settings_of(row.get("command", "")),
        ]
    )
    operation = row["operation"]
    if row.get("random") == "1" and operation.upper() in ("READ", "WRITE", "RWMIX"):
        operation = f"random_{operation}"
    # Making directories has sizes in its row too, and nothing to do with them.
    moves_data = any(
        row.get(f"{name} [{when}]") for name in ("IOPS", "MiB/s") for when in ("first", "last")
    )
    sizes = _sizes(row) if moves_data else (None, None)
    for column, text in row.items():
        match = _KEPT.fullmatch(column)
        # A phase that does not have a result leaves its field empty.
        if match is None or not text:
            continue
        name, unit = _NAMES[match[1]]
        test = test_name("elbencho", operation, name, match[2])
        if "," in text:
            collector.warn(line, f"{test}: {quoted(text)} is no number; it stays missing.")
            continue
        collector.add(test, text, unit, line, load=load, sizes=sizes)


def _sizes(row: dict[str, str]) -> tuple[int | None, int | None]:
    """Block and file size in KB of 1024 bytes, where both are given and whole."""
    texts = (row.get("block size", ""), row.get("file size", ""))
    if not all(re.fullmatch("[0-9]{1,18}", text) for text in texts):
        return None, None
    block, size = map(int, texts)
    if block % 1024 or size % 1024 or not 0 < block <= _MOST_KB * 1024 or not 0 < size < 2**60:
        return None, None
    return block // 1024, size // 1024
