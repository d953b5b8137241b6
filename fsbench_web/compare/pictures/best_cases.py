"""Best cases: the rows of a delta table as bars."""

from fsbench_web.compare.pictures.base import NoPicture, OfCategory, Picture
from fsbench_web.compare.pictures.offer import SCORES, Offer, tables
from fsbench_web.compare.pictures.parts import ends_of, link_of, links_of
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import COUNT, VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures import bars


class BestCases(OfCategory):
    slug = "bars"
    label = "Best cases"
    words = "The score of each contender."
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
        [row.score for row in rows],
        table.unit,
        f"{testnames.label(table.test)}: {category}",
        lower_is_better=table.lower_is_better,
        best=[row.mark == "best" for row in rows],
        names=[row.filesystem for row in rows],
        errors=[ends_of(row) for row in rows],
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
                *(ends_of(row) or (None, None)),
                row.runs,
            ),
            links_of(row),
        )
        for row in rows
    ]
    return Picture(figure, PictureTable(columns, listed))
