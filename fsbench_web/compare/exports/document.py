"""What every export has in common: what is written, in which columns, with which footnotes. Pure.

A writer takes a ``Document`` and gives bytes. Machines get numbers unrounded; papers and wikis get
them as pages show them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from string import ascii_lowercase
from typing import Literal

from fsbench_web.compare.drawings.charts import axis_words
from fsbench_web.compare.selection.wording import flag_label, flag_meaning
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.core import numbers

Value = str | float | int | Decimal | None
DELTAS = (
    "Delta 1 is (best − x) / best, delta 2 (x − best) / x, in percent; for times both are of the "
    "speeds (1 / time). Rows are worst first unless the comparison says otherwise."
)

UNEXPLAINED = (
    "Nobody said whether KB, MB and GB are of 1,000 or of 1,024 bytes here: these scores stand by "
    "themselves, as printed."
)
DIFFERENT_CELLS = (
    "Scores of this table are made of different numbers of data points: they are answers to "
    "different questions."
)


@dataclass(frozen=True)
class Document:
    """Tables with where they come from. ``address`` is absolute, ``as_of`` when they were so.

    ``sha256`` is that of a permalink's snapshot, empty for a live comparison.
    """

    title: str
    description: str
    address: str
    as_of: datetime
    tables: Sequence[DeltaTable]
    sha256: str = ""

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What stands above the tables, in words."""
        facts = [
            ("Shows", self.description),
            ("Address", self.address),
            ("As of", f"{self.as_of:%Y-%m-%d %H:%M %Z}".strip()),
        ]
        if self.sha256:
            facts.append(("SHA-256 of the pinned snapshot", self.sha256))
        return [*facts, ("Deltas", DELTAS)]


@dataclass(frozen=True)
class Column:
    """One column of a table: ``value_of`` is the value, in the unit in which it is stored; ``text``
    the same as people read it, in that of the table's ``scale``.
    """

    heading: str
    kind: Literal["text", "number"]
    value_of: Callable[[DeltaRow], Value]
    text: Callable[[DeltaRow], str]


def columns(table: DeltaTable) -> list[Column]:
    """The columns that have anything in this table."""
    rows = table.rows
    table_columns = [
        _text("Contender", lambda row: row.contender),
    ]
    if any(row.configuration for row in rows):
        table_columns.append(_text("Configuration", lambda row: row.configuration))
    if table.has_several_studies:
        table_columns.append(_text("Study", lambda row: row.study_title))
    table_columns += [
        Column("n", "number", lambda row: row.runs, lambda row: _plain(row.runs)),
        Column(
            *("Score", "number", lambda row: row.score),
            lambda row: table.amount(row.score, _half_width(row)),
        ),
    ]
    if table.has_printed_units:
        table_columns += [
            Column(
                *("As printed", "number", lambda row: row.printed_score),
                lambda row: _plain(row.printed_score),
            ),
            _text("Printed in", lambda row: row.printed_unit),
        ]
    if any(row.interval is not None for row in rows):
        table_columns += [
            Column("Mean", "number", _mean, lambda row: table.amount(_mean(row), _half_width(row))),
            Column(
                *("± 95%", "number", _half_width),
                lambda row: table.amount(_half_width(row), _half_width(row)),
            ),
        ]
    if table.has_shares:
        table_columns += [
            Column("The LUN itself", "number", _ceiling, lambda row: table.amount(_ceiling(row))),
            Column(
                "Of the LUN, %",
                "number",
                lambda row: row.share.shown_percent if row.share else None,
                lambda row: (
                    row.share.percent_words.removesuffix("%") if row.share else numbers.MISSING
                ),
            ),
        ]
    table_columns.append(_percent("Delta 1, %", lambda row: row.delta1_percent))
    if table.has_published_values:
        table_columns.append(
            _printed(
                "Delta 1 printed, %",
                lambda row: row.published.delta1_percent if row.published else None,
            )
        )
    table_columns.append(_percent("Delta 2, %", lambda row: row.delta2_percent))
    if table.has_published_values:
        table_columns.append(
            _printed(
                "Delta 2 printed, %",
                lambda row: row.published.delta2_percent if row.published else None,
            )
        )
    if any(row.change_percent is not None for row in rows):
        table_columns.append(_percent("Against the baseline, %", lambda row: row.change_percent))
    if any(_verdict(row) not in (None, uncertainty.NOT_KNOWN) for row in rows):
        table_columns.append(_text("Difference", _verdict))
    return table_columns


def remarks(table: DeltaTable) -> list[str]:
    """What is said of the whole table beside its footnotes, as sentences."""
    parts = []
    if table.is_unexplained:
        parts.append(UNEXPLAINED)
    if table.has_different_cells:
        parts.append(DIFFERENT_CELLS)
    if table.rows and all(_verdict(row) == uncertainty.NOT_KNOWN for row in table.rows):
        parts.append("Whether any difference is more than chance is not known.")
    if any(row.interval is not None for row in table.rows):
        parts.append("± 95% is the half-width of the Student-t interval around the mean.")
    kinds = dict.fromkeys(row.share.of for row in table.rows if row.share)
    if kinds:
        parts.append(
            f"The LUN itself: what it did without a file system, in the same blocks: "
            f"{'; '.join(kinds)}. Of the LUN is the score in percent of that, of speed."
        )
    return parts


def _mean(row: DeltaRow) -> float | None:
    return row.interval.mean if row.interval else None


def _half_width(row: DeltaRow) -> float | None:
    return row.interval.half_width if row.interval else None


def _ceiling(row: DeltaRow) -> float | None:
    return row.share.ceiling if row.share else None


def _verdict(row: DeltaRow) -> str | None:
    return uncertainty.verdict_with_effect(row) or None


@dataclass(frozen=True)
class Footnote:
    """A flag of a table: its letter, its name, and what it means."""

    mark: str
    flag: str
    label: str
    sentence: str


def footnotes(table: DeltaTable) -> list[Footnote]:
    """The flags of a table in the order in which they come, lettered."""
    flags = list(dict.fromkeys(flag for row in table.rows for flag in row.flags))
    return [
        Footnote(_letter(place), flag, flag_label(flag), flag_meaning(flag))
        for place, flag in enumerate(flags)
    ]


def marks(row: DeltaRow, notes: Iterable[Footnote]) -> list[str]:
    """The letters of a row's flags."""
    return [note.mark for note in notes if note.flag in row.flags]


def unit_line(table: DeltaTable) -> str:
    """``KB/s, more is better``; the unit is that of the columns' ``text``."""
    return axis_words(table)


def stored_unit_line(table: DeltaTable) -> str:
    """The same with the unit of what the columns' ``of`` gives."""
    return axis_words(table, is_stored=True)


def one_line(text: str, limit: int = 2000) -> str:
    """Text without line breaks and control characters; what is cut ends in an ellipsis."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _letter(place: int) -> str:
    rest, last = divmod(place, len(ascii_lowercase))
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]


def _text(heading: str, value_of: Callable[[DeltaRow], str | None]) -> Column:
    return Column(heading, "text", value_of, lambda row: value_of(row) or numbers.MISSING)


def _percent(heading: str, value_of: Callable[[DeltaRow], float | None]) -> Column:
    return Column(heading, "number", value_of, lambda row: numbers.percent(value_of(row)))


def _printed(heading: str, value_of: Callable[[DeltaRow], Decimal | None]) -> Column:
    return Column(heading, "number", value_of, lambda row: _plain(value_of(row)))


def _plain(value: object) -> str:
    return numbers.MISSING if value is None else str(value)
