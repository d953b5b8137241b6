"""The order in which the rows of a delta table are shown. Pure.

Tables are kept worst first, as in the paper; another order is only for the eye.
"""

from collections.abc import Callable
from dataclasses import replace

from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable

_KEYS: dict[str, Callable[[DeltaRow], float | None]] = {
    "score": lambda row: row.score,
    "change": lambda row: row.change_percent,
    "runs": lambda row: row.runs,
    "cells": lambda row: row.cells,
}


def in_order(table: DeltaTable, sort: str) -> DeltaTable:
    """The table with its rows in the order ``sort`` (``spec.SORTS``), worst first without one.

    What is missing stands last, whatever the direction; equal rows stay as they were.
    """
    if not sort:
        return table
    if sort == "best":
        return replace(table, rows=table.rows[::-1])
    name, is_reversed = sort.removeprefix("-"), sort.startswith("-")
    if name == "contender":
        rows = sorted(table.rows, key=lambda row: row.contender, reverse=is_reversed)
        return replace(table, rows=tuple(rows))
    value = _KEYS[name]
    found: list[tuple[float, DeltaRow]] = []
    missing = []
    for row in table.rows:
        number = value(row)
        if number is None:
            missing.append(row)
        else:
            found.append((number, row))
    found.sort(key=lambda pair: pair[0], reverse=is_reversed)
    return replace(table, rows=(*(row for _, row in found), *missing))
