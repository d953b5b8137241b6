"""What all exports share: titles, columns, footnotes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from string import ascii_lowercase
from typing import NamedTuple

from fsbench_web.compare.selection.wording import flag_label, flag_meaning
from fsbench_web.compare.tables.columns import Column, columns_of
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import testnames
from fsbench_web.core.units import SUM

DELTAS = (
    "Delta 1 is (best − x) / best, delta 2 (x − best) / x, in percent; for times both are of the "
    "speeds (1 / time). Rows are worst first unless the comparison says otherwise."
)

UNEXPLAINED = (
    "KB, MB and GB may mean 1,000 or 1,024 bytes here. Compare these scores with no others."
)
DIFFERENT_CELLS = (
    "Scores of this table come from different numbers of data points: they answer different "
    "questions."
)


@dataclass(frozen=True)
class Document:
    """Tables and their origin; ``sha256``: of a permalink's snapshot, "" for a live comparison."""

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


_SHOWN = (
    *("contender", "configuration", "study_title", "n", "score", "printed_score", "printed_unit"),
    *("interval_mean", "interval_half_width", "ceiling", "share_percent"),
    *("delta1_percent", "published_delta1_percent", "delta2_percent", "published_delta2_percent"),
    *("change_percent", "verdict"),
)
_ALWAYS = ("contender", "n", "score", "delta1_percent", "delta2_percent")


def columns(table: DeltaTable) -> list[Column]:
    """The columns that say anything in this table."""
    every = columns_of(table)
    return [every[name] for name in _SHOWN if _says_anything(name, every[name], table)]


def _says_anything(name: str, column: Column, table: DeltaTable) -> bool:
    if name == "study_title":
        return table.has_several_studies
    if name.startswith("published_"):
        return table.has_published_values
    if name == "share_percent":
        return table.has_shares  # one that is unreliable has no number
    nothing = (None, "", uncertainty.NOT_KNOWN)
    return name in _ALWAYS or any(column.value_of(row) not in nothing for row in table.rows)


def remarks(table: DeltaTable) -> list[str]:
    """Sentences about the whole table, before its footnotes."""
    parts = []
    if table.is_unexplained:
        parts.append(UNEXPLAINED)
    if table.has_different_cells:
        parts.append(DIFFERENT_CELLS)
    if table.rows and all(
        uncertainty.verdict_with_effect(row) == uncertainty.NOT_KNOWN for row in table.rows
    ):
        parts.append("No difference was tested for significance.")
    if any(row.interval is not None for row in table.rows):
        parts.append("± 95% is the half-width of the Student-t interval around the mean.")
    kinds = dict.fromkeys(row.share.of for row in table.rows if row.share)
    if kinds:
        parts.append(
            f"The LUN itself: what it did without a file system, in the same rounds: "
            f"{'; '.join(kinds)}. Of the LUN is the score in percent of that, of speed."
        )
    return parts


@dataclass(frozen=True)
class Footnote:
    """A flag of a table: its letter, its name, and what it means."""

    mark: str
    flag: str
    label: str
    sentence: str


def footnotes(table: DeltaTable) -> list[Footnote]:
    flags = list(dict.fromkeys(flag for row in table.rows for flag in row.flags))
    return [
        Footnote(_letter(place), flag, flag_label(flag), flag_meaning(flag))
        for place, flag in enumerate(flags)
    ]


class WrittenRow(NamedTuple):
    """A row with its mark (*best*), and the letters of its flags."""

    row: DeltaRow
    mark: str
    letters: list[str]


class WrittenTable(NamedTuple):
    """A table as files and reports write it. ``lines``: its footnotes as lines of text."""

    title: str
    unit: str
    columns: list[Column]
    rows: list[WrittenRow]
    remarks: list[str]
    footnotes: list[Footnote]
    lines: list[str]


def written(table: DeltaTable) -> WrittenTable:
    """What every writer says of a table."""
    notes = footnotes(table)
    return WrittenTable(
        table_title(table),
        unit_line(table),
        columns(table),
        [
            WrittenRow(
                row, table.mark_of(row), [note.mark for note in notes if note.flag in row.flags]
            )
            for row in table.rows
        ],
        remarks(table),
        notes,
        [f"({note.mark}) {note.label}: {note.sentence}" for note in notes],
    )


def table_title(table: DeltaTable) -> str:
    """``Random read: total average``."""
    return f"{testnames.label(table.test)}: {table.category_in_sentence}"


def unit_line(table: DeltaTable, *, is_stored: bool = False) -> str:
    """``KB/s, more is better``: the unit of the columns' ``text``, stored that of their ``of``."""
    unit = table.unit if is_stored else table.scale.unit
    unit = "sum of the six categories" if unit == SUM else unit or "no unit"
    unit += table.unit_remark
    if table.rows and not table.is_ranked:
        return f"{unit}, not ranked"
    return f"{unit}, {'less' if table.lower_is_better else 'more'} is better"


def one_line(text: str, limit: int = 2000) -> str:
    """Text without line breaks and control characters; what is cut ends in an ellipsis."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _letter(place: int) -> str:
    rest, last = divmod(place, len(ascii_lowercase))
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]
