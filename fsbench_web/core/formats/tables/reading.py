"""Rows of a table, few or millions -> its numbers as columns, and all that is wrong with it. Pure.

A row with the words of earlier rows is read by a cache of words: 280,000 numbers a second of
a processor instead of 50,000.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from fsbench_web.core.formats.dates import MONTHS, ctime
from fsbench_web.core.formats.result import (
    MAX_VALUE,
    MIN_VALUE,
    OwnKey,
    PrintedDate,
    Problem,
    UnreadableFile,
)
from fsbench_web.core.formats.tables import mapping as table_mapping
from fsbench_web.core.formats.tables.cells import (
    LOADS,
    MISSING,
    SIZE_UNITS,
    SIZES,
    Cell,
    CellPosition,
    CellReading,
    Cells,
    read_cell,
    size_of,
    test_of,
)
from fsbench_web.core.formats.tables.file_numbers import ParsedTable, in_runs
from fsbench_web.core.formats.tables.grid import DELIMITERS, Grid, Row
from fsbench_web.core.formats.tables.mapping import (
    FORMAT,
    IN_ORDER,
    LONG,
    MATRIX,
    OWN_TEST,
    Block,
    NeedsMapping,
    blocks_of,
    is_ending,
    title_of,
)
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import ENOUGH_PROBLEMS, capped, quoted, underflows
from fsbench_web.core.measurement_columns import (
    NONE,
    Column,
    MeasuredTest,
    MeasurementColumns,
    cells_of,
    combined,
)
from fsbench_web.core.units import most_measurable

MAX_NUMBERS = 5_000_000
MAX_RUNS = 200_000
MAX_TESTS = 200_000
_MOST_KNOWN = 60_000
_REFUSED = -2
_CHECKED = 256
"""Rows that are read before the limits are looked at."""
_OWN = ("filesystem", "configuration", "hardware", "repeat", "block", "kernel")
_TEST = ("test", "unit", *LOADS)
_NUMBER = np.dtype(
    {
        "names": ["line", "run", "test", "record", "file", "value", "column", "date"],
        "formats": ["<u4", "<u4", "<u4", "<i4", "<i8", "<f8", "<u2", "<u4"],
    }
)
"""A kept number: line, places of run and test, record KB, file KB, value, column, place of date."""
_packed = struct.Struct("<IIIiqdHI").pack
_PLAIN = {
    "": re.compile("[0-9]{1,300}").fullmatch,
    ".": re.compile(r"[0-9]{1,300}(?:\.[0-9]{0,300})?").fullmatch,
    ",": re.compile(r"[0-9]{1,300}(?:,[0-9]{0,300})?").fullmatch,
}
"""Numbers that are what they look like, by the decimal sign of the file."""


def read_mapped(grid: Grid, mapping: table_mapping.Mapping) -> ParsedTable:
    """All numbers of a table. Raises UnreadableFile with the place of everything wrong."""
    mapping.check()
    reader = TableReader(grid, mapping)
    if mapping.shape == MATRIX:
        _read_matrices(reader)
    else:
        reader.read_rows()
    table = reader.finished()
    table.warnings += table_mapping.ignored_columns(grid, mapping)
    table.unread_columns = table_mapping.unread_columns(grid, mapping)
    table.kernel_columns = table_mapping.kernel_columns(grid, mapping)
    return table


def _words_in(columns: Sequence[int]) -> Callable[[Sequence[str]], object]:
    return itemgetter(*columns) if columns else lambda _: ()


@dataclass
class _ValueColumn:
    """A column of numbers: of the row's test, or of ``test`` (a name, or an ending).

    ``tests`` and ``runs``: places by words of a row, with the most that the test's unit can have.
    """

    place: int | None
    test: str = ""
    unit: str = ""
    said: Mapping[str, str] = field(default_factory=dict)
    tests: dict[object, tuple[int, float]] = field(default_factory=dict)
    runs: dict[object, int] = field(default_factory=dict)


class _KnownSizes(dict[str, int]):
    """What each word of a column of sizes means in KB: NONE for nothing, _REFUSED for no size."""

    def __init__(self, reading: CellReading, name: str, constant: str) -> None:
        super().__init__()
        self._reading, self._name, self._constant = reading, name, constant

    def __missing__(self, word: str) -> int:
        if len(self) > _MOST_KNOWN:
            self.clear()
        size, is_size = size_of(self._reading, self._name, word or self._constant)
        self[word] = (NONE if size is None else size) if is_size else _REFUSED
        return self[word]


class TableReader(CellReading):
    """Reads the numbers of a table in their order. ``tests`` and ``runs``: place by name."""

    def __init__(self, grid: Grid, mapping: table_mapping.Mapping) -> None:
        super().__init__(
            comma=grid.delimiter != "," or mapping.decimal == ",",
            record_bytes=SIZE_UNITS.get(mapping.record_unit, 0),
            file_bytes=SIZE_UNITS.get(mapping.file_unit, 0),
            decimal=mapping.decimal,
            is_given=bool(mapping.decimal),
            not_measured=frozenset(mapping.not_measured),
        )
        self.grid, self.mapping = grid, mapping
        self.tests: dict[MeasuredTest, int] = {}
        self.runs: dict[OwnKey, int] = {}
        self.dates: dict[str, FirstDate] = {}
        self._numbers = bytearray()
        columns = mapping.columns
        # One more than any row has: what nothing says is an empty word.
        self._width = max([*columns.values(), *mapping.tests], default=0) + 1
        self._test_words = _words_in([columns[name] for name in _TEST if name in columns])
        self._run_words = _words_in([columns[name] for name in _OWN if name in columns])
        self._date_column = columns.get("date")
        self._record_column, self._file_column = map(columns.get, SIZES)
        self._records, self._files = (
            _KnownSizes(self, name, mapping.constants.get(name, "")) for name in SIZES
        )

    def read_rows(self) -> None:
        """Read the rows below the header: one number a row, or one in each column of a test."""
        header = self.grid.row_at(self.mapping.header_line)
        if header is None or header.problem:
            line = self.mapping.header_line
            raise UnreadableFile([problem("no_header", line, found=line)])
        columns, width = self._value_columns(), len(header.words)
        is_of_text = bool(self.grid.delimiter)
        for line, words, reason in self.grid.rows_below(header.line):
            if reason:
                self.refuse(line, None, "row_damaged", reason=reason)
            elif is_of_text and len(words) != width:
                separator = DELIMITERS.get(self.grid.delimiter, "spaces")
                found = {"found": len(words), "separator": separator, "expected": width}
                self.refuse(line, None, "other_width", **found)
            else:
                self._read_row(line, words, columns)
            if (self.problems or line % _CHECKED == 0) and self.must_stop(line):
                return
        self.must_stop(self.grid.last_line)

    def _value_columns(self) -> list[_ValueColumn]:
        if self.mapping.shape == LONG:
            return [_ValueColumn(self.mapping.columns.get("value"))]
        # Columns that say the same of their runs know them together: each row may be a new run.
        runs: dict[object, dict[object, int]] = {}
        columns = []
        for place, (test, unit) in sorted(self.mapping.tests.items()):
            said = self.mapping.column_constants.get(place, {})
            known = runs.setdefault(tuple(sorted(said.items())), {})
            columns.append(_ValueColumn(place, test, unit, said, runs=known))
        return columns

    def _read_row(self, line: int, words: Sequence[str], columns: Sequence[_ValueColumn]) -> None:
        if len(words) < self._width:  # rows of a spreadsheet end at their last cell
            words = [*words, *[""] * (self._width - len(words))]
        test_words, run_words = self._test_words(words), self._run_words(words)
        of_row: Cells = {}
        for column in columns:
            if self._keep_known(line, words, column, test_words, run_words):
                continue
            of_row = of_row or self._cells(words)
            cell = read_cell(self, line, _cells(column, words, of_row))
            if cell is None:
                continue
            if len(column.tests) + len(column.runs) > _MOST_KNOWN:
                column.tests.clear()
                column.runs.clear()
            most = min(most_measurable(cell.test[2]), MAX_VALUE)
            test, column.runs[run_words] = self.keep(line, cell)
            column.tests[test_words] = test, most

    def _keep_known(
        self,
        line: int,
        words: Sequence[str],
        column: _ValueColumn,
        test_words: object,
        run_words: object,
    ) -> bool:
        """Keep a plain number in a row of known words; False for what must be read."""
        if column.place is None:
            return False
        text = words[column.place]
        test, run = column.tests.get(test_words), column.runs.get(run_words)
        if test is None or run is None or not _PLAIN[self.decimal](text):
            return text in MISSING
        place = self._record_column
        record = self._records["" if place is None else words[place]]
        place = self._file_column
        file = self._files["" if place is None else words[place]]
        if record == _REFUSED or file == _REFUSED or (record < 0) != (file < 0):
            return False
        value = float(text.replace(",", "."))
        if not MIN_VALUE <= value <= test[1] and (value or underflows(text, value)):
            return False
        date = 0
        if self._date_column is not None:
            known_date = self.dates.get(words[self._date_column])
            if known_date is None:
                return False
            date = known_date.place
        if not self.grouping.is_clear:
            self.grouping.see(line, text)
        self._numbers += _packed(line, run, test[0], record, file, value, column.place + 1, date)
        return True

    def _cells(self, words: Sequence[str]) -> Cells:
        """What a row says of its numbers: its columns first, then the constants."""
        mapping = self.mapping
        cells = {name: CellPosition(text) for name, text in mapping.constants.items() if text}
        for name, column in mapping.columns.items():
            if words[column] or name not in cells:
                cells[name] = CellPosition(words[column], column + 1)
        if mapping.names and "test" in cells:
            cells["test"] = CellPosition(mapping.test_of(cells["test"].text), cells["test"].column)
        return cells

    def keep(self, line: int, cell: Cell) -> tuple[int, int]:
        """Keep a number; the places of its test and its run."""
        test = self.tests.setdefault(MeasuredTest(*cell.test), len(self.tests))
        run = self.runs.setdefault(cell.run, len(self.runs))
        date = 0
        if cell.date is not None:
            first = FirstDate(len(self.dates), line, cell.date.column)
            date = self.dates.setdefault(cell.date.text, first).place
        record, file = (NONE if size is None else size for size in cell.sizes_kb)
        self._numbers += _packed(line, run, test, record, file, cell.value, cell.column or 0, date)
        return test, run

    @property
    def count(self) -> int:
        return len(self._numbers) // _NUMBER.itemsize

    def must_stop(self, line: int) -> bool:
        """Whether to read no further: a hostile table must not fill the memory."""
        for code, count, most in (
            ("too_many_values", self.count, MAX_NUMBERS),
            ("too_many_runs", len(self.runs), MAX_RUNS),
            ("too_many_tests", len(self.tests), MAX_TESTS),
        ):
            if count > most:
                self.refuse(line, None, code, most=f"{most:,}")
                return True
        return len(self.problems) >= ENOUGH_PROBLEMS

    def finished(self) -> ParsedTable:
        """What was read. Raises UnreadableFile with all that is wrong with it."""
        if not self._numbers:
            if not self.problems:
                self.refuse(self.grid.last_line or None, None, "no_values")
            raise self._refusal({})
        kept = np.frombuffer(self._numbers, dtype=_NUMBER)
        lines, runs, dates = kept["line"], kept["run"], kept["date"]
        columns = MeasurementColumns(
            list(self.tests), kept["test"], kept["record"], kept["file"], kept["value"], lines
        )
        table = ParsedTable(FORMAT, "table", numbers=in_runs(columns, list(self.runs), runs))
        cells = combined(runs, cells_of(columns))
        if self.mapping.repeats == IN_ORDER:
            keys, runs = numbered(list(self.runs), runs, cells, np.arange(len(runs)))
            table.numbers = in_runs(columns, keys, runs)
        else:
            self._refuse_repeated(combined(cells, dates), lines, kept["column"])
            if not self.problems and any(self.dates):
                self._number_by_dates(table, columns, runs, cells, dates)
        if self.problems:
            raise self._refusal(table.numbers.units())
        question = None if self.is_given else self.grouping.question()
        # A point in a number of a spreadsheet is one: it does not keep how the number is shown.
        if question is not None and (self.grid.delimiter or self.grouping.has_comma):
            raise NeedsMapping([question])
        table.warnings[:0] = self._notes(lines, kept["value"], kept["column"])
        return _counted_from_1(table)

    def _refusal(self, units: Mapping[str, int]) -> UnreadableFile:
        """All that is wrong; somebody can say what is missing, or that words mean nothing."""
        problems = sorted(self.problems, key=lambda found: found.line or 0)
        has_words_alone = self.count > 0 and self.words == len(self.problems)
        kind = NeedsMapping if self.asks_something or has_words_alone else UnreadableFile
        return kind(capped(problems), units)

    def _refuse_repeated(self, cells: Column, lines: Column, places: Column) -> None:
        """Refuse a second number of one cell; a column that nothing reads may tell them apart."""
        order = np.argsort(cells, kind="stable")
        is_same = np.append(False, cells[order][1:] == cells[order][:-1])
        unread = [word for _, word in table_mapping.unread_columns(self.grid, self.mapping) if word]
        if not is_same.any() or (unread and self.asks_something):
            return  # asked already, and further ones say no more
        self.asks_something = True
        starts = np.maximum.accumulate(np.where(is_same, 0, np.arange(len(order))))
        pairs = zip(order[is_same].tolist(), order[starts[is_same]].tolist(), strict=True)
        most = 1 if unread else ENOUGH_PROBLEMS - len(self.problems)
        for second, first in sorted(pairs)[:most]:
            place = CellPosition("", int(places[second]) or None)
            line, first_line = int(lines[second]), int(lines[first])
            if unread:
                names = ", ".join(quoted(word) for word in unread[:6])
                self.refuse(line, place, "cell_twice_unread", first=first_line, columns=names)
            else:
                loads = f"{', '.join(LOADS[:-1])} or {LOADS[-1]}"
                self.refuse(line, place, "cell_twice", first=first_line, loads=loads)

    def _number_by_dates(
        self,
        table: ParsedTable,
        columns: MeasurementColumns,
        runs: Column,
        cells: Column,
        dates: Column,
    ) -> None:
        """Number repeats in the order of their dates, and give each run its date."""
        moments, doubts = moments_of(self.dates)
        if doubts and len(np.unique(cells)) < len(cells):
            self.asks_something = True
            self.problems += doubts  # only dates tell rows of one cell apart
            return
        table.warnings += doubts
        ranks = {moment: rank for rank, moment in enumerate(sorted(set(map(sortable, moments))))}
        ranked = np.array([ranks[sortable(moment)] for moment in moments])
        order = np.argsort(ranked[dates], kind="stable")
        keys, runs = numbered(list(self.runs), runs, cells, order)
        table.numbers = in_runs(columns, keys, runs)
        first = np.unique(combined(runs, dates), return_index=True)[1]
        texts = list(self.dates)
        for place in np.sort(first).tolist():
            key, date = keys[runs[place]], int(dates[place])
            moment, earlier = moments[date], table.dates.get(key)
            if moment and (earlier is None or sortable(moment) < sortable(earlier.at)):
                table.dates[key] = PrintedDate(moment, texts[date], int(columns.lines[place]))

    def _notes(self, lines: Column, values: Column, places: Column) -> list[Problem]:
        """Notes on numbers that are 0, and on words that were said to mean not measured."""
        notes = [
            replace(
                problem("said_not_measured", line, column, is_note=True, found=quoted(word)),
                count=count,
            )
            for word, (count, line, column) in self.said.items()
        ]
        zeros = np.flatnonzero(values == 0)
        if len(zeros):
            first = int(zeros[0])
            zero = problem("zero", int(lines[first]), int(places[first]) or None, is_note=True)
            notes.append(replace(zero, count=len(zeros)))
        return sorted(notes, key=lambda note: note.line or 0)


def _counted_from_1(table: ParsedTable) -> ParsedTable:
    keys = table.numbers.keys
    if any(key[3] == 0 for key in keys):
        table.numbers = replace(table.numbers, keys=[_next_repeat(key) for key in keys])
        table.dates = {_next_repeat(key): date for key, date in table.dates.items()}
    return table


def _next_repeat(key: OwnKey) -> OwnKey:
    return (*key[:3], None if key[3] is None else key[3] + 1, *key[4:])


def _cells(column: _ValueColumn, words: Sequence[str], of_row: Cells) -> Cells:
    """What a row says of the number in one of its columns."""
    if not column.test or column.place is None:
        return of_row
    place = CellPosition(column.test)
    if is_ending(column.test):
        place = of_row.get("test", CellPosition(""))
        if test := test_of(place.text):
            ending = "" if column.test == OWN_TEST else column.test
            place = CellPosition(f"{test}{ending}", place.column)
    cells = {**of_row, "test": place, "value": CellPosition(words[column.place], column.place + 1)}
    cells |= {name: CellPosition(text) for name, text in column.said.items()}
    return cells | ({"unit": CellPosition(column.unit)} if column.unit else {})


def _read_matrices(reader: TableReader) -> None:
    """Read all matrices: a row of sizes, and below it rows that begin with a size."""
    grid, mapping = reader.grid, reader.mapping
    good: list[Row] = []
    for row in map(Row._make, grid.rows_below(0)):
        if not row.problem:
            good.append(row)
        elif len(reader.problems) < ENOUGH_PROBLEMS:
            reader.refuse(row.line, None, "row_damaged", reason=row.problem)
    above = [row for row in good if row.line < mapping.header_line]
    titles = [row for row in above if len([word for word in row.words if word]) == 1]
    rows = [*titles[-1:], *(row for row in good if row.line >= mapping.header_line)]
    blocks, others = blocks_of(rows, (reader.record_bytes, reader.file_bytes))
    for row in others[:ENOUGH_PROBLEMS]:
        reader.refuse(row.line, CellPosition(row.words[0], 1), "no_matrix_row")
    if not blocks:
        reader.refuse(mapping.header_line, None, "no_matrix")
    for block in blocks:
        if reader.must_stop(block.head.line):
            return
        _read_block(reader, block)


def _read_block(reader: TableReader, block: Block) -> None:
    constants, sheet = reader.mapping.constants, reader.grid.name
    test, unit = title_of(block.title)
    test = test or constants.get("test", "") or title_of(sheet)[0]
    unit = unit or constants.get("unit", "")
    if not test:
        reason = (
            f"{quoted(block.title)} above it names none" if block.title else "nothing names one"
        )
        reader.refuse(block.head.line, None, "matrix_without_test", reason=reason)
        return
    across, down = "record_size_kb", "file_size_kb"
    if reader.mapping.rows_are == "record":
        across, down = down, across
    sizes = block.head.words
    said = {name: CellPosition(text) for name, text in constants.items() if text}
    said |= {"test": CellPosition(test), "unit": CellPosition(unit)}
    for row in block.body:
        if len(row.words) > len(sizes):
            found = {"found": len(row.words), "expected": len(sizes)}
            reader.refuse(row.line, None, "matrix_row_too_long", **found)
            continue
        for column, text in enumerate(row.words[1:], start=1):
            place = CellPosition(text, column + 1)
            if text and not sizes[column]:
                reader.refuse(row.line, place, "no_size_above")
                continue
            size_cells = {
                across: CellPosition(sizes[column], column + 1),
                down: CellPosition(row.words[0], 1),
            }
            cell = read_cell(reader, row.line, {**said, **size_cells, "value": place})
            if cell is not None:
                reader.keep(row.line, cell)
        if reader.must_stop(row.line):
            return


_ISO = re.compile(r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9:.]{4,15}(?:Z|[+-][0-9:]{4,6})?)?")
_TIME = r"(?:,? ([0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?))?"
_DOTTED = re.compile(rf"([0-9]{{1,2}})\.([0-9]{{1,2}})\.([0-9]{{4}}){_TIME}")
_SLASHED = re.compile(rf"([0-9]{{1,2}})/([0-9]{{1,2}})/([0-9]{{4}}){_TIME}")
_MONTH = rf"({'|'.join(MONTHS)})[a-z]{{0,6}}\.?"
_NAMED = re.compile(rf"(?:([0-9]{{1,2}})[ -])?{_MONTH}[ -](?:([0-9]{{1,2}}),? )?([0-9]{{4}})")
_CTIME = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]{1,2} [0-9:]{8} [0-9]{4}")
_SECONDS = re.compile("[0-9]{9,10}")


class FirstDate(NamedTuple):
    """Where a date stands first: its place among all of a table, its line and column."""

    place: int
    line: int
    column: int | None


def numbered(
    keys: Sequence[OwnKey], runs: Column, cells: Column, order: Column
) -> tuple[list[OwnKey], Column]:
    """Runs with repeats, counted for each cell in this order, and the run of each number.

    Runs with one number for each cell need no repeat. Repeats that a table says stay.
    """
    is_open = np.array([key[3] is None for key in keys])
    counted = order[is_open[runs][order]]
    by_cell = counted[np.argsort(cells[counted], kind="stable")]
    is_first = np.append(True, cells[by_cell][1:] != cells[by_cell][:-1])[: len(by_cell)]
    places = np.arange(len(by_cell))
    repeats = np.zeros(len(runs), dtype=np.int64)
    repeats[by_cell] = places - np.maximum.accumulate(np.where(is_first, places, 0)) + 1
    has_several = np.zeros(len(keys), dtype=np.bool_)
    has_several[runs[repeats > 1]] = True
    repeats[~has_several[runs]] = 0
    most = int(repeats.max()) + 1
    found, first, new = np.unique(runs * most + repeats, return_index=True, return_inverse=True)
    by_line = np.argsort(first)
    new_keys = []
    for pair in found[by_line].tolist():
        key, repeat = keys[pair // most], pair % most
        new_keys.append((*key[:3], repeat or key[3], *key[4:]))
    return new_keys, np.argsort(by_line)[new.reshape(-1)]


def moments_of(dates: Mapping[str, FirstDate]) -> tuple[list[datetime | None], list[Problem]]:
    """The moment of each date, None where it has none for sure; and which texts are none."""
    slashed = [match for text in dates if (match := _SLASHED.fullmatch(text))]
    is_month_first = any(int(match[2]) > 12 for match in slashed)
    is_day_first = any(int(match[1]) > 12 for match in slashed)
    is_open = bool(slashed) and is_month_first == is_day_first
    moments: list[datetime | None] = []
    doubts: list[Problem] = []
    for text, (_, line, column) in dates.items():
        moment = None
        if match := _SLASHED.fullmatch(text):
            first, second = (match[1], match[2]) if is_day_first else (match[2], match[1])
            moment = None if is_open else _moment(match[3], second, first, match[4])
            code = "date_open" if is_open else "no_date"
        else:
            moment, code = date_of(text), "no_date"
        moments.append(moment)
        if text and moment is None:
            doubts.append(problem(code, line, column, found=quoted(text)))
    return moments, doubts


def date_of(text: str) -> datetime | None:
    """The date that a text writes without doubt (2024-03-01 10:30, 1 Mar 2024), or None."""
    try:
        if _ISO.fullmatch(text):
            return datetime.fromisoformat(text.replace("/", "-"))
        if match := _DOTTED.fullmatch(text):
            return _moment(match[3], match[2], match[1], match[4])
        if match := _NAMED.fullmatch(text):
            day = match[1] or match[3]
            return datetime(int(match[4]), MONTHS.index(match[2]) + 1, int(day)) if day else None
        if _CTIME.fullmatch(text):
            return ctime(text)
        if _SECONDS.fullmatch(text):
            return datetime.fromtimestamp(int(text), UTC)
    except ValueError:
        return None
    return None


def _moment(year: str, month: str, day: str, time: str | None) -> datetime | None:
    hour, minute, second = [*map(int, (time or "0:0").split(":")), 0][:3]
    try:
        return datetime(int(year), int(month), int(day), hour, minute, second)
    except ValueError:
        return None


def sortable(moment: datetime | None) -> datetime:
    """What is compared: dates with and without a zone can stand in one table."""
    if moment is None:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
