"""Latencies of several contenders: as a tool printed them, as they were kept, and over a test."""

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import plotly.graph_objects as go

from fsbench_web.compare.pictures.base import Picture, PictureKind, Select, scale_select
from fsbench_web.compare.pictures.contender_pictures import SeveralContendersPicture
from fsbench_web.compare.pictures.drawable import (
    SCORES,
    DrawableTests,
    Need,
    ScoredTests,
    is_measured,
    tables,
)
from fsbench_web.compare.pictures.parts import (
    ends_of,
    interval_cells,
    interval_columns,
    link_of,
    links_of,
    run_links,
)
from fsbench_web.compare.pictures.spec import LARGEST, PERCENTS, PictureSpec
from fsbench_web.compare.pictures.table import COUNT, VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaRow
from fsbench_web.core.latency import TAILS, Distribution
from fsbench_web.core.latency_over_time import PERCENTS as KEPT
from fsbench_web.core.latency_over_time import LatencySeries
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.core.scoring import categories, loads, testnames
from fsbench_web.figures import shares
from fsbench_web.figures.activity import latency_over_time
from fsbench_web.figures.lines import MOST_LINES
from fsbench_web.figures.shares import ShareAt, Shares
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.runs.listing import address_of

LEAST = 3
"""Fewer percentiles are no distribution."""
_STANDS_FOR_ALL = ("lat_mean", "clat_hist_p50")
Kept = TypeVar("Kept", Distribution, LatencySeries)
Source = TypeVar("Source", list[int], int)


def label_of_latency(test: str) -> str:
    """The latency that a test is of, with its load."""
    name, load = testnames.parts(test)
    label = testnames.label_of_latency(testnames.latency_of(name))
    return f"{label} at {loads.words(load)}" if load else label


def _with_percentiles(scored: ScoredTests) -> list[str]:
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
        _with_percentiles,
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

    label_of = staticmethod(label_of_latency)

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
        return Picture(figure, _percentiles_table(drawn, unit), notes, more)


class Cumulative(Percentiles):
    slug = "cdf"
    label = "CDF"
    words = "Which share of all operations took at most how long; further left is better."
    figure_of = staticmethod(shares.cdf)


