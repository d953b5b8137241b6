"""Latencies of several contenders: as a tool printed them, as they were kept, and over a test."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from fsbench_web.compare.pictures.base import (
    CDF,
    COMPLETIONS,
    LARGEST,
    OVER_TIME,
    PERCENTILES,
    PERCENTS,
    SCORES,
    SHOWS,
    Need,
    Picture,
    PictureKind,
    ScoredTests,
    Select,
    SeveralContendersPicture,
    commonest_unit,
    is_measured,
    scale_select,
)
from fsbench_web.compare.pictures.table import (
    CONTENDER,
    ChartColumn,
    Drawn,
    PictureTable,
    count,
    drawn_table,
    lines_of,
    run_links,
    text,
    value,
)
from fsbench_web.core.comparison.rows import DeltaRow
from fsbench_web.core.latency import TAILS, Distribution
from fsbench_web.core.latency_over_time import PERCENTS as KEPT
from fsbench_web.core.latency_over_time import LatencySeries
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.core.scoring import categories, loads, testnames
from fsbench_web.figures import lines, over_time
from fsbench_web.figures.lines import MOST_LINES
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.runs.listing import address_of

LEAST = 3
"""Fewer percentiles are no distribution."""
_STANDS_FOR_ALL = ("lat_mean", "clat_hist_p50")
_NOTHING_KEPT = {
    COMPLETIONS: "No distribution is kept of these runs: fio prints it as JSON+ alone "
    "(--output-format=json+) or in logs of histograms (--write_hist_log). Files "
    "that were stored before it was kept have it once they are read again.",
    OVER_TIME: "Nothing is kept over time of these runs: the workloads of fio at queue depths "
    "do, and imported histogram logs (--write_hist_log).",
}
Of = TypeVar("Of", Distribution, LatencySeries)


class _Kept(NamedTuple, Generic[Of]):
    """The latencies kept of a contender, and their runs."""

    name: str
    kept: Of
    runs: Sequence[int]


def label_of_latency(test: str) -> str:
    """The latency that a test is of, with its load."""
    name, load = testnames.parts(test)
    latency = testnames.latency_of(name)
    label = testnames.label_of_latency(latency) if latency else testnames.label(name)
    return f"{label} at {loads.words(load)}" if load else label


def _percentiles_of(test: str, tests: Sequence[str]) -> list[str]:
    """The percentiles of the latency of ``test`` at its load."""
    latency, load = testnames.latency_of(test), testnames.parts(test)[1]
    return [
        other
        for other in tests
        if testnames.percentile_of(other) is not None
        and testnames.latency_of(other) == latency
        and testnames.parts(other)[1] == load
    ]


def _with_latencies(scored: ScoredTests) -> list[str]:
    """A test of each latency at each load with several percentiles, or measured by runs.

    The mean stands for a latency, or the median of a log of histograms.
    """
    percentiles: dict[tuple[str, str], list[str]] = defaultdict(list)
    chosen: dict[tuple[str, str], str] = {}
    for test, kinds in scored.items():
        latency = (testnames.latency_of(test), testnames.parts(test)[1])
        if testnames.percentile_of(test) is not None:
            percentiles[latency].append(test)
            if len(percentiles[latency]) == LEAST:
                chosen.setdefault(latency, percentiles[latency][0])
        if is_measured(kinds) and testnames.parts(test)[0].endswith(_STANDS_FOR_ALL):
            chosen.setdefault(latency, test)
    return [test for test in scored if test in chosen.values()]


class Latencies(SeveralContendersPicture):
    """``show`` says which chart: of SHOWS."""

    slug = "latency"
    label = "Latency"
    words = (
        "How long operations took: the percentiles of all of them, or a percentile of each "
        "interval of the test."
    )
    needs = Need(
        _with_latencies,
        "No test of this comparison has three percentiles of a latency, and no finished run "
        "measured one. Run a workload of fio, which does.",
    )
    label_of = staticmethod(label_of_latency)

    def prepare(self) -> None:
        percentiles = _percentiles_of(self.test, self.offer.of(SCORES))
        self.show = self.spec.show or (PERCENTILES if len(percentiles) >= LEAST else COMPLETIONS)
        if self.show in _NOTHING_KEPT:
            super().prepare()
        else:
            # Scores are of contenders as the comparison ranks them, not of configurations.
            PictureKind.prepare(self)
            self.tables = self.scores_of(percentiles, categories.MEAN)

    @property
    def selects(self) -> Sequence[Select]:
        show = Select("show", "Show", [*SHOWS.items()], self.show)
        if self.show == OVER_TIME:
            percents = [*PERCENTS.items()]
            return [show, Select("percent", "Of each interval", percents, self.spec.percent)]
        return [show] if self.show == COMPLETIONS else [show, scale_select(self.spec)]

    def draw(self) -> Picture:
        return super().draw() if self.show in _NOTHING_KEPT else self._draw_scores()

    def _draw_scores(self) -> Picture:
        """Percentiles as a tool printed them: a line a contender, the best in the middle first."""
        by_contender: dict[str, dict[float, DeltaRow]] = defaultdict(dict)
        if not self.tables:
            return Picture(None, notes=["No entry has percentiles of this latency."])
        unit, of_unit = commonest_unit(self.tables)
        for table in of_unit:
            share = testnames.percentile_of(table.test)
            if share is not None:
                for row in table.rows:
                    by_contender[row.contender][share / 100] = row
        ranked = sorted(
            by_contender,
            key=lambda name: (-len(by_contender[name]), _middle(by_contender[name]), name),
        )
        drawn = [
            Drawn.of_row(share, row)
            for name in sorted(ranked[:MOST_LINES])
            for share, row in sorted(by_contender[name].items())
        ]
        figure = lines.percentiles(
            *(lines_of(drawn), unit, self.label_of(self.test), by_contender, self.spec.scale),
            is_cdf=self.show == CDF,
        )
        columns = [CONTENDER, text("Percentile", lambda row: lines.percent(row.x))]
        undrawn = self.left_out(max(0, len(by_contender) - MOST_LINES))
        return Picture(figure, drawn_table(drawn, columns, unit, "Value"), undrawn)

    def draw_contenders(self) -> Picture:
        """What is kept of every completion, by contender."""
        name, load = testnames.parts(self.test)
        latency = testnames.latency_of(name)
        try:
            if self.show == COMPLETIONS:
                return self._draw_completions(latencies.of_series(self.keys, latency, load))
            newest = latencies.newest_over_time(self.keys, latency, load)
            return self._draw_over_time({key: (own, [run]) for key, (own, run) in newest.items()})
        except UnreadableBlock as error:
            return Picture(None, notes=[str(error)])

    def _measured(self, by_key: Mapping[int, tuple[Of, Sequence[int]]]) -> list[_Kept[Of]]:
        """What is kept of the contenders, best first, in the unit of the best."""
        listed = [
            _Kept(contender.name, *by_key[contender.key])
            for contender in self.lines or ()
            if contender.key in by_key
        ]
        return [each for each in listed if each.kept.unit == listed[0].kept.unit]

    def _missing(self, drawn: int, words: str) -> list[str]:
        """How many contenders are not drawn, in front of ``words``."""
        missing = len(self.lines or ()) - drawn
        return [f"{missing} of the entries {words}"] if missing else []

    def _draw_completions(
        self, by_key: Mapping[int, tuple[Distribution, Sequence[int]]]
    ) -> Picture:
        measured = self._measured(by_key)
        if not measured:
            return Picture(None, notes=[_NOTHING_KEPT[COMPLETIONS]])
        figure = lines.percentiles(
            [lines.of_histogram(name, kept.shares()) for name, kept, _ in measured],
            measured[0].kept.unit,
            self.label_of(self.test),
            among=[contender.name for contender in self.contenders],
        )
        notes = [
            "Each line is all completions of all repeats, counted in fio's bins and added without "
            "loss. Intervals are of order statistics, which take completions as independent; what "
            "scatters between repeats is in the intervals of the scores.",
            *self._missing(len(measured), "have no distribution of this latency."),
        ]
        return Picture(figure, _completions_table(measured), notes)

    def _draw_over_time(self, by_key: Mapping[int, tuple[LatencySeries, Sequence[int]]]) -> Picture:
        measured = self._measured(by_key)
        if not measured:
            return Picture(None, notes=[_NOTHING_KEPT[OVER_TIME]])
        percent = self.spec.percent or "99"
        figure = over_time.latencies(
            {
                name: (
                    kept.maxima if percent == LARGEST else kept.percentiles[KEPT.index(percent)],
                    _seconds(kept),
                    kept.counts,
                )
                for name, kept, _ in measured
            },
            measured[0].kept.unit,
            f"{self.label_of(self.test)}, {PERCENTS[self.spec.percent]} of each interval",
            are_contenders=True,
        )
        notes = [
            "Each line is the newest run of an entry that kept it; percentiles are of the "
            "completions of one interval alone, so that nothing is averaged over time or repeats.",
            *self._missing(len(measured), "kept nothing of this latency over time."),
        ]
        return Picture(figure, _intervals_table(measured), notes)


def _middle(rows: dict[float, DeltaRow]) -> float:
    return rows[sorted(rows)[len(rows) // 2]].score


def _seconds(latency: LatencySeries) -> list[float]:
    return [end_ms / 1000 for end_ms in latency.ends_ms]


def _completions_table(
    measured: list[_Kept[Distribution]],
) -> PictureTable[_Kept[Distribution]]:
    unit = measured[0].kept.unit
    columns: list[ChartColumn[_Kept[Distribution]]] = [
        CONTENDER,
        count("Completions", lambda row: float(row.kept.total)),
    ]
    for percent in TAILS:
        columns += _tail_columns(percent, unit)
    columns.append(value("Maximum", unit, lambda row: row.kept.most))
    return PictureTable(
        columns,
        measured,
        lambda row: (
            (f"{len(row.runs)} run{'s' if len(row.runs) != 1 else ''}", address_of(row.runs)),
        ),
    )


def _tail_columns(percent: str, unit: str) -> list[ChartColumn[_Kept[Distribution]]]:
    def end(row: _Kept[Distribution], place: int) -> float | None:
        ends = row.kept.interval(percent)
        return ends[place] if ends else None

    return [
        value(f"p{percent}", unit, lambda row: float(row.kept.percentile(percent))),
        value(f"p{percent}, 95% from", unit, lambda row: end(row, 0)),
        value("to", unit, lambda row: end(row, 1), f"p{percent}, 95% to"),
    ]


class _IntervalRow(NamedTuple):
    """One interval of a test; ``values`` are its percentiles and the maximum."""

    name: str
    run_id: int
    until_s: float
    completions: int
    values: Sequence[float]


def _intervals_table(measured: list[_Kept[LatencySeries]]) -> PictureTable[_IntervalRow]:
    unit = measured[0].kept.unit
    rows = [
        _IntervalRow(name, run_id, until_s, completions, values)
        for name, kept, [run_id] in measured
        for until_s, completions, *values in zip(
            *(_seconds(kept), kept.counts, *kept.percentiles, kept.maxima), strict=True
        )
    ]
    titles = [*(f"p{percent}" for percent in KEPT), "Maximum"]
    return PictureTable(
        [
            CONTENDER,
            value("Until", "s", lambda row: row.until_s),
            count("Completions", lambda row: float(row.completions)),
            *(_value_at(place, title, unit) for place, title in enumerate(titles)),
        ],
        rows,
        lambda row: run_links([row.run_id]),
    )


def _value_at(place: int, title: str, unit: str) -> ChartColumn[_IntervalRow]:
    return value(title, unit, lambda row: row.values[place])
