"""The state of the installation in numbers, in a constant number of queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.shared_disks import note_other_use
from fsbench_web.catalog.workers.states import WorkerState
from fsbench_web.imports.models import Import, ImportState
from fsbench_web.operations.backups import Backups, read_backups
from fsbench_web.operations.models import Chore
from fsbench_web.platform import clock
from fsbench_web.studies.models import ACTIVE_STATES, END_STATES, Run, RunState

DAY = timedelta(days=1)
_IMPORTS_WAITING = (ImportState.RECEIVED, ImportState.ACCEPTED)


@dataclass(frozen=True)
class Gauges:
    """``runs`` and ``ended_last_day`` have every state; workers are by name, LUNs by both names."""

    runs: dict[str, int]
    ended_last_day: dict[str, int]
    workers: dict[str, dict[str, float | None]]
    luns: dict[tuple[str, str], dict[str, float | None]]
    imports_waiting: int
    chore_ages_s: dict[str, float]
    backups: Backups


def read_gauges() -> Gauges:
    """Everything as it is now. Ten queries, or twelve where LUNs have worldwide names, however
    much there is.
    """
    now = clock.now()
    return Gauges(
        runs=_by_state(Q(), list(RunState)),
        ended_last_day=_by_state(Q(ended_at__gt=now - DAY), END_STATES),
        workers=_workers(now),
        luns=_luns(now),
        imports_waiting=Import.objects.filter(state__in=_IMPORTS_WAITING).count(),
        chore_ages_s={
            chore.name: max(0.0, (now - chore.done_at).total_seconds())
            for chore in Chore.objects.exclude(done_at=None)
            if chore.done_at is not None
        },
        backups=read_backups(now),
    )


def _by_state(condition: Q, states: Sequence[RunState]) -> dict[str, int]:
    rows = Run.objects.filter(condition, state__in=states).values_list("state")
    counts = dict(rows.annotate(count=Count("pk")).order_by("state"))
    return {str(state): counts.get(state, 0) for state in states}


def _workers(now: datetime) -> dict[str, dict[str, float | None]]:
    """``oldest_s``: for how long the oldest of the waiting runs waits; None when none does."""
    queued = Run.objects.filter(state=RunState.QUEUED).values_list("series__lun__worker")
    waiting = {
        worker_id: (count, oldest)
        for worker_id, count, oldest in queued.annotate(
            count=Count("pk"), oldest=Min("created_at")
        ).order_by("series__lun__worker")
    }
    workers: dict[str, dict[str, float | None]] = {}
    for worker in Worker.objects.order_by("name"):
        count, oldest = waiting.get(worker.pk, (0, None))
        workers[worker.name] = {
            "waiting": count,
            "oldest_s": max(0.0, (now - oldest).total_seconds()) if oldest else None,
            "is_alive": availability.is_alive(worker, now),
            "silent_s": max(0.0, (now - worker.seen_at).total_seconds()),
            "is_drained": worker.is_drained,
        }
    return workers


def _luns(now: datetime) -> dict[tuple[str, str], dict[str, float | None]]:
    luns = list(Lun.objects.select_related("worker", "lease").order_by("worker__name", "name"))
    note_other_use(luns)
    since = now - DAY
    busy: dict[int, float] = {}
    runs = Run.objects.filter(
        Q(ended_at__gt=since) | Q(state__in=ACTIVE_STATES),
        started_at__isnull=False,
        series__lun__isnull=False,
    )
    for lun_id, began, ended in runs.values_list("series__lun", "started_at", "ended_at"):
        assert began is not None
        seconds = (min(ended or now, now) - max(began, since)).total_seconds()
        busy[lun_id] = busy.get(lun_id, 0.0) + max(0.0, seconds)
    return {
        (lun.worker.name, lun.name): {
            "is_in_use": WorkerState.run_of(lun) is not None or lun.other_use is not None,
            "is_usable": lun.is_listed and not lun.problem,
            "busy_s_last_day": busy.get(lun.pk, 0.0),
        }
        for lun in luns
    }
