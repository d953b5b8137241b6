"""One row of a large table after the other, each read as a small table's are. Pure."""

import re
from dataclasses import dataclass, field

from fsbench_web.core.formats.result import MAX_REPEAT, OwnKey, ParsedResult, Problem
from fsbench_web.core.formats.tables.cells import (
    LOADS,
    MISSING,
    SIZE_UNITS,
    CellPosition,
    TableReading,
    read_cell,
    read_size,
    repeat_of,
)
from fsbench_web.core.formats.tables.grid import DELIMITERS, is_bordered, row_of, says_something
from fsbench_web.core.formats.tables.mapping import FORMAT, Mapping
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import MAX_LINE_LENGTH, MAX_PROBLEMS, quoted
from fsbench_web.core.measurement_columns import NONE

MAX_RUNS = 20_000
MAX_TESTS = 60_000
_OWN = ("filesystem", "configuration", "hardware", "repeat", "block", "kernel")
_TEST = ("test", "unit", *LOADS)
# What no tool prints, and bytes that were no text.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]").search

Test = tuple[str, str, str]
"""Name, load and unit."""
ReadRow = tuple[int, int, int, int, int, float]
"""Line, places of run and test, record and file size in KB or NONE, value."""


@dataclass(frozen=True)
class KnownWords:
    """What the words in some columns were found to mean, in a row that was read."""

    columns: list[int]
    meanings: dict[tuple[str, ...], int] = field(default_factory=dict)

    def of(self, words: list[str]) -> tuple[str, ...]:
        """Those of a row's words."""
        return tuple([words[column] for column in self.columns])


class RowReader:
    """Reads rows in their order, and keeps what is wrong with them.

    ``tests`` and ``runs``: place by name, in the order of their first rows. ``known_tests``,
    ``known_runs`` and ``signs`` (decimal signs) are what a further row may have without being
    looked at.
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
        self.known_tests = KnownWords([columns[name] for name in _TEST if name in columns])
        self.known_runs = KnownWords([columns[name] for name in _OWN if name in columns])
        self.signs = KnownWords([], {(mapping.decimal,): 0} if mapping.decimal else {})
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
        self.unused = [word for place, word in enumerate(words) if place not in used]
        if used and max(used) >= self.width:
            self.refuse(problem("header_too_short", number))
            self.width = -1

    def row(self, line: str, number: int) -> ReadRow | None:
        """Read a line; None where it says nothing or is refused."""
        words = self._words(line, number)
        if words is None:
            return None
        numbers = self._numbers(words, number)
        if numbers is None:
            return None
        test, record, file, value = numbers
        self.known_tests.meanings[self.known_tests.of(words)] = test
        if self.decimal:
            self.signs.meanings[self.decimal,] = 0
        key = self.known_runs.of(words)
        run = self.known_runs.meanings.get(key)
        if run is None:
            run = self._run(words, number)
            if run is None:
                return None
            self.known_runs.meanings[key] = run
        return number, run, test, record, file, value

    def size_of(self, name: str, word: str = "") -> int | None:
        """The size that a word in its column means, in KB, or NONE where it says none; None where
        its row must be read to tell.
        """
        text = word or self.mapping.constants.get(name, "")
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
