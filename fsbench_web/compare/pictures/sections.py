"""Delta tables by test, with the figures that go with them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import plotly.graph_objects as go

from fsbench_web.compare.pictures.table import bar_chart
from fsbench_web.core import numbers
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures import bars

CHOICE_PX = 72  # .plot-choice in the style sheet, with the gap below


@dataclass(frozen=True)
class Section:
    """All tables of one test, worst first. ``slug`` and ``anchors`` are element ids."""

    test: str
    slug: str
    label: str
    tables: list[DeltaTable] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)

    def add(self, table: DeltaTable) -> None:
        """The same test and category in another unit is ranked apart: it gets an id of its own."""
        anchor = f"{self.slug}-{testnames.slug(table.category)}"
        is_taken = anchor in self.anchors
        self.anchors.append(f"{anchor}-{len(self.anchors)}" if is_taken else anchor)
        self.tables.append(table)

    def anchor_of(self, table: DeltaTable) -> str:
        """The element id of one of its tables; "" of another table."""
        pairs = zip(self.tables, self.anchors, strict=True)
        return next((anchor for own, anchor in pairs if own is table), "")

    @property
    def has_runs(self) -> bool:
        """Whether runs stand behind any row, and not only a paper."""
        return any(row.run_ids for table in self.tables for row in table.rows)

    @property
    def has_matrix(self) -> bool:
        """Whether runs of the test fill a matrix of record and file sizes."""
        return any(
            row.run_ids
            for table in self.tables
            if table.category != categories.MEAN
            for row in table.rows
        )

    @property
    def is_wide(self) -> bool:
        """Whether its tables have columns enough for the whole width."""
        return any(table.baseline for table in self.tables)

    @property
    def has_different_cells(self) -> bool:
        return any(table.has_different_cells for table in self.tables)

    @property
    def chart_px(self) -> int:
        """How high its charts will be, with the select box above several of them."""
        highest = max(
            bars.height_px(
                [row.contender for row in table.rows],
                has_ceilings=any(row.share for row in table.rows),
            )
            for table in self.tables
        )
        return highest + (CHOICE_PX if len(self.tables) > 1 else 0)


def sections(
    tables: Iterable[DeltaTable], labels: Mapping[str, str] | None = None
) -> list[Section]:
    """The tables by test, in the order in which they come.

    A paper's ``labels`` of tests come first, in its order; creating and mounting come last.
    """
    by_test: dict[str, Section] = {}
    for table in tables:
        section = by_test.get(table.test)
        if section is None:
            slug, taken = testnames.slug(table.test), {other.slug for other in by_test.values()}
            # Imports may name two tests that differ in punctuation alone.
            slug = f"{slug}-{len(taken)}" if slug in taken else slug
            label = (labels or {}).get(table.test) or testnames.label(table.test)
            section = by_test[table.test] = Section(table.test, slug, label)
        section.add(table)
    if labels is None:
        return list(by_test.values())
    places = {test: place for place, test in enumerate(labels)}
    return sorted(
        by_test.values(),
        key=lambda section: (
            places.get(section.test, len(places)),
            section.test in testnames.CREATION_TESTS,
        ),
    )


def contenders_of(tables: Iterable[DeltaTable]) -> set[str]:
    """Everybody that the tables name: what decides how each looks in charts."""
    return {row.contender for table in tables for row in table.rows}


def charts(
    tables: Iterable[DeltaTable], test: str, among: Collection[str] = ()
) -> dict[str, go.Figure]:
    """A bar chart for each table of ``test``, best first. ``among``: contenders of the page."""
    chosen = [table for table in tables if table.test == test]
    units = {table.unit for table in chosen if table.category == chosen[0].category}
    return {
        table.category_label
        + (f", {numbers.unit_name(table.unit)}" if len(units) > 1 else ""): bar_chart(table, among)
        for table in chosen
    }
