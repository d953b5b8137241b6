"""Which column of a table is what, and the numbers that follow from it. Pure.

Three shapes: ``long``, one number a row; ``tests``, a column for each test; ``matrix``, record
sizes by file sizes, one matrix a test. A mapping is proposed from the header
(formats.tables.table), or said by somebody on the mapping page, and can be kept for the next table
with the same header.
"""

import hashlib
import json
import re
from collections.abc import Mapping as AnyMapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from fsbench_web.core.formats.result import MAX_VALUES, ParsedResult, Problem, UnreadableFile
from fsbench_web.core.formats.tables.cells import (
    FIELDS,
    MAX_TEST,
    SIZE_UNITS,
    CellPosition,
    TableReading,
    known_test,
    may_mean_nothing,
    read_cell,
    size_kb,
    test_of,
)
from fsbench_web.core.formats.tables.grid import DELIMITERS, SPACES, Grid, Row
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.tables.repeats import number_repeats
from fsbench_web.core.formats.text import ENOUGH_PROBLEMS, capped, quoted

FORMAT = "table"


class NeedsMapping(UnreadableFile):
    """A table of which somebody has to say which column is what."""


LONG, TESTS, MATRIX = "long", "tests", "matrix"
SHAPES = (LONG, TESTS, MATRIX)
IN_ORDER = "order"
"""Of ``Mapping.repeats``: rows of one cell are its repeats in their order."""
_DECIMALS = ("", ".", ",")
MAX_COLUMNS = 2000
MOST_NAMES = 100
MOST_NOT_MEASURED = 20
OWN_TEST = "_"
"""The ending of a column that holds the row's own test, and nothing else of it."""
COLUMN_CONSTANTS = ("filesystem", "configuration", "hardware", "kernel", "repeat", "block")
"""What may be said of all numbers of one column."""
_SEPARATOR = re.compile(r"[^\w\s\"'.+-]")


