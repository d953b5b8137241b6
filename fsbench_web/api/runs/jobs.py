"""Jobs: submit one from a document, see how far it is, steer it."""

import json
from itertools import chain
from math import isfinite
from typing import Any

from django.db.models import F
from django.http import HttpRequest, HttpResponse
from ninja import Query, Status

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol import idempotency
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import With, found, list_of, page, page_of
from fsbench_web.api.runs.job_schemas import (
    CancelledOut,
    DocumentIn,
    JobDocumentIn,
    JobFilters,
    JobOut,
    JobsOut,
    JobSubmitted,
    JobSummary,
    PreviewOut,
    PriorityIn,
    RetryIn,
)
from fsbench_web.api.runs.routes import listed_runs
from fsbench_web.api.runs.schemas import RunSummary
from fsbench_web.core.stats.bisecting import Bisection
from fsbench_web.core.stats.racing import ENDED
from fsbench_web.studies.jobs import estimates, listing, lookup, submit_warnings
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.jobs.submitting import confirmation_text, planned, submit
from fsbench_web.studies.models import Job, RunState
from fsbench_web.studies.runs import authority, control, races
from fsbench_web.studies.runs.queue import IN_TURN
from fsbench_web.studies.runs.windows import closing
from fsbench_web.studies.scores.drift import Drift, drift_of

router = Router()


@router.get("/jobs", response=page_of("JobList", jobs=JobSummary), summary="Jobs")
@requires(Action.READ)
def list_jobs(
    request: HttpRequest, response: HttpResponse, filters: Query[JobFilters]
) -> dict[str, Any]:
    """All jobs, by form, document or call, the newest first."""
    jobs = listing.listed_jobs().defer("document")
    return page(request, response, jobs, filters, "jobs")


@router.post("/jobs", response={201: JobSubmitted}, summary="Submit a job")
@requires(Action.RUN)
def submit_job(
    request: HttpRequest,
    job: JobDocumentIn,
    idempotency_key: idempotency.Key = "",
) -> Status[With]:
    """Queues the runs that the document stands for. Their LUNs are erased: `confirm` names them.

    The answer has all problems, each with its place in the document, and then nothing is
    queued. A call that is sent again with the same `Idempotency-Key` makes nothing new; with that
    key and another body it is refused.
    """
    user = user_of(request)
    # "sweep", as it was first called: the keys of before must stay what they were.
    token = idempotency.token("sweep", user, idempotency_key)
    digest = idempotency.digest(job)
    runs = submit(_spec(job.document), job.confirm, user, token, digest)
    row = _job_or_404(runs[0].job_id or 0)
    return Status(201, With(row, planned=_planned(row)))


@router.post("/jobs/preview", response=PreviewOut, summary="See what a job would do")
@requires(Action.RUN)
def preview_job(request: HttpRequest, job: DocumentIn) -> With:
    """Every run in turn, with how long it will take as far as that is known. Submits nothing."""
    spec = _spec(job.document)
    plan = planned(spec)
    runs = plan.runs
    run_estimates = estimates.of_planned(runs)
    total = estimates.total(run_estimates)
    return With(
        spec,
        runs=[
            With(
                run,
                position=position,
                options=dict(run.options),
                stack=[{"role": role, "lun": lun.name} for role, lun in run.members],
                machine=run.machine.stored(),
                boot_s=run.boot_s[0] if run.boot_s else None,
                estimated_s=estimate.duration_s if estimate else None,
                at_least_s=estimate.duration_s if estimate else run.least_s,
                basis=estimate.basis if estimate else "",
            )
            for position, (run, estimate) in enumerate(
                zip(runs, run_estimates, strict=True), start=1
            )
        ],
        erasures=sum(run.erases for run in runs),
        most_runs=plan.most_runs,
        estimated_s=total.duration_s,
        estimated_known_s=total.known_s,
        at_least_s=estimates.at_least_s(runs, run_estimates),
        runs_not_known=total.unknown,
        time_limit_s=plan.time_limit_s,
        left_out_then=[
            {"run": None, "block": block, "configuration": label}
            for block, label in (plan.window.labels if plan.window else ())
        ],
        outlook=plan.window.words if plan.window else "",
        confirm=confirmation_text(spec) or "",
        left_out=_left_out(plan.left_out),
        warnings=list(chain(*submit_warnings.by_kind(spec, runs).values())),
    )


@router.get("/jobs/{int:job_id}", response=JobOut, summary="Follow a job")
@requires(Action.READ)
def get_job(request: HttpRequest, job_id: int) -> With:
    """How far it is, its document, its runs in turn, and the scores of its reference."""
    job = _job_or_404(job_id)
    planned = _planned(job)
    listing.recount(job, ((run["state"], run["rerun"]) for run in planned))
    progress = listing.progress_of(job)
    drift = drift_of(job)
    return With(
        job,
        not_begun=[
            {"run": run, "block": block, "configuration": label}
            for run, block, label in closing.expired_runs(job)
        ],
        outlook=progress.window.words if progress.window else "",
        refusals=authority.refusals(job.runs.filter(state=RunState.QUEUED)),
        share_ended=progress.share,
        remaining_s=progress.remaining.duration_s,
        ends_at=progress.ends_at,
        confirm=control.job_confirmation(job),
        left_out=_left_out(job.left_out),
        drift=_drift(drift) if drift else [],
        race=_race(job),
        planned=planned,
    )


