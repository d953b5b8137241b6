"""Backups of this site, as noted in its database. No backup holds these notes."""

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from fsbench_web.operations.models import Backup
from fsbench_web.platform import clock
from fsbench_web.platform.version import VERSION
from fsbench_web.studies.models import Study

KEPT = 20
_DAY = timedelta(days=1)
# Once a week and a day of grace, whatever is usual; and two days where every few hours are.
LONGEST, SHORTEST = 8 * _DAY, 2 * _DAY
# Of so many gaps between backups what is usual can be told.
_GAPS = 3
_NOT_ITS_PLACE = "It was not written to its place: see the output of the command."


def begin(place: str) -> Backup | None:
    """Note that one is being made; None where the tables are not of this version yet."""
    if Backup._meta.db_table not in connection.introspection.table_names():
        return None
    latest = Backup.objects.order_by("-pk").values_list("pk", flat=True)
    whole = latest.exclude(ended_at=None).filter(problem="")
    Backup.objects.exclude(pk__in={*latest[: KEPT - 1], *whole[:1]}).delete()
    return Backup.objects.create(began_at=clock.now(), place=place[:500], version=VERSION)


def end(backup: Backup, problem: str = "") -> None:
    """It is whole and where it belongs, or why not."""
    backup.ended_at, backup.problem = clock.now(), problem[:300]
    backup.save(update_fields=["ended_at", "problem", "size_bytes"])


def end_at(place: str, *, is_there: bool) -> None:
    """Note whether a backup came to its place; one that nobody began was made by other means."""
    begun = Backup.objects.filter(place=place[:500], ended_at=None).order_by("-pk").first()
    if begun is None and is_there:
        begun = begin(place)
    if begun is not None:
        end(begun, "" if is_there else _NOT_ITS_PLACE)


@dataclass(frozen=True)
class Backups:
    """The latest first. ``is_worth_one``: there is more in the database than what is published."""

    now: datetime
    known: Sequence[Backup]
    is_worth_one: bool

    @property
    def whole(self) -> Backup | None:
        """The last one that is whole."""
        return next((backup for backup in self.known if backup.is_whole), None)

    @property
    def failed(self) -> Backup | None:
        """The last one, where it failed or ended without a word."""
        for backup in self.known:
            if backup.is_whole:
                return None
            if backup.problem or self.broke_off(backup):
                return backup
        return None

    @property
    def states(self) -> list[tuple[Backup, bool]]:
        """The latest five, each with whether it ended without a word."""
        return [(backup, self.broke_off(backup)) for backup in self.known[:5]]

    @property
    def age(self) -> timedelta | None:
        """Of what is in the last one that is whole."""
        return max(self.now - self.whole.began_at, timedelta()) if self.whole else None

    @property
    def usual(self) -> timedelta:
        """After how long without one it is time to look."""
        begun = [backup.began_at for backup in self.known if backup.is_whole]
        gaps = [later - earlier for later, earlier in itertools.pairwise(begun)]
        if len(gaps) < _GAPS:
            return LONGEST
        median_s = statistics.median(gap.total_seconds() for gap in gaps)
        return min(max(1.5 * timedelta(seconds=median_s), SHORTEST), LONGEST)

    def broke_off(self, backup: Backup) -> bool:
        """Neither whole nor failed, and no longer under way."""
        return backup.ended_at is None and (
            backup != self.known[0] or self.now - backup.began_at > _DAY
        )

    @property
    def problems(self) -> list[str]:
        """Sentences, each with what to do; none when all is well."""
        problems = []
        if failed := self.failed:
            why = failed.problem or "It ended without a report: it was killed, or its host went "
            "down."
            problems.append(
                f"The backup of {timezone.localtime(failed.began_at):%Y-%m-%d %H:%M} to "
                f"{failed.place} failed: {why} Make another ({_HOW})."
            )
        elif self.whole is None and self.is_worth_one:
            problems.append(f"No backup of this site is known. Make one ({_HOW}). {_NOTED}")
        if self.whole and self.age is not None and self.age > self.usual:
            problems.append(
                f"The last whole backup is {self.age.days} days old. Check what makes backups, or "
                f"make one ({_HOW}). {_NOTED}"
            )
        return problems


_HOW = "manage.py backup FOLDER, or deploy/backup FILE.tar for Compose"
_NOTED = "To record backups by other tools, see /guide/deployment/#backup."


def read_backups(now: datetime) -> Backups:
    """As they are now, in two queries."""
    return Backups(
        now, list(Backup.objects.order_by("-pk")), Study.objects.filter(is_published=False).exists()
    )
