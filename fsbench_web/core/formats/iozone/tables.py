"""The tables that IOzone prints: its matrix, and the report of -R, files by records for each test.

The header of the matrix has two lines. Its columns have IOzone's own order. A test that was not run
leaves its column blank: then the blanks of the row say which one. Values are right-aligned with
their column (printf " %8lld"). The second header line ends most names one place to the left of
their values. A value too long for its field pushes the rest of its row to the right.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from fsbench_web.core.formats.result import MAX_VALUES
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector

_WORD = re.compile(r"\S+")
_MOST_COLUMNS = 100
_TESTS = {
    ("", "write"): "write",
    ("", "rewrite"): "rewrite",
    ("", "read"): "read",
    ("", "reread"): "reread",
    ("random", "read"): "random_read",
    ("random", "write"): "random_write",
    ("bkwd", "read"): "backward_read",
    ("record", "rewrite"): "record_rewrite",
    ("stride", "read"): "stride_read",
    ("", "fwrite"): "fwrite",
    ("", "frewrite"): "refwrite",
    ("", "fread"): "fread",
    ("", "freread"): "refread",
}
_ORDER = tuple((prefix, name, test) for (prefix, name), test in _TESTS.items())
_NAMES = frozenset(name for _, name in _TESTS)
_PREFIXES = frozenset(prefix for prefix, _ in _TESTS if prefix)
TESTS = tuple(_TESTS.values())
"""The names of the thirteen tests, in IOzone's order."""

# Where names and values end, counted from the end of "reclen": 3.2xx, 3.3xx, 3.4xx and later.
# Names of columns that are not there (-B has no fwrite) are missing from the end.
_LAYOUTS = (
    (
        (8, 16, 24, 34, 42, 50, 58, 66, 74, 83, 92, 100, 109),
        (8, 16, 25, 34, 42, 50, 58, 66, 74, 83, 92, 100, 109),
    ),
    (
        (8, 16, 24, 34, 42, 50, 58, 67, 76, 85, 94, 102, 111),
        (8, 16, 25, 34, 42, 50, 58, 67, 76, 85, 94, 102, 111),
    ),
    (
        (9, 18, 26, 36, 44, 54, 63, 73, 83, 92, 101, 110, 119),
        (9, 18, 27, 36, 45, 54, 63, 73, 83, 92, 101, 110, 119),
    ),
)
SIZE_WIDTH = 8
"""The room of a record size (printf "%8d"), which tells whether a row has the blanks it had."""


@dataclass(frozen=True)
class Column:
    """A column of the matrix; ``test`` is empty when the name is not known.

    ``end`` is where its values end, from the end of the record size, and ``width`` their room. Both
    are 0 where the header's blanks are not IOzone's, so only the order is known.
    """

    test: str
    end: int = 0
    width: int = 0


def parse_header(line_above: str, line: str) -> tuple[list[Column] | None, list[tuple[str, int]]]:
    """The columns behind ``KB reclen``, and the unknown ones as (name, column from 1).

    Names are counted, as blanks may be lost. None where they can be read in several ways, or in
    none.
    """
    _, reclen, *words = islice(_WORD.finditer(line), _MOST_COLUMNS)
    names = [word[0] for word in words]
    known = [name for name in names if name in _NAMES]
    above = [word for word in line_above.split() if word in _PREFIXES]
    # The line above may be lost, or be another one.
    tests = _only_reading(known, above) or _only_reading(known, None)
    if tests is None:
        return None, []
    unknown = [(word[0], word.start() + 1) for word in words if word[0] not in _NAMES]
    in_order = iter(tests)
    columns = [Column(next(in_order) if name in _NAMES else "") for name in names]
    ends = tuple(word.end() - reclen.end() for word in words)
    for name_ends, value_ends in _LAYOUTS:
        if ends == name_ends[: len(ends)]:
            widths = [end - before for before, end in pairwise((0, *value_ends))]
            columns = [
                Column(column.test, end, width)
                for column, end, width in zip(columns, value_ends, widths, strict=False)
            ]
    return columns, unknown


def _only_reading(names: list[str], prefixes: list[str] | None) -> tuple[str, ...] | None:
    """The tests of these names, where only one choice of tests has them.

    ``prefixes`` are the words of the line above; None: not known.
    """
    readings = list(islice(_readings(names, prefixes, 0), 2))
    return readings[0] if len(readings) == 1 else None


