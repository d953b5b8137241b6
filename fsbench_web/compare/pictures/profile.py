"""Profile lines: several contenders at one block size or one file size."""

from collections.abc import Sequence

from fsbench_web.compare.pictures.base import Picture, PictureUnavailable, Select, scale_select
from fsbench_web.compare.pictures.contender_pictures import FixedSizesPicture, point
from fsbench_web.compare.pictures.drawable import MATRIX, DrawableTests
from fsbench_web.compare.pictures.parts import (
    FILE,
    block_column,
    is_lower,
    repeats_columns,
    repeats_row,
    unknown_unit,
)
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import Column, PictureTable
from fsbench_web.core.scoring import testnames
from fsbench_web.figures import lines
from fsbench_web.figures.lines import Line
from fsbench_web.figures.sizes import size_name
from fsbench_web.studies.scores import cells


class Profile(FixedSizesPicture):
    slug = "profile"
    label = "Profile lines"
    words = "Several contenders at one block size or one file size."
    needs = MATRIX

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        if self.record_kb is None and self.file_kb is None and self.records:
            self.record_kb = self.records[0]

    @property
    def selects(self) -> Sequence[Select]:
        return [*super().selects, scale_select(self.spec)]

    def draw_contenders(self) -> Picture:
        if self.record_kb is not None and self.file_kb is not None:
            raise PictureUnavailable(
                f"A profile is taken at one {self.block} size or at one file size: set the other "
                "to every size."
            )
        matrices = cells.matrices(
            self.keys, self.test, record_kb=self.record_kb, file_kb=self.file_kb
        )
        pairs, unit, notes = self.of_one_unit(matrices)
        if not pairs:
            return Picture(None, notes=["No contender was measured at this size: choose another."])
        along = 0 if self.record_kb is None else 1
        numbers = [(contender.name, sorted(matrix.cells.items())) for contender, matrix in pairs]
        drawn = [
            Line(name, [point(cell[along], repeats) for cell, repeats in of_one])
            for name, of_one in numbers
        ]
        places = {drawn_point.x for line in drawn for drawn_point in line.points}
        figure = lines.curves(
            drawn,
            unit,
            f"{testnames.label(self.test)} at {self.sizes_in_words[0]}",
            "file size" if along else f"{self.block} size",
            {place: size_name(place) for place in places},
            is_lower(unit),
            among=[contender.name for contender in self.contenders],
            scale=self.spec.scale,
        )
        rows = [
            repeats_row((name, *cell), repeats)
            for name, of_one in numbers
            for cell, repeats in of_one
        ]
        table = PictureTable(
            [Column("Contender"), block_column(self.test), FILE, *repeats_columns(unit)], rows
        )
        gaps = [
            f"{name} was not measured at {len(places) - len(of_one)} of the sizes: its line has "
            "gaps there."
            for name, of_one in numbers
            if len(of_one) < len(places)
        ]
        return Picture(figure, table, [*notes, *gaps, *unknown_unit(unit)])
