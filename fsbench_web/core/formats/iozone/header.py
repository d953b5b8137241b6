"""The two-line header of IOzone's matrix, and which column a number stands under.

Values are right-aligned with their column (printf " %8lld"). The second header line ends most
names one place to the left of their values, and a value too long for its field pushes the rest
of its row to the right.
"""

import re
from dataclasses import dataclass

_WORD = re.compile(r"\S+")
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
TESTS = tuple(_TESTS.values())
"""The names of the thirteen tests, in IOzone's order."""

# Where names and values end, counted from the end of "reclen": 3.3xx and before, 3.4xx and later.
# Names of columns that are not there (-B has no fwrite) are missing from the end.
_LAYOUTS = (
    (
        (8, 16, 24, 34, 42, 50, 58, 67, 76, 85, 94, 102, 111),
        (8, 16, 25, 34, 42, 50, 58, 67, 76, 85, 94, 102, 111),
    ),
    (
        (9, 18, 26, 36, 44, 54, 63, 73, 83, 92, 101, 110, 119),
        (9, 18, 27, 36, 45, 54, 63, 73, 83, 92, 101, 110, 119),
    ),
)
# How far a value may stand from where it should; columns are 8 or more apart.
_TOLERANCE = 3


@dataclass(frozen=True)
class Column:
    """A column of the matrix. ``test`` is empty when the name is not known.

    ``end`` is where its values end (from 0, exclusive) and ``width`` the room they have, with the
    space before them; ``exact`` when both are known and not taken from the header.
    """

    test: str
    end: int
    width: int
    exact: bool


def parse_header(line_above: str, line: str) -> tuple[list[Column], list[tuple[str, int]]]:
    """The columns behind ``KB reclen``, and the unknown ones as (name, column from 1)."""
    prefixes = [(word[0], word.start(), word.end()) for word in _WORD.finditer(line_above)]
    _, reclen, *words = _WORD.finditer(line)
    ends = [word.end() for word in words]
    exact = False
    for names, values in _LAYOUTS:
        if tuple(end - reclen.end() for end in ends) == names[: len(ends)]:
            ends, exact = [value + reclen.end() for value in values[: len(ends)]], True
    columns: list[Column] = []
    unknown = []
    for word, end, before in zip(words, ends, [reclen.end(), *ends], strict=False):
        prefix = next(
            (text for text, first, last in prefixes if first < word.end() and word.start() < last),
            "",
        )
        test = _TESTS.get((prefix, word[0]), "")
        if not test or any(column.test == test for column in columns):
            test = ""
            unknown.append((f"{prefix} {word[0]}".strip(), word.start() + 1))
        columns.append(Column(test, end, end - before, exact))
    return columns, unknown


def column_of(
    columns: list[Column], start: int, end: int, shift: int, last: int
) -> tuple[int | None, int]:
    """The index of the column a value stands under, and by how much the row is pushed after it.

    ``shift`` is by how much earlier values of the row pushed it, ``last`` the column of the value
    before. None: the value stands between two columns, or two values under one.
    """
    for index in range(last + 1, len(columns)):
        column = columns[index]
        too_long = max(0, end - start + 1 - column.width)
        expected = column.end + shift
        if expected - _TOLERANCE <= end <= expected + too_long + _TOLERANCE:
            pushes = column.exact and end == expected + too_long
            return index, shift + (too_long if pushes else 0)
    return None, shift
