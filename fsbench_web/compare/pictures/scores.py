"""The pictures of scores: best-case bars, and write and read on top of each other."""

from django.urls import reverse

from fsbench_web.compare.pictures.kinds import PAIRS
from fsbench_web.compare.pictures.parts import Picture, run_links
from fsbench_web.compare.pictures.table import COUNT, VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures import bars, stacked
from fsbench_web.studies.runs.listing import address_of


def best_cases(table: DeltaTable) -> Picture:
    """The rows of a delta table as bars, best first."""
    rows = table.rows[::-1]
    category = categories.in_sentence(categories.label(table.category))
    figure = bars.best_case(
        [row.contender for row in rows],
        [row.score for row in rows],
        table.unit,
        f"{testnames.label(table.test)}: {category}",
        lower_is_better=table.lower_is_better,
        best=[row.best for row in rows],
        names=[row.filesystem for row in rows],
        errors=[_ends(row) for row in rows],
        links=[link_of(row) for row in rows],
    )
    columns = [
        Column("Contender"),
        Column("Configuration"),
        Column("Score", VALUE, table.unit),
        Column("95% low", VALUE, table.unit),
        Column("95% high", VALUE, table.unit),
        Column("Runs", COUNT),
    ]
    listed = [
        Row(
            (
                row.contender,
                row.configuration,
                row.score,
                *(_ends(row) or (None, None)),
                row.runs,
            ),
            links_of(row),
        )
        for row in rows
    ]
    return Picture(figure, PictureTable(columns, listed))


def write_and_read(
    writes: DeltaTable | None, reads: DeltaTable | None, test: str, category: str
) -> Picture:
    """The best write and the best read of each contender, stacked."""
    read_test = PAIRS[test]
    if writes is None or reads is None or writes.unit != reads.unit:
        return Picture(
            None,
            notes=[
                f"{testnames.label(test)} and {testnames.label(read_test).lower()} are not both "
                "scored in this category, or not in one unit. Choose another category."
            ],
        )
    ours = {row.contender: row for row in writes.rows}
    theirs = {row.contender: row for row in reads.rows}
    names = sorted(ours.keys() | theirs.keys())
    halves = (testnames.label(test), testnames.label(read_test))
    figure = stacked.read_write(
        names,
        [_score(ours.get(name)) for name in names],
        [_score(theirs.get(name)) for name in names],
        writes.unit,
        f"{halves[0]} plus {halves[1].lower()}: "
        f"{categories.in_sentence(categories.label(category))}",
        links=[(_link(ours.get(name)), _link(theirs.get(name))) for name in names],
        halves=halves,
    )
    unit = writes.unit
    columns = [
        Column("Contender"),
        Column(halves[0], VALUE, unit),
        Column(halves[1], VALUE, unit),
        Column("Sum", VALUE, unit),
    ]
    rows = []
    for name in names:
        first, second = _score(ours.get(name)), _score(theirs.get(name))
        total = None if first is None or second is None else first + second
        links = [
            link for row in (ours.get(name), theirs.get(name)) if row for link in links_of(row)
        ]
        rows.append(Row((name, first, second, total), tuple(dict.fromkeys(links))))
    rows.sort(key=lambda row: -(row.cells[3] if isinstance(row.cells[3], float) else 0.0))
    lacking = [name for name in names if name not in ours or name not in theirs]
    notes = [f"Without both halves: {', '.join(lacking)}."] if lacking else []
    return Picture(figure, PictureTable(columns, rows), notes)


def link_of(row: DeltaRow) -> str:
    """The runs behind a row, or the study that published it."""
    return address_of(row.run_ids) or reverse("studies:study", args=[row.study])


def links_of(row: DeltaRow) -> tuple[tuple[str, str], ...]:
    """The same as words and addresses, each run by itself."""
    return run_links(row.run_ids) or (
        (row.study_title, reverse("studies:study", args=[row.study])),
    )


def _link(row: DeltaRow | None) -> str:
    return link_of(row) if row else ""


def _score(row: DeltaRow | None) -> float | None:
    return row.score if row else None


def _ends(row: DeltaRow) -> tuple[float, float] | None:
    return (row.interval.low, row.interval.high) if row.interval else None
