"""Load curves: several contenders at more and more load, each number with its interval."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fsbench_web.compare.pictures import lun_line
from fsbench_web.compare.pictures.base import Picture, Select, scale_select
from fsbench_web.compare.pictures.contender_pictures import (
    SeveralContendersPicture,
    point,
    sizes_in_words,
)
from fsbench_web.compare.pictures.drawable import RUNS, Need, ScoredTests, is_measured
from fsbench_web.compare.pictures.parts import (
    is_lower,
    load_column,
    repeats_columns,
    repeats_row,
    unknown_unit,
)
from fsbench_web.compare.pictures.table import Column, PictureTable
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.figures import lines
from fsbench_web.figures.lines import Line
from fsbench_web.studies.scores import cells
from fsbench_web.studies.scores.cells import LoadCurve, Repeats


class LoadPoint(NamedTuple):
    """One number of a curve: ``number`` is that of the load which the curve goes along."""

    number: float
    load: str
    repeats: Repeats


Curves = dict[str, list[LoadPoint]]
"""By name, in order of the contenders."""


def _with_loads(scored: ScoredTests) -> list[str]:
    """The tests, without their loads, that were measured at any."""
    named = [testnames.parts(test) for test, kinds in scored.items() if is_measured(kinds)]
    return list(dict.fromkeys(name for name, load in named if load))


class LoadCurves(SeveralContendersPicture):
    slug = "load"
    label = "Load curves"
    words = "Several contenders at more and more load, each number with its 95% interval."
    needs = Need(
        _with_loads,
        "No finished run of this comparison was measured at a load, as threads=8. Curves that a "
        "paper printed without numbers, as those of FREENIX 2002, cannot be drawn: nothing is read "
        "off a printed picture. Import results at several loads to draw them here.",
    )

    @property
    def selects(self) -> Sequence[Select]:
        return [scale_select(self.spec)]

    @property
    def measured_tests(self) -> list[str]:
        tests = {test: testnames.parts(test) for test in self.offer.of(RUNS)}
        return [test for test, (name, load) in tests.items() if name == self.test and load]

    def draw_contenders(self) -> Picture:
        label = testnames.label(self.test)
        all_curves = self.in_one_unit(cells.load_curves(self.keys, self.test))
        if not all_curves:
            return Picture(None, notes=[f"{label} was not measured at several loads."])
        units = [curve.unit for curve in all_curves]
        unit = max(units, key=units.count)
        curves = [curve for curve in all_curves if curve.unit == unit]
        axis = loads.varied(load for curve in curves for load in curve.loads)
        by_name = self._curves(curves, axis)
        if not by_name:
            text = "The loads of these measurements name no number to draw by."
            return Picture(None, notes=[text])
        places = {
            (load_point.number, load_point.load)
            for points in by_name.values()
            for load_point in points
        }
        ceilings = lun_line.of_series(
            self.keys, unit, [(x, testnames.at_load(self.test, load), None) for x, load in places]
        )
        drawn = dict(list(by_name.items())[: lines.MOST_LINES - len(ceilings)])
        figure = lines.curves(
            [
                *ceilings,
                *(
                    Line(
                        name,
                        [point(load_point.number, load_point.repeats) for load_point in points],
                    )
                    for name, points in drawn.items()
                ),
            ],
            unit,
            f"{label} over {loads.label(axis)}",
            loads.label(axis),
            lower_is_better=is_lower(unit),
            among=[
                *(contender.name for contender in self.contenders),
                *(line.name for line in ceilings),
            ],
            scale=self.spec.scale,
        )
        lun_line.draw_dashed(figure, ceilings)
        notes = [*_notes(drawn, len(by_name)), *unknown_unit(unit)]
        return Picture(figure, _table(drawn, unit, axis), notes, len(by_name) - len(drawn))

    def _curves(self, load_curves: Iterable[LoadCurve], axis: str) -> Curves:
        """A curve for each contender and each other thing that its loads differ in."""
        place = {key: number for number, key in enumerate(self.keys)}
        names = {contender.key: contender.name for contender in self.lines or ()}
        curves = sorted(load_curves, key=lambda curve: place[curve.series_id])
        block = testnames.block_word(self.test)
        has_sizes = len({curve.sizes for curve in curves}) > 1
        parts: Curves = {}
        for curve in curves:
            record_kb, file_kb = (size or None for size in curve.sizes)
            sizes = sizes_in_words(record_kb, file_kb, block) if has_sizes else []
            for text, repeats in curve.loads.items():
                number, rest = loads.split(text, axis)
                if number is not None:
                    name = ", ".join([names[curve.series_id], *sizes, *([rest] if rest else [])])
                    parts.setdefault(name, []).append(LoadPoint(number, text, repeats))
        return parts


def _table(drawn: Curves, unit: str, axis: str) -> PictureTable:
    number = load_column(axis)
    rows = [
        repeats_row((name, loads.words(load_point.load), load_point.number), load_point.repeats)
        for name, points in drawn.items()
        for load_point in sorted(points, key=lambda load_point: load_point.number)
    ]
    return PictureTable([Column("Contender"), Column("Load"), number, *repeats_columns(unit)], rows)


def _notes(drawn: Curves, total: int) -> list[str]:
    load_points: Sequence[LoadPoint] = [
        load_point for points in drawn.values() for load_point in points
    ]
    alone = sum(not load_point.repeats.interval for load_point in load_points)
    notes = []
    if alone:
        notes.append(
            f"{alone} of {len(load_points)} numbers have no interval: a single run without "
            "interval samples."
        )
    if total > len(drawn):
        notes.append(f"{total - len(drawn)} further curves are not drawn: choose fewer contenders.")
    return notes
