"""The matrix of a comparison: tests by entries, speed relative to the baseline. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fsbench_web.core.comparison.answer import ComparisonAnswer
from fsbench_web.core.comparison.headlines import counted_tables
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable, shown_names
from fsbench_web.core.comparison.significance import family_of, verdict_of_pair
from fsbench_web.core.scoring import testnames
from fsbench_web.core.stats.verdicts import SIGNIFICANT, Family

MOST_ROWS, MOST_ENTRIES = 40, 12
CLEAR = 1.1
"""From this ratio on a cell has the stronger colour."""


class Cell(NamedTuple):
    """One score. ``ratio``: its speed relative to the baseline's, None for the baseline itself."""

    score: str
    unit: str
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    is_significant: bool = False
    is_baseline: bool = False

    @property
    def change(self) -> str:
        """``+8%``, ``−12%``, ``≈ +0.6%`` where it is not significant."""
        if self.ratio is None:
            return ""
        percent = 100 * (self.ratio - 1)
        size = abs(percent)
        digits = 0 if size >= 3 else 1
        sign = "+" if percent >= 0 else "−"
        text = f"{self.ratio:,.1f}×" if self.ratio >= 3 else f"{sign}{size:.{digits}f}%"
        return text if self.is_significant else f"≈ {text}"

    @property
    def shade(self) -> str:
        """The colour: u1 and u2 for faster, d1 and d2 for slower, "" where nothing is proven."""
        if self.ratio is None or not self.is_significant:
            return ""
        size = max(self.ratio, 1 / self.ratio)
        return ("u" if self.ratio > 1 else "d") + ("2" if size >= CLEAR else "1")


class MatrixRow(NamedTuple):
    """A test; a cell is None where an entry has no score."""

    test: str
    label: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Matrix:
    """``entries``: as people read them. ``groups``: (workload, its rows).

    ``hidden_rows``, ``hidden_entries``: beyond the limits.
    """

    entries: tuple[str, ...]
    baseline: str
    groups: tuple[tuple[str, tuple[MatrixRow, ...]], ...]
    hidden_rows: int = 0
    hidden_entries: int = 0


def matrix_of(tables: Sequence[DeltaTable], found: ComparisonAnswer) -> Matrix | None:
    """The matrix of the tests that count, baseline first; None for fewer than two entries."""
    if not found.workloads:
        return None
    order = dict.fromkeys(
        [found.baseline, *(name for work in found.workloads for name in work.answer.entries)]
    )
    entries = tuple(order)[:MOST_ENTRIES]
    counted = counted_tables(tables)
    shown = counted[:MOST_ROWS]
    family = family_of(counted)
    groups: dict[str, list[MatrixRow]] = {}
    for table in shown:
        rows = {row.contender: row for row in table.rows}
        workloads = {row.workload or "" for row in table.rows}
        base = rows.get(found.baseline)
        cells = tuple(_cell(table, rows.get(name), base, family) for name in entries)
        workload = workloads.pop() if len(workloads) == 1 else ""
        groups.setdefault(workload, []).append(
            MatrixRow(table.test, testnames.label(table.test), cells)
        )
    names = shown_names(order)
    return Matrix(
        tuple(names[entry] for entry in entries),
        names[found.baseline],
        tuple((workload, tuple(group)) for workload, group in groups.items()),
        max(0, len(counted) - MOST_ROWS),
        max(0, len(order) - MOST_ENTRIES),
    )


def _cell(
    table: DeltaTable, row: DeltaRow | None, base: DeltaRow | None, family: Family
) -> Cell | None:
    if row is None:
        return None
    score = table.amount(row.score, row.shown_half_width)
    unit = table.scale.unit
    if row is base:
        return Cell(score, unit, is_baseline=True)
    if base is None or min(row.score, base.score) <= 0:
        return Cell(score, unit)
    verdict = verdict_of_pair(table, row, base, family)
    if verdict is not None and verdict.ratio is not None:
        is_significant = verdict.status == SIGNIFICANT
        ends = verdict.ratio_low, verdict.ratio_high
        return Cell(score, unit, verdict.ratio, *ends, is_significant=is_significant)
    ratio = row.score / base.score
    return Cell(score, unit, 1 / ratio if table.lower_is_better else ratio)
