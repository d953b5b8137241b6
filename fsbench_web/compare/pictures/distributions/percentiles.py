"""Percentiles of a latency, each further nine with the same room."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import ClassVar

import plotly.graph_objects as go

from fsbench_web.compare.pictures.base import Picture, PictureKind, Select, scale_select
from fsbench_web.compare.pictures.drawable import SCORES, DrawableTests, Need, ScoredTests, tables
from fsbench_web.compare.pictures.parts import (
    ends_of,
    interval_cells,
    interval_columns,
    link_of,
    links_of,
)
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaRow
from fsbench_web.core.scoring import categories, loads, testnames
from fsbench_web.figures import shares
from fsbench_web.figures.lines import MOST_LINES
from fsbench_web.figures.shares import ShareAt, Shares

LEAST = 3
"""Fewer percentiles are no distribution."""


def _latencies(scored: ScoredTests) -> list[str]:
    """The first percentile of each latency at each load that has several."""
    by_latency: dict[tuple[str, str], list[str]] = defaultdict(list)
    for test in scored:
        if testnames.percentile_of(test) is not None:
            by_latency[testnames.latency_of(test), testnames.parts(test)[1]].append(test)
    return [tests[0] for tests in by_latency.values() if len(tests) >= LEAST]


class Percentiles(PictureKind):
    slug = "percentiles"
    label = "Percentiles"
    words = "How long the slowest took: each further nine of the axis has the same room."
    needs = Need(
        _latencies,
        "No test of this comparison has three percentiles of a latency, as fio prints them.",
    )
    figure_of: ClassVar[Callable[..., go.Figure]] = staticmethod(shares.percentiles)

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        latency, load = testnames.latency_of(test), testnames.parts(test)[1]
        wanted = [
            other
            for other in offer.of(SCORES)
            if testnames.percentile_of(other) is not None
            and testnames.latency_of(other) == latency
            and testnames.parts(other)[1] == load
        ]
        self.tables, emulated = tables(spec, wanted, categories.MEAN)
        self.notices += [emulated] if emulated else []

    @staticmethod
    def label_of(test: str) -> str:
        load = testnames.parts(test)[1]
        label = testnames.label_of_latency(testnames.latency_of(test))
        return f"{label} at {loads.words(load)}" if load else label

    @property
    def selects(self) -> Sequence[Select]:
        return [scale_select(self.spec)]

    def draw(self) -> Picture:
        """A line a contender, the best in the middle first."""
        by_contender: dict[str, dict[float, DeltaRow]] = defaultdict(dict)
        units = Counter(table.unit for table in self.tables)
        if not units:
            return Picture(None, notes=["No contender has percentiles of this latency."])
        [(unit, _)] = units.most_common(1)
        for table in self.tables:
            share = testnames.percentile_of(table.test)
            if share is not None and table.unit == unit:
                for row in table.rows:
                    by_contender[row.contender][share / 100] = row
        ranked = sorted(
            by_contender,
            key=lambda name: (-len(by_contender[name]), _middle(by_contender[name]), name),
        )
        drawn = {name: by_contender[name] for name in sorted(ranked[:MOST_LINES])}
        figure = type(self).figure_of(
            [
                Shares(
                    name,
                    [
                        ShareAt(row.score, share, ends_of(row), link_of(row))
                        for share, row in rows.items()
                    ],
                )
                for name, rows in drawn.items()
            ],
            unit,
            self.label_of(self.test),
            among=by_contender,
            scale=self.spec.scale,
        )
        more = len(by_contender) - len(drawn)
        notes = [f"{more} further contenders are not drawn: choose fewer."] if more else []
        return Picture(figure, _table(drawn, unit), notes, more)


def _middle(rows: dict[float, DeltaRow]) -> float:
    return rows[sorted(rows)[len(rows) // 2]].score


def _table(drawn: dict[str, dict[float, DeltaRow]], unit: str) -> PictureTable:
    columns = [
        Column("Contender"),
        Column("Percentile"),
        Column("Value", VALUE, unit),
        *interval_columns(unit),
    ]
    rows = [
        Row((name, shares.percent(share), row.score, *interval_cells(row.interval)), links_of(row))
        for name, of_one in drawn.items()
        for share, row in sorted(of_one.items())
    ]
    return PictureTable(columns, rows)