def _readings(
    names: list[str], prefixes: list[str] | None, first: int
) -> Iterator[tuple[str, ...]]:
    if not names:
        if not prefixes:
            yield ()
        return
    for place in range(first, len(_ORDER)):
        prefix, name, test = _ORDER[place]
        if name != names[0]:
            continue
        if prefixes is None or not prefix:
            rest = prefixes
        elif prefixes[:1] == [prefix]:
            rest = prefixes[1:]
        else:
            continue
        for tests in _readings(names[1:], rest, place + 1):
            yield test, *tests


def column_of(
    columns: list[Column], start: int, end: int, shift: int, last: int
) -> tuple[int | None, int]:
    """The column that a value stands under, and by how much the row is pushed after it.

    ``start`` and ``end`` count from the end of the record size. None: between two columns, or two
    values under one.
    """
    for index in range(last + 1, len(columns)):
        column = columns[index]
        # A value that fills its column touches the one before, or is pushed by its own blank.
        for blank in (0, 1):
            pushed = shift + max(0, end - start + blank - column.width)
            if end == column.end + pushed:
                return index, pushed
    return None, shift


MISSING = (
    "0 is printed for a cell that was not run, or for less than one unit; the cell stays empty."
)
_TITLES = {
    "writer report": "write",
    "re-writer report": "rewrite",
    "reader report": "read",
    "re-reader report": "reread",
    "random read report": "random_read",
    "random write report": "random_write",
    "backward read report": "backward_read",
    "record rewrite report": "record_rewrite",
    "stride read report": "stride_read",
    "fwrite report": "fwrite",
    "re-fwrite report": "refwrite",
    "fread report": "fread",
    "re-fread report": "refread",
}
_TITLE = re.compile(r'^\s*"([A-Za-z -]+ report)"\s*$', re.IGNORECASE)
_SIZES = re.compile(r'^\s*"[0-9]{1,9}"(\s+"[0-9]{1,9}")*\s*$')
_ROW = re.compile(r'^\s*"([0-9]{1,12})"\s+([^\s"].*)$')


def is_report_title(line: str) -> bool:
    title = _TITLE.match(line)
    return title is not None and title[1].lower() in _TITLES


def test_of_title(title: str) -> str:
    """The test that a table's title names, as in "Re-reader Report"; empty for any other."""
    return _TITLES.get(title.strip().lower(), "")


Cell = tuple[str, int, int]
"""Test, record and file size in KB."""


def parse_report(
    collector: Collector, lines: list[str], start: int
) -> tuple[list[tuple[Cell, str, int]], bool]:
    """Numbers with their lines from line index ``start`` on; and whether all tables are as long.

    Other tables (CPU utilisation) are passed over.
    """
    values: list[tuple[Cell, str, int]] = []
    rows: dict[str, int] = {}
    test = ""
    records: list[int] = []
    for index in range(start, len(lines)):
        line, number = lines[index], index + 1
        if len(values) > MAX_VALUES:
            collector.refuse_too_much(number)
        if collector.must_stop:
            break
        if line.strip().lower().endswith('report"') or "utilization" in line:
            title = _TITLE.match(line)
            test = _TITLES.get(title[1].lower(), "") if title else ""
            records = []
            if test in rows:
                collector.refuse(number, f"A second {quoted(line)} starts here.")
                test = ""
            elif test:
                rows[test] = 0
        elif not test or not line.strip():
            continue
        elif not records and _SIZES.match(line):
            records = [int(size) for size in re.findall("[0-9]+", line)]
        elif records and (row := _ROW.match(line)) is not None:
            is_last = index == len(lines) - 1
            file_kb = int(row[1])
            words = _row_words(collector, row[2], len(records), number, cut=is_last)
            rows[test] += 1
            values += [
                ((test, record_kb, file_kb), word, number)
                for record_kb, word in zip(records, words, strict=False)
                if record_kb and file_kb
            ]
    return values, len(set(rows.values())) == 1


def _row_words(collector: Collector, text: str, width: int, number: int, *, cut: bool) -> list[str]:
    """The numbers of a row, as printed; none when the row cannot be read."""
    words = text.split()
    wrong = next((word for word in words if not re.fullmatch("[0-9]{1,15}", word)), None)
    if wrong is not None:
        collector.refuse(number, f"Found {quoted(wrong)}, expected a whole number.")
        return []
    if len(words) > width:
        collector.refuse(number, f"{len(words)} values stand under {width} record sizes.")
        return []
    # IOzone ends a row with a space; one that ends otherwise is cut, maybe within a number.
    return words[:-1] if cut and text == text.rstrip() else words
