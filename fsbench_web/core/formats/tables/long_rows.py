"""One row of a long table after the other, each read as a row of any table is. Pure.

A row whose words all stood in rows before it, but for plain numbers, is told by a cache of words:
280,000 rows a second of a processor instead of 50,000.
"""

import re
from collections.abc import Callable, Sequence
from operator import itemgetter

from fsbench_web.core.formats.result import (
    MAX_REPEAT,
    MAX_VALUE,
    MIN_VALUE,
    OwnKey,
    ParsedResult,
    Problem,
)
from fsbench_web.core.formats.tables.cells import (
    LOADS,
    MAX_FILE_KB,
    MAX_RECORD_KB,
    MISSING,
    SIZE_UNITS,
    CellPosition,
    TableReading,
    read_cell,
    read_size,
    repeat_of,
)
from fsbench_web.core.formats.tables.grid import (
    DELIMITERS,
    MAX_CELL,
    SPACES,
    is_bordered,
    row_of,
    says_something,
)
from fsbench_web.core.formats.tables.mapping import FORMAT, Mapping
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import MAX_LINE_LENGTH, MAX_PROBLEMS, quoted, underflows
from fsbench_web.core.measurement_columns import NONE
from fsbench_web.core.units import most_measurable

MAX_RUNS = 20_000
MAX_TESTS = 60_000
_OWN = ("filesystem", "configuration", "hardware", "repeat", "block", "kernel")
_TEST = ("test", "unit", *LOADS)
_MOST_KNOWN = 60_000
_KB = "KB"
_SIZES = ("record_size_kb", "file_size_kb")
_PLAIN = {
    "": re.compile("[0-9]{1,300}").fullmatch,
    ".": re.compile(r"[0-9]{1,300}(?:\.[0-9]{0,300})?").fullmatch,
    ",": re.compile(r"[0-9]{1,300}(?:,[0-9]{0,300})?").fullmatch,
}
"""Numbers that are what they look like, by the decimal sign of the file."""
# What no tool prints, and bytes that were no text.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]").search

Test = tuple[str, str, str]
"""Name, load and unit."""
ReadRow = tuple[int, int, int, int, int, float]
"""Line, places of run and test, record and file size in KB or NONE, value."""


def _words_in(columns: Sequence[int]) -> Callable[[Sequence[str]], object]:
    """What takes the words of these columns out of a row, to know them again."""
    return itemgetter(*columns) if columns else lambda _: ()


class KnownSizes(dict[str, int | None]):
    """What each word of a column of sizes means in KB, asked of a reader where it is new."""

    def __init__(self, reader: "RowReader", name: str) -> None:
        super().__init__()
        self._reader, self._name = reader, name

    def __missing__(self, word: str) -> int | None:
        if len(self) > _MOST_KNOWN:
            self.clear()
        self[word] = size = self._reader.size_of(self._name, word)
        return size


