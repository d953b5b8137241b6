"""Throughput and latency over queue depth, one above the other."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from fsbench_web.compare.pictures.base import Picture, PictureKind, Select, scale_select
from fsbench_web.compare.pictures.drawable import SCORES, DrawableTests, Need, ScoredTests, tables
from fsbench_web.compare.pictures.parts import (
    ends_of,
    interval_cells,
    interval_columns,
    link_of,
    links_of,
    load_column,
)
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import categories, loads, testnames
from fsbench_web.figures import panels
from fsbench_web.figures.lines import MOST_LINES, Line, Point
from fsbench_web.figures.panels import Panel

Place = tuple[float, str]
"""A queue depth, and the rest of the load in words."""


def depth_of(test: str) -> Place | None:
    """The queue depth of a test, None where its load names none."""
    load = testnames.parts(test)[1]
    for name in loads.DEPTHS:
        number, rest = loads.split(load, name)
        if number is not None:
            return number, rest
    return None


def work_of(test: str) -> tuple[str, str]:
    """(work, "rate" or "latency") of a test: ``randread_iops`` and ``randread_clat_mean`` are of
    ``randread``; "" for what is neither."""
    name = testnames.parts(test)[0]
    latency = testnames.latency_of(test)
    if latency:
        is_mean = name == f"{latency}_mean"
        return (latency.rpartition("_")[0], "latency") if is_mean else ("", "")
    for ending in ("_bw", "_iops"):
        if name.endswith(ending):
            return name.removesuffix(ending), "rate"
    return name, "rate"


def _works(scored: ScoredTests) -> list[str]:
    """A test of each work that has a rate and a latency at two queue depths or more."""
    by_work: dict[tuple[str, str], dict[str, list[tuple[str, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for test in scored:
        depth = depth_of(test)
        work, kind = work_of(test)
        if depth and work:
            by_work[work, depth[1]][kind].append((test, depth[0]))
    return [
        kinds["rate"][0][0]
        for kinds in by_work.values()
        if all(len({depth for _, depth in kinds[kind]}) > 1 for kind in ("rate", "latency"))
    ]


class QueueDepth(PictureKind):
    slug = "queue"
    label = "Queue depth"
    words = "What a deeper queue brings, and what it costs: throughput above latency."
    needs = Need(
        _works,
        "No test of this comparison has a rate and a mean latency at two queue depths, as fio "
        "prints them at iodepth=1 and iodepth=16.",
    )

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        depth = depth_of(test)
        self.work, self.rest = work_of(test)[0], depth[1] if depth else ""
        wanted = [other for other in offer.of(SCORES) if self._is_of_it(other)]
        self.tables, emulated = tables(spec, wanted, categories.MEAN)
        self.notices += [emulated] if emulated else []

    def _is_of_it(self, test: str) -> bool:
        depth = depth_of(test)
        return work_of(test)[0] == self.work and depth is not None and depth[1] == self.rest

    @staticmethod
    def label_of(test: str) -> str:
        depth = depth_of(test)
        label = testnames.label(work_of(test)[0])
        return f"{label}, {depth[1]}" if depth and depth[1] else label

    @property
    def selects(self) -> Sequence[Select]:
        return [scale_select(self.spec)]

    def draw(self) -> Picture:
        """One panel for each test without its load, rates above latencies."""
        by_name: dict[str, list[DeltaTable]] = defaultdict(list)
        for table in self.tables:
            by_name[testnames.parts(table.test)[0]].append(table)
        names = sorted(by_name, key=lambda name: (work_of(name)[1] != "rate", name))
        counts = Counter(row.contender for table in self.tables for row in table.rows)
        every = sorted(counts, key=lambda name: (-counts[name], name))
        chosen = set(every[:MOST_LINES])
        drawn, rows = [], []
        for name in names:
            [(unit, _)] = Counter(table.unit for table in by_name[name]).most_common(1)
            of_unit = [table for table in by_name[name] if table.unit == unit]
            points = _points(of_unit, chosen)
            label = testnames.label(name)
            drawn.append(
                Panel(
                    label.removeprefix(f"{testnames.label(self.work)}, ").capitalize(),
                    unit,
                    of_unit[0].lower_is_better,
                    [
                        Line(
                            contender,
                            [_point(depth, row) for depth, row in sorted(by_depth.items())],
                        )
                        for contender, by_depth in points.items()
                    ],
                )
            )
            rows += _rows(label, unit, points)
        if not drawn:
            return Picture(None, notes=["No contender has numbers at several queue depths."])
        title = f"{self.label_of(self.test)} over queue depth"
        figure = panels.stacked(drawn, loads.QUEUE_DEPTH, title, among=every, scale=self.spec.scale)
        columns = [
            *(Column("Contender"), Column("Test"), load_column("iodepth")),
            *(Column("Value", VALUE), Column("Unit"), *interval_columns("")),
        ]
        more = len(every) - len(chosen)
        notes = [f"{more} further contenders are not drawn: choose fewer."] if more > 0 else []
        return Picture(figure, PictureTable(columns, rows), notes, more)


Points = dict[str, dict[float, DeltaRow]]


def _points(of_unit: Iterable[DeltaTable], chosen: set[str]) -> Points:
    points: Points = {}
    for table in of_unit:
        depth = depth_of(table.test)
        for row in table.rows if depth else ():
            if row.contender in chosen and depth:
                points.setdefault(row.contender, {})[depth[0]] = row
    return dict(sorted(points.items()))


def _point(depth: float, row: DeltaRow) -> Point:
    return Point(depth, row.score, ends_of(row), row.configuration or "", link_of(row))


def _rows(label: str, unit: str, points: Points) -> list[Row]:
    return [
        Row(
            (contender, label, depth, row.score, unit, *interval_cells(row.interval)), links_of(row)
        )
        for contender, by_depth in points.items()
        for depth, row in sorted(by_depth.items())
    ]