@dataclass(frozen=True)
class Mapping:
    """Columns count from 0; ``header_line`` from 1, as in the file.

    ``columns``: fields (cells.FIELDS) by column. ``constants``: fields that no column says.
    ``tests``: column -> (test, unit) in the shape ``tests``; a test that begins with _ is the
    ending of what the row's own test is called (``_iops``: is_ending), and ``_`` is that test.
    ``column_constants``: what all numbers of such a column are of (file system, configuration,
    repeat). ``ignored``: columns that are not to be read. ``repeats``: IN_ORDER, or "" where a
    column tells them. ``has_cell_units``: cells say their unit. ``rows_are``: ``file`` or
    ``record``, what the first column of a matrix holds. ``record_unit`` and ``file_unit``:
    cells.SIZE_UNITS, or "" where nobody said it, and every size has to. ``names``: what words in
    the column of tests (in small letters) mean here, as somebody said; ``not_measured``: what cells
    have where nothing was measured, besides cells.MISSING.
    """

    shape: str = LONG
    header_line: int = 1
    delimiter: str = ","
    decimal: str = ""
    columns: dict[str, int] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    tests: dict[int, tuple[str, str]] = field(default_factory=dict)
    rows_are: str = "file"
    record_unit: str = "KB"
    file_unit: str = "KB"
    sheet: str = ""
    names: dict[str, str] = field(default_factory=dict)
    not_measured: list[str] = field(default_factory=list)
    column_constants: dict[int, dict[str, str]] = field(default_factory=dict)
    ignored: list[int] = field(default_factory=list)
    repeats: str = ""
    has_cell_units: bool = False

    def without(self, name: str) -> "Mapping":
        """The same that does not read a field's column, which is then one that nothing reads."""
        return replace(self, columns={key: n for key, n in self.columns.items() if key != name})

    @property
    def needs_whole_table(self) -> bool:
        """Whether what a number is of cannot be told from its row alone."""
        has_dates = "date" in self.columns or bool(self.constants.get("date"))
        return self.shape != LONG or has_dates or bool(self.repeats) or self.has_cell_units

    def test_of(self, word: str) -> str:
        """What a word in the column of tests means."""
        return self.names.get(word.strip().lower(), word)

    def to_json(self) -> dict[str, Any]:
        """As a JSON column keeps it."""
        return {
            **asdict(self),
            "tests": [[n, *sentence] for n, sentence in sorted(self.tests.items())],
            "column_constants": [[n, said] for n, said in sorted(self.column_constants.items())],
        }

    @classmethod
    def from_json(cls, stored: AnyMapping[str, Any]) -> "Mapping":
        """The reverse; keys of other versions are passed over."""
        names = {f.name for f in fields(cls)}
        values = {name: value for name, value in stored.items() if name in names}
        values["tests"] = {int(n): (test, unit) for n, test, unit in stored.get("tests", [])}
        values["column_constants"] = {
            int(n): dict(said) for n, said in stored.get("column_constants", [])
        }
        return cls(**values)

    def missing(self) -> list[str]:
        """What has to be said before a number can be read, in words."""
        names = {*self.columns, *(name for name, text in self.constants.items() if text)}
        if self.has_cell_units:
            names.add("unit")
        if self.shape == LONG:
            return [name for name in ("test", "value", "unit") if name not in names]
        if self.shape == TESTS:
            lacking = [] if self.tests else ["a column for a test"]
            if any(is_ending(test) for test, _ in self.tests.values()) and "test" not in names:
                lacking.append("test")
            if any(not unit for _, unit in self.tests.values()) and "unit" not in names:
                lacking.append("unit")
            return lacking
        return [name for name in ("unit",) if name not in names]

    def problems(self) -> list[Problem]:
        """What is wrong with the mapping itself."""
        problems = [problem("field_missing", field=name) for name in self.missing()]
        if self.shape not in SHAPES or self.rows_are not in ("file", "record"):
            problems.append(problem("no_shape"))
        if self.delimiter not in ("", SPACES, *DELIMITERS) and not _SEPARATOR.fullmatch(
            self.delimiter
        ):
            problems.append(problem("no_separator"))
        if self.decimal not in _DECIMALS:
            problems.append(problem("no_decimal_sign"))
        if {self.record_unit, self.file_unit} - {"", *SIZE_UNITS}:
            problems.append(problem("no_size_unit"))
        if self.repeats not in ("", IN_ORDER):
            problems.append(problem("no_numbering"))
        numbers = [*self.columns.values(), *self.tests, *self.ignored]
        if any(not 0 <= number < MAX_COLUMNS for number in numbers):
            problems.append(problem("no_column", most=f"{MAX_COLUMNS:,}"))
        if len(set(numbers)) != len(numbers):
            problems.append(problem("column_twice"))
        if len(self.names) > MOST_NAMES:
            problems.append(problem("too_many_names", most=MOST_NAMES))
        if len(self.not_measured) > MOST_NOT_MEASURED:
            problems.append(problem("too_many_words", most=MOST_NOT_MEASURED))
        problems += [
            problem("word_is_number", found=quoted(word))
            for word in self.not_measured
            if not may_mean_nothing(word)
        ]
        wrong = [name for name in self.names.values() if test_of(name) is None]
        problems += [
            problem("no_test_name", found=quoted(name), most=MAX_TEST) for name in wrong[:1]
        ]
        said = {name for constants in self.column_constants.values() for name in constants}
        if {*self.columns, *self.constants} - set(FIELDS) or said - set(COLUMN_CONSTANTS):
            problems.append(problem("no_field"))
        return problems

    def check(self) -> None:
        """Raise UnreadableFile with all of ``problems``."""
        if wrong := self.problems():
            raise UnreadableFile(wrong)


def is_ending(test: str) -> bool:
    """Whether a column holds something of the row's own test, as ``_iops`` does of ``randread``."""
    return test.startswith("_")


def header_digest(words: list[str]) -> str:
    """What two tables with the same header have in common."""
    text = json.dumps([word.strip().lower() for word in words])
    return hashlib.sha256(text.encode()).hexdigest()


def read_mapped(grid: Grid, mapping: Mapping) -> ParsedResult:
    """All numbers of a table. Raises UnreadableFile with the place of everything wrong."""
    mapping.check()
    reading = TableReading(
        ParsedResult(FORMAT, "table"),
        comma=grid.delimiter != "," or mapping.decimal == ",",
        record_bytes=SIZE_UNITS.get(mapping.record_unit, 0),
        file_bytes=SIZE_UNITS.get(mapping.file_unit, 0),
        decimal=mapping.decimal,
        is_given=bool(mapping.decimal),
        is_in_order=mapping.repeats == IN_ORDER,
        not_measured=frozenset(mapping.not_measured),
    )
    unread = _unread_columns(grid, mapping)
    reading.unread = [word for _, word in unread if word]
    {LONG: _read_long, TESTS: _read_tests, MATRIX: _read_matrices}[mapping.shape](
        reading, grid, mapping
    )
    result = finished_result(reading, grid)
    result.warnings += _ignored_columns(grid, mapping)
    result.unread_columns = unread
    result.kernel_columns = kernel_columns(grid, mapping)
    return result


def kernel_columns(grid: Grid, mapping: Mapping) -> list[tuple[int, str]]:
    """The column of kernels, with the line of its header; [] where there is none."""
    header, place = _header(grid, mapping), mapping.columns.get("kernel")
    if header is None or place is None or place >= len(header.words):
        return []
    return [(header.line, header.words[place])]


