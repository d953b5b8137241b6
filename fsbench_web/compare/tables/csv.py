"""Delta tables as CSV: one line a row, numbers unrounded, text that no spreadsheet will run."""

import csv
import io
from collections.abc import Iterable

from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable

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
"""Further columns, where any score is set against what its LUN does by itself."""
MEDIA_TYPE = "text/csv; charset=utf-8"


def write(tables: Iterable[DeltaTable]) -> str:
    """The tables as CSV with ``HEADER``; ``best`` is true or false, flags are joined by ";".

    What is missing is an empty cell. Printed deltas keep the digits of the paper. What was
    converted has its score and unit as its tool printed them, in ``PRINTED``; ``SHARES`` are what
    scores are of their LUNs, whose own is in the same unit.
    """
    all_tables = list(tables)
    has_printed = any(table.has_printed_units for table in all_tables)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    has_shares = any(table.has_shares for table in all_tables)
    writer.writerow(HEADER + PRINTED * has_printed + SHARES * has_shares)
    for table in all_tables:
        for row in table.rows:
            printed = [_number(row.printed_score), as_text(row.printed_unit)]
            writer.writerow(_cells(table, row) + printed * has_printed + _share(row) * has_shares)
    return out.getvalue()


def _cells(table: DeltaTable, row: DeltaRow) -> list[str]:
    printed = row.published
    return [
        as_text(table.test),
        as_text(table.category),
        as_text(row.contender),
        as_text(row.configuration),
        _number(row.score),
        as_text(table.unit),
        "true" if row.best else "false",
        _number(row.delta1_percent),
        _number(row.delta2_percent),
        _number(printed and printed.delta1_percent),
        _number(printed and printed.delta2_percent),
        as_text(";".join(row.flags)),
    ]


def _share(row: DeltaRow) -> list[str]:
    share = row.share
    if share is None:
        return [""] * len(SHARES)
    return [_number(share.shown_percent), _number(share.ceiling), as_text(share.of)]


def as_text(value: str | None) -> str:
    """Text with which a spreadsheet does nothing but show it.

    A cell that begins with one of these is a formula to Excel and LibreOffice; the apostrophe
    makes it text (OWASP, "CSV injection", which has the full-width forms too).
    """
    if value and value[0] in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20":
        return f"'{value}"
    return value or ""


def _number(value: object) -> str:
    return "" if value is None else str(value)
