"""The only writer of run state.

A run goes ``queued -> leased -> preparing -> running -> collecting -> done | failed | cancelled |
lost``. A worker claims a queued run by conditional update and gets a lease of its LUN; everything
it writes afterwards carries the lease's token, so that a worker which lost its lease (too long
without a heartbeat) can write nothing more. Messages only nudge: losing or repeating one is
harmless.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from fsbench_web.catalog.models import Environment, Worker
from fsbench_web.celery import app
from fsbench_web.studies.models import (
    END_STATES,
    Lease,
    LogLine,
    Run,
    RunState,
    Series,
    StateChange,
    Submission,
)

logger = logging.getLogger("fsbench.lifecycle")

_ORDER = [RunState.LEASED, RunState.PREPARING, RunState.RUNNING, RunState.COLLECTING]


class LeaseLost(Exception):
    """The lease went to another run or expired: stop at once and write nothing."""


@dataclass(frozen=True)
class LeaseHandle:
    """What a worker shows with every write."""

    run_id: int
    lun_id: int
    token: int


def lease_duration() -> timedelta:
    """How long a lease lives without a heartbeat."""
    return timedelta(seconds=settings.WORKER_SILENT_AFTER_S)


@transaction.atomic
def create_queued(
    series: Series, repeat: int, *, by: User | None, submission: Submission | None
) -> Run:
    """Write a run that waits for its LUN's worker. Nudge it with ``nudge_after_commit``."""
    run = Run.objects.create(
        series=series,
        repeat=repeat,
        origin=Run.Origin.MEASURED,
        state=RunState.QUEUED,
        created_by=by,
        submission=submission,
    )
    StateChange.objects.create(
        run=run,
        at=run.created_at,
        state=RunState.QUEUED,
        reason=f"Ordered by {by}." if by else "Ordered.",
    )
    return run


@transaction.atomic
def record_finished(
    series: Series,
    repeat: int,
    *,
    by: User | None,
    reason: str,
    environment: Environment | None = None,
) -> Run:
    """Write a run that somebody else executed and whose results are stored with it."""
    now = timezone.now()
    run = Run.objects.create(
        series=series,
        repeat=repeat,
        origin=Run.Origin.IMPORTED,
        state=RunState.DONE,
        reason=reason,
        progress=1,
        environment=environment,
        created_by=by,
        ended_at=now,
    )
    StateChange.objects.create(run=run, at=now, state=RunState.DONE, reason=reason)
    return run


@transaction.atomic
def record_many_finished(
    places: Sequence[tuple[Series, int]], *, by: User | None, reason: str
) -> list[Run]:
    """``record_finished`` for many runs of one import: (series, repeat) each."""
    now = timezone.now()
    runs = Run.objects.bulk_create(
        [
            Run(
                series=series,
                repeat=repeat,
                origin=Run.Origin.IMPORTED,
                state=RunState.DONE,
                reason=reason,
                progress=1,
                created_by=by,
                ended_at=now,
            )
            for series, repeat in places
        ],
        batch_size=500,
    )
    StateChange.objects.bulk_create(
        [StateChange(run=run, at=now, state=RunState.DONE, reason=reason) for run in runs],
        batch_size=500,
    )
    return runs


def nudge(run: Run, now: datetime | None = None) -> None:
    """Tell the LUN's worker that a run waits. A broker that is down is only logged (``resend``)."""
    lun = run.series.lun
    if lun is None:
        raise ValueError(f"run {run.pk} has no LUN")
    try:
        app.send_task("runner.execute", args=[run.pk], queue=lun.worker.queue, retry=False)
    except (OSError, OperationalError) as error:
        logger.warning("run %s waits: the broker cannot be reached: %s", run.pk, error)
        return
    Run.objects.filter(pk=run.pk).update(sent_at=now or timezone.now())


def nudge_after_commit(runs: Iterable[Run]) -> None:
    """Nudge once the transaction that wrote the runs is committed."""
    for run in runs:
        transaction.on_commit(partial(nudge, run))


