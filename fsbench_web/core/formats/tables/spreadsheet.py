"""Spreadsheets of Office Open XML (.xlsx) -> the rows of their sheets. Pure, standard library only.

Nothing but the cells' texts is read: styles, formulas and everything else are passed over, and a
formula's last result is its value. A number stays as the file writes it. The XML comes through
expat in pieces, without document types (and so without entities), within limits that hold while
it unpacks. Source: ECMA-376 part 1, 18.3 (worksheets), 18.4 (shared strings).
"""

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.parsers import expat

from fsbench_web.core.formats.archive import directory_bytes, is_spreadsheet
from fsbench_web.core.formats.result import (
    ParsedResult,
    ParsedValue,
    Problem,
    UnreadableFile,
    own_key,
)
from fsbench_web.core.formats.tables.grid import MAX_CELL, Grid, Row, grid_of
from fsbench_web.core.formats.tables.mapping import Mapping, read_mapped
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.tables.table import merge_header, parse_grid
from fsbench_web.core.formats.text import lines_of, quoted

MAX_UNPACKED_BYTES = 128 * 1024 * 1024
MAX_CELLS = 400_000
MAX_ROWS = 200_000
MAX_COLUMNS = 300
MAX_EMPTY = 2_000_000
"""Places without a cell, before others of their rows."""
MAX_LETTERS = 32 * 1024 * 1024
"""Of all cells: one text may be that of many."""
MAX_SHEETS = 100
_MAX_DIRECTORY_BYTES = 1024 * 1024
_CHUNK = 64 * 1024
_CELL = re.compile("([A-Z]{1,3})([0-9]{1,7})")
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships id"

recognises = is_spreadsheet


def parse(data: bytes) -> ParsedResult:
    """All numbers of all sheets that are tables. Raises UnreadableFile (or NeedsMapping)."""
    return parse_sheets(grids_of(data))


def parse_sheets(grids: list[Grid]) -> ParsedResult:
    """The same of sheets. A sheet that is no table is named, where another one is."""
    refusals: list[UnreadableFile] = []
    merged: ParsedResult | None = None
    seen: dict[tuple[object, ...], int] = {}
    for grid in grids:
        try:
            result = parse_grid(grid)
        except UnreadableFile as error:
            refusals.append(error)
            warnings = [problem("sheet_unread", found=quoted(grid.name, 100))]
            if type(error) is UnreadableFile:
                raise
        else:
            warnings = result.warnings
            _refuse_repeated(seen, result)
            if merged is None:
                merged = result
                continue
            merged.values += result.values
            merged.dates |= result.dates
            merged.unread_columns += result.unread_columns
            merged.kernel_columns += result.kernel_columns
        if merged is not None:
            merged.warnings += warnings
    if merged is None:
        raise refusals[0]
    return merged


def _refuse_repeated(seen: dict[tuple[object, ...], int], result: ParsedResult) -> None:
    problems = []
    for value in result.values:
        first = seen.setdefault(_cell(value), value.line)
        if first != value.line:
            problems.append(problem("cell_twice_in_sheets", value.line, first=first))
    if problems:
        raise UnreadableFile(problems[:100])


def _cell(value: ParsedValue) -> tuple[object, ...]:
    names = ("test", "load", "record_size_kb", "file_size_kb")
    return (*own_key(value), *(getattr(value, name) for name in names))


def tables_of(data: bytes, delimiter: str = "") -> list[Grid]:
    """The rows of a table's text, or of each sheet. Raises UnreadableFile."""
    grids = grids_of(data) if recognises(data) else [grid_of(lines_of(data), delimiter)]
    for grid in grids:
        merge_header(grid)
    return grids


def parse_mapped(data: bytes, mapping: Mapping) -> ParsedResult:
    """All numbers of a table of which somebody said which column is what."""
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
    """The visible sheets that hold anything, in order.

    Lines count as in the program that wrote them where there is one such sheet; in several, a
    line with the sheet's name stands before its rows. Raises UnreadableFile.
    """
    file = io.BytesIO(data)
    if directory_bytes(file, len(data)) > _MAX_DIRECTORY_BYTES:
        raise _unreadable("The spreadsheet has too many parts.")
    try:
        with zipfile.ZipFile(file) as book:
            sheets = _Book(book).sheets()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _unreadable(
            f"The spreadsheet is damaged ({str(error)[:100]}). Save it again."
        ) from None
    except (expat.ExpatError, KeyError, ValueError) as error:
        if isinstance(error, UnreadableFile):
            raise
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


def _unreadable(message: str) -> UnreadableFile:
    return UnreadableFile([Problem(None, None, message)])


