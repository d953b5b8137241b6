"""Which rows of a delta table a page shows, and in which order. Pure.

Tables are kept worst first, as in the paper; what is done here is only for the eye.
"""

import re
from dataclasses import replace
from typing import Any

from fsbench_web.compare.selection.table_view import (
    DIFFERENT,
    EQUIVALENT,
    INCONCLUSIVE,
    NOT_KNOWN,
    TableView,
)
from fsbench_web.compare.tables.columns import Value, columns_of
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.stats import verdicts
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT

REFERENCE = "reference"
_STATUS = {
    verdicts.SIGNIFICANT: DIFFERENT,
    verdicts.EQUAL: EQUIVALENT,
    verdicts.TIE: INCONCLUSIVE,
    verdicts.UNKNOWN: NOT_KNOWN,
}


_SORTED_BY = {
    "change": "change_percent",
    "share": "share_percent",
    "runs": "n",
    "interval": "interval_percent",
    "study": "study_title",
}
"""The column that an order of rows is by, where it has another name."""


def in_order(table: DeltaTable, sort: str) -> DeltaTable:
    """The table with its rows in the order ``sort`` (``settings.SORTS``), worst first without one.

    What is missing stands last, whatever the direction; equal rows stay as they were.
    """
    if not sort:
        return table
    if sort == "best":
        return replace(table, rows=table.rows[::-1])
    name = sort.removeprefix("-")
    value_of = columns_of(table)[_SORTED_BY.get(name, name)].value_of
    known = [(_natural(value), row) for row in table.rows if (value := value_of(row)) is not None]
    known.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    missing = (row for row in table.rows if value_of(row) is None)
    return replace(table, rows=(*(row for _, row in known), *missing))


def _natural(value: Value) -> Any:
    """A sort key: numbers in text count as numbers, so that 6.9 is before 6.10."""
    if not isinstance(value, str):
        return value
    parts = re.findall("[0-9]+|[^0-9]+", value.lower())
    return [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts]


def verdict_of(row: DeltaRow, has_baseline: bool) -> str:
    """What is known of a row against the one that its table is read by: a key of ``VERDICTS``.

    That is the baseline where there is one, else the best; it is REFERENCE itself.
    """
    if row.is_baseline if has_baseline else row.best:
        return REFERENCE
    verdict = row.change_verdict if has_baseline else row.verdict
    return NOT_KNOWN if verdict is None else _STATUS[verdict.status]


def distance_percent(row: DeltaRow, has_baseline: bool) -> float | None:
    """How far it is from that one, in percent of its speed; None where that is not defined."""
    value = row.change_percent if has_baseline else row.delta1_percent
    return None if value is None else abs(value)


def worth_percent(row: DeltaRow, has_baseline: bool) -> float:
    """What is worth a decision: the margin of equivalence that the row was judged by."""
    verdict = row.change_verdict if has_baseline else row.verdict
    margin = verdict.equivalence_percent if verdict else None
    return EQUIVALENCE_PERCENT if margin is None else margin


def hidden_places(table: DeltaTable, view: TableView) -> frozenset[int]:
    """The places of the rows that the view does not show.

    What the others are read by is shown as long as any of them is; a table of which nothing else is
    left is hidden whole.
    """
    if not view.is_filtered:
        return frozenset()
    has_baseline = bool(table.baseline)
    others = {
        place for place, row in enumerate(table.rows) if verdict_of(row, has_baseline) != REFERENCE
    }
    shown_places = {place for place in others if _is_shown(table.rows[place], has_baseline, view)}
    return frozenset(others - shown_places) if shown_places else frozenset(range(len(table.rows)))


def _is_shown(row: DeltaRow, has_baseline: bool, view: TableView) -> bool:
    verdict, distance = verdict_of(row, has_baseline), distance_percent(row, has_baseline)
    if view.verdicts and verdict not in view.verdicts:
        return False
    if view.least_percent and (distance is None or distance < view.least_percent):
        return False
    return not view.important or (
        verdict == DIFFERENT
        and distance is not None
        and distance >= (view.least_percent or worth_percent(row, has_baseline))
    )
