"""Pictures of what runs measured: heat map and speed-up map of cells, and strips of repeats."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from fsbench_web.compare.pictures.base import (
    GONE,
    MATRIX,
    RUNS,
    Contender,
    FixedSizesPicture,
    Picture,
    PictureUnavailable,
    Select,
    SingleContenderPicture,
)
from fsbench_web.compare.pictures.table import (
    CONTENDER,
    ChartColumn,
    Drawn,
    PictureTable,
    count,
    drawn_table,
    is_lower,
    note,
    run_links,
    sizes,
    text,
    unknown_unit,
    value,
)
from fsbench_web.core import numbers
from fsbench_web.core.scoring import testnames
from fsbench_web.figures import bars, heatmap
from fsbench_web.studies.models import Series
from fsbench_web.studies.runs.listing import address_of, dates_of
from fsbench_web.studies.runs.shown import quality as run_quality
from fsbench_web.studies.scores import cells
from fsbench_web.studies.scores.cells import Cell, Matrix, Repeats


class HeatMap(SingleContenderPicture):
    slug = "matrix"
    label = "Heat map"
    words = "One entry: block size by file size."
    needs = MATRIX

    def draw_contender(self, contender: Contender) -> Picture:
        matrices = self.in_one_unit(cells.matrices([contender.key], self.test))
        if not matrices:
            why = f"{contender.name} has no matrix of {testnames.label(self.test)}."
            return Picture(None, notes=[why])
        largest = max(matrices, key=lambda matrix: len(matrix.cells))
        notes = [
            *_blank_cells(largest.cells),
            *_other_units(matrices, largest),
            *unknown_unit(largest.unit),
        ]
        rows = [
            Drawn.of_repeats("", 0, repeats, *cell)
            for cell, repeats in sorted(largest.cells.items())
        ]
        columns: list[ChartColumn[Drawn]] = sizes(self.test, lambda row: row.at)
        table = drawn_table(rows, columns, largest.unit, has_flags=True)
        return Picture(self.figure(contender, largest), table, notes)

    def figure(self, contender: Contender, matrix: Matrix) -> go.Figure:
        """Flagged cells are hatched, and the cache boundary is a line."""
        quality = Series.objects.values_list("quality", flat=True).get(pk=contender.key)
        remark = _runs_remark(matrix.cells.values())
        return heatmap.matrix(
            {cell: repeats.mean for cell, repeats in matrix.cells.items()},
            matrix.unit,
            f"{testnames.label(self.test)}: {contender.name}{remark}",
            is_lower(matrix.unit),
            links={cell: address_of(repeats.run_ids) for cell, repeats in matrix.cells.items()},
            notes={cell: note(repeats) for cell, repeats in matrix.cells.items()},
            flagged=matrix.flagged,
            edges=run_quality.edges(quality, self.test),
            block=testnames.block_word(self.test),
        )


def _runs_remark(cells: Iterable[Repeats]) -> str:
    counts = {len(repeats.values) for repeats in cells}
    if counts == {1}:
        return ""
    low, high = min(counts), max(counts)
    return f", mean of {high} runs" if low == high else f", mean of {low} to {high} runs"


def _blank_cells(cells: Mapping[Cell, Repeats]) -> list[str]:
    records, files = {record for record, _ in cells}, {file for _, file in cells}
    blank = len(records) * len(files) - len(cells)
    if not blank:
        return []
    larger = sum(record > file for record in records for file in files)
    why = f", {larger} with a record larger than the file" if larger else ""
    return [
        f"{blank} of {len(records) * len(files)} cells were not measured and stay blank"
        f"{why if larger <= blank else ''}."
    ]


def _other_units(matrices: Sequence[Matrix], drawn: Matrix) -> list[str]:
    others = [matrix.unit for matrix in matrices if matrix is not drawn]
    return [f"There are numbers in {', '.join(others)} too, which are not drawn."] if others else []


class Ratio(SingleContenderPicture):
    slug = "ratio"
    label = "Speed-up map"
    words = "How many times as fast one entry is as another, cell by cell, where both have one."
    needs = MATRIX

    def prepare(self) -> None:
        super().prepare()
        self.is_gone = not {self.spec.a, self.spec.b} <= {None, *self.by_key}
        others = [contender for contender in self.contenders if contender is not self.a]
        self.b = self.by_key.get(self.spec.b) if self.spec.b is not None else None
        if self.spec.b is None and others and not self.is_gone:
            self.b = others[0]

    @property
    def selects(self) -> Sequence[Select]:
        return [
            self.select("a", "Speed of", self.a),
            self.select("b", "over speed of", self.b),
        ]

    def draw_contender(self, contender: Contender) -> Picture:
        if self.is_gone:
            raise PictureUnavailable(GONE)
        if self.b is None:
            raise PictureUnavailable(
                "A speed-up takes two entries, and this comparison has one of this test."
            )
        matrices = self.in_one_unit(cells.matrices({contender.key, self.b.key}, self.test))
        of_both = _of_one_unit(matrices, contender, self.b)
        if of_both is None:
            why = (
                f"{contender.name} and {self.b.name} have no cell of {testnames.label(self.test)} "
                "in common, or none in the same unit."
            )
            return Picture(None, notes=[why])
        return _ratio_picture(self.test, (contender, self.b), of_both)


def _of_one_unit(
    matrices: Sequence[Matrix], first: Contender, second: Contender
) -> tuple[Matrix, Matrix] | None:
    """The matrices of both in the unit in which they have most cells in common."""
    of_first = {matrix.unit: matrix for matrix in matrices if matrix.series_id == first.key}
    of_second = {matrix.unit: matrix for matrix in matrices if matrix.series_id == second.key}
    pairs = [(matrix, of_second[unit]) for unit, matrix in of_first.items() if unit in of_second]
    return max(pairs, key=lambda pair: len(_common_cells(pair)), default=None)


def _common_cells(pair: tuple[Matrix, Matrix]) -> list[Cell]:
    return sorted(pair[0].cells.keys() & pair[1].cells.keys())


def _ratio_picture(
    test: str, contenders: tuple[Contender, Contender], pair: tuple[Matrix, Matrix]
) -> Picture:
    first, second = (contender.name for contender in contenders)
    ours, theirs, unit = pair[0].cells, pair[1].cells, pair[0].unit
    less, matched = is_lower(unit), _common_cells(pair)
    ratios = {
        cell: theirs[cell].mean / ours[cell].mean if less else ours[cell].mean / theirs[cell].mean
        for cell in matched
        if ours[cell].mean > 0 and theirs[cell].mean > 0
    }
    links = {cell: address_of([*ours[cell].run_ids, *theirs[cell].run_ids]) for cell in ratios}
    notes = {
        cell: f"{first} {numbers.with_unit(ours[cell].mean, unit)}, "
        f"{second} {numbers.with_unit(theirs[cell].mean, unit)}"
        for cell in ratios
    }
    title = f"{testnames.label(test)}: speed of {first} over speed of {second}"
    block = testnames.block_word(test)
    figure = heatmap.ratio(ratios, first, second, title, links, notes, block)
    table = PictureTable(
        [
            *sizes(test, lambda cell: cell),
            value(f"Mean of {first}", unit, lambda cell: ours[cell].mean),
            value(f"Mean of {second}", unit, lambda cell: theirs[cell].mean),
            value("Times as fast", "", ratios.get),
        ],
        matched,
        lambda cell: (*run_links(ours[cell].run_ids), *run_links(theirs[cell].run_ids)),
    )
    parts = [
        f"Above 1, purple: {first} is faster. Below 1, orange: {second} is faster."
        if ratios
        else "",
        ("1 cell is matched." if len(matched) == 1 else f"{len(matched)} cells are matched.")
        + _blank_remark(first, ours.keys() - theirs.keys())
        + _blank_remark(second, theirs.keys() - ours.keys()),
        f"{len(matched) - len(ratios)} matched cells hold a zero and have no ratio."
        if len(ratios) < len(matched)
        else "",
        "Times are taken as speeds (1 / time), so that more is faster." if less else "",
        *unknown_unit(unit),
    ]
    return Picture(figure, table, [part for part in parts if part])


def _blank_remark(name: str, cells: Iterable[Cell]) -> str:
    number = len(list(cells))
    stay = "stays" if number == 1 else "stay"
    return f" {number} that only {name} has {stay} blank." if number else ""


class _RunRow(NamedTuple):
    name: str
    run_id: int
    value: float
    cells: int
    date: str
    date_from: str

    @property
    def note(self) -> str:
        return f"run {self.run_id}" + (f", {self.cells} cells" if self.cells > 1 else "")


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
        dates = dates_of([run_id for _, series in measured for run_id in series.repeats.run_ids])
        rows_of = [
            [
                _RunRow(contender.name, *of_run, *dates.get(of_run[0], ("", "")))
                for of_run in zip(
                    *(series.repeats.run_ids, series.repeats.values, series.cells), strict=True
                )
            ]
            for contender, series in measured
        ]
        rows = [row for of_one in rows_of for row in of_one]
        is_mean = any(row.cells > 1 for row in rows)
        words = ", ".join([*(["mean of each run"] if is_mean else []), *self.sizes_in_words])
        title = f"{testnames.label(self.test)}, repeats"
        figure = bars.repeats(
            [
                bars.Strip(
                    contender.name,
                    [row.value for row in of_one],
                    [address_of([row.run_id]) for row in of_one],
                    [row.note for row in of_one],
                    series.repeats.interval,
                    address_of(series.repeats.run_ids),
                )
                for (contender, series), of_one in zip(measured, rows_of, strict=True)
            ],
            unit,
            f"{title}: {words}" if words else title,
            is_lower(unit),
        )
        columns: list[ChartColumn[_RunRow]] = [
            CONTENDER,
            text("Run", lambda row: f"run {row.run_id}"),
            value("Mean of its cells" if is_mean else "Value", unit, lambda row: row.value),
            count("Cells", lambda row: row.cells),
            text("Date", lambda row: row.date),
            text("Date from", lambda row: row.date_from),
        ]
        table = PictureTable(columns, rows, lambda row: run_links([row.run_id]))
        single = [contender.name for contender, series in measured if len(series.cells) == 1]
        uneven = [contender.name for contender, series in measured if len(set(series.cells)) > 1]
        notes = []
        if single:
            notes.append(f"Of one run there is no interval: {', '.join(single)}.")
        if uneven:
            notes.append(
                f"Runs of {', '.join(uneven)} have different cells: their means are of unlike sets."
            )
        return Picture(figure, table, [*of_units, *notes, *unknown_unit(unit)])