class RowReader:
    """Reads rows in their order, and keeps what is wrong with them.

    ``tests`` and ``runs``: place by name, in the order of their first rows.
    """

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.tests: dict[Test, int] = {}
        self.runs: dict[OwnKey, int] = {}
        self.unused: list[str] = []
        self.problems: list[Problem] = []
        self.problem_count = 0
        self.words = 0
        """Rows of which nothing is wrong but a word that may mean that nothing was measured."""
        self.width = 0
        self.is_bordered = False
        self.not_measured: dict[str, tuple[int, int]] = {}
        """Of words that somebody said to mean it: of how many values, and the first line."""
        self.is_over = False
        """Whether a line was found that ends the reading."""
        columns = mapping.columns
        self._test_words = _words_in([columns[name] for name in _TEST if name in columns])
        self._run_words = _words_in([columns[name] for name in _OWN if name in columns])
        self._known_tests: dict[object, tuple[int, float]] = {}
        """Words of a row's test: its place, and the largest value that its unit can have."""
        self._known_runs: dict[object, int] = {}
        self._value_column = columns.get("value", 0)
        self._record_column, self._file_column = map(columns.get, _SIZES)
        self._records, self._files = (KnownSizes(self, name) for name in _SIZES)
        self._delimiter = mapping.delimiter
        self._not_measured = frozenset(mapping.not_measured)
        self._cell = self._reading()
        self._cell.decimal = mapping.decimal

    @property
    def lacks_sign(self) -> bool:
        """Whether somebody has to say what sizes are."""
        return self._cell.asks_something

    @property
    def has_words_alone(self) -> bool:
        """Whether all that is wrong are words that may mean that nothing was measured."""
        return bool(self.words) and self.words == self.problem_count

    @property
    def decimal(self) -> str:
        """The decimal sign of the file, once one has been seen or said."""
        return self._cell.decimal

    def refuse(self, found: Problem) -> None:
        """Note what is wrong; of very many only how many there are."""
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(found)

    def header(self, line: str, number: int) -> None:
        """Take the width of the table, and what it has that is not kept."""
        self.is_bordered = is_bordered(line, self.mapping.delimiter)
        row = row_of(line, number, self.mapping.delimiter, is_bordered=self.is_bordered)
        words = row.words
        self.width = len(words)
        if any(map(_NO_TEXT, words)):
            self.refuse(problem("not_utf_8", number))
        used = set(self.mapping.columns.values())
        passed_over = used | {*self.mapping.ignored}
        self.unused = [word for place, word in enumerate(words) if place not in passed_over]
        if used and max(used) >= self.width:
            self.refuse(problem("header_too_short", number))
            self.width = -1

    def rows(self, lines: Sequence[str], first: int) -> list[ReadRow]:
        """The rows in lines of which the first has this number, until one ends the reading."""
        read_rows = []
        is_plain = (
            len(self.mapping.delimiter) == 1
            and self.mapping.delimiter != SPACES
            and "value" in self.mapping.columns
            and self.width > 0
            and not self.is_bordered
        )
        for number, line in enumerate(lines, first):
            row = self._known_row(line, number) if is_plain else None
            if row is None:
                row = self.row(line, number)
            if row is not None:
                read_rows.append(row)
            if self.is_over:
                break
        return read_rows

    def row(self, line: str, number: int) -> ReadRow | None:
        """Read a line; None where it says nothing or is refused."""
        words = self._words(line, number)
        if words is None:
            return None
        numbers = self._numbers(words, number)
        if numbers is None:
            return None
        test, record, file, value = numbers
        if len(self._known_tests) + len(self._known_runs) > _MOST_KNOWN:
            self._known_tests.clear()
            self._known_runs.clear()
        key = self._test_words(words)
        if key not in self._known_tests:
            unit = next(name[2] for name, place in self.tests.items() if place == test)
            self._known_tests[key] = test, min(most_measurable(unit), MAX_VALUE)
        key = self._run_words(words)
        run = self._known_runs.get(key)
        if run is None:
            run = self._run(words, number)
            if run is None:
                return None
            self._known_runs[key] = run
        return number, run, test, record, file, value

    def _known_row(self, line: str, number: int) -> ReadRow | None:
        """What ``row`` reads in a line whose names are known and whose value is a plain number;
        None of any other line.
        """
        if line[:1] == "#" or len(line) > MAX_CELL:
            return None
        if not line.isprintable() and not line.replace("\t", " ").isprintable():
            return None
        if '"' in line:
            words = row_of(line, number, self._delimiter).words
        else:
            words = line.split(self._delimiter)
            if " " in line:
                words = [word.strip() for word in words]
        if len(words) != self.width:
            return None
        test = self._known_tests.get(self._test_words(words))
        run = self._known_runs.get(self._run_words(words))
        text = words[self._value_column]
        if test is None or run is None or not _PLAIN[self._cell.decimal](text):
            return None
        record = self._records["" if self._record_column is None else words[self._record_column]]
        file = self._files["" if self._file_column is None else words[self._file_column]]
        if record is None or file is None or (record < 0) != (file < 0):
            return None
        value = float(text.replace(",", "."))
        if not MIN_VALUE <= value <= test[1] and (value or underflows(text, value)):
            return None
        return number, run, test[0], record, file, value

    def size_of(self, name: str, word: str = "") -> int | None:
        """The size that a word in its column means, in KB, or NONE where it says none; None where
        its row must be read to tell.
        """
        text = word or self.mapping.constants.get(name, "")
        most_kb, unit = (
            (MAX_RECORD_KB, self.mapping.record_unit)
            if name == "record_size_kb"
            else (MAX_FILE_KB, self.mapping.file_unit)
        )
        if unit == _KB and _PLAIN[""](text) and 0 < (plain_kb := int(text)) <= most_kb:
            return plain_kb
        reading = self._reading()
        size = read_size(reading, {name: CellPosition(text)}, name, 0)
        if reading.problems or not text.isprintable():
            return None
        return NONE if size is None else size

    def _reading(self) -> TableReading:
        return TableReading(
            ParsedResult(FORMAT, "table"),
            comma=self.mapping.delimiter != "," or self.mapping.decimal == ",",
            record_bytes=SIZE_UNITS.get(self.mapping.record_unit, 0),
            file_bytes=SIZE_UNITS.get(self.mapping.file_unit, 0),
            is_given=bool(self.mapping.decimal),
        )

    def _words(self, line: str, number: int) -> list[str] | None:
        if len(line) > MAX_LINE_LENGTH:
            place = MAX_LINE_LENGTH + 1
            self.refuse(problem("line_too_long", number, place, most=MAX_LINE_LENGTH))
            self.is_over = True
            return None
        if not says_something(line):
            return None
        row = row_of(line, number, self.mapping.delimiter, is_bordered=self.is_bordered)
        if row.problem:
            self.refuse(problem("row_damaged", number, reason=row.problem))
            return None
        if len(row.words) != self.width:
            separator = DELIMITERS.get(self.mapping.delimiter, "spaces")
            self.refuse(
                problem(
                    "other_width",
                    number,
                    found=len(row.words),
                    separator=separator,
                    expected=self.width,
                )
            )
            return None
        if any(_NO_TEXT(word) for word in row.words):
            self.refuse(problem("not_utf_8", number))
            return None
        return row.words

    def _numbers(self, words: list[str], number: int) -> tuple[int, int, int, float] | None:
        """Read a row as a small table is read: its test, sizes and value, or None."""
        cell = self._cell
        values = {name: CellPosition(text) for name, text in self.mapping.constants.items() if text}
        for name, column in self.mapping.columns.items():
            if words[column] or name not in values:
                values[name] = CellPosition(words[column], column + 1)
        text = values["value"].text
        if text in MISSING:
            return None
        if text in self._not_measured:
            count, first = self.not_measured.get(text, (0, number))
            self.not_measured[text] = count + 1, min(first, number)
            return None
        if self.mapping.names:
            values["test"] = CellPosition(
                self.mapping.test_of(values["test"].text), values["test"].column
            )
        cell.first_lines.clear()
        cell.problems.clear()
        cell.result.values.clear()
        cell.result.warnings.clear()
        read_cell(cell, number, values)
        self.words += cell.words if len(cell.problems) == cell.words else 0
        cell.words = 0
        for found in cell.problems:
            self.refuse(found)
        if cell.problems or not cell.result.values:
            return None
        value = cell.result.values[0]
        test = (value.test, value.load, value.unit)
        if test not in self.tests and len(self.tests) > MAX_TESTS:
            self.refuse(problem("too_many_tests", number, most=MAX_TESTS))
            return None
        place = self.tests.setdefault(test, len(self.tests))
        record = NONE if value.record_size_kb is None else value.record_size_kb
        file = NONE if value.file_size_kb is None else value.file_size_kb
        return place, record, file, value.value

    def _run(self, words: list[str], number: int) -> int | None:
        """The place of the run that a row belongs to, which is made when it is new."""
        values = dict(self.mapping.constants)
        values |= {
            name: words[column] for name, column in self.mapping.columns.items() if words[column]
        }
        if not all(text.isprintable() for text in values.values()):
            self.refuse(problem("not_printable", number))
            return None
        repeat = values.get("repeat", "")
        if repeat and repeat_of(repeat) is None:
            column = self.mapping.columns.get("repeat", -1) + 1
            self.refuse(
                problem(
                    "no_repeat",
                    number,
                    column or None,
                    found=quoted(repeat),
                    most=f"{MAX_REPEAT:,}",
                )
            )
            return None
        key = (
            values.get("filesystem", ""),
            values.get("configuration", ""),
            values.get("hardware", ""),
            int(repeat) if repeat else None,
            values.get("block", ""),
            values.get("kernel", ""),
        )
        if len(self.runs) >= MAX_RUNS and key not in self.runs:
            self.refuse(problem("too_many_runs", number, most=MAX_RUNS))
            return None
        return self.runs.setdefault(key, len(self.runs))