@transaction.atomic
def claim(run_id: int, worker: Worker) -> LeaseHandle | None:
    """Take a queued run and the lease of its LUN, or None when either is not to be had."""
    run = (
        Run.objects.select_related("series__lun")
        .filter(pk=run_id, state=RunState.QUEUED, series__lun__worker=worker)
        .first()
    )
    if run is None or run.series.lun is None:
        return None
    lun, now = run.series.lun, timezone.now()
    Lease.objects.get_or_create(lun=lun)
    taken = Lease.objects.filter(lun=lun, run=None).update(
        run=run, worker=worker, token=F("token") + 1, expires_at=now + lease_duration()
    )
    if taken != 1:
        return None
    claimed = Run.objects.filter(pk=run_id, state=RunState.QUEUED).update(
        state=RunState.LEASED, started_at=now, phase="leased", progress=0
    )
    if claimed != 1:
        # Cancelled between the two statements; the rollback gives the lease back.
        transaction.set_rollback(True)
        return None
    StateChange.objects.create(
        run_id=run_id, at=now, state=RunState.LEASED, reason=f"Claimed by {worker}."
    )
    token = Lease.objects.get(lun=lun).token
    return LeaseHandle(run_id=run_id, lun_id=lun.pk, token=token)


def _hold(handle: LeaseHandle) -> Run:
    """Lock the lease for the running transaction and return its run. Raises LeaseLost."""
    lease = (
        Lease.objects.select_for_update()
        .filter(lun_id=handle.lun_id, run_id=handle.run_id, token=handle.token)
        .first()
    )
    if lease is None:
        raise LeaseLost(f"run {handle.run_id} no longer holds its LUN")
    return Run.objects.get(pk=handle.run_id)


@transaction.atomic
def advance(handle: LeaseHandle, state: RunState, reason: str = "") -> None:
    """Move an active run forward. Raises LeaseLost, or ValueError for a step backwards."""
    run = _hold(handle)
    if _ORDER.index(state) <= _ORDER.index(RunState(run.state)):
        raise ValueError(f"run {run.pk} cannot go from {run.state} to {state}")
    Run.objects.filter(pk=run.pk).update(
        state=state, phase=str(state), progress=0, remaining_s=None
    )
    StateChange.objects.create(run=run, at=timezone.now(), state=state, reason=reason)


@transaction.atomic
def heartbeat(
    handle: LeaseHandle,
    *,
    phase: str | None = None,
    progress: float | None = None,
    remaining_s: float | None = None,
) -> bool:
    """Prolong the lease and tell the progress (0 to 1). True: somebody asked to cancel.

    Raises LeaseLost when the lease went to another run.
    """
    run = _hold(handle)
    Lease.objects.filter(lun_id=handle.lun_id).update(expires_at=timezone.now() + lease_duration())
    changes: dict[str, Any] = {}
    if phase is not None:
        changes["phase"] = phase
    if progress is not None:
        changes |= {"progress": min(max(progress, 0.0), 1.0), "remaining_s": remaining_s}
    if changes:
        Run.objects.filter(pk=run.pk).update(**changes)
    return run.cancel_requested_at is not None


@transaction.atomic
def append_log(handle: LeaseHandle, lines: Iterable[tuple[datetime, str, str]]) -> None:
    """Add (time, stream, text) lines to the run's log. Raises LeaseLost."""
    run = _hold(handle)
    LogLine.objects.bulk_create(
        LogLine(run=run, at=at, stream=stream, text=_storable(text)) for at, stream, text in lines
    )


