"""Small multiples: a chart for each test, all of them on one axis."""

from fsbench_web.compare.pictures.base import CategoryPicture, Picture, PictureUnavailable
from fsbench_web.compare.pictures.drawable import SCORES, DrawableTests, category_of, of_tests
from fsbench_web.compare.pictures.parts import link_of, links_of
from fsbench_web.compare.pictures.sections import contenders_of
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures import panels
from fsbench_web.figures.lines import Point
from fsbench_web.figures.panels import MOST_PANELS, SmallMultiple

MOST_ROWS = 10


class Multiples(CategoryPicture):
    slug = "multiples"
    label = "All tests"
    words = (
        "A small chart a test, from the one that is chosen on: each contender in percent of the "
        "speed of the best."
    )
    needs = SCORES

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        scored = offer.of(SCORES)
        start = scored.index(test) if test in scored else 0
        tests = scored[start : start + MOST_PANELS]
        self.left_out = len(scored) - start - len(tests)
        slugs = {
            category_of(spec.category, offer.categories[name], is_printed=offer.is_printed(name))
            for name in tests
        }
        slugs.add(self.category)
        compared = of_tests(spec.comparison, tests, slugs)
        self.tables = _one_each(compared.tables, self.category)
        self.notices += [compared.emulated.sentence] if compared.emulated else []

    def draw(self) -> Picture:
        """A panel a test, in the order of all pages."""
        ranked = [
            table
            for table in self.tables
            if any(row.delta1_percent is not None for row in table.rows)
        ]
        if not ranked:
            raise PictureUnavailable(self.needs.refusal)
        largest = max(len(table.rows) for table in ranked)
        cut = f", the best {MOST_ROWS} of up to {largest} contenders" if largest > MOST_ROWS else ""
        figure = panels.multiples(
            [_panel(table) for table in ranked],
            f"Percent of the speed of the best of each test{cut}",
            among=contenders_of(ranked),
        )
        columns = [
            *(Column("Test"), Column("Category"), Column("Contender")),
            *(Column("Percent of the best", VALUE, "%"), Column("Score", VALUE), Column("Unit")),
        ]
        rows = [
            Row(
                (
                    testnames.label(table.test),
                    table.category_label,
                    row.contender,
                    None if row.delta1_percent is None else 100 - row.delta1_percent,
                    row.score,
                    table.unit,
                ),
                links_of(row),
            )
            for table in ranked
            for row in table.rows[::-1]
        ]
        notes = []
        if self.left_out > 0:
            notes.append(f"{self.left_out} further tests are not drawn: choose a later one.")
        if largest > MOST_ROWS:
            notes.append(
                f"Of each test the best {MOST_ROWS} of up to {largest} contenders are drawn."
            )
        return Picture(figure, PictureTable(columns, rows), notes)


def _one_each(tables: list[DeltaTable], category: str) -> list[DeltaTable]:
    """Of each test the table of the category, else its last."""
    chosen: dict[str, DeltaTable] = {}
    for table in tables:
        previous = chosen.get(table.test)
        if previous is None or previous.category != category:
            chosen[table.test] = table
    return list(chosen.values())


def _panel(table: DeltaTable) -> SmallMultiple:
    rows = [row for row in table.rows[::-1] if row.delta1_percent is not None][:MOST_ROWS]
    label = testnames.label(table.test)
    if table.category != categories.MEAN:
        label += f", {table.category_in_sentence}"
    return SmallMultiple(label, [(row.contender, _point(table, row)) for row in rows])


def _point(table: DeltaTable, row: DeltaRow) -> Point:
    scale = table.scale
    if table.has_published_rows:
        text = numbers.with_unit(row.score, table.unit)
    else:
        half = row.interval.half_width if row.interval else None
        text = f"{scale.amount(row.score, half)} {scale.unit}".removesuffix(" score")
    count = f", n = {row.runs}" if row.runs is not None else ""
    return Point(100 - (row.delta1_percent or 0), 0, None, f"{text}{count}", link_of(row))
