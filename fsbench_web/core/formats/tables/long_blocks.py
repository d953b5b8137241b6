"""Some ten thousand rows of a large table at once: a glance for those like the ones before. Pure.

A row is told good at a glance where its numbers are plain and its names were accepted in a row
before it. Every other row is read by itself (long_rows), in its order: the first with a name too,
and where it was refused the next one with it. So a table is read as if each row were.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsbench_web.core.conversion import most_measurable
from fsbench_web.core.formats.result import MAX_VALUE
from fsbench_web.core.formats.tables.cells import (
    MAX_FILE_KB,
    MAX_RECORD_KB,
    SIZE_UNITS,
    unit_of,
)
from fsbench_web.core.formats.tables.fields import Fields, Flags, Ints, quotient
from fsbench_web.core.formats.tables.grid import SPACES
from fsbench_web.core.formats.tables.long_rows import KnownWords, ReadRow, RowReader
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import underflows

MAX_ROWS = 5_000_000
_MAX_KNOWN = 60_000
_POINT = re.compile(rb"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?").fullmatch
Column = NDArray[Any]
COLUMN_TYPES = (np.uint32, np.uint16, np.uint16, np.int32, np.int64, np.float64)
"""Of a long_rows.ReadRow."""


@dataclass(frozen=True)
class CodedColumn:
    """What lines name: ``codes`` has the place of it in ``words``, -1 where a line names nothing.

    A line is good where ``known_words`` has the meaning of what it names.
    """

    known_words: KnownWords
    codes: Ints
    words: list[tuple[str, ...]]

    def meanings(self, rows: Ints) -> Ints:
        """Those of rows in which all is known."""
        meanings = np.array(
            [self.known_words.meanings.get(key, 0) for key in self.words], dtype=np.int64
        )
        return meanings[self.codes[rows]]

    def unknown(self, good: Flags) -> Iterator[tuple[tuple[str, ...], Iterator[int]]]:
        """Each thing that is not known, with the good rows that name it in their order."""
        places = [n for n, key in enumerate(self.words) if key not in self.known_words.meanings]
        if not places:
            return
        is_unknown = np.zeros(len(self.words) + 1, dtype=np.bool_)  # and none at its end, for -1
        is_unknown[places] = True
        rows = np.flatnonzero(good & is_unknown[self.codes])
        rows = rows[np.argsort(self.codes[rows], kind="stable")]
        for group in np.split(rows, np.flatnonzero(np.diff(self.codes[rows])) + 1):
            if len(group):
                yield self.words[self.codes[group[0]]], iter(group.tolist())


class BlockReader:
    """One pass over a table. ``blocks``: the good rows of each, as columns of ``COLUMN_TYPES``."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.rows = RowReader(mapping)
        self.line = 0
        self.blocks: list[list[Column]] = []
        separator = mapping.delimiter
        is_plain = len(separator) == 1 and separator.isascii()
        self._is_odd = not is_plain or "value" not in mapping.columns

    def read(self, text: str) -> bool:
        """Read whole lines, each with its newline; False where nothing after them is to be read."""
        text = self._after_header(text)
        if not text:
            return True
        first = self.line + 1
        is_odd = self._is_odd or self.rows.width < 1
        columns = self._one_by_one(text, first) if is_odd else self._at_a_glance(text, first)
        if len(columns[0]):
            self.blocks.append(columns)
        last_line = self.mapping.header_line + MAX_ROWS
        if self.line > last_line:
            self.rows.refuse(problem("too_many_rows", last_line + 1, most=MAX_ROWS))
        return not self.rows.is_over and self.line <= last_line

    def _after_header(self, text: str) -> str:
        """The rest of a text behind the header, which is noted."""
        skipped = self.mapping.header_line - self.line
        if skipped <= 0:
            return text
        *lines, rest = text.split("\n", skipped)
        self.line += len(lines)
        if self.line == self.mapping.header_line:
            self.rows.header(lines[-1], self.line)
        return rest

    def _one_by_one(self, text: str, first: int) -> list[Column]:
        """The good rows of whole lines, of which the first has the number ``first``."""
        lines = text.split("\n")[:-1]
        self.line += len(lines)
        read_rows = []
        for number, line in enumerate(lines, first):
            row = self.rows.row(line, number)
            if row is not None:
                read_rows.append(row)
            if self.rows.is_over:
                break
        return _columns(read_rows)

    def _at_a_glance(self, text: str, first: int) -> list[Column]:
        """The same, of lines with fields that can be told apart by a byte."""
        lines = []
        if self.mapping.delimiter == SPACES:
            lines = text.split("\n")
            text = "\n".join([" ".join(line.split()) for line in lines])
        fields = Fields(text, self.mapping.delimiter, self.rows.width, quotes=not lines)
        self.line += len(fields)
        values, good, pointed = self._values(fields)
        records, fits = self._sizes(fields, "record_size_kb", MAX_RECORD_KB)
        good &= fits
        files, fits = self._sizes(fields, "file_size_kb", MAX_FILE_KB)
        good &= fits & ((records < 0) == (files < 0))
        sign = CodedColumn(self.rows.signs, np.where(pointed, 0, -1), [(self._sign,)])
        tests = _named(self.rows.known_tests, fields, good)
        runs = _named(self.rows.known_runs, fields, good)
        good &= values <= self._most_measurable(tests)
        queue = np.flatnonzero(~(good | self._unmeasured_rows(fields))).tolist()
        read_rows = self._learn(
            queue, (sign, tests, runs), good, lines.__getitem__ if lines else fields.line, first
        )
        good_rows = np.flatnonzero(good)
        row_keys = (first + good_rows, runs.meanings(good_rows), tests.meanings(good_rows))
        columns = _typed([*row_keys, records[good_rows], files[good_rows], values[good_rows]])
        if not read_rows:
            return columns
        pairs = zip(columns, _columns(read_rows), strict=True)
        columns = [np.concatenate(pair) for pair in pairs]
        order = np.argsort(columns[0], kind="stable")
        return [column[order] for column in columns]

    @property
    def _sign(self) -> str:
        return self.rows.decimal or "."

    def _values(self, fields: Fields) -> tuple[Column, Flags, Flags]:
        """The values, where there is one, and where it has a decimal sign."""
        column, sign = self.mapping.columns["value"], self._sign
        number, decimals, plain = fields.numbers(column, sign)
        values, pointed = quotient(number, decimals), plain & (decimals >= 0)
        # More digits than are exact, and exponents.
        others = np.flatnonzero(fields.usual & ~plain & ~fields.is_empty(column))
        for row, word in zip(others.tolist(), fields.words(column, others), strict=True):
            if _POINT(word) and (sign == "." or b"." not in word):
                value = float(word)
                if value <= MAX_VALUE and not underflows(word.decode(), value):
                    values[row], plain[row], pointed[row] = value, True, b"." in word
        return values, plain, pointed

    def _most_measurable(self, tests: CodedColumn) -> Column:
        """The largest value that each line's unit can have."""
        unit, constant = self.mapping.columns.get("unit"), self.mapping.constants.get("unit", "")
        place = None if unit is None else tests.known_words.columns.index(unit)
        units = [constant if place is None else key[place] or constant for key in tests.words]
        most = [most_measurable(unit_of(text)) for text in units]
        return np.array([*most, np.inf])[tests.codes]  # the last one for -1

    def _sizes(self, fields: Fields, name: str, most_kb: int) -> tuple[Ints, Flags]:
        """Sizes in KB, NONE where none is said; and where that is what the row says."""
        column = self.mapping.columns.get(name)
        columns = [] if column is None else [column]
        sizes, fits = np.zeros(len(fields), dtype=np.int64), np.zeros(len(fields), dtype=np.bool_)
        if column is not None:
            is_record = name == "record_size_kb"
            given_unit = self.mapping.record_unit if is_record else self.mapping.file_unit
            unit = SIZE_UNITS.get(given_unit, 0)
            sizes, _, fits = fields.numbers(column)
            fits &= (sizes > 0) & (sizes <= (most_kb * 1024 // unit if unit else 0))
            sizes = np.where(fits, sizes, 0) * unit
            fits &= sizes % 1024 == 0
            sizes //= 1024
        codes, words = fields.keys(columns, fields.usual & ~fits)
        if words:
            row_sizes = [self.rows.size_of(name, *key) for key in words]
            named = codes >= 0
            fits[named] = np.array([size is not None for size in row_sizes])[codes[named]]
            sizes[named] = np.array([size or 0 for size in row_sizes])[codes[named]]
        return sizes, fits

    def _unmeasured_rows(self, fields: Fields) -> Flags:
        """The rows of cells that were not measured."""
        if self.mapping.constants.get("value"):
            return np.zeros(len(fields), dtype=np.bool_)
        return fields.usual & fields.is_empty(self.mapping.columns["value"])

    def _learn(
        self,
        queue: list[int],
        columns: tuple[CodedColumn, ...],
        good: Flags,
        line: Callable[[int], str],
        first: int,
    ) -> list[ReadRow]:
        """Read the rows in ``queue`` one by one, and of the ``good`` ones those that name what is
        not known, until it is. They are not ``good`` any more.
        """
        waiting: dict[int, list[tuple[KnownWords, tuple[str, ...], Iterator[int]]]] = defaultdict(
            list
        )
        for column in columns:
            for key, rows in column.unknown(good):
                row = next(rows)
                waiting[row].append((column.known_words, key, rows))
                heappush(queue, row)
        read_rows = []
        while queue and not self.rows.is_over:
            row = heappop(queue)
            while queue and queue[0] == row:
                heappop(queue)
            good[row] = False
            read_row = self.rows.row(line(row), first + row)
            if read_row is not None:
                read_rows.append(read_row)
            for known_words, key, rows in waiting.pop(row, ()):
                following = None if key in known_words.meanings else next(rows, None)
                if following is not None:
                    waiting[following].append((known_words, key, rows))
                    heappush(queue, following)
        return read_rows


def _named(known_words: KnownWords, fields: Fields, good: Flags) -> CodedColumn:
    """What the good rows name; one with a name too long is not ``good`` any more."""
    if len(known_words.meanings) > _MAX_KNOWN:
        known_words.meanings.clear()
    codes, words = fields.keys(known_words.columns, good)
    good &= codes >= 0
    return CodedColumn(known_words, codes, words)


def _columns(rows: list[ReadRow]) -> list[Column]:
    return _typed(zip(*rows, strict=True)) if rows else _typed([()] * len(COLUMN_TYPES))


def _typed(columns: Iterable[Any]) -> list[Column]:
    return [
        np.asarray(column, dtype=column_type)
        for column, column_type in zip(columns, COLUMN_TYPES, strict=True)
    ]
