"""The file that ``iozone -b`` writes: a bare BIFF2 stream, the sheet format of Excel 2.

A record is its type and the length of its body, both 16 bits, little-endian, and the body. A cell's
body starts with row, column (16 bits each) and three bytes of attributes. Then LABEL has a length
byte and its text, NUMBER a 64-bit float, INTEGER a 16-bit number. IOzone's LABEL records have room
for 256 characters, whatever their length. Source: "OpenOffice.org's Documentation of the Microsoft
Excel File Format" (D. Rentz), 5.49 INTEGER, 5.63 LABEL, 5.71 NUMBER; and files of IOzone 3.489.
"""

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from fsbench_web.core.formats.iozone.log import options_of, settings_of
from fsbench_web.core.formats.iozone.tables import MISSING, test_of_title
from fsbench_web.core.formats.result import (
    MAX_VALUE,
    MAX_VALUES,
    MIN_VALUE,
    ParsedResult,
    Problem,
    UnreadableFile,
    load_text,
)
from fsbench_web.core.formats.values import Collector

FORMAT = "iozone-biff2"
_BOF, _EOF = 0x0009, 0x000A
_INTEGER, _NUMBER, _LABEL = 0x0002, 0x0003, 0x0004
_START = struct.pack("<HHHH", _BOF, 4, 2, 0x0010)
_THROUGHPUT = re.compile(r"Throughput report Y-axis is type of test")
_RECORD_SIZE = re.compile(r"Record size = ([0-9]{1,9}) kBytes", re.IGNORECASE)
_TESTS = {
    "initial write": "write",
    "rewrite": "rewrite",
    "read": "read",
    "re-read": "reread",
    "reverse read": "backward_read",
    "stride read": "stride_read",
    "random read": "random_read",
    "mixed workload": "mixed_workload",
    "random write": "random_write",
    "pwrite": "pwrite",
    "pread": "pread",
    "fwrite": "fwrite",
    "fread": "fread",
}
_SIZE = re.compile(r"([0-9]{1,12})([kmgKMG]?)")
_KB = {"": 1, "k": 1, "m": 1024, "g": 1024 * 1024}
_LARGEST_KB = 2**31 - 1
_FIRST_COLUMN = 2

Cell = tuple[int, int, str | float]
"""Row and column from 0, and what stands there."""


class _Value(NamedTuple):
    test: str
    sizes: tuple[int | None, int | None]
    number: float
    line: int
    load: str = ""


def recognises(data: bytes) -> bool:
    return data.startswith(_START[:4]) and data[4:8] in (_START[4:], b"\x00\x02\x10\x00")


def parse(data: bytes) -> ParsedResult:
    """All cells that were measured; ``line`` is the row of the sheet. Raises UnreadableFile."""
    result = ParsedResult(FORMAT, "iozone", complete=False)
    cells: list[Cell] = []
    for cell in _cells(data):
        if cell is None:
            result.complete = True
        else:
            cells.append(cell)
        if len(cells) > MAX_VALUES:
            raise UnreadableFile(
                [Problem(None, None, f"More than {MAX_VALUES:,} cells: split it.")]
            )
    command = next((text for _, _, text in cells if isinstance(text, str)), "").strip()
    if "iozone" not in command.lower():
        message = (
            "The sheet does not start with IOzone's command: fsbench reads what iozone -b wrote."
        )
        raise UnreadableFile([Problem(1, None, message)])
    result.command = command
    options = options_of(command)
    result.modes = settings_of(command, has_head=False)
    unit = "ops/s" if "O" in options else "µs" if "N" in options else "KB/s"
    is_throughput = any(isinstance(text, str) and _THROUGHPUT.search(text) for *_, text in cells)
    collector = Collector(result)
    for value in _throughput(cells, options) if is_throughput else _matrix(cells, collector):
        collector.sizes, collector.load = value.sizes, value.load
        if value.number == 0:
            collector.warn(value.line, f"{value.test}: {MISSING}", is_note=True)
        elif not MIN_VALUE <= value.number <= MAX_VALUE:  # nor what is no number
            collector.refuse(value.line, f"{value.test}: {value.number} is not a measurement.")
        else:
            collector.add(value.test, repr(value.number), unit, value.line)
    if not result.complete:
        collector.warn(None, "The sheet has no end: rows may be missing.")
    return collector.finish("The sheet holds no measurement.", 1)


