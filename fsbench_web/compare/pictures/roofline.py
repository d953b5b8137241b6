"""Rooflines: throughput against request size, under what the LUN does by itself.

After S. Williams, A. Waterman and D. Patterson, "Roofline: An Insightful Visual Performance Model
for Multicore Architectures", CACM 52(4), 2009: what could be reached stands over what was.
"""

from collections.abc import Sequence
from dataclasses import replace

from fsbench_web.compare.pictures import lun_line
from fsbench_web.compare.pictures.base import Picture, Select, scale_select
from fsbench_web.compare.pictures.contender_pictures import SeveralContendersPicture, point
from fsbench_web.compare.pictures.drawable import MATRIX, DrawableTests
from fsbench_web.compare.pictures.parts import (
    block_column,
    is_lower,
    repeats_columns,
    repeats_row,
    unknown_unit,
)
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import VALUE, Column, PictureTable
from fsbench_web.core.scoring import testnames
from fsbench_web.figures import lines
from fsbench_web.figures.lines import Line, Point
from fsbench_web.figures.sizes import size_name
from fsbench_web.studies.scores import cells


class Roofline(SeveralContendersPicture):
    slug = "roofline"
    label = "Roofline"
    words = "Throughput against request size, under what the LUN does by itself."
    needs = MATRIX

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        _, self.files = cells.sizes_of(self.keys, test) if self.keys else ([], [])
        # The largest file is the least of the cache.
        wanted = spec.file_kb
        self.file_kb = wanted if wanted in self.files else max(self.files, default=None)

    @property
    def selects(self) -> Sequence[Select]:
        offered = [(size, size_name(size)) for size in self.files]
        return [Select("file", "File size", offered, self.file_kb), scale_select(self.spec)]

    def draw_contenders(self) -> Picture:
        matrices = self.in_one_unit(cells.matrices(self.keys, self.test, file_kb=self.file_kb))
        units = [matrix.unit for matrix in matrices]
        unit = max(units, key=units.count) if units else ""
        names = {contender.key: contender.name for contender in self.lines or ()}
        by_name = [
            (names[matrix.series_id], matrix.cells) for matrix in matrices if matrix.unit == unit
        ]
        scale = self.spec.scale or lines.LOG  # a roofline's axes both are
        drawn = [
            Line(name, [point(cell[0], repeats) for cell, repeats in sorted(measured.items())])
            for name, measured in by_name
        ]
        cut = 0
        if scale == lines.LOG:
            drawn = [
                Line(line.name, [_above_zero(drawn_point) for drawn_point in line.points])
                for line in drawn
            ]
            intervals = [
                repeats.interval for _, measured in by_name for repeats in measured.values()
            ]
            cut = sum(interval is not None and interval.low <= 0 for interval in intervals)
        records = sorted({cell[0] for _, measured in by_name for cell in measured})
        ceilings = lun_line.of_series(self.keys, unit, [(kb, self.test, kb) for kb in records])
        undrawn = max(0, len(drawn) + len(ceilings) - lines.MOST_LINES)
        drawn = drawn[: lines.MOST_LINES - len(ceilings)]
        label = testnames.label(self.test)
        if not drawn or not ceilings:
            text = (
                f"Nobody measured the LUN of these contenders by itself, or {label} has nothing of "
                "it that it is set against: submit a job that does (Measure the LUN itself)."
            )
            return Picture(None, notes=[text])
        sizes = {float(kb): size_name(kb) for kb in records}
        figure = lines.curves(
            [*ceilings, *drawn],
            unit,
            f"{label}, files of {size_name(self.file_kb or 0)}",
            f"{testnames.block_word(self.test)} size",
            sizes,
            is_lower(unit),
            # Contenders first: they have the colours that they have in other charts.
            among=[
                *(contender.name for contender in self.contenders),
                *(line.name for line in ceilings),
            ],
            scale=scale,
        )
        lun_line.draw_dashed(figure, ceilings)
        ceiling = {drawn_point.x: drawn_point.y for drawn_point in ceilings[0].points}
        rows = [
            repeats_row((name, cell[0], ceiling.get(cell[0])), repeats)
            for name, measured in by_name
            for cell, repeats in sorted(measured.items())
        ]
        columns = [
            Column("Contender"),
            block_column(self.test),
            Column("The LUN itself", VALUE, unit),
        ]
        table = PictureTable([*columns, *repeats_columns(unit)], rows)
        notes = unknown_unit(unit)
        notes += filter(None, (lun_line.missing_note(ceilings, records, sizes),))
        if not is_lower(unit):
            notes += filter(None, (lun_line.above_note(ceilings, drawn),))
        if cut:
            notes.append(
                f"{cut} intervals reach below zero, which has no logarithm: they are in the table."
            )
        if undrawn:
            notes.append(f"{undrawn} further contenders are in the table alone: choose fewer.")
        return Picture(figure, table, notes, undrawn)


def _above_zero(point: Point) -> Point:
    """Without an interval that a logarithmic axis cannot hold."""
    return replace(point, ends=None) if point.ends and point.ends[0] <= 0 else point
