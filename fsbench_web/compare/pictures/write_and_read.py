"""Write and read on top of each other, as the combined charts of the Unisys paper."""

from dataclasses import dataclass, replace

from fsbench_web.compare.pictures.base import CategoryPicture, Picture
from fsbench_web.compare.pictures.drawable import DrawableTests, Need, tables
from fsbench_web.compare.pictures.parts import link_of, links_of
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import VALUE, Column, PictureTable, Row
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.conversion import BINARY
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures import stacked

READS = {
    "write": "read",
    "rewrite": "reread",
    "random_write": "random_read",
    "fwrite": "fread",
    "refwrite": "refread",
}
"""The test that reads what a test writes, drawn on top of it."""


class WriteAndRead(CategoryPicture):
    slug = "stacked"
    label = "Write and read"
    words = "Write and read on top of each other, as the combined charts of the Unisys paper."
    needs = Need(
        lambda scored: [write for write, read in READS.items() if {write, read} <= scored.keys()],
        "This comparison has no test that writes together with the one that reads.",
    )

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        self.read = READS[test]
        delta_tables, emulated = tables(spec, (test, self.read), self.category)
        if len({table.unit for table in delta_tables}) > 1 and not spec.comparison.units:
            # One test agrees in a unit, and the other in another.
            one_unit = replace(spec, comparison=replace(spec.comparison, units=BINARY))
            delta_tables, emulated = tables(one_unit, (test, self.read), self.category)
        self.by_test = {table.test: table for table in delta_tables}
        self.notices += [emulated] if emulated else []

    @property
    def drawable_categories(self) -> list[str]:
        of_read = self.offer.categories[READS[self.test]]
        return [slug for slug in super().drawable_categories if slug in of_read]

    def draw(self) -> Picture:
        writes, reads = self.by_test.get(self.test), self.by_test.get(self.read)
        halves = (testnames.label(self.test), testnames.label(self.read))
        if writes is None or reads is None or writes.unit != reads.unit:
            text = f"{halves[0]} and {halves[1].lower()} are not both scored in this category, or "
            return Picture(None, notes=[f"{text}not in one unit. Choose another category."])
        pairs = _points(writes, reads)
        category = categories.in_sentence(categories.label(self.category))
        figure = stacked.read_write(
            [pair.name for pair in pairs],
            [_score(pair.write) for pair in pairs],
            [_score(pair.read) for pair in pairs],
            writes.unit,
            f"{halves[0]} plus {halves[1].lower()}: {category}",
            links=[(_link(pair.write), _link(pair.read)) for pair in pairs],
            halves=halves,
        )
        columns = [
            Column("Contender"),
            *(Column(title, VALUE, writes.unit) for title in (*halves, "Sum")),
        ]
        rows = [pair.row for pair in sorted(pairs, key=lambda pair: -(pair.total or 0.0))]
        lacking = [pair.name for pair in pairs if pair.write is None or pair.read is None]
        notes = [f"Without both halves: {', '.join(lacking)}."] if lacking else []
        return Picture(figure, PictureTable(columns, rows), notes)


@dataclass(frozen=True)
class _WriteAndReadPoint:
    """The best write and the best read of one contender, which may lack either."""

    name: str
    write: DeltaRow | None
    read: DeltaRow | None

    @property
    def total(self) -> float | None:
        return self.write.score + self.read.score if self.write and self.read else None

    @property
    def row(self) -> Row:
        links = [link for half in (self.write, self.read) if half for link in links_of(half)]
        cells = (self.name, _score(self.write), _score(self.read), self.total)
        return Row(cells, tuple(dict.fromkeys(links)))


def _points(writes: DeltaTable, reads: DeltaTable) -> list[_WriteAndReadPoint]:
    write_rows = {row.contender: row for row in writes.rows}
    read_rows = {row.contender: row for row in reads.rows}
    names = sorted(write_rows.keys() | read_rows.keys())
    return [_WriteAndReadPoint(name, write_rows.get(name), read_rows.get(name)) for name in names]


def _link(row: DeltaRow | None) -> str:
    return link_of(row) if row else ""


def _score(row: DeltaRow | None) -> float | None:
    return row.score if row else None