def _cells(data: bytes) -> Iterator[Cell | None]:
    """The cells in the order of the file, and None for its end record."""
    position = 0
    while position < len(data):
        if position + 4 > len(data):
            raise _cut_off(position)
        kind, length = struct.unpack_from("<HH", data, position)
        body = data[position + 4 : position + 4 + length]
        if len(body) < length:
            raise _cut_off(position)
        position += 4 + length
        if kind == _EOF:
            yield None
            return
        if kind in (_INTEGER, _NUMBER, _LABEL):
            yield _cell(kind, body, position)


def _cell(kind: int, body: bytes, position: int) -> Cell:
    needed = {_INTEGER: 9, _NUMBER: 15, _LABEL: 8}[kind]
    if len(body) < needed:
        raise _cut_off(position)
    row, column = struct.unpack_from("<HH", body)
    if kind == _INTEGER:
        return row, column, float(struct.unpack_from("<H", body, 7)[0])
    if kind == _NUMBER:
        return row, column, float(struct.unpack_from("<d", body, 7)[0])
    text = body[8 : 8 + body[7]].split(b"\x00")[0].decode("latin-1")
    return row, column, re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text)


def _cut_off(position: int) -> UnreadableFile:
    message = f"The BIFF2 stream is cut off or damaged at byte {position}."
    return UnreadableFile([Problem(None, None, message)])


def _matrix(cells: list[Cell], collector: Collector) -> Iterator[_Value]:
    """A title, a row of record sizes, then rows of a file size with its values."""
    test, title_row = "", -1
    records: dict[int, int | None] = {}
    file_kb: int | None = None
    seen: set[tuple[str, int, int]] = set()
    for row, column, content in cells:
        if isinstance(content, str):
            test, title_row, records = test_of_title(content), row, {}
        elif test and row == title_row + 1:
            records[column] = _kilobytes(content)
        elif test and column == 0:
            file_kb = _kilobytes(content)
        elif test and (record_kb := records.get(column)) and file_kb:
            key = (test, record_kb, file_kb)
            if key in seen:
                message = f"{test} of {record_kb} KB records in {file_kb} KB files is given twice."
                collector.refuse(row + 1, message, column + 1)
            seen.add(key)
            yield _Value(test, (record_kb, file_kb), content, row + 1)


def _throughput(cells: list[Cell], options: dict[str, str]) -> Iterator[_Value]:
    """Rows of a test, with a column for each number of children from the first one on."""
    record_kb = next(
        (int(size[1]) for *_, t in cells if isinstance(t, str) and (size := _RECORD_SIZE.match(t))),
        None,
    )
    size = _SIZE.fullmatch(options.get("s", "512"))
    file_kb = int(size[1]) * _KB[size[2].lower()] if size else None
    if not record_kb or record_kb > _LARGEST_KB or not file_kb:
        record_kb = file_kb = None
    fewest = options.get("t") or options.get("l") or ""
    first = int(fewest) if re.fullmatch("[1-9][0-9]{0,5}", fewest) else None
    names = {
        row: _TESTS.get(text.strip().lower(), "") for row, _, text in cells if type(text) is str
    }
    for row, column, content in cells:
        if not isinstance(content, float) or not names.get(row) or first is None:
            continue
        count = first + column - _FIRST_COLUMN
        load = load_text(threads=count) if "T" in options else load_text(processes=count)
        yield _Value(names[row], (record_kb, file_kb), content, row + 1, load)


def _kilobytes(content: float) -> int | None:
    return int(content) if content.is_integer() and 0 < content <= _LARGEST_KB else None
