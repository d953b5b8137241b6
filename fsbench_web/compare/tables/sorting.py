"""The order in which the rows of a delta table are shown. Pure.

Tables are kept worst first, as in the paper; another order is only for the eye.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable


def _natural(text: str) -> list[tuple[int, str]]:
    """6.9 before 6.10, as the browser sorts them."""
    parts = re.findall("[0-9]+|[^0-9]+", text.lower())
    return [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts]


_KEYS: dict[str, Callable[[DeltaRow], Any]] = {
    "score": lambda row: row.score,
    "change": lambda row: row.change_percent,
    "share": lambda row: row.share and row.share.shown_percent,
    "runs": lambda row: row.runs,
    "cells": lambda row: row.cells,
    "interval": lambda row: row.interval and row.interval.relative_percent,
    "configuration": lambda row: row.configuration,
    "workload": lambda row: row.workload,
    "hardware": lambda row: row.hardware,
    "lun": lambda row: row.lun,
    "kernel": lambda row: row.kernel and _natural(row.kernel),
    "study": lambda row: row.study_title,
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
    numbered: list[tuple[Any, DeltaRow]] = []
    missing = []
    for row in table.rows:
        number = value(row)
        if number is None:
            missing.append(row)
        else:
            numbered.append((number, row))
    numbered.sort(key=lambda pair: pair[0], reverse=is_reversed)
    return replace(table, rows=(*(row for _, row in numbered), *missing))
