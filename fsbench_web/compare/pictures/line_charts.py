"""Lines of several contenders: profiles and rooflines over sizes, and curves over loads.

A roofline is throughput below that of the LUN without a file system. S. Williams, A. Waterman and
D. Patterson, "Roofline: An Insightful Visual Performance Model for Multicore Architectures",
CACM 52(4), 2009.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from fsbench_web.compare.pictures.base import (
    MATRIX,
    RUNS,
    Contender,
    FixedSizesPicture,
    Need,
    Picture,
    PictureUnavailable,
    ScoredTests,
    Select,
    SeveralContendersPicture,
    is_measured,
    scale_select,
    sizes_in_words,
)
from fsbench_web.compare.pictures.table import (
    CONTENDER,
    ChartColumn,
    Drawn,
    drawn_table,
    is_lower,
    lines_of,
    load,
    sizes,
    text,
    unknown_unit,
    value,
)
from fsbench_web.compare.selection.wording import joined
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.core.scoring.shares import NOT_OF_THE_DISK_PERCENT
from fsbench_web.figures import lines
from fsbench_web.figures.heatmap import size_name
from fsbench_web.figures.lines import Line, Point
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores import cells, shares
from fsbench_web.studies.scores.cells import LoadCurve, Matrix
from fsbench_web.studies.scores.queries import on_worker


class LineChart(SeveralContendersPicture):
    """A line for each contender in one unit, and a dashed one for each LUN."""

    @property
    def selects(self) -> Sequence[Select]:
        return [*super().selects, scale_select(self.spec)]

    def picture(
        self,
        drawn: Sequence[Line],
        unit: str,
        title: str,
        x_title: str,
        numbers: Sequence[Drawn],
        columns: Sequence[ChartColumn[Drawn]],
        notes: Sequence[str],
        x_names: Mapping[float, str] | None = None,
        ceilings: Sequence[Line] = (),
        scale: str = "",
    ) -> Picture:
        """The lines, and their ``numbers`` as a table, where ``columns`` say the places."""
        figure = lines.curves(
            [*ceilings, *drawn],
            unit,
            title,
            x_title,
            x_names,
            is_lower(unit),
            # Contenders first: they have the colours that they have in other charts.
            among=[
                *(contender.name for contender in self.contenders),
                *(line.name for line in ceilings),
            ],
            scale=scale or self.spec.scale,
        )
        table = drawn_table(numbers, columns, unit, has_flags=True)
        return Picture(figure, table, [*notes, *unknown_unit(unit)])


def _of_cells(matrices: Iterable[tuple[Contender, Matrix]], along: int) -> list[Drawn]:
    """Each cell of the contenders, at one of its sizes: 0 the block's, 1 the file's."""
    return [
        Drawn.of_repeats(contender.name, cell[along], repeats, *cell)
        for contender, matrix in matrices
        for cell, repeats in sorted(matrix.cells.items())
    ]


class Profile(LineChart, FixedSizesPicture):
    slug = "profile"
    label = "Profile lines"
    words = "Several entries at one block size or one file size."
    needs = MATRIX

    def prepare(self) -> None:
        super().prepare()
        if self.record_kb is None and self.file_kb is None and self.records:
            self.record_kb = self.records[0]

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
            return Picture(None, notes=["No entry was measured at this size: choose another."])
        along = 0 if self.record_kb is None else 1
        drawn = _of_cells(pairs, along)
        names = {each.x: size_name(each.x) for each in drawn}
        gaps = [
            f"{contender.name} was not measured at {len(names) - len(matrix.cells)} of the sizes: "
            "its line has gaps there."
            for contender, matrix in pairs
            if len(matrix.cells) < len(names)
        ]
        return self.picture(
            lines_of(drawn),
            unit,
            f"{testnames.label(self.test)} at {self.sizes_in_words[0]}",
            "file size" if along else f"{self.block} size",
            drawn,
            [CONTENDER, *sizes(self.test, lambda row: row.at)],
            [*notes, *gaps],
            names,
        )


class Roofline(LineChart):
    slug = "roofline"
    label = "Roofline"
    words = "Throughput against request size, below that of the LUN itself."
    needs = MATRIX

    def prepare(self) -> None:
        super().prepare()
        _, self.files = cells.sizes_of(self.keys, self.test) if self.keys else ([], [])
        # The largest file is the least of the cache.
        wanted = self.spec.file_kb
        self.file_kb = wanted if wanted in self.files else max(self.files, default=None)

    @property
    def selects(self) -> Sequence[Select]:
        offered = [(size, size_name(size)) for size in self.files]
        return [Select("file", "File size", offered, self.file_kb), *super().selects]

    def draw_contenders(self) -> Picture:
        matrices, unit, not_drawn = self.of_one_unit(
            cells.matrices(self.keys, self.test, file_kb=self.file_kb)
        )
        numbers = _of_cells(matrices, 0)
        records = sorted({int(each.x) for each in numbers})
        ceilings = lun_lines(self.keys, unit, [(kb, self.test, kb) for kb in records])
        scale = self.spec.scale or lines.LOG  # a roofline's axes both are
        drawn = lines_of(numbers)
        if scale == lines.LOG:
            drawn = [replace(line, points=list(map(_above_zero, line.points))) for line in drawn]
        undrawn = max(0, len(drawn) + len(ceilings) - lines.MOST_LINES)
        drawn = drawn[: lines.MOST_LINES - len(ceilings)]
        label = testnames.label(self.test)
        if not drawn or not ceilings:
            refusal = (
                f"The LUN of these entries was not measured, or not with what {label} needs: "
                "submit a job that measures it (Measure the LUN itself)."
            )
            return Picture(None, notes=[refusal])
        size_names = {float(kb): size_name(kb) for kb in records}
        ceiling = {drawn_point.x: drawn_point.y for drawn_point in ceilings[0].points}
        notes = [missing_note(ceilings, records, size_names)]
        if not is_lower(unit):
            notes.append(above_note(ceilings, drawn))
        cut = sum(each.interval is not None and each.interval.low <= 0 for each in numbers)
        if cut and scale == lines.LOG:
            notes.append(
                f"{cut} intervals reach below zero, which has no logarithm: they are in the table."
            )
        if undrawn:
            notes.append(f"{undrawn} further entries are in the table alone: choose fewer.")
        self.undrawn += undrawn
        return self.picture(
            drawn,
            unit,
            f"{label}, files of {size_name(self.file_kb or 0)}",
            f"{testnames.block_word(self.test)} size",
            numbers,
            [
                CONTENDER,
                sizes(self.test, lambda row: row.at)[0],
                value("The LUN itself", unit, lambda row: ceiling.get(row.x)),
            ],
            [*not_drawn, *filter(None, notes)],
            size_names,
            ceilings,
            scale,
        )


def _above_zero(point: Point) -> Point:
    """Without an interval that a logarithmic axis cannot hold."""
    return replace(point, ends=None) if point.ends and point.ends[0] <= 0 else point


def _with_loads(scored: ScoredTests) -> list[str]:
    """The tests, without their loads, that were measured at any."""
    named = [testnames.parts(test) for test, kinds in scored.items() if is_measured(kinds)]
    return list(dict.fromkeys(name for name, load in named if load))


class LoadCurves(LineChart):
    slug = "load"
    label = "Load curves"
    words = "Several entries at more and more load, each number with its 95% interval."
    needs = Need(
        _with_loads,
        "No finished run of this comparison was measured at a load, as threads=8. Curves that a "
        "paper printed without numbers, as those of FREENIX 2002, cannot be drawn: nothing is read "
        "off a printed picture. Import results at several loads to draw them here.",
    )

    @property
    def measured_tests(self) -> list[str]:
        tests = {test: testnames.parts(test) for test in self.offer.of(RUNS)}
        return [test for test, (name, load) in tests.items() if name == self.test and load]

    def draw_contenders(self) -> Picture:
        label = testnames.label(self.test)
        measured, unit, not_drawn = self.of_one_unit(cells.load_curves(self.keys, self.test))
        if not measured:
            return Picture(None, notes=[f"{label} was not measured at several loads."])
        axis = loads.varied(load for _, curve in measured for load in curve.loads)
        every = self._numbers(measured, axis)
        if not every:
            return Picture(
                None, notes=["The loads of these measurements name no number to draw by."]
            )
        places = {(each.x, each.at[0]) for each in every}
        ceilings = lun_lines(
            self.keys, unit, [(x, testnames.at_load(self.test, load), None) for x, load in places]
        )
        names = list(dict.fromkeys(each.name for each in every))
        chosen = names[: lines.MOST_LINES - len(ceilings)]
        drawn = [each for name in chosen for each in every if each.name == name]
        # Each line by its number, lines in their order.
        listed = sorted(drawn, key=lambda each: (chosen.index(each.name), each.x))
        alone = sum(each.interval is None for each in drawn)
        single_runs = (
            f"{alone} of {len(drawn)} numbers have no interval: a single run without "
            "interval samples."
        )
        return self.picture(
            lines_of(drawn),
            unit,
            f"{label} over {loads.label(axis)}",
            loads.label(axis),
            listed,
            [
                CONTENDER,
                text("Load", lambda row: loads.words(row.at[0])),
                load(axis, lambda row: row.x),
            ],
            [
                *not_drawn,
                *([single_runs] if alone else []),
                *self.left_out(len(names) - len(chosen), "curves"),
            ],
            ceilings=ceilings,
        )

    def _numbers(self, measured: Sequence[tuple[Contender, LoadCurve]], axis: str) -> list[Drawn]:
        """Of each contender and each other thing that its loads differ in a line; ``at`` is the
        load."""
        block = testnames.block_word(self.test)
        has_sizes = len({curve.sizes for _, curve in measured}) > 1
        numbers = []
        for contender, curve in measured:
            record_kb, file_kb = (size or None for size in curve.sizes)
            of_sizes = sizes_in_words(record_kb, file_kb, block) if has_sizes else []
            for at_load, repeats in curve.loads.items():
                number, rest = loads.split(at_load, axis)
                if number is not None:
                    name = ", ".join(filter(None, [contender.name, *of_sizes, rest]))
                    numbers.append(Drawn.of_repeats(name, number, repeats, at_load))
        return numbers


LUN_ITSELF = "The LUN itself"
ALL_SIZES_FROM_S = 30
"""A shorter probe leaves sizes out (runner/agent/preparation/probe.py)."""
MOST_LUNS = 2
"""Lines of LUNs in one picture: contenders of more are on different hardware anyway."""


def lun_lines(
    keys: Collection[int], unit: str, wanted: Iterable[tuple[float, str, int | None]]
) -> list[Line]:
    """A line for each LUN that these series were measured on. Four queries at most.

    ``wanted`` are places with the test and the record size of each.
    """
    ceilings = shares.of_many(keys)
    rows = Series.objects.filter(pk__in=ceilings).values_list(
        "pk", "lun__name", "lun__worker__name"
    )
    luns = {pk: on_worker(lun, worker) or "" for pk, lun, worker in rows} if ceilings else {}
    places = sorted(wanted, key=lambda place: place[0])
    by_lun: dict[str, Line] = {}
    for key, ceiling in ceilings.items():
        values = [(x, ceiling.in_unit(unit, test, record)) for x, test, record in places]
        points = [Point(x, y, note="without a file system") for x, y in values if y is not None]
        if points and luns[key] not in by_lun and len(by_lun) < MOST_LUNS:
            by_lun[luns[key]] = Line(luns[key], points, is_ceiling=True)
    if len(by_lun) == 1:
        return [replace(line, name=LUN_ITSELF) for line in by_lun.values()]
    return [replace(line, name=f"{LUN_ITSELF}, {lun}") for lun, line in by_lun.items()]


def missing_note(
    ceilings: Sequence[Line], places: Sequence[float], names: Mapping[float, str]
) -> str:
    """A sentence on the places without a known ceiling; "" for none."""
    covered = {point.x for line in ceilings for point in line.points}
    without = [names[place] for place in sorted(places) if place not in covered]
    if not ceilings or not without:
        return ""
    return (
        f"Nothing that can be set against requests of {joined(without, len(without))} was measured "
        "of the LUN itself: it measures more sizes where it is given "
        f"{ALL_SIZES_FROM_S} seconds or more."
    )


def above_note(ceilings: Sequence[Line], lines: Sequence[Line]) -> str:
    """A sentence on points above the only ceiling; "" for none."""
    if len(ceilings) != 1:
        return ""
    ceiling = {point.x: point.y for point in ceilings[0].points}
    under = [point for line in lines for point in line.points if point.x in ceiling]
    limit = NOT_OF_THE_DISK_PERCENT / 100
    count = sum(point.y > limit * ceiling[point.x] for point in under)
    if not count:
        return ""
    return (
        f"{count} of {len(under)} points lie above the LUN itself: a cache answered, or "
        " something slowed the LUN down while it was measured."
    )
