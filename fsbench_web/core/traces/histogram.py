"""A histogram as CSV: ``operation,block,file,count``, sizes as 8k or 4g (or bytes)."""

import csv
import math
from collections.abc import Iterable

from fsbench_web.core.traces.observed import ObservedWorkload, TraceError

COLUMNS = ("operation", "block", "file", "count")
_OPERATIONS = frozenset(("read", "write", "random_read", "random_write"))
_TIMES = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_MOST = 10**15


def recognises(head: list[str]) -> bool:
    """By its head."""
    return bool(head) and _columns(head[0]) is not None


def _columns(line: str) -> list[str] | None:
    names = [name.strip().lower() for name in line.split(",")]
    return names if {"operation", "block", "count"} <= set(names) <= set(COLUMNS) else None


def read(lines: Iterable[str]) -> ObservedWorkload:
    """Raises TraceError."""
    observed = ObservedWorkload("Histogram")
    columns: list[str] = []
    try:
        for number, row in enumerate(csv.reader(lines, strict=True), start=1):
            if number == 1:
                columns = _columns(",".join(row)) or []
            elif any(cell.strip() for cell in row):
                _row(observed, number, columns, [cell.strip() for cell in row])
    except csv.Error as error:
        raise TraceError(0, f"This is no CSV: {error}.") from None
    return observed


def _row(observed: ObservedWorkload, number: int, columns: list[str], cells: list[str]) -> None:
    if len(cells) != len(columns):
        raise TraceError(number, f"it has {len(cells)} cells, and the head {len(columns)}.")
    row = dict(zip(columns, cells, strict=True))
    operation = row["operation"].lower().replace(" ", "_")
    if operation not in _OPERATIONS:
        raise TraceError(number, "operation is read, write, random_read or random_write.")
    block = _size(number, row["block"])
    size = _size(number, row["file"]) if row.get("file") else None
    try:
        count = float(row["count"])
    except ValueError:
        count = math.nan
    if not 0 <= count <= _MOST:
        raise TraceError(number, "count is a number from 0.")
    key = (size, operation)
    observed.file(key, number).size = size
    place = (key, operation, max(1, 1 << (max(1, -(-block // 1024)) - 1).bit_length()))
    observed.operations[place] += count
    observed.octets[place] += count * block


def _size(number: int, text: str) -> int:
    letter = text.lower().removesuffix("b").removesuffix("i")[-1:]
    digits = text.lower().removesuffix("b").removesuffix("i").removesuffix(letter)
    if letter.isdecimal():
        digits, letter = digits + letter, ""
    if not (digits.strip().isdecimal() and len(digits.strip()) < 16) or letter not in ("", *_TIMES):
        raise TraceError(number, f"{text[:20]!r} is no size: 8192, 8k, 4g.")
    size = int(digits) * _TIMES.get(letter, 1)
    if size <= 0:
        raise TraceError(number, "a size is above 0.")
    return size
