"""The phases of a work: seconds of each, contender by contender."""

from collections import Counter
from collections.abc import Sequence

from fsbench_web.compare.pictures.base import Picture, PictureKind, Select, scale_select
from fsbench_web.compare.pictures.drawable import SCORES, DrawableTests, Need, ScoredTests, tables
from fsbench_web.compare.pictures.parts import (
    ends_of,
    interval_cells,
    interval_columns,
    link_of,
    links_of,
)
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaRow
from fsbench_web.core.scoring import categories, phases, testnames
from fsbench_web.figures.lines import MOST_LINES, Point
from fsbench_web.figures.phases import ContenderPhases
from fsbench_web.figures.phases import phases as drawn


def _works(scored: ScoredTests) -> list[str]:
    """Each work once for each load, called by the first of its phases; of several phases alone."""
    works = {tuple(phases.tests_of(test)) for test in scored}
    measured = [[test for test in work if test in scored] for work in works]
    return sorted((tests[0] for tests in measured if len(tests) > 1), key=phases.place)


class Phases(PictureKind):
    slug = "phases"
    label = "Phases"
    words = (
        "What each phase of a work takes, several contenders side by side, each with its 95% "
        "interval."
    )
    needs = Need(
        _works,
        "No test of this comparison is a phase of a work, as those of Mongo and of a compilation "
        "are.",
    )

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        scored = offer.of(SCORES)
        wanted = [name for name in phases.tests_of(test) if name in scored]
        self.tables, emulated = tables(spec, wanted, categories.MEAN)
        self.notices += [emulated] if emulated else []

    @property
    def selects(self) -> Sequence[Select]:
        return [scale_select(self.spec)]

    @staticmethod
    def label_of(test: str) -> str:
        return phases.label(test)

    def draw(self) -> Picture:
        """All phases of the work at its load."""
        work = phases.work_of(self.test)
        if work is None or not self.tables:
            return Picture(None, notes=["No contender has a phase of this work."])
        [(unit, _)] = Counter(table.unit for table in self.tables).most_common(1)
        of_unit = [table for table in self.tables if table.unit == unit]
        by_test = {testnames.parts(table.test)[0]: table for table in of_unit}
        # What nobody has is no phase of these: of a generated tree there is no bzImage.
        names = {name: phase for name, phase in work.phases.items() if name in by_test}
        by_contender: dict[str, dict[str, DeltaRow]] = {}
        for name, phase in names.items():
            for row in by_test[name].rows:
                by_contender.setdefault(row.contender, {})[phase] = row
        chosen = {name: by_contender[name] for name in sorted(_rank(by_contender)[:MOST_LINES])}
        figure = drawn(
            [
                ContenderPhases(contender, [_point(rows.get(phase)) for phase in names.values()])
                for contender, rows in chosen.items()
            ],
            list(names.values()),
            unit,
            phases.label(self.test),
            of_unit[0].lower_is_better,
            among=by_contender,
            scale=self.spec.scale,
        )
        missing = [
            f"{contender} has no {phase}."
            for contender, rows in chosen.items()
            for phase in names.values()
            if phase not in rows
        ]
        more = len(by_contender) - len(chosen)
        left = [f"{more} further contenders are not drawn: choose fewer."] if more else []
        return Picture(figure, _table(chosen, list(names.values()), unit), [*left, *missing], more)


def _rank(by_contender: dict[str, dict[str, DeltaRow]]) -> list[str]:
    """Those with the most phases first; of these the quickest in all of them."""
    return sorted(
        by_contender,
        key=lambda name: (
            -len(by_contender[name]),
            sum(row.score for row in by_contender[name].values()),
            name,
        ),
    )


def _table(chosen: dict[str, dict[str, DeltaRow]], names: list[str], unit: str) -> PictureTable:
    columns = [
        Column("Phase"),
        Column("Contender"),
        Column("Configuration"),
        Column("Mean", VALUE, unit),
        *interval_columns(unit),
    ]
    rows = [
        Row(
            (phase, contender, row.configuration, row.score, *interval_cells(row.interval)),
            links_of(row),
        )
        for phase in names
        for contender, rows in chosen.items()
        if (row := rows.get(phase)) is not None
    ]
    return PictureTable(columns, rows)


def _point(row: DeltaRow | None) -> Point | None:
    if row is None:
        return None
    return Point(0, row.score, ends_of(row), row.configuration or "", link_of(row))
