"""Repeats of a table's cells by their dates, or by the order of their rows. Pure."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from fsbench_web.core.formats.dates import MONTHS, ctime
from fsbench_web.core.formats.result import OwnKey, ParsedValue, PrintedDate, Problem, own_key
from fsbench_web.core.formats.tables.cells import TableReading, cell_key
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import quoted

_ISO = re.compile(r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9:.]{4,15}(?:Z|[+-][0-9:]{4,6})?)?")
_TIME = r"(?:,? ([0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?))?"
_DOTTED = re.compile(rf"([0-9]{{1,2}})\.([0-9]{{1,2}})\.([0-9]{{4}}){_TIME}")
_SLASHED = re.compile(rf"([0-9]{{1,2}})/([0-9]{{1,2}})/([0-9]{{4}}){_TIME}")
_MONTH = rf"({'|'.join(MONTHS)})[a-z]{{0,6}}\.?"
_NAMED = re.compile(rf"(?:([0-9]{{1,2}})[ -])?{_MONTH}[ -](?:([0-9]{{1,2}}),? )?([0-9]{{4}})")
_CTIME = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]{1,2} [0-9:]{8} [0-9]{4}")
_SECONDS = re.compile("[0-9]{9,10}")


def number_repeats(reading: TableReading) -> None:
    """Give values the repeats that their dates or their order tell, and the result its dates."""
    values = reading.result.values
    if reading.is_in_order:
        reading.result.values = _numbered(values, range(len(values)))
    elif any(date.text for date in reading.dates):
        _number_by_dates(reading)


def _number_by_dates(reading: TableReading) -> None:
    values = reading.result.values
    moments, doubts = _moments(reading)
    if doubts and len(set(map(cell_key, values))) < len(values):
        reading.asks_something = True
        reading.problems += doubts  # only dates tell rows of one cell apart
        return
    reading.result.warnings += doubts
    order = sorted(range(len(values)), key=lambda n: _sortable(moments[n]))
    reading.result.values = values = _numbered(values, order)
    for value, date, moment in zip(values, reading.dates, moments, strict=True):
        if moment is None:
            continue
        key: OwnKey = own_key(value)
        earlier = reading.result.dates.get(key)
        if earlier is None or _sortable(moment) < _sortable(earlier.at):
            reading.result.dates[key] = PrintedDate(moment, date.text, value.line)


def _numbered(values: Sequence[ParsedValue], order: Collection[int]) -> list[ParsedValue]:
    """Values with a repeat, counted for each cell in this order. Cells that all have one value
    need none, and who numbers repeats in the table is believed.
    """
    counts: dict[tuple[object, ...], int] = defaultdict(int)
    repeats: dict[int, int] = {}
    for place in order:
        value = values[place]
        if value.repeat is None:
            counts[cell_key(value)] += 1
            repeats[place] = counts[cell_key(value)]
    several = {own_key(values[place]) for place, repeat in repeats.items() if repeat > 1}
    return [
        replace(value, repeat=repeats[place])
        if place in repeats and own_key(value) in several
        else value
        for place, value in enumerate(values)
    ]


def _moments(reading: TableReading) -> tuple[list[datetime | None], list[Problem]]:
    """The date of each value, None where it has none for sure; and which texts are none."""
    texts = dict.fromkeys(date.text for date in reading.dates)
    slashed = [match for text in texts if (match := _SLASHED.fullmatch(text))]
    is_month_first = any(int(match[2]) > 12 for match in slashed)
    is_day_first = any(int(match[1]) > 12 for match in slashed)
    moments: dict[str, datetime | None] = {"": None}
    for text in texts:
        if match := _SLASHED.fullmatch(text):
            first, second = (match[1], match[2]) if is_day_first else (match[2], match[1])
            moments[text] = _moment(match[3], second, first, match[4])
        elif text:
            moments[text] = date_of(text)
    is_open = bool(slashed) and is_month_first == is_day_first
    doubts: dict[str, Problem] = {}
    for value, date in zip(reading.result.values, reading.dates, strict=True):
        is_doubtful = is_open and _SLASHED.fullmatch(date.text) is not None
        if date.text and date.text not in doubts and (is_doubtful or moments[date.text] is None):
            code = "date_open" if is_doubtful else "no_date"
            doubts[date.text] = problem(code, value.line, date.column, found=quoted(date.text))
    certain = moments | dict.fromkeys(doubts)
    return [certain[date.text] for date in reading.dates], list(doubts.values())


def date_of(text: str) -> datetime | None:
    """The date that a text writes without doubt, or None: ``2024-03-01 10:30``, ``1.3.2024``,
    ``1 Mar 2024``, seconds since 1970.
    """
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


def _sortable(moment: datetime | None) -> datetime:
    """What is compared: dates with and without a zone can stand in one table."""
    if moment is None:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
