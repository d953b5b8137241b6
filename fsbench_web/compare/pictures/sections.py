"""Delta tables by test, with the figures that go with them."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import plotly.graph_objects as go

from fsbench_web.compare.pictures.parts import bars_of
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.shown_rows import in_order
from fsbench_web.core import numbers
from fsbench_web.core.scoring import testnames
from fsbench_web.figures import bars
from fsbench_web.figures.ceilings import extra_px
from fsbench_web.figures.frame import ROW_PX, bar_chart_px

CHOICE_PX = 72  # .plot-choice in the style sheet, with the gap below


@dataclass(frozen=True)
class Section:
    """All tables of one test."""

    test: str
    label: str
    tables: list[DeltaTable]

    @property
    def slug(self) -> str:
        """For element ids."""
        return testnames.slug(self.test)

    @property
    def has_runs(self) -> bool:
        """Whether runs stand behind any row, and not only a paper."""
        return any(row.run_ids for table in self.tables for row in table.rows)

    @property
    def is_wide(self) -> bool:
        """Whether its tables have columns enough for the whole width."""
        return any(table.baseline for table in self.tables)

    @property
    def has_different_cells(self) -> bool:
        return any(table.has_different_cells for table in self.tables)

    @property
    def chart_px(self) -> int:
        """The room that a page keeps for its charts."""
        return charts_px(self.tables)


def sections(tables: Iterable[DeltaTable], sort: str = "") -> list[Section]:
    """The tables, which come in order, one section a test; their rows as ``sort`` says."""
    return [
        Section(test, testnames.label(test), [in_order(table, sort) for table in group])
        for test, group in groupby(tables, key=lambda table: table.test)
    ]


def charts_px(
    tables: Collection[DeltaTable],
    row_px: int = ROW_PX,
    name_of: Callable[[DeltaRow], str] = attrgetter("contender"),
) -> int:
    """How high the charts of the tables will be, with the select box above several of them.

    ``name_of`` a row is its label in the chart.
    """
    highest = max(
        bar_chart_px(len(table.rows), bars.row_height_px(list(map(name_of, table.rows)), row_px))
        + extra_px([row.share.ceiling if row.share else None for row in table.rows])
        for table in tables
    )
    return highest + (CHOICE_PX if len(tables) > 1 else 0)


def contenders_of(tables: Iterable[DeltaTable]) -> set[str]:
    """Everybody that the tables name: what decides how each looks in charts."""
    return {row.contender for table in tables for row in table.rows}


def charts(
    tables: Iterable[DeltaTable], test: str, among: Collection[str] = ()
) -> dict[str, go.Figure]:
    """A bar chart for each table of ``test``, best first, by what to call it.

    ``among`` are all contenders of the page that the charts are for.
    """
    chosen = [table for table in tables if table.test == test]
    units = {table.unit for table in chosen if table.category == chosen[0].category}
    return {
        table.category_label
        + (f", {numbers.unit_name(table.unit)}" if len(units) > 1 else ""): _chart(table, among)
        for table in chosen
    }


def _chart(table: DeltaTable, among: Collection[str]) -> go.Figure:
    rows = table.rows[::-1]
    return bars.best_case(
        [row.contender for row in rows],
        title=f"{testnames.label(table.test)}: {table.category_in_sentence}",
        among=among,
        **bars_of(table),
    )
