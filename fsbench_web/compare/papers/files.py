"""A study next to a published one as files, numbers unrounded, missing ones empty. Pure."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

from fsbench_web.compare.papers.comparison import PaperRow, PaperTable, agreement
from fsbench_web.compare.tables.csv import MEDIA_TYPE, cell
from fsbench_web.core.comparison.rows import DeltaRow
from fsbench_web.core.numbers import as_text

_OF_EACH = ("configuration", "score", "best", "delta1_percent", "runs", "cells", "flags")
HEADER = (
    *("test", "category", "unit", "contender"),
    *(f"paper_{name}" for name in _OF_EACH),
    *(f"own_{name}" for name in _OF_EACH),
)


class Heading(NamedTuple):
    """What the files say of themselves."""

    title: str
    address: str
    as_of: datetime
    notes: Sequence[str] = ()


def as_csv(tables: Sequence[PaperTable], heading: Heading) -> bytes:
    """One line for each entry and table, with ``HEADER``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEADER)
    for table in tables:
        start = [as_text(getattr(table.paper, name)) for name in ("test", "category", "unit")]
        for row in table.rows:
            sides = [_cells(row.paper), _cells(row.study)]
            writer.writerow([*start, as_text(row.contender), *sides[0], *sides[1]])
    return out.getvalue().encode()


def _cells(row: DeltaRow | None) -> list[str]:
    return [cell(getattr(row, name)) if row else "" for name in _OF_EACH]


def as_json(tables: Sequence[PaperTable], heading: Heading) -> bytes:
    """Everything that is known of each row of either; null where it has none."""
    content = {
        "title": heading.title,
        "notes": list(heading.notes),
        "address": heading.address,
        "as_of": heading.as_of.isoformat(),
        "agreement": asdict(agreement(tables)),
        "tables": [_table(table) for table in tables],
    }
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False).encode()


def _table(table: PaperTable) -> dict[str, Any]:
    return {
        "test": table.paper.test,
        "category": table.paper.category,
        "unit": table.paper.unit,
        "lower_is_better": table.paper.lower_is_better,
        "is_measured": table.study is not None,
        "pairs": table.pairs,
        "same_pairs": table.same_pairs,
        "is_same_best": table.is_same_best,
        "rows": [_row(row) for row in table.rows],
    }


def _row(row: PaperRow) -> dict[str, Any]:
    return {
        "contender": row.contender,
        "paper": row.paper and row.paper.as_dict(),
        "own": row.study and row.study.as_dict(),
    }


class PaperFormat(NamedTuple):
    label: str
    media_type: str
    write: Callable[[Sequence[PaperTable], Heading], bytes]


FORMATS = {
    "csv": PaperFormat("CSV", MEDIA_TYPE, as_csv),
    "json": PaperFormat("JSON", "application/json", as_json),
}
"""By the suffix of the file."""
