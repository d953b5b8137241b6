"""The bar chart of a delta table as a drawing: for pages, paper and pictures without scripts."""

from collections.abc import Iterable

from fsbench_web.compare.drawings.bars import WIDTH, Bar, bars
from fsbench_web.compare.drawings.ceilings import ceilings_of
from fsbench_web.compare.drawings.shapes import Drawing
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.compare.tables.verdicts.significance import is_ranked, nearest_first
from fsbench_web.core.scoring import testnames
from fsbench_web.core.units import SUM
from fsbench_web.figures import palette


def table_title(table: DeltaTable) -> str:
    """What the table is of: ``Random read: total average``."""
    return f"{testnames.label(table.test)}: {table.category_in_sentence}"


def axis_words(table: DeltaTable, *, is_stored: bool = False) -> str:
    """The unit of the table, as it is shown or stored, and which direction is better, if any."""
    unit = table.unit if is_stored else table.scale.unit
    unit = "sum of the six categories" if unit == SUM else unit or "no unit"
    unit += table.unit_remark
    if table.rows and not is_ranked(table):
        return f"{unit}, not ranked"
    direction = "less is better" if table.lower_is_better else "more is better"
    return f"{unit}, {direction}"


def chart(
    table: DeltaTable,
    *,
    title: str = "",
    width: float = WIDTH,
    max_rows: int = 24,
    among: Iterable[str] = (),
) -> Drawing:
    """The rows of a table as bars, best first, with the intervals that are known.

    ``among`` are all contenders that are drawn beside it: each keeps its colour.
    """
    rows = [table.rows[place] for place in nearest_first(table)]
    values = [table.bar_of(row) for row in rows]
    scale = table.scale
    series = [style.series for style in palette.styles([row.contender for row in rows], among)]
    return bars(
        [
            Bar(
                label=row.contender,
                value=value / scale.divisor,
                text=table.amount(value, row.interval.half_width if row.interval else None),
                series=number,
                is_best=table.mark_of(row) == "best",
                interval=(
                    row.interval.low / scale.divisor,
                    row.interval.high / scale.divisor,
                )
                if row.interval
                else None,
                repeats=tuple(repeat / scale.divisor for repeat in row.repeats),
            )
            for row, value, number in zip(rows, values, series, strict=True)
        ],
        title or table_title(table),
        axis_words(table) + ("; means of repeats" if any(map(table.shows_mean, rows)) else ""),
        width=width,
        max_rows=max_rows,
        ceilings=ceilings_of(rows, scale.divisor),
        unit=scale.unit,
    )
