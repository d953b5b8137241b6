"""The matrix of a comparison: tests as rows, entries as columns, speed relative to the baseline.

A cell is marked where its difference is significant at a false discovery rate of 5% over all cells
shown. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fsbench_web.compare.answer import ComparisonAnswer, compared_test, counted_tables
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import testnames
from fsbench_web.core.stats.answers import discoveries, ratio_over_tests
from fsbench_web.core.stats.verdicts import EQUIVALENT, RatioVerdict

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
    """``groups``: (workload, its rows). ``hidden_rows``, ``hidden_entries``: beyond the limits."""

    entries: tuple[str, ...]
    baseline: str
    groups: tuple[tuple[str, tuple[MatrixRow, ...]], ...]
    hidden_rows: int = 0
    hidden_entries: int = 0


def matrix_of(tables: Sequence[DeltaTable], found: ComparisonAnswer) -> Matrix | None:
    """The matrix of the tests that count; None for fewer than two entries.

    The baseline comes first, then the other entries as the answer orders them.
    """
    if not found.workloads:
        return None
    order = dict.fromkeys(
        [found.baseline, *(name for work in found.workloads for name in work.answer.entries)]
    )
    entries = tuple(order)[:MOST_ENTRIES]
    counted = counted_tables(tables)
    shown = counted[:MOST_ROWS]
    verdicts = {
        (table.test, name): verdict
        for table in shown
        for name in entries
        for verdict in [_verdict(table, name, found.baseline)]
        if verdict is not None
    }
    judged = [key for key, verdict in verdicts.items() if verdict.status != EQUIVALENT]
    marks = discoveries([verdicts[key].p_value for key in judged])
    significant = {key for key, is_found in zip(judged, marks, strict=True) if is_found}
    groups: dict[str, list[MatrixRow]] = {}
    for table in shown:
        rows = {row.contender: row for row in table.rows}
        workloads = {row.workload or "" for row in table.rows}
        cells = tuple(
            _cell(
                table,
                rows.get(name),
                rows.get(found.baseline),
                verdicts.get((table.test, name)),
                is_significant=(table.test, name) in significant,
            )
            for name in entries
        )
        workload = workloads.pop() if len(workloads) == 1 else ""
        groups.setdefault(workload, []).append(
            MatrixRow(table.test, testnames.label(table.test), cells)
        )
    return Matrix(
        entries,
        found.baseline,
        tuple((workload, tuple(group)) for workload, group in groups.items()),
        max(0, len(counted) - MOST_ROWS),
        max(0, len(order) - MOST_ENTRIES),
    )


def _verdict(table: DeltaTable, name: str, baseline: str) -> RatioVerdict | None:
    test = compared_test(table)
    if name == baseline or name not in test.entries or baseline not in test.entries:
        return None
    if min(test.entries[name].score, test.entries[baseline].score) <= 0:
        return None
    return ratio_over_tests([test], name, baseline)


def _cell(
    table: DeltaTable,
    row: DeltaRow | None,
    base: DeltaRow | None,
    verdict: RatioVerdict | None,
    *,
    is_significant: bool,
) -> Cell | None:
    if row is None:
        return None
    score = table.amount(row.score, row.interval.half_width if row.interval else None)
    unit = table.scale.unit
    if row is base:
        return Cell(score, unit, is_baseline=True)
    if verdict is not None:
        return Cell(score, unit, verdict.ratio, verdict.low, verdict.high, is_significant)
    if base is None or min(row.score, base.score) <= 0:
        return Cell(score, unit)
    ratio = row.score / base.score
    return Cell(score, unit, 1 / ratio if table.lower_is_better else ratio)