def _header(grid: Grid, mapping: Mapping) -> Row | None:
    return next((row for row in grid.rows if row.line == mapping.header_line), None)


def _unread_columns(grid: Grid, mapping: Mapping) -> list[tuple[int, str]]:
    """Columns that nothing reads, with the line of their header."""
    header = _header(grid, mapping)
    if mapping.shape == MATRIX or header is None:
        return []
    used = {*mapping.columns.values(), *mapping.tests, *mapping.ignored}
    return [(header.line, word) for place, word in enumerate(header.words) if place not in used]


def _ignored_columns(grid: Grid, mapping: Mapping) -> list[Problem]:
    """A note for each column that somebody said is not to be read."""
    header = _header(grid, mapping)
    words = dict(enumerate(header.words)) if header else {}
    return [
        problem("column_ignored", header.line, is_note=True, found=quoted(words[place]))
        for place in mapping.ignored
        if header is not None and place in words
    ]


def finished_result(reading: TableReading, grid: Grid) -> ParsedResult:
    """What was read, or all that is wrong with it."""
    if not reading.result.values and not reading.problems:
        reading.refuse(grid.last_line or None, None, "no_values")
    if not reading.problems:
        number_repeats(reading)
    if reading.problems:
        problems = sorted(reading.problems, key=lambda problem: problem.line or 0)
        units: dict[str, int] = {}
        for value in reading.result.values:
            units.setdefault(value.unit, value.line)
        kind = NeedsMapping if reading.asks else UnreadableFile
        raise kind(capped(problems), units)
    question = None if reading.is_given else reading.grouping.question()
    # A point in a number of a spreadsheet is one: it does not keep how the number is shown.
    if question is not None and (grid.delimiter or reading.grouping.has_comma):
        raise NeedsMapping([question])
    if any(value.repeat == 0 for value in reading.result.values):
        reading.result.values = [
            value if value.repeat is None else replace(value, repeat=value.repeat + 1)
            for value in reading.result.values
        ]
        reading.result.dates = {
            (*key[:3], None if key[3] is None else key[3] + 1, *key[4:]): date
            for key, date in reading.result.dates.items()
        }
    return reading.result


def _body(reading: TableReading, grid: Grid, mapping: Mapping) -> list[Row]:
    """The rows after the header that have as many words; the others become problems."""
    header = next((row for row in grid.rows if row.line == mapping.header_line), None)
    if header is None or header.problem:
        raise UnreadableFile([problem("no_header", mapping.header_line, found=mapping.header_line)])
    body = []
    for row in grid.rows:
        if row.line <= header.line:
            continue
        if row.problem:
            reading.refuse(row.line, None, "row_damaged", reason=row.problem)
        elif grid.delimiter and len(row.words) != len(header.words):
            reading.refuse(
                row.line,
                None,
                "other_width",
                found=len(row.words),
                separator=DELIMITERS.get(grid.delimiter, "spaces"),
                expected=len(header.words),
            )
        else:
            body.append(row)
        if reading.has_enough_problems:
            break
    return body


def _places_named(row: Row, mapping: Mapping) -> dict[str, CellPosition]:
    """What a row says of its numbers: its columns first, then the constants."""
    values = {name: CellPosition(text) for name, text in mapping.constants.items() if text}
    for name, column in mapping.columns.items():
        text = row.words[column] if column < len(row.words) else ""
        if text or name not in values:
            values[name] = CellPosition(text, column + 1)
    if mapping.names and "test" in values:
        values["test"] = CellPosition(mapping.test_of(values["test"].text), values["test"].column)
    return values


def _must_stop(reading: TableReading, line: int) -> bool:
    """Whether to read no further: a hostile table must not fill the memory."""
    if reading.is_full:
        reading.refuse(line, None, "too_many_values", most=f"{MAX_VALUES:,}")
    return reading.is_full or reading.has_enough_problems


def _read_long(reading: TableReading, grid: Grid, mapping: Mapping) -> None:
    for row in _body(reading, grid, mapping):
        read_cell(reading, row.line, _places_named(row, mapping))
        if _must_stop(reading, row.line):
            return


def _read_tests(reading: TableReading, grid: Grid, mapping: Mapping) -> None:
    for row in _body(reading, grid, mapping):
        places = _places_named(row, mapping)
        for column, (test, unit) in sorted(mapping.tests.items()):
            text = row.words[column] if column < len(row.words) else ""
            test_cell = (
                _with_ending(places.get("test"), test) if is_ending(test) else CellPosition(test)
            )
            cell = {**places, "test": test_cell, "value": CellPosition(text, column + 1)}
            for name, said in mapping.column_constants.get(column, {}).items():
                cell[name] = CellPosition(said)
            if unit:
                cell["unit"] = CellPosition(unit)
            read_cell(reading, row.line, cell)
        if _must_stop(reading, row.line):
            return


