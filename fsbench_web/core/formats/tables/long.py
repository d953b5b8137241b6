"""Large tables, one number a row, read in one pass into columns: 26 bytes a number. Pure.

What formats.tables.table reads, of any length: the same header, the same rules for a row, and its
problems in the same words. A row that cannot be told good at a glance goes through the very
function that reads small tables (cells.read_cell).
"""

import codecs
import csv
import io
import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from fsbench_web.core.formats.result import MAX_VALUE, ParsedResult, Problem, UnreadableFile
from fsbench_web.core.formats.tables.cells import (
    A_REPEAT,
    MISSING,
    SIZE_UNITS,
    Place,
    Reading,
    read_cell,
    repeat_of,
)
from fsbench_web.core.formats.tables.grid import DELIMITERS, SPACES, grid_of, row_of
from fsbench_web.core.formats.tables.mapping import LONG, Mapping
from fsbench_web.core.formats.tables.table import FORMAT, check_header, needs_mapping, proposal
from fsbench_web.core.formats.text import MAX_LINE_LENGTH, MAX_PROBLEMS, shown, vanishes

MAX_ROWS = 5_000_000
MAX_RUNS = 20_000
NO_SIZE = -1
_HEAD_BYTES = 64 * 1024
_HEAD_LINES = 60
_MAX_CACHED = 20_000
_REPORT_EVERY = 20_000
_POINT = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?").fullmatch
_PLAIN = re.compile("[1-9][0-9]{0,11}").fullmatch
# What no tool prints, and bytes that were no text.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]").search
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Own = tuple[str, str, str, int | None]
"""What the table's columns say of file system, configuration, hardware and repeat."""
Test = tuple[str, str]
"""Name and unit."""


@dataclass
class Columns:
    """The numbers of one run: ``tests`` are places in LargeTable.tests, sizes KB or NO_SIZE."""

    tests: array = field(default_factory=lambda: array("H"))
    records: array = field(default_factory=lambda: array("i"))
    files: array = field(default_factory=lambda: array("q"))
    values: array = field(default_factory=lambda: array("d"))
    lines: array = field(default_factory=lambda: array("I"))

    def __len__(self) -> int:
        return len(self.values)


@dataclass
class LargeTable:
    """All numbers of a table by the run they belong to. ``zeros`` counts values that are 0."""

    tests: list[Test] = field(default_factory=list)
    runs: dict[Own, Columns] = field(default_factory=dict)
    rows: int = 0
    zeros: int = 0
    unused: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.runs.values()))

    def units(self) -> dict[str, int]:
        """The first line of each unit."""
        found: dict[str, int] = {}
        for columns in self.runs.values():
            for test in set(columns.tests):
                unit = self.tests[test][1]
                line = columns.lines[columns.tests.index(test)]
                found[unit] = min(line, found.get(unit, line))
        return found


def mapping_of(head: bytes) -> Mapping | None:
    """How a file that begins with ``head`` is read as a long table; None for everything else.

    Raises UnreadableFile for the header of a long table that cannot be.
    """
    if b"\x00" in head and not head.startswith(_UTF_16):
        return None
    encoding = "utf-16" if head.startswith(_UTF_16) else "utf-8-sig"
    text = head[: _HEAD_BYTES & ~1].decode(encoding, "replace")
    grid = grid_of(re.split("\r\n|\r|\n", text)[:_HEAD_LINES])
    mapping = proposal(grid) if grid.delimiter else None
    if mapping is None or mapping.shape != LONG or not {"test", "value"} <= {*mapping.columns}:
        return None
    check_header(grid, mapping)
    return mapping


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
    mapping.check()
    encoding = "utf-16" if head.startswith(_UTF_16) else "utf-8-sig"
    # Undecodable bytes come as lone surrogates, and are told with their line.
    text = io.TextIOWrapper(stream, encoding=encoding, errors="surrogateescape")
    reader = _Reader(mapping)
    try:
        reader.read(_bounded(text), size_bytes, progress)
    except UnicodeError as error:
        message = f"The file is not the text it begins as ({str(error)[:80]})."
        raise UnreadableFile([Problem(reader.table.rows + 1, None, message)]) from None
    return reader.finished()


