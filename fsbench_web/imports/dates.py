"""When an imported run was measured: what its file prints, if that can be believed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from fsbench_web.core.formats.result import OwnKey, ParsedResult, PrintedDate, Problem
from fsbench_web.platform import clock

INSTEAD = "the date of the import stands for it"
EARLIEST_YEAR = 1990
"""Before any of the tools; a clock that was never set says 1970."""
_AHEAD = timedelta(days=1)
"""A machine may be up to 14 hours ahead of this one, and its file says no time zone."""


@dataclass(frozen=True)
class MeasuredDate:
    """``Run.measured_at`` and ``measured_source``; ``at`` is None where nobody says when."""

    at: datetime | None = None
    source: dict[str, Any] = field(default_factory=dict)


def measured_date(parsed: ParsedResult, keys: Iterable[OwnKey]) -> MeasuredDate:
    """When the run was measured that a file calls by these keys: at the first date of any."""
    dates = [parsed.dates[key] for key in keys if key in parsed.dates]
    plausible = [date for date in dates if not _doubt(date)]
    if not plausible:
        return MeasuredDate()
    first = min(plausible, key=lambda date: date.line)
    assert first.at is not None
    zone = "" if first.at.tzinfo else timezone.get_default_timezone_name()
    source = {"text": first.text, "line": first.line, "assumed_zone": zone}
    return MeasuredDate(_aware(first.at), source)


def doubts(parsed: ParsedResult) -> list[Problem]:
    """Why dates of the file are not taken, or not for sure, in sentences."""
    return [
        Problem(date.line, None, f"\u201c{date.text}\u201d {doubt}.", is_note=True)
        for date in dict.fromkeys(parsed.dates.values())
        if (doubt := f"{why}; {INSTEAD}" if (why := _doubt(date)) else _ambiguity(date))
    ]


def _ambiguity(date: PrintedDate) -> str:
    """Where clocks are put forward or back, what a time without a zone is taken for; else empty."""
    if date.at is None or date.at.tzinfo:
        return ""
    zone = timezone.get_default_timezone()
    first, second = (
        date.at.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta() for fold in (0, 1)
    )
    if first == second:
        return ""
    name = timezone.get_default_timezone_name()
    if first > second:
        return f"happened twice in {name}, where clocks went back; the first is taken"
    taken = f"{timezone.localtime(_aware(date.at), zone):%H:%M}"
    return f"never happened in {name}, where clocks went forward; {taken} is taken"


def _doubt(date: PrintedDate) -> str:
    """Why it cannot be when the run was measured; empty where it can."""
    if date.at is None:
        return "is no date"
    # By year first: the first and the last hours of all time have no UTC.
    if date.at.year < EARLIEST_YEAR:
        return f"is before {EARLIEST_YEAR}"
    latest = clock.now() + _AHEAD
    if date.at.year > latest.year or _aware(date.at) > latest:
        return "is in the future"
    return ""


def _aware(at: datetime) -> datetime:
    """In the site's time zone where the file says none: the page then shows what the file does."""
    aware = at if at.tzinfo else timezone.make_aware(at, timezone.get_default_timezone())
    # Hours that clocks leave out, or show twice, are unequal to themselves in another zone.
    return aware.astimezone(UTC)
