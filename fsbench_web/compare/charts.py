"""The bar chart of a delta table as a drawing: for pages, paper and pictures without scripts."""

from fsbench_web.compare.drawings.bars import WIDTH, Bar, bars
from fsbench_web.compare.drawings.shapes import Drawing
from fsbench_web.compare.rows import DeltaTable
from fsbench_web.compare.significance import nearest_first
from fsbench_web.figures import numbers, palette
from fsbench_web.scoring import categories, testnames
from fsbench_web.scoring.units import SUM


def table_title(table: DeltaTable) -> str:
    """What the table is of: ``Random read: total average``."""
    return (
        f"{testnames.label(table.test)}: {categories.in_sentence(categories.label(table.category))}"
    )


def axis_words(table: DeltaTable) -> str:
    """The unit of the table and which direction is better."""
    unit = "sum of the six categories" if table.unit == SUM else table.unit or "no unit"
    direction = "less is better" if table.lower_is_better else "more is better"
    return f"{unit}, {direction}"


def chart(table: DeltaTable, *, title: str = "", width: float = WIDTH, most: int = 24) -> Drawing:
    """The rows of a table as bars, best first, with the intervals that are known."""
    rows = [table.rows[place] for place in nearest_first(table)]
    least = numbers.least_decimals(row.score for row in rows)
    series = palette.series_of([row.filesystem for row in rows])
    return bars(
        [
            Bar(
                label=row.contender,
                value=row.score,
                text=numbers.amount(row.score, table.unit, least),
                series=number,
                is_best=row.best,
                interval=(row.interval.low, row.interval.high) if row.interval else None,
            )
            for row, number in zip(rows, series, strict=True)
        ],
        title or table_title(table),
        axis_words(table),
        width=width,
        most=most,
    )
