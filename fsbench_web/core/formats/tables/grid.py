"""Text or a spreadsheet -> rows of words with their line numbers. Pure."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
SPACES = " "
GAPS = "  "
"""Delimiters by name: columns that blanks separate, or two blanks and more."""
MAX_CELL = 1000
"""Letters of a cell that are looked at. Every name and number that is kept has a lower limit."""
_LOOKED_AT = 50
MOST_LOOKED_AT = 50_000
"""Lines of a text that show its shape."""
BAR = "|"
_GAP = re.compile(r"\s{2,}")
_BARS = str.maketrans(dict.fromkeys("│┃║", BAR))
"""What terminals draw instead of a vertical bar."""
_BOX = "".join(map(chr, range(0x2500, 0x2580)))
_DRAWN = f"-=+|:~*_ \t{_BOX}"
"""Characters of a line that only draws: ``+---+---+``, ``|---|:--:|``, ``─────┼────``."""


class Row(NamedTuple):
    """One line that says something. ``problem``: why it could not be taken apart."""

    line: int
    words: list[str]
    problem: str = ""


@dataclass
class Grid:
    """One table: its first ``rows`` and all ``lines``, or all rows of the sheet ``name``."""

    delimiter: str
    rows: list[Row] = field(default_factory=list)
    name: str = ""
    last_line: int = 0
    is_bordered: bool = False
    """Whether bars stand at both ends of a line too, as in Markdown."""
    title_line: int = 0
    """Where the sheet's name stands among the lines of a workbook of several; else 0."""
    lines: Sequence[str] = ()

    @property
    def header(self) -> Row | None:
        """The first row that could be taken apart."""
        return next((row for row in self.rows if not row.problem), None)

    def row_at(self, line: int) -> Row | None:
        """The row in a line, which is one of the first."""
        return next((row for row in self.rows if row.line == line), None)

    def rows_below(self, line: int) -> Iterator[tuple[int, list[str], str]]:
        """Line, words and problem of all rows below a line, one at a time."""
        if not self.lines:
            yield from (row for row in self.rows if row.line > line)
            return
        sign = self.delimiter
        is_plain = sign.strip(" ") != "" and not self.is_bordered
        for number, text in enumerate(islice(self.lines, line, None), start=line + 1):
            if is_plain and text[:1].isalnum() and '"' not in text and len(text) <= MAX_CELL:
                words = text.split(sign)
                plain = text.isprintable() and " " not in text
                yield number, words if plain else [word.strip() for word in words], ""
            elif says_something(text):
                yield row_of(text, number, sign, is_bordered=self.is_bordered)


def says_something(line: str) -> bool:
    """Whether a line is part of a table: not empty, no comment, and more than a drawn rule."""
    if line.startswith("#"):
        return False
    if line.strip(_DRAWN):
        return True
    return bool(line.strip()) and not any(sign * 2 in line for sign in "-=") and line.isascii()


def grid_of(lines: Sequence[str], delimiter: str = "") -> Grid:
    """The table in a text; empty lines, drawn ones, and those that begin with # are left out."""
    delimiter = delimiter or delimiter_of(lines)
    grid = Grid(delimiter, last_line=len(lines), lines=lines)
    for number, line in enumerate(islice(lines, MOST_LOOKED_AT), start=1):
        if says_something(line):
            grid.is_bordered = grid.is_bordered or (not grid.rows and is_bordered(line, delimiter))
            grid.rows.append(row_of(line, number, delimiter, is_bordered=grid.is_bordered))
    return grid


def is_bordered(line: str, delimiter: str) -> bool:
    text = line.translate(_BARS).strip()
    return delimiter == BAR and len(text) > 1 and text[0] == text[-1] == BAR


def row_of(line: str, number: int, delimiter: str, *, is_bordered: bool = False) -> Row:
    """A line taken apart; quotes work as in CSV."""
    if delimiter == BAR and not line.isascii():
        line = line.translate(_BARS)
    if is_bordered:
        line = line.strip().removeprefix(BAR).removesuffix(BAR)
    if delimiter == GAPS:
        words = _GAP.split(line.strip())
    elif delimiter in ("", SPACES):
        words = line.split() if delimiter else [line]
    elif '"' not in line:
        words = line.split(delimiter)
    else:
        try:
            words = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except csv.Error as error:
            return Row(number, [], str(error))
    return Row(number, [word.strip()[:MAX_CELL] for word in words])


def delimiter_of(lines: Sequence[str]) -> str:
    """What separates the words, by the first line that has any; blanks where all lines have as many
    words; else "". Where a title stands above the table, the lines after it decide.
    """
    parts = [line.translate(_BARS) for line in lines[:_LOOKED_AT] if says_something(line)]
    first = next((line for line in parts if any(sign in line for sign in DELIMITERS)), "")
    if not first:
        return _blanks_of(parts)
    best = max(DELIMITERS, key=first.count)
    # "1,5;2,5" has as many of both: what cuts most lines into equally many words is it.
    rivals = [sign for sign in DELIMITERS if first.count(sign)]
    if len(rivals) > 1:
        alike = {
            sign: Counter(line.count(sign) for line in parts).most_common(1) for sign in rivals
        }
        steady = [sign for sign in rivals if alike[sign][0][0] > 0]
        if steady and best not in steady:
            best = max(steady, key=lambda sign: alike[sign][0][1])
    return best


def _blanks_of(lines: Sequence[str]) -> str:
    """GAPS or SPACES where they cut all lines into equally many words, two or more; else ""."""
    for sign in (GAPS, SPACES):
        widths = {len(row_of(line, 0, sign).words) for line in lines}
        if len(lines) > 1 and len(widths) == 1 and min(widths) > 1:
            return sign
    return ""