def _middle(rows: dict[float, DeltaRow]) -> float:
    return rows[sorted(rows)[len(rows) // 2]].score


def _percentiles_table(drawn: dict[str, dict[float, DeltaRow]], unit: str) -> PictureTable:
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


def _with_latencies(scored: ScoredTests) -> list[str]:
    """The mean of each latency at each load, which stands for all that is told of it; of a log of
    histograms, which has none, the median.
    """
    return [
        test
        for test, kinds in scored.items()
        if is_measured(kinds) and testnames.parts(test)[0].endswith(_STANDS_FOR_ALL)
    ]


class KeptLatencies(SeveralContendersPicture, Generic[Kept, Source]):
    """One of what is kept of every completion, by contender."""

    needs = Need(
        _with_latencies,
        "No finished run of this comparison measured a latency. Run a workload of fio, which does.",
    )
    label_of = staticmethod(label_of_latency)
    nothing_kept: ClassVar[str]

    @abstractmethod
    def kept(self, latency: str, load: str) -> Mapping[int, tuple[Kept, Source]]:
        """What is kept of ``latency``, and of which run or runs, by the key of a contender."""

    @abstractmethod
    def draw_kept(self, measured: list[tuple[str, Kept, Source]], unit: str) -> Picture:
        """The picture of (contender, what is kept, its runs), all in ``unit``."""

    def draw_contenders(self) -> Picture:
        name, load = testnames.parts(self.test)
        try:
            by_key = self.kept(testnames.latency_of(name), load)
        except UnreadableBlock as error:
            return Picture(None, notes=[str(error)])
        measured: list[tuple[str, Kept, Source]] = []
        for contender in self.lines or ():
            if contender.key in by_key:
                kept, source = by_key[contender.key]
                measured.append((contender.name, kept, source))
        if not measured:
            return Picture(None, notes=[self.nothing_kept])
        unit = measured[0][1].unit
        return self.draw_kept([entry for entry in measured if entry[1].unit == unit], unit)

    def missing(self, drawn: Sequence[Any], text: str) -> list[str]:
        """How many contenders are not among the ``drawn`` ones, in front of ``text``."""
        count = len(self.lines or ()) - len(drawn)
        return [f"{count} of the contenders {text}"] if count else []


class Tails(KeptLatencies[Distribution, list[int]]):
    slug = "tails"
    label = "All completions"
    words = "Every completion of all repeats at its percentile, down to the slowest of all."
    nothing_kept = (
        "No distribution is kept of these runs: fio prints it as JSON+ alone "
        "(--output-format=json+) or in logs of histograms (--write_hist_log). Files "
        "that were stored before it was kept have it once they are read again."
    )

    def kept(self, latency: str, load: str) -> Mapping[int, tuple[Distribution, list[int]]]:
        return latencies.of_series(self.keys, latency, load)

    def draw_kept(self, measured: list[tuple[str, Distribution, list[int]]], unit: str) -> Picture:
        figure = shares.percentiles(
            [
                shares.of_histogram(label, distribution.shares())
                for label, distribution, _ in measured
            ],
            unit,
            self.label_of(self.test),
            among=[contender.name for contender in self.contenders],
        )
        notes = [
            "Each line is all completions of all repeats, counted in fio's bins and added without "
            "loss. Intervals are of order statistics, which take completions as independent; what "
            "scatters between repeats is in the intervals of the scores."
        ]
        notes += self.missing(measured, "have no distribution of this latency.")
        return Picture(figure, _tails_table(measured, unit), notes)


def _tails_table(measured: list[tuple[str, Distribution, list[int]]], unit: str) -> PictureTable:
    columns = [Column("Contender"), Column("Completions", COUNT)]
    for percent in TAILS:
        columns += [
            Column(f"p{percent}", VALUE, unit),
            Column(f"p{percent}, 95% from", VALUE, unit),
            Column("to", VALUE, unit, stored_title=f"p{percent}, 95% to"),
        ]
    return PictureTable(
        [*columns, Column("Maximum", VALUE, unit)],
        [
            Row(
                (label, float(distribution.total), *_tails(distribution), distribution.most),
                _links_of_runs(runs),
            )
            for label, distribution, runs in measured
        ],
    )


def _tails(distribution: Distribution) -> list[float | None]:
    values: list[float | None] = []
    for percent in TAILS:
        low, high = distribution.interval(percent) or (None, None)
        values += [float(distribution.percentile(percent)), low, high]
    return values


def _links_of_runs(runs: Sequence[int]) -> tuple[tuple[str, str], ...]:
    return ((f"{len(runs)} run{'s' if len(runs) != 1 else ''}", address_of(runs)),)


class OverTime(KeptLatencies[LatencySeries, int]):
    slug = "latency-time"
    label = "Latency over time"
    words = "A percentile of each interval of a test: where it rises, the contender stalls."
    nothing_kept = (
        "Nothing is kept over time of these runs: the workloads of fio at queue depths "
        "do, and imported histogram logs (--write_hist_log)."
    )

    @property
    def selects(self) -> Sequence[Select]:
        return [Select("percent", "Of each interval", [*PERCENTS.items()], self.spec.percent)]

    def kept(self, latency: str, load: str) -> Mapping[int, tuple[LatencySeries, int]]:
        return latencies.newest_over_time(self.keys, latency, load)

    def draw_kept(self, measured: list[tuple[str, LatencySeries, int]], unit: str) -> Picture:
        percent = self.spec.percent or "99"
        figure = latency_over_time.of_contenders(
            {
                label: (_values(latency, percent), _seconds(latency), latency.counts)
                for label, latency, _ in measured
            },
            unit,
            f"{self.label_of(self.test)}, {PERCENTS[self.spec.percent]} of each interval",
        )
        notes = [
            "Each line is the newest run of a contender that kept it; percentiles are of the "
            "completions of one interval alone, so that nothing is averaged over time or repeats."
        ]
        notes += self.missing(measured, "kept nothing of this latency over time.")
        return Picture(figure, _intervals_table(measured, unit), notes)


def _values(latency: LatencySeries, percent: str) -> Sequence[float]:
    return latency.maxima if percent == LARGEST else latency.percentiles[KEPT.index(percent)]


def _seconds(latency: LatencySeries) -> list[float]:
    return [end_ms / 1000 for end_ms in latency.ends_ms]


def _intervals_table(measured: list[tuple[str, LatencySeries, int]], unit: str) -> PictureTable:
    columns = [
        Column("Contender"),
        Column("Until", VALUE, "s"),
        Column("Completions", COUNT),
        *(Column(f"p{percent}", VALUE, unit) for percent in KEPT),
        Column("Maximum", VALUE, unit),
    ]
    return PictureTable(
        columns,
        [
            Row((label, until_s, float(count), *values), run_links([run_id]))
            for label, latency, run_id in measured
            for until_s, count, *values in zip(
                _seconds(latency), latency.counts, *latency.percentiles, latency.maxima, strict=True
            )
        ],
    )
