"""Delta tables as CSV: one line a row, numbers unrounded, text that no spreadsheet will run."""

import csv
import io
from collections.abc import Iterable

from fsbench_web.compare.tables.columns import Value, columns_of
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.numbers import as_text

HEADER = (
    "test",
    "category",
    "contender",
    "configuration",
    "score",
    "unit",
    "best",
    "delta1_percent",
    "delta2_percent",
    "published_delta1_percent",
    "published_delta2_percent",
    "flags",
)
PRINTED = ("printed_score", "printed_unit")
"""Further columns, where any score was converted."""
SHARES = ("share_percent", "ceiling", "ceiling_of")
"""Further columns, where any score has a share of its LUN."""
MEDIA_TYPE = "text/csv; charset=utf-8"


def write(tables: Iterable[DeltaTable]) -> str:
    """The tables as CSV, numbers unrounded; PRINTED and SHARES follow where any row has them."""
    all_tables = list(tables)
    names = (
        HEADER
        + PRINTED * any(table.has_printed_units for table in all_tables)
        + SHARES * any(table.has_shares for table in all_tables)
    )
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(names)
    for table in all_tables:
        columns = columns_of(table)
        chosen = [columns[name] for name in names]
        writer.writerows([cell(column.value_of(row)) for column in chosen] for row in table.rows)
    return out.getvalue()


def cell(value: Value | tuple[str, ...]) -> str:
    """A value as a cell: nothing is an empty one, several are joined by ";"."""
    if isinstance(value, tuple):
        value = ";".join(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return as_text(value) if value is None or isinstance(value, str) else str(value)
