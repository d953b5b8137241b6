"""Delta tables as an Excel workbook. Text is always a string, never a formula. No Django."""

import io
import re
from collections.abc import Iterable
from datetime import UTC
from decimal import Decimal
from typing import Any

from fsbench_web.compare.exports.document import (
    Document,
    footnotes,
    one_line,
    table_title,
    unit_line,
    written,
)
from fsbench_web.compare.tables.columns import Value, columns_of
from fsbench_web.core.comparison.rows import DeltaTable

MOST_SHEETS = 200
"""Tables with a sheet of their own; a workbook with more is one that nobody finds a way in."""
_LONGEST_NAME = 31
_LONGEST_CELL = 32_000
ALL_HEADER = (
    "test",
    "category",
    "contender",
    "configuration",
    "study",
    "n",
    "score",
    "unit",
    "best",
    "interval_mean",
    "interval_half_width",
    "delta1_percent",
    "delta2_percent",
    "published_delta1_percent",
    "published_delta2_percent",
    "difference",
    "method",
    "ratio",
    "ratio_low",
    "ratio_high",
    "blocks",
    "flags",
    "run_ids",
    "printed_score",
    "printed_unit",
)


class _Unrounded(float):
    """A number written with all 17 digits: xlsxwriter would write 16."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return repr(float(self))


def write(document: Document) -> bytes:
    """About, all rows in one sheet, then each table; an XLSX file."""
    out = io.BytesIO()
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    import xlsxwriter  # by the process that renders: the web process has 2 MiB less

    with xlsxwriter.Workbook(out, options) as book:
        book.set_properties(
            {
                "title": one_line(document.title, 255),
                "subject": "fsbench",
                # Else the moment of writing: the same document would be another file every time.
                "created": document.as_of.astimezone(UTC).replace(tzinfo=None),
            }
        )
        book.set_size(2000, 1300)
        bold, wrapped = book.add_format({"bold": True}), book.add_format({"text_wrap": True})
        names = _names(document.tables)
        _write_about_sheet(book, document, names, bold, wrapped)
        _all_rows(book, document.tables, bold)
        for table, name in zip(document.tables, names, strict=False):
            _table(book.add_worksheet(name), document, table, bold)
    return out.getvalue()


def _write_about_sheet(
    book: Any, document: Document, names: list[str], bold: Any, wrapped: Any
) -> None:
    sheet = book.add_worksheet("About")
    sheet.set_column(0, 0, 30)
    sheet.set_column(1, 1, 100, wrapped)
    _put(sheet, 0, 0, document.title, bold)
    place = 2
    for name, value in document.facts:
        _put(sheet, place, 0, name, bold)
        _put(sheet, place, 1, value)
        place += 1
    if len(document.tables) > len(names):
        _put(sheet, place, 0, "Sheets", bold)
        text = (
            f"The first {len(names)} of {len(document.tables)} tables have a sheet of their own; "
            "“All rows” has the rows of all."
        )
        _put(sheet, place, 1, text)
        place += 1
    notes = {note.flag: note for table in document.tables for note in footnotes(table)}
    for note in notes.values():
        _put(sheet, place, 0, f"Flag: {note.label}", bold)
        _put(sheet, place, 1, note.sentence)
        place += 1


def _all_rows(book: Any, tables: Iterable[DeltaTable], bold: Any) -> None:
    sheet = book.add_worksheet("All rows")
    for column, name in enumerate(ALL_HEADER):
        _put(sheet, 0, column, name, bold)
    place = 0
    for table in tables:
        every = columns_of(table)
        chosen = [every[name] for name in ALL_HEADER]
        for row in table.rows:
            place += 1
            for number, value in enumerate([column.value_of(row) for column in chosen]):
                _put(sheet, place, number, value)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, place, len(ALL_HEADER) - 1)
    sheet.set_column(0, len(ALL_HEADER) - 1, 18)


def _table(sheet: Any, document: Document, table: DeltaTable, bold: Any) -> None:
    shown = written(table)
    _put(sheet, 0, 0, f"{shown.title}, {unit_line(table, is_stored=True)}", bold)
    _put(sheet, 1, 0, f"{document.address}, as of {document.as_of:%Y-%m-%d}")
    headings = [*(column.heading for column in shown.columns), "Best", "Notes"]
    for number, heading in enumerate(headings):
        _put(sheet, 3, number, heading, bold)
    for place, (row, mark, letters) in enumerate(shown.rows, start=4):
        values = [*(column.value_of(row) for column in shown.columns), mark, ", ".join(letters)]
        for number, value in enumerate(values):
            _put(sheet, place, number, value)
    for place, line in enumerate([*shown.remarks, *shown.lines], start=5 + len(table.rows)):
        _put(sheet, place, 0, line)
    sheet.freeze_panes(4, 1)
    sheet.set_column(0, 1, 30)
    sheet.set_column(2, len(shown.columns) + 1, 16)


def _put(sheet: Any, row: int, column: int, value: Value, style: Any = None) -> None:
    """Write one value as what it is. Nothing is missing as an empty cell, never as a zero."""
    if value is None or value == "":
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, style)
    elif isinstance(value, int | float | Decimal):
        sheet.write_number(row, column, _Unrounded(value), style)
    else:
        sheet.write_string(row, column, one_line(value, _LONGEST_CELL), style)


def _names(tables: Iterable[DeltaTable]) -> list[str]:
    """A name for each sheet: no longer than Excel takes, and none twice."""
    names: list[str] = []
    taken = {"about", "all rows", "history"}
    for table in list(tables)[:MOST_SHEETS]:
        plain = re.sub(r"[\[\]:*?/\\]", " ", one_line(table_title(table).replace(": ", " ")))
        base = plain.strip("' ")[:_LONGEST_NAME].rstrip("' ") or "Table"
        name, number = base, 2
        while name.lower() in taken:
            ending = f" ({number})"
            name, number = base[: _LONGEST_NAME - len(ending)] + ending, number + 1
        taken.add(name.lower())
        names.append(name)
    return names
