"""The only writer of run state, once a run is there (``new_runs``).

A run goes ``queued -> leased -> preparing -> running -> collecting -> done | failed | cancelled |
lost``. A worker claims it by conditional update and gets leases. All its writes carry their tokens,
so a worker that lost them can write nothing. Messages only nudge.

What repeats, races, clients and time windows add is registered in ``hooks``.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Q
from django.utils.module_loading import import_string

from fsbench_web.accounts import audit
from fsbench_web.catalog.models import Environment, Lun, Worker
from fsbench_web.platform import clock
from fsbench_web.studies.causes import INTERRUPTED, Cause
from fsbench_web.studies.models import (
    ACTIVE_STATES,
    END_STATES,
    Job,
    LogLine,
    Run,
    RunClient,
    RunState,
    Series,
    StateChange,
)
from fsbench_web.studies.runs import authority, hooks, leases, nudges, queue
from fsbench_web.studies.runs.leases import LeaseHandle as LeaseHandle
from fsbench_web.studies.runs.leases import LeaseLost as LeaseLost
from fsbench_web.studies.runs.leases import LeaseWatch as LeaseWatch
from fsbench_web.studies.runs.leases import lease_duration as lease_duration
from fsbench_web.studies.scores import busy

logger = logging.getLogger("fsbench.lifecycle")

_ORDER = [RunState.LEASED, RunState.PREPARING, RunState.RUNNING, RunState.COLLECTING]


@dataclass(frozen=True)
class UnstartedRuns:
    """Runs that wait and are to end without having begun, and why."""

    runs: list[int]
    reason: str


def _call(names: Iterable[str], *arguments: Any) -> list[Any]:
    """What the functions of one list of ``hooks`` return."""
    return [import_string(name)(*arguments) for name in names]


@transaction.atomic
def claim(run_id: int, worker: Worker) -> LeaseHandle | None:
    """Take a run that waits and all leases it needs, or None.

    A run is ended if its author may not erase any more, or if it would end too late.
    """
    # The job first, then the leases, then the run: a pause that was answered holds from then on.
    # Not its key: whoever ends a run of the job writes its next repeat, which refers to that.
    job = (
        Job.objects.select_for_update(no_key=True)
        .filter(pk__in=Run.objects.filter(pk=run_id).values("job_id"))
        .first()
    )
    if job is not None and job.paused_at:
        return None
    run = (
        queue.waiting()
        .select_related("series__lun", "series__journal_lun")
        .filter(pk=run_id, series__lun__worker=worker, series__lun__worker__drained_at=None)
        .first()
    )
    if run is None or run.series.lun is None or queue.absent_clients(run.series):
        return None
    if why := authority.refusal(run_id):
        _refuse(run_id, worker, why)
        return None
    now = clock.now()
    for left in filter(None, _call(hooks.BEFORE_CLAIM, run, job, now)):
        leave_out(left)
        return None
    handle = leases.take(run, worker)
    if handle is None:
        return None
    claimed = Run.objects.filter(pk=run_id, state=RunState.QUEUED).update(
        state=RunState.LEASED, started_at=now, phase="leased", progress=0
    )
    if claimed != 1:
        # Cancelled between the two statements; the rollback gives the leases back.
        transaction.set_rollback(True)
        return None
    StateChange.objects.create(
        run_id=run_id, at=now, state=RunState.LEASED, reason=f"Claimed by {worker}."
    )
    _call(hooks.ON_CLAIM, run, handle)
    return handle


def _refuse(run_id: int, worker: Worker, why: str) -> None:
    """End a run that waits before anything of it has begun."""
    run = Run.objects.select_for_update().filter(pk=run_id, state=RunState.QUEUED).first()
    if run is None:
        return  # cancelled meanwhile
    reason = f"Refused: {why} Nothing was erased. {authority.RETRY}"
    # Its next repeat would be refused too. The rule goes on when somebody submits this one again.
    _end(run, RunState.FAILED, reason, Cause.NOT_ALLOWED, is_repeated=False)
    audit.note(f"worker:{worker.name}", "run refused", f"run {run_id}", why=why)
    logger.warning("run %s was refused: %s", run_id, why, extra={"run": run_id})


def leave_out(left: UnstartedRuns) -> None:
    """End runs that wait and cannot end in time. Their job is locked."""
    for run_id in left.runs:
        run = Run.objects.select_for_update().filter(pk=run_id, state=RunState.QUEUED).first()
        if run is not None:
            _end(run, RunState.CANCELLED, left.reason, Cause.OUT_OF_TIME)
            logger.info("run %s is not begun: %s", run_id, left.reason, extra={"run": run_id})


@transaction.atomic
def advance(handle: LeaseHandle, state: RunState, reason: str = "") -> None:
    """Move an active run forward; the same step again changes nothing. Raises LeaseLost, or
    ValueError for a step backwards.
    """
    run = leases.hold(handle)
    if run.state == state:
        return
    if _ORDER.index(state) <= _ORDER.index(RunState(run.state)):
        raise ValueError(f"run {run.pk} cannot go from {run.state} to {state}")
    Run.objects.filter(pk=run.pk).update(
        state=state, phase=str(state), progress=0, remaining_s=None
    )
    StateChange.objects.create(run=run, at=clock.now(), state=state, reason=reason)


@transaction.atomic
def heartbeat(
    handle: LeaseHandle,
    *,
    phase: str | None = None,
    progress: float | None = None,
    remaining_s: float | None = None,
) -> bool:
    """Prolong the lease and tell the progress (0 to 1). True: cancel. Raises LeaseLost."""
    leases.prolong(leases.lock(handle))
    changes: dict[str, Any] = {}
    if phase is not None:
        changes["phase"] = phase
    if progress is not None:
        changes |= {"progress": min(max(progress, 0.0), 1.0), "remaining_s": remaining_s}
    if changes:
        Run.objects.filter(pk=handle.run_id).update(**changes)
    return Run._base_manager.filter(pk=handle.run_id, cancel_requested_at__isnull=False).exists()


@transaction.atomic
def append_log(handle: LeaseHandle, lines: Iterable[tuple[datetime, str, str]]) -> None:
    """Add (time, stream, text) lines to the run's log. Raises LeaseLost."""
    leases.lock(handle)
    LogLine.objects.bulk_create(
        LogLine(run_id=handle.run_id, at=at, stream=stream, text=_storable(text))
        for at, stream, text in lines
    )


