"""The formats that a comparison can be had in."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fsbench_web.compare.exports import latex, markdown, workbook
from fsbench_web.compare.exports.document import Document, footnotes, table_title
from fsbench_web.compare.tables import csv
from fsbench_web.core.comparison.rows import DeltaTable


@dataclass(frozen=True)
class Format:
    """A file format. ``text``: a page shows it to be copied; ``is_dated``: it states its time."""

    suffix: str
    label: str
    use: str
    media_type: str
    write: Callable[[Document], bytes]
    text: bool = False
    is_dated: bool = True


def _csv(document: Document) -> bytes:
    return csv.write(document.tables).encode()


def _json(document: Document) -> bytes:
    """Numbers unrounded, in the words of the API, with title, address, time and flags."""
    notes = {note.flag: note for table in document.tables for note in footnotes(table)}
    content = {
        "title": document.title,
        "description": document.description,
        "address": document.address,
        "as_of": document.as_of.isoformat(),
        "snapshot_sha256": document.sha256 or None,
        "flags": {flag: note.sentence for flag, note in notes.items()},
        "tables": [
            {"title": table_title(table)} | _shown_table(table) for table in document.tables
        ],
    }
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False).encode()


def _shown_table(table: DeltaTable) -> dict[str, Any]:
    """The table for other programs: without a share that says nothing."""
    rows = [row.as_dict() | {"share": row.share and row.share.shown_dict()} for row in table.rows]
    return table.head | {"rows": rows}


FORMATS = {
    file_format.suffix: file_format
    for file_format in (
        Format(
            "csv",
            "CSV",
            "One line a row, numbers unrounded: for scripts and statistics.",
            csv.MEDIA_TYPE,
            _csv,
            is_dated=False,
        ),
        Format(
            "json",
            "JSON",
            "All fields of each row, numbers unrounded.",
            "application/json",
            _json,
        ),
        Format(
            "xlsx",
            "Excel",
            "A sheet for each table and one with all rows.",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            workbook.write,
        ),
        Format(
            "md",
            "Markdown",
            "Tables for wikis, issues and pull requests.",
            "text/markdown; charset=utf-8",
            markdown.write,
            text=True,
        ),
        Format(
            "tex",
            "LaTeX",
            "Tables with booktabs, to be read in with \\input.",
            "application/x-tex; charset=utf-8",
            latex.write,
            text=True,
        ),
    )
}
