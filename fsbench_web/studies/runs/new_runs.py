"""New runs: those that wait for a worker, and those that somebody else executed."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import models, transaction

from fsbench_web.catalog.models import Environment, Lun
from fsbench_web.platform import clock
from fsbench_web.studies.models import (
    UNTRACED,
    Artefact,
    Job,
    RepeatRule,
    Run,
    RunState,
    Series,
    StateChange,
)

logger = logging.getLogger("fsbench.lifecycle")


@transaction.atomic
def create_queued(
    series: Series,
    repeat: int,
    *,
    by: User | None,
    job: Job | None,
    retry_of: Run | None = None,
    repeat_rule: RepeatRule | None = None,
    follows: Run | None = None,
    rerun: int = 0,
    block: str = "",
    why: str = "",
) -> Run:
    """Write a run that waits for its LUN's worker. Nudge it with ``nudges.nudge_after_commit``.

    A reference is retried as a reference, a traced run with the same tracers.
    ``follows`` is the run that fsbench writes it after, with the LUNs confirmed there; if it is
    ``retry_of`` too, the run takes its turn. ``why`` replaces the reason in its history.
    """
    run = Run.objects.create(
        series=series,
        repeat=repeat,
        origin=Run.Origin.MEASURED,
        state=RunState.QUEUED,
        created_by=by,
        job=job,
        is_reference=retry_of is not None and retry_of.is_reference,
        retry_of=retry_of,
        repeat_rule=repeat_rule,
        rerun=rerun,
        place=_place_of(follows) if follows is not None and follows == retry_of else None,
        block=block,
        tracing=retry_of.tracing if retry_of else UNTRACED,
        confirmed=follows.confirmed
        if follows
        else confirmed_of(
            *(series.lun, series.journal_lun, [member.lun for member in series.members]),
            series.clients,
        ),
    )
    submitted = ("Submitted again" if retry_of else "Submitted") + (f" by {by}" if by else "")
    again = f" after run {retry_of.pk} ended {retry_of.state}" if retry_of else ""
    StateChange.objects.create(
        run=run,
        at=run.created_at,
        state=RunState.QUEUED,
        reason=why or f"{submitted}{again}.",
    )
    logger.info("run %s waits: %s%s", run.pk, submitted, again, extra={"run": run.pk})
    return run


def block_of(job: Job, number: int) -> str:
    """What the ``number``-th block of a job is called in its runs (``Run.block``)."""
    return f"job {job.pk} block {number}"


def blocks_in(runs: models.QuerySet[Run]) -> int:
    """In how many blocks these are."""
    return runs.exclude(block="").order_by().values("block").distinct().count()


def _place_of(run: Run) -> int:
    return run.pk if run.place is None else run.place


def confirmed_of(
    lun: Lun | None,
    journal: Lun | None,
    members: Iterable[Lun | None] = (),
    clients: Iterable[Lun] = (),
) -> dict[str, Any]:
    """The fingerprints of these LUNs for ``Run.confirmed``, by role or by name."""
    luns = {"data": lun, "journal": journal}
    luns |= {confirmed_as(member.name): member for member in members if member is not None}
    luns |= {client_confirmed_as(client.worker.name, client.name): client for client in clients}
    return {role: used.fingerprint for role, used in luns.items() if used and used.fingerprint}


def confirmed_as(name: str) -> str:
    """Under what ``Run.confirmed`` has another LUN of a stack: no role is called so."""
    return f"lun {name}"


def client_confirmed_as(worker: str, name: str) -> str:
    """Under what ``Run.confirmed`` has the LUN of another client."""
    return f"client {worker} {name}"


@transaction.atomic
def create_all_queued(runs: Sequence[Run], *, by: User | None, job: Job | None) -> list[Run]:
    """Write new rows as runs that wait, in this order, in few queries: a job may have thousands."""
    for run in runs:
        run.origin, run.state = Run.Origin.MEASURED, RunState.QUEUED
        run.created_by, run.job = by, job
    runs = Run.objects.bulk_create(runs, batch_size=500)
    why = f"Submitted by {by}." if by else "Submitted."
    StateChange.objects.bulk_create(
        [
            StateChange(run=run, at=run.created_at, state=RunState.QUEUED, reason=why)
            for run in runs
        ],
        batch_size=500,
    )
    if runs:
        logger.info("runs %s to %s wait: %s", runs[0].pk, runs[-1].pk, why)
    return runs


@dataclass(frozen=True)
class FinishedRun:
    """A run that somebody else executed; ``artefact`` is new and becomes its own."""

    series: Series
    repeat: int
    reason: str
    environment: Environment | None = None
    artefact: Artefact | None = None
    measured_at: datetime | None = None
    measured_source: dict[str, Any] = field(default_factory=dict)
    block: str = ""


@transaction.atomic(savepoint=False)
def record_all_finished(finished: Sequence[FinishedRun], *, by: User | None) -> list[Run]:
    """Write runs that somebody else executed, each with its artefact."""
    now = clock.now()
    runs = [
        Run(
            series=finished_run.series,
            repeat=finished_run.repeat,
            origin=Run.Origin.IMPORTED,
            state=RunState.DONE,
            reason=finished_run.reason,
            progress=1,
            environment=finished_run.environment,
            block=finished_run.block,
            created_by=by,
            ended_at=now,
            measured_at=finished_run.measured_at,
            measured_source=finished_run.measured_source,
        )
        for finished_run in finished
    ]
    Run._base_manager.bulk_create(runs, batch_size=500)
    artefacts = []
    for finished_run, run in zip(finished, runs, strict=True):
        if finished_run.artefact is not None:
            finished_run.artefact.run = run
            artefacts.append(finished_run.artefact)
    changes = [StateChange(run=run, at=now, state=RunState.DONE, reason=run.reason) for run in runs]
    StateChange.objects.bulk_create(changes, batch_size=500)
    Artefact._base_manager.bulk_create(artefacts, batch_size=500)
    return runs
