"""The picture of a work's phases: seconds of each, contender by contender."""

from collections.abc import Sequence

from fsbench_web.compare.pictures.parts import Picture, interval_cells, interval_columns
from fsbench_web.compare.pictures.scores import link_of, links_of
from fsbench_web.compare.pictures.table import VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import phases as works
from fsbench_web.core.scoring import testnames
from fsbench_web.figures.lines import MOST_LINES, Point
from fsbench_web.figures.phases import Marks
from fsbench_web.figures.phases import phases as drawn


def phases(test: str, tables: Sequence[DeltaTable]) -> Picture:
    """All phases of the work of ``test`` at its load; ``tables`` are those of these tests."""
    work = works.work_of(test)
    if work is None or not tables:
        return Picture(None, notes=["No contender has a phase of this work."])
    units = [table.unit for table in tables]
    unit = max(units, key=units.count)
    by_test = {testnames.parts(one.test)[0]: one for one in tables if one.unit == unit}
    # What nobody has is no phase of these: of a generated tree there is no bzImage.
    names = {name: phase for name, phase in work.phases.items() if name in by_test}
    found: dict[str, dict[str, DeltaRow]] = {}
    for name in names:
        for row in by_test[name].rows:
            found.setdefault(row.contender, {})[name] = row
    # Those with the most phases first; of these the quickest in all of them.
    ranked = sorted(
        found, key=lambda one: (-len(found[one]), sum(r.score for r in found[one].values()), one)
    )
    shown = sorted(ranked[:MOST_LINES])
    figure = drawn(
        [Marks(one, [_point(found[one].get(name)) for name in names]) for one in shown],
        list(names.values()),
        unit,
        works.label(test),
        next(iter(by_test.values())).lower_is_better,
    )
    columns = [
        Column("Phase"),
        Column("Contender"),
        Column("Configuration"),
        Column("Mean", VALUE, unit),
        *interval_columns(unit),
    ]
    rows = [
        Row(
            (
                phase,
                one,
                found[one][name].configuration,
                found[one][name].score,
                *interval_cells(found[one][name].interval),
            ),
            links_of(found[one][name]),
        )
        for name, phase in names.items()
        for one in shown
        if name in found[one]
    ]
    notes = [
        *(
            [f"{len(ranked) - len(shown)} further contenders are not drawn: choose fewer."]
            if len(ranked) > len(shown)
            else []
        ),
        *(
            f"{one} has no {phase}."
            for one in shown
            for name, phase in names.items()
            if name not in found[one]
        ),
    ]
    return Picture(figure, PictureTable(columns, rows), notes)


def _point(row: DeltaRow | None) -> Point | None:
    if row is None:
        return None
    ends = (row.interval.low, row.interval.high) if row.interval else None
    return Point(0, row.score, ends, row.configuration or "", link_of(row))
