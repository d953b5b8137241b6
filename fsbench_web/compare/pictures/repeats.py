"""Strips of repeats: every run a point."""

from typing import NamedTuple

from fsbench_web.compare.pictures.base import Picture
from fsbench_web.compare.pictures.contender_pictures import FixedSizesPicture
from fsbench_web.compare.pictures.drawable import RUNS, Contender
from fsbench_web.compare.pictures.table import (
    PictureTable,
    count,
    is_lower,
    run_links,
    text,
    unknown_unit,
    value,
)
from fsbench_web.core.scoring import testnames
from fsbench_web.figures import strip
from fsbench_web.studies.runs.listing import address_of, dates_of
from fsbench_web.studies.scores import cells
from fsbench_web.studies.scores.cells import RepeatsOfSeries

ContenderRepeats = list[tuple[Contender, RepeatsOfSeries]]


class RepeatsOfRuns(FixedSizesPicture):
    slug = "repeats"
    label = "Repeats"
    words = "Every run a point, and from five on a box of their quartiles: how far repeats scatter."
    needs = RUNS

    def draw_contenders(self) -> Picture:
        every_series = cells.repeats(
            self.keys, self.test, record_kb=self.record_kb, file_kb=self.file_kb
        )
        measured, unit, of_units = self.of_one_unit(every_series)
        if not measured:
            return Picture(None, notes=["No run measured this cell: choose another size."])
        is_mean = any(cell_count > 1 for _, series in measured for cell_count in series.cells)
        words = ", ".join([*(["mean of each run"] if is_mean else []), *self.sizes_in_words])
        title = f"{testnames.label(self.test)}, repeats"
        figure = strip.repeats(
            [_strip(contender, series) for contender, series in measured],
            unit,
            f"{title}: {words}" if words else title,
            is_lower(unit),
        )
        notes = [*of_units, *_notes(measured), *unknown_unit(unit)]
        return Picture(figure, _table(measured, unit, is_mean), notes)


def _strip(contender: Contender, series: RepeatsOfSeries) -> strip.Strip:
    of_runs = zip(series.repeats.run_ids, series.cells, strict=True)
    return strip.Strip(
        contender.name,
        series.repeats.values,
        [address_of([run_id]) for run_id in series.repeats.run_ids],
        [f"run {run_id}" + (f", {count} cells" if count > 1 else "") for run_id, count in of_runs],
        series.repeats.interval,
        address_of(series.repeats.run_ids),
    )


class _RunRow(NamedTuple):
    contender: str
    run_id: int
    value: float
    cells: int
    date: str
    date_from: str


def _table(measured: ContenderRepeats, unit: str, is_mean: bool) -> PictureTable[_RunRow]:
    dates = dates_of([run_id for _, series in measured for run_id in series.repeats.run_ids])
    rows = [
        _RunRow(contender.name, run_id, run_value, cell_count, *dates.get(run_id, ("", "")))
        for contender, series in measured
        for run_id, run_value, cell_count in zip(
            series.repeats.run_ids, series.repeats.values, series.cells, strict=True
        )
    ]
    return PictureTable(
        [
            text("Contender", lambda row: row.contender),
            text("Run", lambda row: f"run {row.run_id}"),
            value("Mean of its cells" if is_mean else "Value", unit, lambda row: row.value),
            count("Cells", lambda row: row.cells),
            text("Date", lambda row: row.date),
            text("Date from", lambda row: row.date_from),
        ],
        rows,
        lambda row: run_links([row.run_id]),
    )


def _notes(measured: ContenderRepeats) -> list[str]:
    single = [contender.name for contender, series in measured if len(series.cells) == 1]
    uneven = [contender.name for contender, series in measured if len(set(series.cells)) > 1]
    notes = [f"Of one run there is no interval: {', '.join(single)}."] if single else []
    if uneven:
        text = f"Runs of {', '.join(uneven)} have different cells"
        notes.append(f"{text}: their means are of unlike sets.")
    return notes
