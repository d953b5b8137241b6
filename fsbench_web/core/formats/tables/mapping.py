"""Which column of a table is what, and the numbers that follow from it. Pure.

Shapes: ``long``, one number a row; ``tests``, a column for each test; ``matrix``, record sizes by
file sizes, one matrix a test. A mapping is proposed from the header or said on the mapping page.
"""

import hashlib
import json
import re
from collections.abc import Mapping as AnyMapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from fsbench_web.core.formats.result import Problem, UnreadableFile
from fsbench_web.core.formats.tables.cells import (
    FIELDS,
    MAX_TEST,
    SIZE_UNITS,
    known_test,
    may_mean_nothing,
    size_kb,
    test_of,
)
from fsbench_web.core.formats.tables.grid import DELIMITERS, GAPS, SPACES, Grid, Row
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import quoted

FORMAT = "table"


class NeedsMapping(UnreadableFile):
    """A table with columns that somebody has to explain."""


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
    """What each column is. Columns count from 0, ``header_line`` from 1.

    ``columns``: fields by column. ``constants``: fields that no column says. ``tests``: column ->
    (test, unit); a test that begins with _ is an ending of the row's own test, and ``_`` is that
    test. ``column_constants``: what all numbers of a column are of. ``repeats``: IN_ORDER, or ""
    where a column tells them. ``rows_are``: ``file`` or ``record``, for a matrix. ``record_unit``,
    ``file_unit``: of SIZE_UNITS, or "" if unknown. ``names``: meanings of words in the column of
    tests. ``not_measured``: words of empty cells, besides MISSING.
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

    def test_of(self, word: str) -> str:
        return self.names.get(word.strip().lower(), word)

    def to_json(self) -> dict[str, Any]:
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
        problems = [problem("field_missing", field=name) for name in self.missing()]
        if self.shape not in SHAPES or self.rows_are not in ("file", "record"):
            problems.append(problem("no_shape"))
        if self.delimiter not in ("", SPACES, GAPS, *DELIMITERS) and not _SEPARATOR.fullmatch(
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


def kernel_columns(grid: Grid, mapping: Mapping) -> list[tuple[int, str]]:
    """The column of kernels, with the line of its header; [] where there is none."""
    header, place = grid.row_at(mapping.header_line), mapping.columns.get("kernel")
    if header is None or place is None or place >= len(header.words):
        return []
    return [(header.line, header.words[place])]


def unread_columns(grid: Grid, mapping: Mapping) -> list[tuple[int, str]]:
    """Columns that nothing reads, with the line of their header."""
    header = grid.row_at(mapping.header_line)
    if mapping.shape == MATRIX or header is None:
        return []
    used = {*mapping.columns.values(), *mapping.tests, *mapping.ignored}
    return [(header.line, word) for place, word in enumerate(header.words) if place not in used]


def ignored_columns(grid: Grid, mapping: Mapping) -> list[Problem]:
    """A note for each column that somebody said is not to be read."""
    header = grid.row_at(mapping.header_line)
    words = dict(enumerate(header.words)) if header else {}
    return [
        problem("column_ignored", header.line, is_note=True, found=quoted(words[place]))
        for place in mapping.ignored
        if header is not None and place in words
    ]


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
    """The matrices among rows, and the other rows. A row with one word alone is a title."""
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