def _storable(text: str) -> str:
    """A tool may print anything; PostgreSQL refuses NUL in text, and UTF-8 halves of a pair."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


@transaction.atomic
def record_environment(handle: LeaseHandle, environment: Environment) -> None:
    """Note what the run runs on. Raises LeaseLost."""
    run = _hold(handle)
    Run.objects.filter(pk=run.pk).update(environment=environment)


@transaction.atomic
def record_commands(handle: LeaseHandle, commands: list[dict[str, Any]]) -> None:
    """Note the commands as run: [{phase, argv, exit_code, duration_s}]. Raises LeaseLost."""
    run = _hold(handle)
    Run.objects.filter(pk=run.pk).update(commands=commands)


@transaction.atomic
def finish(handle: LeaseHandle, state: RunState, reason: str) -> None:
    """End the run and free the LUN. Call it in the transaction that stores the run's results.

    Raises LeaseLost, in which case that transaction must not commit.
    """
    _end(_hold(handle), state, reason)


def _end(run: Run, state: RunState, reason: str) -> None:
    if state not in END_STATES:
        raise ValueError(f"{state} does not end a run")
    now, reason = timezone.now(), _storable(reason)
    changes: dict[str, Any] = {"state": state, "reason": reason, "ended_at": now}
    if state == RunState.DONE:
        changes |= {"progress": 1, "remaining_s": 0}
    Run.objects.filter(pk=run.pk).update(**changes)
    StateChange.objects.create(run=run, at=now, state=state, reason=reason)
    Lease.objects.filter(run=run).update(run=None, worker=None, expires_at=None)


@transaction.atomic
def cancel(run_id: int, by: str) -> RunState:
    """Cancel a queued run at once; ask the worker to stop an active one. Returns the state then.

    Raises Run.DoesNotExist. A run that has ended keeps its state.
    """
    run = Run.objects.select_for_update().get(pk=run_id)
    if run.state == RunState.QUEUED:
        _end(run, RunState.CANCELLED, f"Cancelled by {by} before it started.")
    elif run.is_active:
        Run.objects.filter(pk=run_id, cancel_requested_at=None).update(
            cancel_requested_at=timezone.now()
        )
    return RunState(Run.objects.get(pk=run_id).state)


@transaction.atomic
def reap_lost(now: datetime | None = None) -> list[int]:
    """End as lost every active run whose lease ran out, and free its LUN. Returns their ids."""
    lost = []
    leases = Lease.objects.select_for_update().filter(expires_at__lt=now or timezone.now())
    for lease in leases.order_by("pk"):
        if lease.run_id is None:
            continue
        run = Run.objects.get(pk=lease.run_id)
        _end(
            run,
            RunState.LOST,
            f"Its worker gave no sign of life for {settings.WORKER_SILENT_AFTER_S} s "
            f"while the run was {run.state}. Nothing of it enters a score.",
        )
        lost.append(run.pk)
    return lost


@transaction.atomic
def recover(worker: Worker) -> list[int]:
    """End as lost what this worker was running when it stopped. Call it when the worker starts,

    after its executor has removed the containers and mounts that were left over.
    """
    lost = []
    # The lease before the run, as everywhere: two orders of locks would wait for each other.
    leases = Lease.objects.select_for_update().filter(worker=worker).exclude(run=None)
    for lease in leases.order_by("pk"):
        assert lease.run_id is not None
        run = Run.objects.get(pk=lease.run_id)
        _end(
            run,
            RunState.LOST,
            f"The worker stopped while the run was {run.state}. Nothing of it enters a score.",
        )
        lost.append(run.pk)
    return lost


def resend(worker: Worker, now: datetime | None = None) -> list[int]:
    """Nudge again the oldest queued run of each free LUN of this worker. Returns their ids.

    A message may have been lost, or have come while the LUN was in use.
    """
    now = now or timezone.now()
    due = now - timedelta(seconds=2 * settings.WORKER_HEARTBEAT_S)
    sent = []
    for lun in worker.luns.filter(Q(lease=None) | Q(lease__run=None)):
        run = (
            Run.objects.filter(series__lun=lun, state=RunState.QUEUED)
            .select_related("series__lun__worker")
            .order_by("id")
            .first()
        )
        if run is not None and (run.sent_at is None or run.sent_at < due):
            nudge(run, now)
            sent.append(run.pk)
    return sent
