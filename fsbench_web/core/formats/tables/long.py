"""Large tables, one number a row, read into columns: 26 bytes a number. Pure.

What formats.tables.table reads, of any length: the same header, the same rules for a row
(long_rows), and its problems in the same words.
"""

import codecs
import io
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import BinaryIO

import numpy as np

from fsbench_web.core.formats.result import OwnKey, Problem, UnreadableFile
from fsbench_web.core.formats.tables.cells import MISSING, Grouping
from fsbench_web.core.formats.tables.grid import delimiter_of, grid_of, row_of
from fsbench_web.core.formats.tables.long_rows import ReadRow, RowReader
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping, kernel_columns
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.tables.table import check_header, needs_mapping, proposal
from fsbench_web.core.formats.text import MAX_LINE_LENGTH
from fsbench_web.core.measurement_columns import Column, MeasuredTest, MeasurementColumns

__all__ = ["LargeTable", "mapping_of", "read"]

_HEAD_BYTES = 64 * 1024
_HEAD_LINES = 60
COLUMN_TYPES = (np.uint32, np.uint16, np.uint16, np.int32, np.int64, np.float64)
"""Of a long_rows.ReadRow."""
MAX_ROWS = 5_000_000
_BLOCK_BYTES = 512 * 1024
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass
class LargeTable:
    """All numbers of a table: ``runs`` are parts of ``numbers`` by the run they belong to.

    ``zeros`` counts values that are 0, of which the first stands in line ``first_zero``;
    ``not_measured`` those with words that somebody said to mean it, with the first line of each.
    """

    numbers: MeasurementColumns
    runs: dict[OwnKey, MeasurementColumns] = field(default_factory=dict)
    rows: int = 0
    zeros: int = 0
    first_zero: int | None = None
    unused: list[str] = field(default_factory=list)
    header_line: int = 0
    not_measured: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    def units(self) -> dict[str, int]:
        """The first line of each unit."""
        units: dict[str, int] = {}
        for columns in self.runs.values():
            codes, first = np.unique(columns.codes, return_index=True)
            for code, line in zip(codes.tolist(), columns.lines[first].tolist(), strict=True):
                unit = columns.tests[code].unit
                units[unit] = min(line, units.get(unit, line))
        return units


class BlockReader:
    """One pass over a table. ``blocks``: the good rows of each, as columns of ``COLUMN_TYPES``."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.rows = RowReader(mapping)
        self.line = 0
        self.blocks: list[list[Column]] = []

    def read(self, text: str) -> bool:
        """Read whole lines, each with its newline; False where nothing after them is to be read."""
        lines = text.split("\n")[:-1]
        first = self.line + 1
        self.line += len(lines)
        skipped = self.mapping.header_line - first
        if 0 <= skipped < len(lines):
            self.rows.header(lines[skipped], self.mapping.header_line)
        start = max(skipped + 1, 0)
        if rows := self.rows.rows(lines[start:], first + start):
            self.blocks.append(_columns(rows))
        last_line = self.mapping.header_line + MAX_ROWS
        if self.line > last_line:
            self.rows.refuse(problem("too_many_rows", last_line + 1, most=MAX_ROWS))
        return not self.rows.is_over and self.line <= last_line


def _columns(rows: list[ReadRow]) -> list[Column]:
    return [
        np.array(column, dtype=column_type)
        for column, column_type in zip(zip(*rows, strict=True), COLUMN_TYPES, strict=True)
    ]


def mapping_of(head: bytes, ignored: Collection[str] = ()) -> Mapping | None:
    """How a file that begins with ``head`` is read as a long table; None for everything else.

    A column of kernels whose header is ``ignored`` is not read. Raises UnreadableFile for the
    header of a long table that cannot be.
    """
    if b"\x00" in head and not head.startswith(_UTF_16):
        return None
    text = head[: _HEAD_BYTES & ~1].decode(encoding_of(head), "replace")
    grid = grid_of(re.split("\r\n|\r|\n", text)[:_HEAD_LINES])
    mapping = proposal(grid) if grid.delimiter else None
    if mapping is None or mapping.needs_whole_table or not {"test", "value"} <= {*mapping.columns}:
        return None
    check_header(grid, mapping)
    is_ignored = any(word in ignored for _, word in kernel_columns(grid, mapping))
    return mapping.without("kernel") if is_ignored else mapping


def read(
    stream: BinaryIO,
    size_bytes: int,
    mapping: Mapping | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> LargeTable:
    """Read a table of ``size_bytes``. Raises UnreadableFile with the first problems and how many
    more there are; NeedsMapping where nothing says which column is what.

    ``mapping`` None: what the header says. ``progress`` is told the share read, 0 to 1.
    """
    head = stream.read(_HEAD_BYTES)
    stream.seek(0)
    mapping = mapping or mapping_of(head)
    if mapping is None:
        raise needs_mapping(head)
    if not mapping.delimiter:
        lines = head.decode(encoding_of(head), "replace").splitlines()
        mapping = replace(mapping, delimiter=delimiter_of(lines[:-1] or lines))
    mapping.check()
    if mapping.needs_whole_table:
        raise UnreadableFile([problem("needs_whole_table", mapping.header_line)])
    reader = BlockReader(mapping)
    try:
        for text in _blocks(stream, head, lambda done: progress(min(done / (size_bytes or 1), 1))):
            if not reader.read(text):
                break
    except UnicodeError as error:
        message = f"The file is not the text it begins as ({str(error)[:80]})."
        raise UnreadableFile([Problem(1, None, message)]) from None
    progress(1.0)
    table = _finished_table(reader)
    if not mapping.decimal and _may_be_grouped(table):
        _require_decimal_sign(stream, encoding_of(head), mapping)
    return table


def encoding_of(head: bytes) -> str:
    """Of a text that begins so."""
    return "utf-16" if head.startswith(_UTF_16) else "utf-8-sig"


def _may_be_grouped(table: LargeTable) -> bool:
    """Whether all values are below 1000 and some are no whole numbers, as 1.234 is."""
    values = table.numbers.values
    return not (values >= 1000).any() and bool((values % 1 != 0).any())


def _require_decimal_sign(stream: BinaryIO, encoding: str, mapping: Mapping) -> None:
    """Raise NeedsMapping where it is open whether a number's sign is of decimals or thousands."""
    column = mapping.columns.get("value")
    if column is None:  # one number for all rows, which somebody said
        return
    grouping = Grouping()
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding=encoding, errors="surrogateescape")
    for number, line in enumerate(text, start=1):
        if number <= mapping.header_line or not line.strip() or line.startswith("#"):
            continue
        word = row_of(line.rstrip("\n"), number, mapping.delimiter).words[column]
        if word not in MISSING and word not in mapping.not_measured:
            grouping.see(number, word)
        if grouping.is_clear:
            break
    text.detach()
    if (question := grouping.question()) is not None:
        raise NeedsMapping([question])