def _bounded(text: io.TextIOWrapper) -> Iterator[str]:
    """Lines without their ends; a line that no table has comes cut, and ends the reading."""
    while line := text.readline(MAX_LINE_LENGTH + 2):
        yield line.rstrip("\n")
        if len(line) > MAX_LINE_LENGTH:
            return


class _Reader:
    """One pass over the lines."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.table = LargeTable()
        self.width = 0
        self.problem_count = 0
        self.problems: list[Problem] = []
        self.places: dict[Test, int] = {}
        # The slow way of reading a row, and what keeps one decimal sign in the file.
        self.slow = Reading(
            ParsedResult(FORMAT, "table"),
            comma=mapping.delimiter != ",",
            record_bytes=SIZE_UNITS[mapping.record_unit],
            file_bytes=SIZE_UNITS[mapping.file_unit],
            decimal=mapping.decimal,
        )

    def read(self, lines: Iterator[str], size: int, progress: Callable[[float], None]) -> None:
        """The hot loop: two million rows a second would be fast, so nothing is done twice."""
        mapping, table = self.mapping, self.table
        columns = mapping.columns
        value_at = columns["value"]
        test_at, unit_at = columns.get("test", -1), columns.get("unit", -1)
        record_at, file_at = columns.get("record_size_kb", -1), columns.get("file_size_kb", -1)
        own_at = [columns[n] for n in _OWN if n in columns]
        delimiter = None if mapping.delimiter == SPACES else mapping.delimiter
        known_tests: dict[tuple[str, str], int] = {}
        known_records: dict[str, int] = {}
        known_files: dict[str, int] = {}
        known_runs: dict[tuple[str, ...], Columns] = {}
        plain_files = mapping.file_unit == "KB"
        last_own: tuple[str, ...] | None = None
        run = Columns()
        number, seen = 0, 0
        # A column that is not there reads as "" here: the row's own words end with one.
        for number, line in enumerate(lines, start=1):
            seen += len(line) + 1
            if number % _REPORT_EVERY == 0:
                progress(min(seen / size, 1.0) if size else 1.0)
                if number > MAX_ROWS:
                    self.refuse(number, None, f"The table has more than {MAX_ROWS} rows: split it.")
                    break
            if number <= mapping.header_line:
                if number == mapping.header_line:
                    self._header(line, number)
                continue
            if '"' in line or not line or line[0] == "#" or len(line) > 1000:
                words = self._words(line, number)
                if words is None:
                    continue
            else:
                words = line.split(delimiter)
                if len(words) != self.width:
                    self._misfit(line, number, words)
                    continue
            words.append("")
            text = words[value_at]
            test = known_tests.get((words[test_at], words[unit_at]))
            record = known_records.get(words[record_at])
            size_text = words[file_at]
            file = known_files.get(size_text)
            if file is None and plain_files and _PLAIN(size_text):
                file = int(size_text)  # every row may have another one: not kept
            if (
                test is None
                or record is None
                or file is None
                or (record < 0) != (file < 0)
                or not _POINT(text)
                or ("." in text and self.slow.decimal == ",")
                or (value := float(text)) > MAX_VALUE  # infinity too
                or vanishes(text, value)
            ):
                del words[-1]
                kept = self._slowly(words, number)
                if kept is None:
                    continue
                test, record, file, value = kept
                words.append("")
                if len(known_records) > _MAX_CACHED:
                    known_records.clear()
                if len(known_files) > _MAX_CACHED:
                    known_files.clear()
                known_tests[words[test_at], words[unit_at]] = test
                known_records[words[record_at]] = record
                known_files[words[file_at]] = file
                if len(known_tests) > _MAX_CACHED:
                    known_tests.clear()
            elif "." in text:
                self.slow.decimal = "."
            own = tuple([words[at] for at in own_at])
            if own != last_own:
                found = known_runs.get(own)
                if found is None:
                    found = self._run(words, number)
                    if found is None:
                        continue
                    known_runs[own] = found
                run, last_own = found, own
            if value == 0:
                table.zeros += 1
            run.tests.append(test)
            run.records.append(record)
            run.files.append(file)
            run.values.append(value)
            run.lines.append(number)
        table.rows = number
        progress(1.0)

    def refuse(self, line: int, column: int | None, message: str) -> None:
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(line, column, message))

    def _header(self, line: str, number: int) -> None:
        words = row_of(line, number, self.mapping.delimiter).words
        self.width = len(words)
        used = set(self.mapping.columns.values())
        self.table.unused = [word for place, word in enumerate(words) if place not in used]
        if used and max(used) >= self.width:
            self.refuse(number, None, "The header has fewer columns than the mapping names.")
            self.width = -1

    def _words(self, line: str, number: int) -> list[str] | None:
        """The words of a line that needs a closer look; None where it says nothing or is bad."""
        if not line.strip() or line.startswith("#"):
            return None
        if len(line) > MAX_LINE_LENGTH:
            message = (
                f"The line is longer than {MAX_LINE_LENGTH} characters, the most there may be."
            )
            self.refuse(number, MAX_LINE_LENGTH + 1, message)
            return None
        try:
            row = row_of(line, number, self.mapping.delimiter)
        except csv.Error as error:
            self.refuse(number, None, f"The row cannot be read: {error}.")
            return None
        if row.problem:
            self.refuse(number, None, row.problem)
            return None
        if len(row.words) != self.width:
            self._misfit(line, number, row.words)
            return None
        return row.words

    def _misfit(self, line: str, number: int, words: list[str]) -> None:
        if not line.strip():
            return
        by = DELIMITERS.get(self.mapping.delimiter, "spaces")
        message = (
            f"Found {len(words)} fields separated by {by}, expected {self.width} as in the header."
        )
        self.refuse(number, None, message)

    def _slowly(self, words: list[str], number: int) -> tuple[int, int, int, float] | None:
        """Read a row as a small table is read: its test, sizes and value, or None."""
        slow = self.slow
        words[:] = [word.strip() for word in words]
        if any(_NO_TEXT(word) for word in words):
            self.refuse(
                number, None, "Found bytes that are no text in UTF-8: save the file as such."
            )
            return None
        said = {name: Place(text) for name, text in self.mapping.constants.items() if text}
        for name, column in self.mapping.columns.items():
            if words[column] or name not in said:
                said[name] = Place(words[column], column + 1)
        if said["value"].text in MISSING:
            return None
        slow.seen.clear()
        slow.problems.clear()
        slow.result.values.clear()
        slow.result.warnings.clear()
        read_cell(slow, number, said)
        for problem in slow.problems:
            self.refuse(number, problem.column, problem.message)
        if slow.problems or not slow.result.values:
            return None
        value = slow.result.values[0]
        key = (value.test, value.unit)
        place = self.places.setdefault(key, len(self.table.tests))
        if place == len(self.table.tests):
            if place > 60_000:
                self.refuse(number, None, "The table has more than 60000 tests.")
                return None
            self.table.tests.append(key)
        record = NO_SIZE if value.record_size_kb is None else value.record_size_kb
        file = NO_SIZE if value.file_size_kb is None else value.file_size_kb
        return place, record, file, value.value

    def _run(self, words: list[str], number: int) -> Columns | None:
        """The run that a row belongs to, made when it is new."""
        said = dict(self.mapping.constants)
        said |= {
            n: words[at].strip() for n, at in self.mapping.columns.items() if words[at].strip()
        }
        if not all(text.isprintable() for text in said.values()):
            self.refuse(number, None, "Found a character that cannot be shown.")
            return None
        repeat = said.get("repeat", "")
        if repeat and repeat_of(repeat) is None:
            column = self.mapping.columns.get("repeat", -1) + 1
            message = f"Found {shown(repeat)}, expected {A_REPEAT}."
            self.refuse(number, column or None, message)
            return None
        own = (
            said.get("filesystem", ""),
            said.get("configuration", ""),
            said.get("hardware", ""),
            int(repeat) if repeat else None,
        )
        if len(self.table.runs) >= MAX_RUNS and own not in self.table.runs:
            self.refuse(number, None, f"The table holds more than {MAX_RUNS} runs: split it.")
            return None
        return self.table.runs.setdefault(own, Columns())

    def finished(self) -> LargeTable:
        """The table, or all that is wrong with it."""
        table = self.table
        if not self.problem_count and not len(table):
            self.refuse(table.rows, None, "The table has a header and no values.")
        if self.problem_count:
            more = self.problem_count - len(self.problems)
            last = [Problem(None, None, f"And {more} more problems.")] if more else []
            raise UnreadableFile([*self.problems, *last], table.units())
        table.runs = {own: run for own, run in table.runs.items() if len(run)}
        return table


_OWN = ("filesystem", "configuration", "hardware", "repeat")
