"""When a schedule in cron syntax comes next, and when a daily window is open. Pure."""

import re
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from celery.schedules import ParseException, crontab

# Celery's parser ignores what follows a range, so that fields are checked whole.
_PART = r"(\*|\w+(-\w+)?)(/[0-9]+)?"
_FIELD = re.compile(rf"{_PART}(,{_PART})*", re.ASCII)
LONGEST = 100


class ScheduleError(ValueError):
    """The text says what is wrong and what to write."""


@lru_cache(maxsize=256)
def zone_named(name: str) -> ZoneInfo:
    """The time zone of the IANA database. Raises ScheduleError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(
            f'There is no time zone "{name[:40]}": write one such as Europe/Berlin, or UTC.'
        ) from None


@lru_cache(maxsize=256)
def parsed(expression: str) -> crontab:
    """The schedule of five fields. Raises ScheduleError."""
    fields = expression.split()
    if len(fields) != 5 or len(expression) > LONGEST:
        raise ScheduleError(
            "A schedule has five fields: minute, hour, day of the month, month, day of the week. "
            'Write "0 2 * * *" for every night at 2.'
        )
    for field in fields:
        if not _FIELD.fullmatch(field):
            raise ScheduleError(f'"{field}" is no field of a schedule: write 5, 1-5, */2 or 1,3.')
    minute, hour, day, month, weekday = fields
    try:
        schedule = crontab(minute, hour, weekday, day, month)
        schedule.remaining_delta(datetime(2024, 1, 1, tzinfo=UTC), tz=UTC)
    except (ParseException, ValueError, RuntimeError) as error:
        reason = str(error).rstrip(".") or "it cannot be read"
        raise ScheduleError(f'"{expression}" is not a schedule: {reason}.') from None
    return schedule


def next_after(expression: str, zone: str, after: datetime) -> datetime:
    """The first time of the schedule after a moment, in UTC. Raises ScheduleError.

    A local time that a clock change skips comes later; one that it repeats comes once.
    """
    schedule, where = parsed(expression), zone_named(zone)
    local = after.astimezone(where).replace(fold=0)
    while True:
        started, delta, _ = schedule.remaining_delta(local, tz=where)
        local = (started + delta).replace(fold=0)
        moment = local.astimezone(UTC)
        if moment > after:
            return moment


def window(opens: time, closes: time, zone: str, now: datetime) -> tuple[datetime | None, datetime]:
    """When runs may start, None for now, and must end: the open window, or the next one. Raises
    ScheduleError.
    """
    where = zone_named(zone)
    today = now.astimezone(where).date()
    for days in range(-1, 3):
        day = today + timedelta(days=days)
        begin = datetime.combine(day, opens, where).astimezone(UTC)
        last_day = day if closes > opens else day + timedelta(days=1)
        end = datetime.combine(last_day, closes, where).astimezone(UTC)
        if end > now:
            return (begin if begin > now else None), end
    raise AssertionError("a window opens every day")