@dataclass
class _Book:
    """A workbook while it is read, and how much of it has been unpacked."""

    zip: zipfile.ZipFile
    unpacked: int = 0
    cells: int = 0
    empty: int = 0
    letters: int = 0
    strings: list[str] = field(default_factory=list)

    def sheets(self) -> list[Grid]:
        names = set(self.zip.namelist())
        targets: dict[str, str] = {}
        listed: list[tuple[str, str]] = []

        def relation(name: str, attributes: dict[str, str]) -> None:
            if name.endswith("Relationship"):
                targets[attributes.get("Id", "")] = attributes.get("Target", "")

        def sheet(name: str, attributes: dict[str, str]) -> None:
            if _local_name(name) == "sheet" and attributes.get("state", "visible") == "visible":
                listed.append((attributes.get("name", ""), attributes.get(_RELATION, "")))

        self._parse("xl/_rels/workbook.xml.rels", relation)
        self._parse("xl/workbook.xml", sheet)
        if len(listed) > MAX_SHEETS:
            raise _unreadable(f"The spreadsheet has more than {MAX_SHEETS} sheets.")
        if "xl/sharedStrings.xml" in names:
            self._read_strings()
        grids = []
        for title, relation_id in listed:
            target = targets.get(relation_id, "")
            path = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            if path in names:
                rows = self._rows(path)
                grids.append(Grid("", rows, title[:100], rows[-1].line if rows else 0))
        return grids

    def _parse(
        self,
        part: str,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        """Send a part of the book through expat."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.EntityDeclHandler = _refuse_doctype
        parser.buffer_text = True
        with self.zip.open(part) as stream:
            while chunk := stream.read(_CHUNK):
                self.unpacked += len(chunk)
                if self.unpacked > MAX_UNPACKED_BYTES:
                    limit = MAX_UNPACKED_BYTES // 1024**2
                    raise _unreadable(
                        f"The spreadsheet unpacks to more than {limit} MiB: split it."
                    )
                parser.Parse(chunk, False)
        parser.Parse(b"", True)

    def _read_strings(self) -> None:
        parts: list[str] = []
        state = {"text": False, "phonetic": False}

        def start(name: str, attributes: dict[str, str]) -> None:
            local = _local_name(name)
            if local == "si":
                parts.clear()
            elif local == "rPh":
                state["phonetic"] = True
            state["text"] = local == "t" and not state["phonetic"]

        def end(name: str) -> None:
            local = _local_name(name)
            if local == "si":
                self.strings.append(_without_controls("".join(parts)[:MAX_CELL]))
                if len(self.strings) > MAX_CELLS:
                    raise _unreadable(f"The spreadsheet has more than {MAX_CELLS} texts: split it.")
            elif local == "rPh":
                state["phonetic"] = False
            elif local == "t":
                state["text"] = False

        def text(piece: str) -> None:
            if state["text"]:
                parts.append(piece)

        self._parse("xl/sharedStrings.xml", start, end, text)

    def _rows(self, part: str) -> list[Row]:
        reader = _Sheet(self)
        self._parse(part, reader.start, reader.end, reader.text)
        return reader.rows


class _Sheet:
    """The cells of one sheet: expat's handlers."""

    def __init__(self, book: _Book) -> None:
        self.book = book
        self.rows: list[Row] = []
        self._row = 0
        self._words: dict[int, str] = {}
        self._column = -1
        self._kind = ""
        self._parts: list[str] = []
        self._takes_text = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        local = _local_name(name)
        if local == "row":
            value = attributes.get("r", "")
            number = int(value) if value.isascii() and value.isdigit() else self._row + 1
            if number <= self._row or number > MAX_ROWS:
                raise _unreadable(f"The spreadsheet has more than {MAX_ROWS} rows: split it.")
            self._row, self._words, self._column = number, {}, -1
        elif local == "c":
            self._begin_cell(attributes)
        elif local in ("v", "t"):
            self._takes_text = True
        elif local == "rPh":
            self._takes_text = False

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        self._kind, self._parts = attributes.get("t", "n"), []
        place = _CELL.fullmatch(attributes.get("r", ""))
        self._column = _column(place[1]) if place else self._column + 1
        self.book.cells += 1
        if self.book.cells > MAX_CELLS:
            raise _unreadable(f"The spreadsheet has more than {MAX_CELLS} cells: split it.")
        if self._column >= MAX_COLUMNS:
            raise _unreadable(f"The spreadsheet has more than {MAX_COLUMNS} columns.")

    def text(self, piece: str) -> None:
        if self._takes_text:
            self._parts.append(piece)

    def end(self, name: str) -> None:
        local = _local_name(name)
        if local in ("v", "t"):
            self._takes_text = False
        elif local == "c":
            if word := self._word():
                self._words[self._column] = word
                self.book.letters += len(word)
                if self.book.letters > MAX_LETTERS:
                    raise _unreadable(
                        f"The spreadsheet has more than {MAX_LETTERS} letters: split it."
                    )
        elif local == "row" and self._words:
            width = max(self._words) + 1
            self.book.empty += width - len(self._words)
            if self.book.empty > MAX_EMPTY:
                raise _unreadable(
                    f"The spreadsheet has more than {MAX_EMPTY} empty places before its cells: "
                    "delete the empty columns, or split it."
                )
            self.rows.append(Row(self._row, [self._words.get(n, "") for n in range(width)]))

    def _word(self) -> str:
        """What the cell says."""
        text = "".join(self._parts)[:MAX_CELL]
        if self._kind != "s":
            return _without_controls(text)
        strings = self.book.strings
        # A longer number is of no text, and int() takes no more than 4300 digits.
        is_known = len(text) < 10 and text.isascii() and text.isdigit() and int(text) < len(strings)
        return strings[int(text)] if is_known else ""


def _without_controls(text: str) -> str:
    """Without what a terminal would obey."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text).strip()


def _local_name(name: str) -> str:
    """A tag's name without its namespace."""
    return name.rsplit(" ", 1)[-1]


def _column(letters: str) -> int:
    """AB -> 27."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _refuse_doctype(*_: object) -> None:
    raise _unreadable(
        "The spreadsheet's XML has a document type, as no spreadsheet program writes."
    )
