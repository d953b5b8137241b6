"""Scores: the rows of a delta table as bars."""

from fsbench_web.compare.pictures.base import NoPicture, OfCategory, Picture
from fsbench_web.compare.pictures.offer import SCORES, Offer, tables
from fsbench_web.compare.pictures.parts import bars_of, ends_of, links_of
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import COUNT, VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.scores import mean
from fsbench_web.figures import bars


class BestCases(OfCategory):
    slug = "bars"
    label = "Scores"
    words = "Each contender: the mean of its repeats, or its score."
    needs = SCORES

    def __init__(self, spec: PictureSpec, test: str, offer: Offer) -> None:
        super().__init__(spec, test, offer)
        self.tables, emulated = tables(spec, [test], self.category)
        self.notices += [emulated] if emulated else []

    def draw(self) -> Picture:
        if not self.tables:
            raise NoPicture(self.needs.nothing)
        return _drawn(max(self.tables, key=lambda table: len(table.rows)))


def _drawn(table: DeltaTable) -> Picture:
    rows = table.rows[::-1]  # best first
    category = categories.in_sentence(categories.label(table.category))
    figure = bars.best_case(
        [row.contender for row in rows],
        title=f"{testnames.label(table.test)}: {category}",
        **bars_of(table),
    )
    columns = [
        Column("Contender"),
        Column("Configuration"),
        Column("Score", VALUE, table.unit),
        Column("Mean of repeats", VALUE, table.unit),
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
                mean(row.repeats) if row.repeats else None,
                *(ends_of(row) or (None, None)),
                row.runs,
            ),
            links_of(row),
        )
        for row in rows
    ]
    return Picture(figure, PictureTable(columns, listed))
