"""Latencies of several contenders over the seconds of a test: does it stall, and when?"""

from collections.abc import Sequence

from fsbench_web.compare.pictures.base import Picture, Select
from fsbench_web.compare.pictures.distributions.tails import Tails
from fsbench_web.compare.pictures.parts import run_links
from fsbench_web.compare.pictures.spec import LARGEST, PERCENTS
from fsbench_web.compare.pictures.table import COUNT, VALUE, Column, PictureTable, Row
from fsbench_web.core.latency_over_time import PERCENTS as KEPT
from fsbench_web.core.latency_over_time import LatencySeries
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.core.scoring import testnames
from fsbench_web.figures.activity import latency_over_time as figures
from fsbench_web.studies.activity import latencies

ContenderLatencies = list[tuple[str, LatencySeries, int]]


class OverTime(Tails):
    slug = "latency-time"
    label = "Latency over time"
    words = "A percentile of each interval of a test: where it rises, the contender stalls."

    @property
    def selects(self) -> Sequence[Select]:
        return [Select("percent", "Of each interval", [*PERCENTS.items()], self.spec.percent)]

    def draw_contenders(self) -> Picture:
        name, load = testnames.parts(self.test)
        try:
            by_key = latencies.newest_over_time(self.keys, testnames.latency_of(name), load)
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
                    "Nothing is kept over time of these runs: the workloads of fio at queue depths "
                    "do, and imported histogram logs (--write_hist_log)."
                ],
            )
        unit = measured[0][1].unit
        of_unit = [entry for entry in measured if entry[1].unit == unit]
        percent = self.spec.percent or "99"
        figure = figures.of_contenders(
            {
                label: (_values(latency, percent), _seconds(latency), latency.counts)
                for label, latency, _ in of_unit
            },
            unit,
            f"{self.label_of(self.test)}, {PERCENTS[self.spec.percent]} of each interval",
        )
        return Picture(
            figure,
            _table(of_unit, unit),
            self._interval_notes(len(of_unit)),
        )

    def _interval_notes(self, drawn: int) -> list[str]:
        notes = [
            "Each line is the newest run of a contender that kept it; percentiles are of the "
            "completions of one interval alone, so that nothing is averaged over time or repeats."
        ]
        if missing := len(self.lines or ()) - drawn:
            notes.append(f"{missing} of the contenders kept nothing of this latency over time.")
        return notes


def _values(latency: LatencySeries, percent: str) -> Sequence[float]:
    return latency.maxima if percent == LARGEST else latency.percentiles[KEPT.index(percent)]


def _seconds(latency: LatencySeries) -> list[float]:
    return [end_ms / 1000 for end_ms in latency.ends_ms]


def _table(measured: ContenderLatencies, unit: str) -> PictureTable:
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
