"""Repeats of a table's cells by their dates, or by the order of their rows. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from fsbench_web.core.formats.dates import MONTHS, ctime
from fsbench_web.core.formats.result import OwnKey, Problem
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.measurement_columns import Column

_ISO = re.compile(r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9:.]{4,15}(?:Z|[+-][0-9:]{4,6})?)?")
_TIME = r"(?:,? ([0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?))?"
_DOTTED = re.compile(rf"([0-9]{{1,2}})\.([0-9]{{1,2}})\.([0-9]{{4}}){_TIME}")
_SLASHED = re.compile(rf"([0-9]{{1,2}})/([0-9]{{1,2}})/([0-9]{{4}}){_TIME}")
_MONTH = rf"({'|'.join(MONTHS)})[a-z]{{0,6}}\.?"
_NAMED = re.compile(rf"(?:([0-9]{{1,2}})[ -])?{_MONTH}[ -](?:([0-9]{{1,2}}),? )?([0-9]{{4}})")
_CTIME = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]{1,2} [0-9:]{8} [0-9]{4}")
_SECONDS = re.compile("[0-9]{9,10}")


class FirstDate(NamedTuple):
    """Where a date stands first: its place among all of a table, its line and column."""

    place: int
    line: int
    column: int | None


def numbered(
    keys: Sequence[OwnKey], runs: Column, cells: Column, order: Column
) -> tuple[list[OwnKey], Column]:
    """Runs with repeats, counted for each cell in this order, and the run of each number.

    Runs with one number for each cell need no repeat. Repeats that a table says stay.
    """
    is_open = np.array([key[3] is None for key in keys])
    counted = order[is_open[runs][order]]
    by_cell = counted[np.argsort(cells[counted], kind="stable")]
    is_first = np.append(True, cells[by_cell][1:] != cells[by_cell][:-1])[: len(by_cell)]
    places = np.arange(len(by_cell))
    repeats = np.zeros(len(runs), dtype=np.int64)
    repeats[by_cell] = places - np.maximum.accumulate(np.where(is_first, places, 0)) + 1
    has_several = np.zeros(len(keys), dtype=np.bool_)
    has_several[runs[repeats > 1]] = True
    repeats[~has_several[runs]] = 0
    most = int(repeats.max()) + 1
    found, first, new = np.unique(runs * most + repeats, return_index=True, return_inverse=True)
    by_line = np.argsort(first)
    new_keys = []
    for pair in found[by_line].tolist():
        key, repeat = keys[pair // most], pair % most
        new_keys.append((*key[:3], repeat or key[3], *key[4:]))
    return new_keys, np.argsort(by_line)[new.reshape(-1)]


def moments_of(dates: Mapping[str, FirstDate]) -> tuple[list[datetime | None], list[Problem]]:
    """The moment of each date, None where it has none for sure; and which texts are none."""
    slashed = [match for text in dates if (match := _SLASHED.fullmatch(text))]
    is_month_first = any(int(match[2]) > 12 for match in slashed)
    is_day_first = any(int(match[1]) > 12 for match in slashed)
    is_open = bool(slashed) and is_month_first == is_day_first
    moments: list[datetime | None] = []
    doubts: list[Problem] = []
    for text, (_, line, column) in dates.items():
        moment = None
        if match := _SLASHED.fullmatch(text):
            first, second = (match[1], match[2]) if is_day_first else (match[2], match[1])
            moment = None if is_open else _moment(match[3], second, first, match[4])
            code = "date_open" if is_open else "no_date"
        else:
            moment, code = date_of(text), "no_date"
        moments.append(moment)
        if text and moment is None:
            doubts.append(problem(code, line, column, found=quoted(text)))
    return moments, doubts


def date_of(text: str) -> datetime | None:
    """The date that a text writes without doubt (2024-03-01 10:30, 1 Mar 2024), or None."""
    try:
        if _ISO.fullmatch(text):
            return datetime.fromisoformat(text.replace("/", "-"))
        if match := _DOTTED.fullmatch(text):
            return _moment(match[3], match[2], match[1], match[4])
        if match := _NAMED.fullmatch(text):
            day = match[1] or match[3]
            return datetime(int(match[4]), MONTHS.index(match[2]) + 1, int(day)) if day else None
        if _CTIME.fullmatch(text):
            return ctime(text)
        if _SECONDS.fullmatch(text):
            return datetime.fromtimestamp(int(text), UTC)
    except ValueError:
        return None
    return None


def _moment(year: str, month: str, day: str, time: str | None) -> datetime | None:
    hour, minute, second = [*map(int, (time or "0:0").split(":")), 0][:3]
    try:
        return datetime(int(year), int(month), int(day), hour, minute, second)
    except ValueError:
        return None


def sortable(moment: datetime | None) -> datetime:
    """What is compared: dates with and without a zone can stand in one table."""
    if moment is None:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
