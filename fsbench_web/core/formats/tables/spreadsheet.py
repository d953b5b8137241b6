"""Spreadsheets of Office Open XML (.xlsx) -> the rows of their sheets. Pure.

openpyxl reads cells; formulas have their last result. Limits and document types are checked before.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import IO, Any
from xml.parsers import expat

from fsbench_web.core.formats.archive import directory_bytes, is_spreadsheet
from fsbench_web.core.formats.result import ParsedResult, Problem, UnreadableFile
from fsbench_web.core.formats.tables.grid import MAX_CELL, Grid, Row, grid_of
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.tables.table import merge_header, parse_grid
from fsbench_web.core.formats.text import lines_of, quoted

MAX_UNPACKED_BYTES = 128 * 1024 * 1024
MAX_CELLS = 400_000
MAX_ROWS = 200_000
MAX_COLUMNS = 2000
MAX_EMPTY = 2_000_000
"""Places without a cell, before others of their rows."""
MAX_LETTERS = 32 * 1024 * 1024
"""Of all cells: one text may be that of many."""
MAX_SHEETS = 100
_MAX_DIRECTORY_BYTES = 1024 * 1024
_CHUNK = 64 * 1024
recognises = is_spreadsheet


def parse(data: bytes) -> ParsedResult:
    """All numbers of all sheets that are tables; other sheets are named. Raises UnreadableFile."""
    # Not above: numpy would be loaded by every start.
    from fsbench_web.core.formats.tables.file_numbers import ParsedTable, merged_sheets

    refusals: list[UnreadableFile] = []
    tables: list[ParsedTable] = []
    warnings: list[Problem] = []
    for grid in grids_of(data):
        try:
            table = parse_grid(grid)
        except UnreadableFile as error:
            refusals.append(error)
            if type(error) is UnreadableFile:
                raise
            # A sheet above the first table is named by nothing.
            warnings += [problem("sheet_unread", found=quoted(grid.name, 100))] if tables else []
        else:
            assert isinstance(table, ParsedTable)
            tables.append(table)
            warnings += table.warnings
    if not tables:
        raise refusals[0]
    return merged_sheets(tables, warnings)


def tables_of(data: bytes, delimiter: str = "") -> list[Grid]:
    """The rows of a table's text, or of each sheet. Raises UnreadableFile."""
    grids = grids_of(data) if recognises(data) else [grid_of(lines_of(data), delimiter)]
    for grid in grids:
        merge_header(grid)
    return grids


def parse_mapped(data: bytes, mapping: Mapping) -> ParsedResult:
    from fsbench_web.core.formats.tables.reading import read_mapped

    mapping.check()
    tables = tables_of(data, mapping.delimiter)
    chosen = next((grid for grid in tables if grid.name == mapping.sheet), tables[0])
    result = read_mapped(chosen, mapping)
    for grid in tables:
        if grid is not chosen and grid.rows:
            result.warnings.append(problem("sheet_beside", found=quoted(grid.name, 100)))
    return result


def text_of(data: bytes) -> list[str]:
    """The lines that problems and measurements point to: the rows of all sheets, as text."""
    lines: list[str] = []
    for grid in grids_of(data):
        if grid.title_line:
            lines += [""] * (grid.title_line - 1 - len(lines))
            lines.append(f"Sheet: {grid.name}")
        for row in grid.rows:
            lines += [""] * (row.line - 1 - len(lines))
            lines.append("\t".join(row.words))
    return lines


def grids_of(data: bytes) -> list[Grid]:
    """The visible sheets that hold anything, in order. Raises UnreadableFile.

    Lines count as in the sheet; of several sheets one after the other, each below a line with its
    name.
    """
    import openpyxl  # 0.2 s of every start, and few files are spreadsheets

    file = io.BytesIO(data)
    if directory_bytes(file, len(data)) > _MAX_DIRECTORY_BYTES:
        raise _unreadable("The spreadsheet has too many parts.")
    try:
        with zipfile.ZipFile(file) as parts:
            _check_parts(parts)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        if len(book.worksheets) > MAX_SHEETS:
            raise _unreadable(f"The spreadsheet has more than {MAX_SHEETS} sheets.")
        reader = _Cells()
        sheets = [reader.grid(sheet) for sheet in book.worksheets if sheet.sheet_state == "visible"]
    except UnreadableFile:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _unreadable(
            f"The spreadsheet is damaged ({str(error)[:100]}). Save it again."
        ) from None
    except Exception as error:  # openpyxl raises what its damaged parts make it meet
        raise _unreadable(f"The spreadsheet cannot be read ({str(error)[:100]}).") from None
    full = [sheet for sheet in sheets if sheet.rows]
    if not full:
        raise _unreadable("The spreadsheet holds no cells.")
    if len(full) == 1:
        return full
    last_line = 0
    for grid in full:
        last_line += 1
        grid.title_line = last_line
        grid.rows = [Row(row.line + last_line, row.words) for row in grid.rows]
        last_line = grid.last_line = grid.rows[-1].line
    return full