@router.post("/jobs/{int:job_id}/pause", response=JobSummary, summary="Pause a job")
@requires(Action.STEER)
def pause_job(request: HttpRequest, job_id: int) -> Any:
    """No further run of it starts; what runs goes on. Pausing a paused one changes nothing."""
    control.pause(_job_or_404(job_id).pk)
    return _job_or_404(job_id)


@router.post("/jobs/{int:job_id}/resume", response=JobSummary, summary="Resume a job")
@requires(Action.STEER)
def resume_job(request: HttpRequest, job_id: int) -> Any:
    """Its runs start again."""
    _job_or_404(job_id)
    control.resume(job_id)
    return _job_or_404(job_id)


@router.post("/jobs/{int:job_id}/cancel", response=CancelledOut, summary="Cancel a job")
@requires(Action.STEER)
def cancel_job(request: HttpRequest, job_id: int) -> With:
    """What waits is cancelled at once, what runs is asked to stop; what has ended stays."""
    cancelled = control.cancel(_job_or_404(job_id).pk, by=user_of(request).get_username())
    return With(
        _job_or_404(job_id),
        cancelled_now=cancelled.at_once,
        asked_to_stop=cancelled.asked_to_stop,
    )


@router.post(
    "/jobs/{int:job_id}/retry",
    response=list_of("Retried", runs=RunSummary),
    summary="Submit failed runs again",
)
@requires(Action.STEER)
def retry_job(request: HttpRequest, job_id: int, job: RetryIn) -> dict[str, Any]:
    """New runs for those that ended in `states` and were not submitted again since.

    Each run is submitted again once, however often this is called. `runs` are the new ones.
    """
    _job_or_404(job_id)
    runs = control.retry(job_id, job.confirm, user_of(request), job.states)
    rows = listed_runs().filter(pk__in=[run.pk for run in runs]).order_by("id")
    return {"runs": rows}


@router.post("/jobs/{int:job_id}/priority", response=JobSummary, summary="Change a job's priority")
@requires(Action.STEER)
def set_job_priority(request: HttpRequest, job_id: int, job: PriorityIn) -> Any:
    """Runs of a higher priority start first on the same LUN."""
    _job_or_404(job_id)
    control.set_priority(job_id, job.priority)
    return _job_or_404(job_id)


sweeps = router.under_old_name("job", "sweep", {list_jobs: JobsOut})
"""The calls as version 1 named them first."""


def _spec(document: dict[str, Any] | str) -> JobSpec:
    """The job of a document, checked as any other text: its size, its depth, its characters."""
    text = document if isinstance(document, str) else json.dumps(document)
    return lookup.spec_of(job_document.read(text))


def _job_or_404(job_id: int) -> Any:
    rows = listing.listed_jobs().filter(pk=job_id)
    return found(rows, f"There is no job {job_id}; /api/v1/jobs lists them.")


def _planned(job: Job) -> list[dict[str, Any]]:
    rows = job.runs.order_by(*IN_TURN).values(
        *("id", "repeat", "state", "retry_of", "rerun", "tracing"),
        configuration=F("series__configuration__label"),
        reference=F("is_reference"),
    )
    return list(rows)


def _left_out(rows: Any) -> list[dict[str, str]]:
    return [dict(zip(("place", "configuration", "reason"), row, strict=True)) for row in rows]


def _drift(drift: Drift) -> list[dict[str, Any]]:
    return [
        {
            "run": point.run_id,
            "at": point.at,
            "test": test,
            "category": drift.category,
            "value": value,
            "change_percent": change,
        }
        for point in drift.points
        for test, (value, change) in zip(drift.tests, point.pairs, strict=True)
    ]


def _race(job: Job) -> With | None:
    report = races.report_of(job)
    if report is None:
        return None
    of_race = report.of_race
    ends = (of_race.before, of_race.after) if isinstance(of_race, Bisection) else (None, None)
    return With(
        report,
        leader=report.leader or None,
        before=ends[0],
        after=ends[1],
        status=of_race.status if report.phase == ENDED else None,
        **_interval(of_race),
        contenders=[With(row, **_interval(row.place)) for row in report.rows],
    )


def _interval(speeds: Any) -> dict[str, float | None]:
    """Both ends, null where nothing can be said of them."""
    is_known = speeds.high is not None and isfinite(speeds.high)
    return {
        "ratio_low": speeds.low if is_known else None,
        "ratio_high": speeds.high if is_known else None,
    }
