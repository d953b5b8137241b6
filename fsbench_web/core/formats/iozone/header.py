"""The two-line header of IOzone's matrix, and which column a number stands under.

The columns have IOzone's own order. A test that was not run leaves its column blank: then the
blanks of the row say which one. Values are right-aligned with their column (printf " %8lld"). The
second header line ends most names one place to the left of their values. A value too long for its
field pushes the rest of its row to the right.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

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