def _check_parts(parts: zipfile.ZipFile) -> None:
    """Refuse document types (so entities), and what unpacks to too much."""
    if sum(part.file_size for part in parts.infolist()) > MAX_UNPACKED_BYTES:
        limit = MAX_UNPACKED_BYTES // 1024**2
        raise _unreadable(f"The spreadsheet unpacks to more than {limit} MiB: split it.")
    for part in parts.infolist():
        if part.filename.endswith((".xml", ".rels")):
            with parts.open(part) as stream:
                _PartCheck().read(stream)


class _PartCheck:
    """Refuses a document type, and rows or cells that go backwards: openpyxl would drop them."""

    def __init__(self) -> None:
        self._row = 0
        self._cell = (0, "")
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._element

    def read(self, stream: IO[bytes]) -> None:
        try:
            while chunk := stream.read(_CHUNK):
                self._parser.Parse(chunk)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise _unreadable(f"The spreadsheet is damaged ({error}). Save it again.") from None

    def _doctype(self, *_: object) -> None:
        raise _unreadable(
            "The spreadsheet's XML has a document type, as no spreadsheet program writes."
        )

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        if kind == "row":
            number = int(attributes.get("r", self._row + 1))
            if number <= self._row:
                raise _unreadable(f"Row {number} of the spreadsheet comes after row {self._row}.")
            self._row, self._cell = number, (0, "")
        elif kind == "c" and (place := attributes.get("r")):
            column = place.rstrip("0123456789")
            if (len(column), column) <= self._cell:
                raise _unreadable(f"Cell {place[:20]} of the spreadsheet is out of order.")
            self._cell = (len(column), column)


def _unreadable(message: str) -> UnreadableFile:
    return UnreadableFile([Problem(None, None, message)])


@dataclass
class _Cells:
    """Reads the cells of a workbook's sheets, and counts what they hold."""

    cells: int = 0
    empty: int = 0
    letters: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    """One text may be that of many cells."""

    def grid(self, sheet: Any) -> Grid:
        sheet.reset_dimensions()  # what a sheet says of its size may be untrue
        rows = []
        for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
            if number > MAX_ROWS:
                raise _unreadable(f"The spreadsheet has more than {MAX_ROWS} rows: split it.")
            if any(value is not None for value in values) and (words := self._words(values)):
                rows.append(Row(number, words))
        return Grid("", rows, sheet.title[:100], rows[-1].line if rows else 0)

    def _words(self, values: Sequence[object]) -> list[str]:
        """What the cells of a row say, without empty ones at its end."""
        if len(values) > MAX_COLUMNS:
            raise _unreadable(f"The spreadsheet has more than {MAX_COLUMNS} columns.")
        words = [self._word(value) for value in values]
        while words and not words[-1]:
            words.pop()
        filled = sum(1 for word in words if word)
        self.cells += filled
        self.empty += len(words) - filled
        self.letters += sum(map(len, words))
        if self.cells > MAX_CELLS:
            raise _unreadable(f"The spreadsheet has more than {MAX_CELLS} cells: split it.")
        if self.letters > MAX_LETTERS:
            raise _unreadable(f"The spreadsheet has more than {MAX_LETTERS} letters: split it.")
        if self.empty > MAX_EMPTY:
            raise _unreadable(
                f"The spreadsheet has more than {MAX_EMPTY} empty places before its cells: "
                "delete the empty columns, or split it."
            )
        return words

    def _word(self, value: object) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(int(value))
        if isinstance(value, datetime):
            return value.isoformat(sep=" ") if value.time() != time() else f"{value:%Y-%m-%d}"
        if not isinstance(value, str):
            return str(value)
        if value not in self.texts:
            self.texts[value] = re.sub(r"[\x00-\x1f\x7f]+", " ", value[:MAX_CELL]).strip()
        return self.texts[value]
