"""What is printed: tables, numbers, colours. Plain in a pipe, and without colours with NO_COLOR.

What comes from a site is shown without control characters: a name must not move the cursor.
"""

import codecs
import contextlib
import io
import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from operator import getitem
from types import SimpleNamespace
from typing import Any, Literal, TextIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from fsbench_web.core import numbers

_LEAST = 8
_WIDEST = 100_000
LIMIT = numbers.CHANCE
"""Of p-values: what is above is chance."""


PLAINER = "fsbench.plainer"
"""How a stream writes what it has no letter for: never a number without its sign."""
_PLAIN = {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{HORIZONTAL ELLIPSIS}": "..."}


def _replace_unprintable(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    letters = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in letters), error.end


codecs.register_error(PLAINER, _replace_unprintable)


def is_terminal(stream: TextIO | None = None) -> bool:
    return (stream or sys.stdout).isatty()


def _rendered(what: RenderableType, columns: int, stream: TextIO | None = None) -> str:
    """What rich draws in so many columns. https://no-color.org: NO_COLOR means no colours."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "") == "dumb"
    drawn = io.StringIO()
    console = Console(
        file=drawn,
        width=columns,
        color_system="standard" if is_terminal(stream) and not is_plain else None,
        force_terminal=True,
        legacy_windows=False,
    )
    console.print(what, end="", soft_wrap=isinstance(what, Text))
    return drawn.getvalue()


def coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    return _rendered(Text(text, colour), len(text) or 1, stream)


def clean(value: object) -> str:
    """Text of others in one line, without anything that a terminal would obey."""
    text = "–" if value is None or value == "" else str(value)
    return "".join(
        " " if character in "\t\n\r" else character
        for character in text
        if character in "\t\n\r" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
    )


def shortened(text: str, room: int) -> str:
    """At most ``room`` columns; what is cut off is an ellipsis."""
    cut = Text(text)
    cut.truncate(room, overflow="ellipsis")
    return cut.plain


@dataclass(frozen=True)
class Cell:
    """``text`` of others is cleaned; ``colour`` is for terminals."""

    text: object
    colour: str = ""


@dataclass(frozen=True)
class Column:
    """``value`` is a key of each entry, a path such as ``runs.done``, or a function of it."""

    title: str
    value: str | Callable[[Any], object]
    align: Literal["left", "right"] = "left"
    may_shrink: bool = False

    @classmethod
    def name(cls, title: str, value: str | Callable[[Any], object]) -> "Column":
        """Names may be shortened to fit a terminal."""
        return cls(title, value, may_shrink=True)

    @classmethod
    def number(cls, title: str, value: str | Callable[[Any], object]) -> "Column":
        return cls(title, value, "right")

    def cell(self, entry: Any) -> Cell:
        if callable(self.value):
            found = self.value(entry)
        else:
            found = reduce(getitem, self.value.split("."), entry)
        return found if isinstance(found, Cell) else Cell(found)


def table(columns: Sequence[Column], entries: Iterable[Any]) -> str:
    """Aligned columns, a line for each entry. In a pipe no name is shortened."""
    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(
            Text(column.title, no_wrap=True),
            justify=column.align,
            no_wrap=not column.may_shrink,
            min_width=max(_LEAST, cell_len(column.title)) if column.may_shrink else None,
        )
    for entry in entries:
        cells = [column.cell(entry) for column in columns]
        drawn.add_row(
            *(
                Text(clean(cell.text), cell.colour, no_wrap=True, overflow="ellipsis")
                for cell in cells
            )
        )
    width = shutil.get_terminal_size().columns if is_terminal() else _WIDEST
    lines = _rendered(drawn, width).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def number(value: float | None, unit: str = "") -> str:
    """A measured number for people: 333,045, 12.34 or 0.00000123; "–" where there is none.

    As on pages nothing that was measured is written as zero: below 0.1 it has three digits.
    """
    if value is None:
        return "–"
    if 0 < abs(value) < 0.1:
        text = f"{value:.3g}" if abs(value) < 1e-9 else f"{Decimal(f'{value:.2e}'):f}"
    else:
        text = f"{value:,.{0 if abs(value) >= 1000 else 2 if abs(value) >= 1 else 4}f}"
    return f"{text} {unit}" if unit else text


quantity, probability = numbers.counted, numbers.probability
size, duration = numbers.size, numbers.duration
"""As on the site's pages: 1 run, 2 runs; 0.034; 1 GiB; 2 h 5 min."""


def percent(value: float | None) -> str:
    """With its sign: +12.3%, −4.0%; 0.0% has none."""
    return "–" if value is None else f"{numbers.signed_percent(value)}%"


def percent_size(value: float) -> str:
    """Without its sign, as on the site's pages: 12.3%."""
    return f"{numbers.percent_size(abs(value), 1)}%"


def delta(value: float | None) -> str:
    """As tables write deltas: by how much slower than the best needs no plus sign."""
    return percent(value).removeprefix("+")


def format_time(text: str | None) -> str:
    """A time of the API to the minute, in UTC as it came."""
    return "–" if not text else clean(f"{text[:10]} {text[11:16]}")


def _printable(text: str) -> str:
    """Lines and our own colours stay; whatever a caller forgot to clean does not."""
    parts = re.split(r"(\n|\x1b\[[0-9]{1,2}m)", text)
    return "".join(part if index % 2 else clean(part) for index, part in enumerate(parts) if part)


def print_line(*lines: str) -> None:
    print(*map(_printable, lines), sep="\n")


def complain(*lines: str) -> None:
    """To standard error, where pipes do not take it for a result."""
    for line in lines:
        print(coloured(_printable(line), "red", sys.stderr), file=sys.stderr)


def note(line: str) -> None:
    """To standard error without colour: what is done, besides the result."""
    print(_printable(line), file=sys.stderr, flush=True)


@contextlib.contextmanager
def readers_may_leave() -> Iterator[None]:
    """Anyone who reads the output may have seen enough of it (``| head``): that is no error, and no
    other exit code.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # At its end Python writes what is left, and would end with 120.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def answer(options: SimpleNamespace, value: Any, *lines: str) -> None:
    """The lines, or with ``--json`` what the API answered."""
    if options.json:
        print_json(value)
    else:
        print_line(*lines)


def show_list(
    options: SimpleNamespace, columns: Sequence[Column], entries: Sequence[Any], nothing: str
) -> None:
    """The entries as a table, or with ``--json`` as the API answered them."""
    if options.json:
        print_json(entries)
    elif entries:
        print_line(table(columns, entries))
    else:
        complain(nothing)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=True))