def _finished_table(reader: BlockReader) -> LargeTable:
    """The table, or all that is wrong with it."""
    rows = reader.rows
    if not rows.problem_count and not reader.blocks:
        rows.refuse(problem("no_values", reader.line))
    table = _table(reader)
    if rows.problem_count:
        more = rows.problem_count - len(rows.problems)
        last = [Problem(None, None, f"And {more} more problems.")] if more else []
        asks = rows.lacks_sign or (rows.has_words_alone and bool(reader.blocks))
        kind = NeedsMapping if asks else UnreadableFile
        raise kind([*rows.problems, *last], table.units())
    table.runs = _repeats_from_1(table.runs)
    return table


def _repeats_from_1(runs: dict[OwnKey, MeasurementColumns]) -> dict[OwnKey, MeasurementColumns]:
    """Runs whose repeats are counted from 1, also where the table does from 0."""
    if not any(run[3] == 0 for run in runs):
        return runs
    return {
        (*run[:3], None if run[3] is None else run[3] + 1, *run[4:]): columns
        for run, columns in runs.items()
    }


def _table(reader: BlockReader) -> LargeTable:
    """The rows that were read, by run; the reader's blocks are taken apart, so that memory holds
    the numbers once.
    """
    lines, places, *rest = (
        _joined_column(reader.blocks, column) for column in range(len(COLUMN_TYPES))
    )
    if (places[1:] < places[:-1]).any():
        order = np.argsort(places, kind="stable")
        lines, places = lines[order], places[order]
        rest = [rest.pop(0)[order] for _ in range(len(rest))]
    tests = [MeasuredTest(*test) for test in reader.rows.tests]
    codes, records, files, values = rest
    numbers = MeasurementColumns(tests, codes, records, files, values, lines)
    zeros = lines[values == 0]
    cuts = np.searchsorted(places, np.arange(len(reader.rows.runs) + 1)).tolist()
    return LargeTable(
        numbers,
        {
            run: numbers.subset(slice(start, end))
            for run, (start, end) in zip(reader.rows.runs, pairwise(cuts), strict=True)
            if start < end
        },
        rows=reader.line,
        header_line=reader.mapping.header_line,
        not_measured=reader.rows.not_measured,
        zeros=len(zeros),
        first_zero=int(zeros.min()) if len(zeros) else None,
        unused=reader.rows.unused,
    )


def _joined_column(blocks: list[list[Column]], place: int) -> Column:
    """One column of all blocks, which is not in these any more."""
    nothing = np.empty(0, dtype=COLUMN_TYPES[place])
    whole = np.concatenate([nothing, *(block[place] for block in blocks)])
    for block in blocks:
        block[place] = block[place][:0]
    return whole


def _blocks(stream: BinaryIO, head: bytes, done: Callable[[int], None]) -> Iterator[str]:
    """The text in pieces of whole lines, each line with its newline.

    A line that no table has comes alone, as far as it was read, and ends the reading.
    """
    encoding = encoding_of(head)
    # Undecodable bytes come as lone surrogates, and are told with their line.
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder(encoding)("surrogateescape"), translate=True
    )
    rest, bytes_read = "", 0
    while data := stream.read(_BLOCK_BYTES):
        text = rest + decoder.decode(data)
        end = text.rfind("\n") + 1
        rest = text[end:]
        if end:
            yield text[:end]
        if len(rest) > MAX_LINE_LENGTH:
            break
        bytes_read += len(data)
        done(bytes_read)
    else:
        rest += decoder.decode(b"", final=True)
    if rest:
        yield rest if rest.endswith("\n") else f"{rest}\n"
