"""The log of a run: rows while it goes on, later one compressed artefact named ``log``.

Old logs may be deleted (FSBENCH_LOG_DAYS); measurements, scores and raw output never are.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from fsbench_web.platform import clock
from fsbench_web.studies.models import END_STATES, Artefact, LogLine, Run
from fsbench_web.studies.scores import ingest

LOG_NAME = "log"
MEDIA_TYPE = "application/x-ndjson"
# Whoever follows a run reads its last lines within this time; folded ones take longer to read.
FOLD_AFTER = timedelta(minutes=5)
FOLDED_AT_ONCE = 20
KEPT_ALWAYS = 0


@dataclass(frozen=True)
class LoggedLine:
    """One line; ``id`` grows along the log and stays when the log is folded."""

    id: int
    at: datetime
    stream: str
    text: str


def lines(run: Run, after: int = 0, limit: int | None = None) -> list[LoggedLine]:
    """The first ``limit`` lines behind the one with the id ``after``; all of them without limit."""
    rows = LogLine.objects.filter(run=run, pk__gt=after).order_by("id")
    logged_lines = [_of_row(row) for row in rows[:limit]]
    if not logged_lines and run.has_ended:
        logged_lines = [line for line in _folded(run) if line.id > after][:limit]
    return logged_lines


def last_lines(run: Run, limit: int) -> list[LoggedLine]:
    """The last ``limit`` lines, in their order."""
    rows = LogLine.objects.filter(run=run).order_by("-id")[:limit]
    logged_lines = [_of_row(row) for row in rows][::-1]
    if not logged_lines and run.has_ended:
        logged_lines = list(_folded(run))[-limit:]
    return logged_lines


def _of_row(row: LogLine) -> LoggedLine:
    return LoggedLine(row.pk, row.at, row.stream, row.text)


def _folded(run: Run) -> Iterator[LoggedLine]:
    artefact = Artefact.objects.filter(run=run, name=LOG_NAME, media_type=MEDIA_TYPE).first()
    if artefact is None:
        return
    for line in gzip.decompress(artefact.content_gzip).decode().split("\n"):
        if line:
            key, at, stream, text = json.loads(line)
            yield LoggedLine(key, datetime.fromisoformat(at), stream, text)


def fold(run_id: int) -> bool:
    """Put the lines of an ended run into its artefact. False when there was nothing to do."""
    if not Run.objects.filter(pk=run_id, state__in=END_STATES).exists():
        return False
    # Nothing is added to the log of a run that has ended: it is packed before the run is locked.
    rows = list(LogLine.objects.filter(run=run_id).order_by("id"))
    if not rows:
        return False
    # An escaped newline cannot end a line, and JSON escapes the other ones that Unicode knows.
    text = "".join(
        json.dumps([row.pk, row.at.isoformat(), row.stream, row.text]) + "\n" for row in rows
    )
    folded = ingest.packed_artefact(LOG_NAME, text.encode(), MEDIA_TYPE)
    with transaction.atomic():
        run = Run.objects.select_for_update(of=("self",)).filter(pk=run_id).first()
        if run is None or Artefact.objects.filter(run=run, name=LOG_NAME, media_type=MEDIA_TYPE):
            return False
        ingest.store_packed(run, folded)
        LogLine.objects.filter(run=run, pk__lte=rows[-1].pk).delete()
    return True


def fold_ended(now: datetime | None = None) -> list[int]:
    """Fold the logs of some runs that ended a while ago. Returns which."""
    ended_before = (now or clock.now()) - FOLD_AFTER
    has_lines = Exists(LogLine.objects.filter(run=OuterRef("pk")))
    ended = Run.objects.filter(has_lines, state__in=END_STATES, ended_at__lt=ended_before)
    ids = ended.order_by("id").values_list("id", flat=True)[:FOLDED_AT_ONCE]
    return [run_id for run_id in list(ids) if fold(run_id)]


@dataclass(frozen=True)
class PrunedLogs:
    """Logs that were (or would be) deleted; ``size_bytes`` before compression, folded ones only."""

    runs: int
    size_bytes: int


def prune(
    days: int | None = None, now: datetime | None = None, *, dry_run: bool = False
) -> PrunedLogs:
    """Delete only the logs of runs that ended over ``days`` ago (FSBENCH_LOG_DAYS; 0 keeps all)."""
    days = settings.LOG_DAYS if days is None else days
    if days == KEPT_ALWAYS:
        return PrunedLogs(0, 0)
    old = Run.objects.filter(
        state__in=END_STATES, ended_at__lt=(now or clock.now()) - timedelta(days=days)
    )
    folded = Artefact.objects.filter(run__in=old, name=LOG_NAME, media_type=MEDIA_TYPE)
    rows = LogLine.objects.filter(run__in=old)
    pruned = _count(old, folded, rows)
    if not dry_run:
        folded.delete()
        rows.delete()
    return pruned


def _count(old: QuerySet[Run], folded: QuerySet[Artefact], rows: QuerySet[LogLine]) -> PrunedLogs:
    runs = old.filter(Q(pk__in=folded.values("run")) | Q(pk__in=rows.values("run"))).count()
    return PrunedLogs(runs, sum(folded.values_list("size_bytes", flat=True)))


def may_be_pruned(run: Run) -> bool:
    """Whether the run ended so long ago that its log was deleted, or is about to be."""
    if settings.LOG_DAYS == KEPT_ALWAYS or run.ended_at is None:
        return False
    return run.ended_at < clock.now() - timedelta(days=settings.LOG_DAYS)


def run_maintenance() -> None:
    """Fold logs of ended runs and delete those that are too old; a chore of `manage.py serve`."""
    fold_ended()
    prune()
