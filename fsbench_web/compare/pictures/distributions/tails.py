"""Latencies of several contenders as distributions, each of all its repeats as one."""

from collections.abc import Sequence

from fsbench_web.compare.pictures.base import Picture
from fsbench_web.compare.pictures.contender_pictures import SeveralContendersPicture
from fsbench_web.compare.pictures.drawable import Need, ScoredTests, is_measured
from fsbench_web.compare.pictures.table import COUNT, VALUE, Column, PictureTable, Row
from fsbench_web.core.latency import TAILS, Distribution
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.figures import shares
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.runs.listing import address_of

_STANDS_FOR_ALL = ("lat_mean", "clat_hist_p50")
ContenderLatencies = list[tuple[str, Distribution, list[int]]]


def _with_latencies(scored: ScoredTests) -> list[str]:
    """The mean of each latency at each load, which stands for all that is told of it; of a log of
    histograms, which has none, the median.
    """
    return [
        test
        for test, kinds in scored.items()
        if is_measured(kinds) and testnames.parts(test)[0].endswith(_STANDS_FOR_ALL)
    ]


class Tails(SeveralContendersPicture):
    slug = "tails"
    label = "All completions"
    words = "Every completion of all repeats at its percentile, down to the slowest of all."
    needs = Need(
        _with_latencies,
        "No finished run of this comparison measured a latency. Run a workload of fio, which does.",
    )

    @staticmethod
    def label_of(test: str) -> str:
        name, load = testnames.parts(test)
        label = testnames.label_of_latency(testnames.latency_of(name))
        return f"{label} at {loads.words(load)}" if load else label

    def draw_contenders(self) -> Picture:
        name, load = testnames.parts(self.test)
        try:
            by_key = latencies.of_series(self.keys, testnames.latency_of(name), load)
        except UnreadableBlock as error:
            return Picture(None, notes=[str(error)])
        measured = [
            (contender.name, *by_key[contender.key])
            for contender in self.lines or ()
            if contender.key in by_key
        ]
        if not measured:
            return Picture(
                None,
                notes=[
                    "No distribution is kept of these runs: fio prints it as JSON+ alone "
                    "(--output-format=json+) or in logs of histograms (--write_hist_log). Files "
                    "that were stored before it was kept have it once they are read again."
                ],
            )
        unit = measured[0][1].unit
        of_unit = [entry for entry in measured if entry[1].unit == unit]
        figure = shares.percentiles(
            [
                shares.of_histogram(label, distribution.shares())
                for label, distribution, _ in of_unit
            ],
            unit,
            self.label_of(self.test),
            among=[contender.name for contender in self.contenders],
        )
        return Picture(figure, _table(of_unit, unit), self._notes(of_unit))

    def _notes(self, measured: ContenderLatencies) -> list[str]:
        missing = len(self.lines or ()) - len(measured)
        notes = [
            "Each line is all completions of all repeats, counted in fio's bins and added without "
            "loss. Intervals are of order statistics, which take completions as independent; what "
            "scatters between repeats is in the intervals of the scores."
        ]
        if missing:
            notes.append(f"{missing} of the contenders have no distribution of this latency.")
        return notes


def _table(measured: ContenderLatencies, unit: str) -> PictureTable:
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
                _links(runs),
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


def _links(runs: Sequence[int]) -> tuple[tuple[str, str], ...]:
    return ((f"{len(runs)} run{'s' if len(runs) != 1 else ''}", address_of(runs)),)
