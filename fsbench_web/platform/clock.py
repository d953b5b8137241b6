"""One clock for all hosts: that of the database.

Clocks of hosts may differ by hours. Take every time that another host compares from here.
"""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.timesince import timesince

AT_DATABASE = Now()
# How long the time is told from the last answer of the database. Drift of the hardware clock is
# some milliseconds in this time.
ASK_EVERY_S = 60.0

_lock = threading.Lock()
# (what CLOCK_BOOTTIME showed, the database's time then). It goes on while a host sleeps, and nobody
# can set it.
_known: tuple[float, datetime] | None = None
_asked = 0.0


def now() -> datetime:
    """The database's time; with SQLite this host's. Raises DatabaseError."""
    if connection.vendor != "postgresql":
        return timezone.now()
    global _known, _asked
    anchor = _known
    if anchor is None or _ticks() - _asked > ASK_EVERY_S:
        try:
            anchor = _ask()
        except DatabaseError:
            # It is away: the clock goes on, and is not asked again with every line of a log.
            if anchor is None:
                raise
        with _lock:
            _known, _asked = anchor, _ticks()
    return anchor[1] + timedelta(seconds=_ticks() - anchor[0])


def elapsed(moment: datetime) -> str:
    """How long ago that was: ``40 seconds``, ``2 days, 3 hours``."""
    now_ = now()
    seconds = int((now_ - moment).total_seconds())
    if 0 <= seconds < 60:
        return f"{seconds} second{'' if seconds == 1 else 's'}"
    return timesince(moment, now_)


def database_time(host_time: float) -> datetime:
    """What the database's clock showed at ``host_time`` of this host's (seconds since 1970)."""
    return now() + timedelta(seconds=host_time - time.time())


def forget() -> None:
    """Ask the database again next time."""
    global _known
    with _lock:
        _known = None


def ask_soon() -> None:
    """Ask the database with the next ``now``, however lately that was done: its clock may have been
    set since. One that is away then keeps its last time.
    """
    global _asked
    with _lock:
        _asked = -ASK_EVERY_S


class CreatedAt(models.DateTimeField):
    """When a row was made, by ``now`` and not by a host's clock; for migrations Django's field."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"auto_now_add": True})

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, kwargs

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        if add:
            setattr(model_instance, self.attname, now())
        return getattr(model_instance, self.attname)


class ChangeWatch:
    """For how long a value that its writer changes with every sign of life stayed the same.

    By a monotonic clock of this process, which stands still while this host is suspended.
    """

    def __init__(self, ticks: Callable[[], float] = time.monotonic) -> None:
        self._ticks = ticks
        self._seen: dict[int, tuple[object, float]] = {}

    def unchanged_s(self, read: Callable[[], Mapping[int, object]]) -> dict[int, float]:
        """Look once: how many seconds each value that ``read`` returns was seen to be the same."""
        asked_at = self._ticks()
        values = read()
        answered_at = self._ticks()
        seen = {}
        for key, value in values.items():
            known = self._seen.get(key)
            seen[key] = known if known and known[0] == value else (value, answered_at)
        self._seen = seen
        return {key: max(0.0, asked_at - since) for key, (_, since) in seen.items()}


def _ticks() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _ask() -> tuple[float, datetime]:
    connection.ensure_connection()
    before = _ticks()
    # Past Django's cursor: it belongs to no page and to no query count. clock_timestamp() moves on
    # within a transaction, which now() does not.
    with connection.wrap_database_errors:
        row = connection.connection.execute("SELECT clock_timestamp()").fetchone()
    after = _ticks()
    answer: datetime = row[0]
    return (before + after) / 2, answer.astimezone(UTC)
