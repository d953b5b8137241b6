"""The tables of a study by test, each with its charts and its winners."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import plotly.graph_objects as go

from fsbench_web.compare.pictures.parts import bars_of
from fsbench_web.compare.pictures.sections import charts_px
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures import bars, palette
from fsbench_web.figures.frame import ROW_PX
from fsbench_web.studies.runs.listing import address_of

TWO_TABLES_ROW_PX = 42
"""With several categories the chart stands beside two tables, and is as high as both."""


@dataclass(frozen=True)
class Winner:
    """One cell of the overview: who is best, and by how much percent faster than the next.

    ``series`` is the number of the winner's colour in the charts; None for a tie. ``standing``
    says in words whether the margin is more than chance, empty where nobody can know.
    """

    anchor: str
    names: tuple[str, ...]
    margin_percent: float | None
    series: int | None = None
    standing: str = ""


@dataclass(frozen=True)
class ShownTable:
    """A delta table with its place on the page; ``flags`` are those that all its rows have."""

    anchor: str
    category: str
    table: DeltaTable
    flags: tuple[str, ...]


@dataclass(frozen=True)
class TestGroup:
    """All tables of one test, a chart for each category, and its line of the overview.

    ``looks`` are those of all contenders of the page: in every chart of it each has the same.
    """

    __test__ = False  # not a test of pytest's

    test: str
    slug: str
    label: str
    tables: list[ShownTable] = field(default_factory=list)
    winners: dict[str, Winner] = field(default_factory=dict)
    looks: Mapping[str, palette.Style] = field(default_factory=dict)

    @cached_property
    def charts(self) -> dict[str, go.Figure]:
        """Made when they are asked for: most pages show none of most tests."""
        return {shown_table.category: self._chart(shown_table) for shown_table in self.tables}

    @property
    def chart_px(self) -> int:
        """The room that a page keeps for its charts."""
        row_px = ROW_PX if self.is_single else TWO_TABLES_ROW_PX
        return charts_px([shown.table for shown in self.tables], row_px, _shown_name)

    def _chart(self, shown_table: ShownTable) -> go.Figure:
        table, is_mean = shown_table.table, shown_table.table.category == categories.MEAN
        rows = table.rows[::-1]
        return bars.best_case(
            [_shown_name(row) for row in rows],
            title=self.label
            if is_mean
            else f"{self.label}: {categories.in_sentence(shown_table.category)}",
            row_px=ROW_PX if is_mean else TWO_TABLES_ROW_PX,
            among=self.looks,
            **bars_of(table) | {"links": [address_of(row.run_ids) for row in rows]},
        )

    @property
    def is_single(self) -> bool:
        """Whether the test gives one value a run and has no other category than the mean."""
        return set(self.winners) <= {categories.MEAN}

    @property
    def has_matrix(self) -> bool:
        """Whether runs of the test fill a matrix of record and file sizes."""
        return any(
            row.run_ids
            for shown_table in self.tables
            if shown_table.table.category != categories.MEAN
            for row in shown_table.table.rows
        )


def test_groups(tables: Sequence[DeltaTable], labels: Mapping[str, str]) -> list[TestGroup]:
    """The tables by test, in the order of ``labels`` where it has the test, else as they come."""
    places = {test: place for place, test in enumerate(labels)}
    looks = palette.assigned(row.contender for table in tables for row in table.rows)
    groups: dict[str, TestGroup] = {}
    for table in tables:
        label = labels.get(table.test) or testnames.label(table.test)
        group = groups.get(table.test)
        if group is None:
            slug = _free_slug(table.test, groups.values())
            group = TestGroup(table.test, slug, label, looks=looks)
            groups[table.test] = group
        category = table.category_label
        anchor = f"{group.slug}-{testnames.slug(table.category)}"
        if any(shown_table.anchor == anchor for shown_table in group.tables):
            # The same test in another unit: ranked apart.
            anchor, category = (
                f"{anchor}-{len(group.tables)}",
                f"{category}, {numbers.unit_name(table.unit)}",
            )
        group.tables.append(ShownTable(anchor, category, table, table.common_flags))
        group.winners[table.category] = _winner(anchor, table, looks)
    # What the paper lists first, as it lists it; creating and mounting, which are no work, last.
    return sorted(
        groups.values(),
        key=lambda group: (
            places.get(group.test, len(places)),
            group.test in testnames.CREATION_TESTS,
        ),
    )


def _free_slug(test: str, groups: Iterable[TestGroup]) -> str:
    """An element id for the test; imports may name two tests that differ in punctuation alone."""
    slug, taken = testnames.slug(test), {group.slug for group in groups}
    return slug if slug not in taken else f"{slug}-{len(taken)}"


def _winner(anchor: str, table: DeltaTable, looks: Mapping[str, palette.Style]) -> Winner:
    names = tuple(row.contender for row in table.rows if row.best)
    # Worst first: the last row that is not best is the runner-up.
    second = next((row for row in reversed(table.rows) if not row.best), None)
    is_leading = any(table.mark_of(row) in ("leading", "tied") for row in table.rows)
    # A difference that may be chance is none to be told.
    is_open = second is None or len(names) > 1 or is_leading
    margin = None if second is None or is_open else second.delta2_percent
    series = looks[names[0]].series if len(names) == 1 else None
    standing = next((uncertainty.verdict_words(row) for row in table.rows if row.best), "")
    if names and len(table.rows) == 1:
        return Winner(anchor, names, None, series, "the only one")
    return Winner(
        anchor,
        names,
        None if margin is None else -margin,
        series,
        standing if len(names) == 1 and (is_leading or uncertainty.has_standing(table)) else "",
    )


def _shown_name(row: DeltaRow) -> str:
    if row.configuration is None or row.configuration == row.contender:
        return row.contender
    return row.configuration if row.configuration.startswith(row.contender) else row.contender