def _storable(text: str) -> str:
    """A tool may print anything; PostgreSQL refuses NUL in text, and UTF-8 halves of a pair."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


@transaction.atomic
def record_environment(
    handle: LeaseHandle, environment: Environment, conditions: dict[str, Any]
) -> None:
    """Note what the run runs on, and its conditions. Raises LeaseLost."""
    leases.lock(handle)
    Run.objects.filter(pk=handle.run_id).update(environment=environment, conditions=conditions)


@transaction.atomic
def record_commands(handle: LeaseHandle, commands: list[dict[str, Any]]) -> None:
    """Note the commands as run: [{phase, argv, exit_code, duration_s}]. Raises LeaseLost."""
    leases.lock(handle)
    Run.objects.filter(pk=handle.run_id).update(commands=commands)


@transaction.atomic
def finish(
    handle: LeaseHandle,
    state: RunState,
    reason: str,
    cause: Cause = Cause.BENCHMARK,
    conditions: dict[str, Any] | None = None,
) -> None:
    """End the run and free the LUN, in the transaction that stores its results.

    ``cause`` is why it failed. ``conditions`` None: as they are. Raises LeaseLost: do not commit
    then.
    """
    run = leases.hold(handle)
    if conditions is not None:
        run.conditions = conditions
    _end(run, state, reason, cause)


def _end(run: Run, state: RunState, reason: str, cause: Cause, *, is_repeated: bool = True) -> None:
    if state not in END_STATES:
        raise ValueError(f"{state} does not end a run")
    now, reason = clock.now(), _storable(reason)
    stored_cause = {RunState.DONE: "", RunState.CANCELLED: Cause.CANCELLED}.get(state, cause)
    if cause == Cause.OUT_OF_TIME:
        stored_cause = cause
    changes: dict[str, Any] = {
        "state": state,
        "reason": reason,
        "cause": stored_cause,
        "ended_at": now,
    }
    if state == RunState.DONE:
        changes |= {"progress": 1, "remaining_s": 0}
    if run.started_at is not None:
        # Once, for all that asks for it here.
        run.series = Series.objects.select_related("lun__worker", "journal_lun").get(
            pk=run.series_id
        )
        others = overlapping_runs(run, now)
        changes |= {
            "is_contended": bool(others),
            "conditions": busy.judged_conditions(run) | {"others": others},
        }
    Run.objects.filter(pk=run.pk).update(**changes)
    if stored_cause in INTERRUPTED:
        following = _call(hooks.ON_INTERRUPTED, run, Cause(stored_cause))
        if any(following):
            reason = " ".join([reason, *filter(None, following)])
            Run.objects.filter(pk=run.pk).update(reason=reason)
    StateChange.objects.create(run=run, at=now, state=state, reason=reason)
    if is_repeated:
        _call(hooks.ON_END, run, now)
    if run.state != RunState.QUEUED:
        _wake_others(run)
        _call(hooks.AFTER_ACTIVE, run, reason)
    # Who was silent may live all the same, and be ending what it does on its disk.
    leases.free(run, is_handed_over=stored_cause == Cause.SILENT)


def _wake_others(run: Run) -> None:
    """Nudge the runs of other LUNs that waited for this one, after the commit."""
    series = run.series
    if series.lun is not None and leases.is_shared(series):
        transaction.on_commit(partial(_nudge_startable, series.lun.worker, series.lun.pk))
        for other in {lun.worker for lun in series.clients}:
            transaction.on_commit(partial(_nudge_startable, other))


def _nudge_startable(worker: Worker, but_lun_id: int | None = None) -> None:
    for waiting in queue.startable(worker):
        if waiting.series.lun_id != but_lun_id:
            nudges.nudge(waiting)


@transaction.atomic
def cancel(run_id: int, by: str) -> RunState:
    """Cancel a queued run, or ask the worker to stop an active one; the state then. Raises
    Run.DoesNotExist.
    """
    run = Run.objects.select_for_update().get(pk=run_id)
    if run.state == RunState.QUEUED:
        _end(run, RunState.CANCELLED, f"Cancelled by {by} before it started.", Cause.CANCELLED)
    elif run.is_active:
        Run.objects.filter(pk=run_id, cancel_requested_at=None).update(
            cancel_requested_at=clock.now()
        )
    return RunState(Run.objects.get(pk=run_id).state)


def reap_lost(watch: LeaseWatch) -> list[int]:
    """End as lost every active run with an expired lease, and free its LUN. Returns their ids.

    After an error of the database the watch begins again: nobody could send heartbeats.
    """
    try:
        return _reap(watch.over())
    except DatabaseError:
        watch.forget()
        raise


def _reap(over: Mapping[int, leases.Stamp]) -> list[int]:
    if not over:
        return []
    lost = []
    with transaction.atomic():
        for run in leases.runs_without_heartbeat(over):
            _end(
                run,
                RunState.LOST,
                f"Its worker{_as_leader(run)} sent no heartbeat for "
                f"{settings.WORKER_SILENT_AFTER_S} s while the run was {run.state}.",
                Cause.SILENT,
            )
            logger.warning("run %s is lost: its lease ran out", run.pk, extra={"run": run.pk})
            lost.append(run.pk)
    return lost


def _as_leader(run: Run) -> str:
    """Behind "worker", of a run that is lost with it: which of several clients that was."""
    if not run.series.runs_on.clients or run.series.lun is None:
        return ""
    return f" {run.series.lun.worker}, which led its clients,"


@transaction.atomic
def recover(worker: Worker) -> list[int]:
    """End as lost what this worker was running when it stopped. Call it when the worker starts,
    after its executor has removed the containers and mounts that were left over.
    """
    lost = []
    for run in leases.runs_of(worker):
        _end(
            run,
            RunState.LOST,
            f"The worker{_as_leader(run)} stopped while the run was {run.state}.",
            Cause.WORKER_GONE,
        )
        lost.append(run.pk)
    return lost


def resend(worker: Worker, now: datetime | None = None) -> list[int]:
    """Nudge again the next run of each LUN of this worker: a message may be lost. Returns their
    ids.
    """
    now = now or clock.now()
    sent_lately = timedelta(seconds=2 * settings.WORKER_HEARTBEAT_S)
    sent: list[int] = []
    for run in queue.startable(worker):
        # One that is to be sent in an hour was sent before the clock was set back.
        if run.sent_at is None or abs(now - run.sent_at) > sent_lately:
            if not nudges.nudge(run, now):
                break
            sent.append(run.pk)
    return sent


def overlapping_runs(run: Run, until: datetime) -> list[dict[str, Any]]:
    """The runs that overlap ``run``: [{run, lun, same}], ``same`` is host or controller. Two
    queries.
    """
    lun = run.series.lun
    if lun is None or run.started_at is None:
        return []
    names = [lun.worker.name, *(name for name, _ in run.series.runs_on.clients)]
    as_client = RunClient._base_manager.filter(worker__in=names).values("run")
    overlapping = (
        Run.objects.filter(Q(series__lun__worker__name__in=names) | Q(pk__in=as_client))
        .filter(Q(state__in=ACTIVE_STATES) | Q(ended_at__gt=run.started_at), started_at__lt=until)
        .exclude(pk=run.pk)
        .select_related("series__lun")
        .order_by("id")
    )
    return [
        {
            "run": other.pk,
            "lun": other.series.lun.name if other.series.lun else "",
            "same": "controller" if _shares_controller(lun, other.series.lun) else "host",
        }
        for other in overlapping
    ]


def _shares_controller(lun: Lun, other: Lun | None) -> bool:
    if other is None or not lun.controller:
        return False
    return (lun.worker_id, lun.controller) == (other.worker_id, other.controller)