def _with_ending(of_row: CellPosition | None, ending: str) -> CellPosition:
    """The test of a column that holds something of the row's own test."""
    place = of_row or CellPosition("")
    test = test_of(place.text)
    whole = f"{test}{'' if ending == OWN_TEST else ending}" if test else place.text
    return CellPosition(whole, place.column)


# ---- matrices ----


@dataclass
class Block:
    """One matrix: the line and sizes of its head, what stands above it, and its rows."""

    title: str
    head: Row
    body: list[Row] = field(default_factory=list)


def blocks_of(
    rows: list[Row], unit_bytes: tuple[int, int] = (1024, 1024)
) -> tuple[list[Block], list[Row]]:
    """The matrices among rows, and the rows that belong to none.

    A head is a row of sizes after its first word; a row with one word alone is a title.
    """
    blocks: list[Block] = []
    others: list[Row] = []
    title = ""
    for row in rows:
        parts = [word for word in row.words if word]
        if len(parts) == 1 and size_kb(parts[0]) is None:
            title = parts[0]
        elif _is_head(row, blocks[-1].head.words[0] if blocks and not title else None):
            blocks.append(Block(title, row))
            title = ""
        elif blocks and not title and row.words and size_kb(row.words[0], unit_bytes[1]):
            blocks[-1].body.append(row)
        else:
            others.append(row)
    return blocks, others


def _is_head(row: Row, corner: str | None) -> bool:
    """``corner``: the first word that it must have, as the head before it; None for any."""
    if corner is not None and row.words[:1] != [corner]:
        return False
    # A wide row of numbers ends at the first that is no larger size than the one before it.
    last, count = 0, 0
    for word in filter(None, row.words[1:]):
        size = size_kb(word)
        if size is None or size <= last:
            return False
        last, count = size, count + 1
    return count > 1


def title_of(title: str) -> tuple[str, str]:
    """The test and the unit that a title names, "" where it names none: "Write (KB/s)"."""
    name, _, rest = title.partition("(")
    if not rest:
        name, _, rest = title.partition("[")
    return known_test(name), rest.rstrip(")] ")


def _read_matrices(reading: TableReading, grid: Grid, mapping: Mapping) -> None:
    rows = [row for row in grid.rows if row.line >= mapping.header_line and not row.problem]
    rows_above = [row for row in grid.rows if row.line < mapping.header_line and not row.problem]
    titles = [row for row in rows_above if len([word for word in row.words if word]) == 1]
    for row in [row for row in grid.rows if row.problem][:ENOUGH_PROBLEMS]:
        reading.refuse(row.line, None, "row_damaged", reason=row.problem)
    blocks, others = blocks_of([*titles[-1:], *rows], (reading.record_bytes, reading.file_bytes))
    for row in others[:ENOUGH_PROBLEMS]:
        reading.refuse(row.line, CellPosition(row.words[0], 1), "no_matrix_row")
    if not blocks:
        reading.refuse(mapping.header_line, None, "no_matrix")
    for block in blocks:
        _read_block(reading, block, grid.name, mapping)
        if reading.is_full or reading.has_enough_problems:
            return


def _read_block(reading: TableReading, block: Block, sheet: str, mapping: Mapping) -> None:
    test, unit = title_of(block.title)
    test = test or mapping.constants.get("test", "") or title_of(sheet)[0]
    unit = unit or mapping.constants.get("unit", "")
    if not test:
        reason = (
            f"{quoted(block.title)} above it names none" if block.title else "nothing names one"
        )
        reading.refuse(block.head.line, None, "matrix_without_test", reason=reason)
        return
    across, down = "record_size_kb", "file_size_kb"
    if mapping.rows_are == "record":
        across, down = down, across
    for row in block.body:
        if len(row.words) > len(block.head.words):
            expected = len(block.head.words)
            reading.refuse(
                row.line, None, "matrix_row_too_long", found=len(row.words), expected=expected
            )
            continue
        for column, text in enumerate(row.words[1:], start=1):
            values = {
                name: CellPosition(constant)
                for name, constant in mapping.constants.items()
                if constant and name not in ("test", "unit")
            }
            values |= {
                "test": CellPosition(test),
                "unit": CellPosition(unit),
                "value": CellPosition(text, column + 1),
                across: CellPosition(block.head.words[column], column + 1),
                down: CellPosition(row.words[0], 1),
            }
            if text and not block.head.words[column]:
                reading.refuse(row.line, values["value"], "no_size_above")
                continue
            read_cell(reading, row.line, values)
        if _must_stop(reading, row.line):
            return
