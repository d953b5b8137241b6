"""Runs: trigger, list, follow, cancel and retry them, and what they left: log, output, numbers."""

from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol import idempotency
from fsbench_web.api.protocol.errors import Error, Refused, refusal_of_job
from fsbench_web.api.protocol.router import Router, binary, user_of
from fsbench_web.api.protocol.schemas import (
    LARGEST_ID,
    Strict,
    With,
    found,
    link,
    list_of,
    page,
    page_of,
    value_at,
)
from fsbench_web.api.runs.schemas import (
    ClientResultOut,
    JobIn,
    LogFilters,
    LogOut,
    RunFilters,
    RunOut,
    RunsOut,
    RunSummary,
    Submitted,
)
from fsbench_web.platform import limits
from fsbench_web.studies.jobs.lookup import existing_study, lun_named
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState, Score
from fsbench_web.studies.runs import authority, control, logs
from fsbench_web.studies.runs.clients import shown as shown_clients
from fsbench_web.studies.runs.shown.scores import RunScore
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.views import artefacts as artefact_views
from fsbench_web.studies.views import run_details

router = Router()


@router.get("/runs", response=RunsOut, summary="Runs, newest first")
@requires(Action.READ)
def list_runs(
    request: HttpRequest, response: HttpResponse, filters: Query[RunFilters]
) -> dict[str, Any]:
    """All runs, or those that match every filter."""
    return page(request, response, listed_runs().order_by("-id"), filters, "runs")


@router.post("/runs", response={201: Submitted}, summary="Trigger one run or a job")
@requires(Action.RUN)
def submit_runs(
    request: HttpRequest,
    job: JobIn,
    idempotency_key: idempotency.Key = "",
) -> Status[dict[str, Any]]:
    """Queues the runs. The LUN will be erased, so `confirm` must repeat its name; where journals
    are kept on other LUNs, theirs behind it, each once, with a space between them.

    The answer has all problems, and then nothing is queued. A call that is sent again with the
    same `Idempotency-Key` makes nothing new and answers with the first call's runs; with that key
    and another body it is refused.
    """
    user = user_of(request)
    token = idempotency.token("", user, idempotency_key)
    try:
        new_runs = submit(_spec(job), job.confirm, user, token, idempotency.digest(job))
    except JobRefused as refused:
        raise refusal_of_job(refused, _field_of) from None
    runs = list(listed_runs().filter(pk__in=[run.pk for run in new_runs]).order_by("id"))
    return Status(201, {"study": runs[0].series.study.slug, "runs": runs})


@router.get("/runs/{int:run_id}", response=RunOut, summary="Follow a run")
@requires(Action.READ)
def get_run(request: HttpRequest, run_id: int) -> With:
    """A run's state, progress and commands; its scores once it is done."""
    return _detail(run_or_404(run_id))


@router.post(
    "/runs/{int:run_id}/cancel", response={200: RunSummary, 409: Error}, summary="Cancel a run"
)
@requires(Action.STEER)
def cancel_run(request: HttpRequest, run_id: int) -> Run:
    """A queued run is cancelled at once; an active one stops as soon as its worker has tidied up
    (`cancel_requested` is true until then). A run that has ended keeps its state: 409.
    """
    run = run_or_404(run_id)
    state = control.cancel_run(run.pk, by=user_of(request).get_username())
    run = run_or_404(run_id)
    if run.has_ended and state != RunState.CANCELLED:
        raise Refused(409, [(None, f"Run {run.pk} has ended as {state}; it cannot be cancelled.")])
    return run


@router.get(
    "/runs/{int:run_id}/log",
    response=LogOut,
    summary="The log of a run",
    openapi_extra=binary("text/plain", description="OK"),
)
@requires(Action.READ)
def get_log(
    request: HttpRequest, run_id: int, filters: Query[LogFilters]
) -> HttpResponse | dict[str, Any]:
    """Lines with their time and stream (fsbench, stdout, stderr). To follow a run, ask again with
    the answer's `after` until `state` is an end and `more` is false. `format=text`, or a client
    that accepts `text/plain` rather than JSON, gets all lines after `after` as plain text.
    """
    run = run_or_404(run_id)
    preferred = request.get_preferred_type(["application/json", "text/plain"])
    if filters.format == "text" or preferred == "text/plain":
        text = "".join(
            f"{line.at.isoformat()} {line.stream} {line.text}\n"
            for line in logs.lines(run, filters.after)
        )
        return HttpResponse(text, content_type="text/plain; charset=utf-8")
    lines = logs.lines(run, filters.after, filters.limit + 1)
    shown_lines = lines[: filters.limit]
    return {
        "run": run.pk,
        "state": run.state,
        "lines": shown_lines,
        "after": shown_lines[-1].id if shown_lines else filters.after,
        "more": len(lines) > len(shown_lines),
    }


def _field_of(part: str) -> str:
    """The field that a part of a job is in."""
    names = {"schedulers": "configurations", "journals": "configurations", "executor": "guest"}
    return names.get(part, part.partition("[")[0])


def _spec(job: JobIn) -> JobSpec:
    lun_id, problem = lun_named(job.lun, job.worker)
    slug = existing_study(job.study)
    return JobSpec(
        **job.options(),
        lun_id=lun_id,
        configurations=tuple(
            ConfigurationSpec(**vars(configuration)) for configuration in job.configurations
        ),
        workload=job.workload,
        parameters=job.parameters,
        study=slug,
        new_study="" if slug else job.study,
        unreadable={"lun": [problem]} if problem else {},
    )


def listed_runs() -> QuerySet[Run]:
    """Runs with all that a summary says, in one query."""
    return Run.objects.select_related(
        *("series__study", "series__configuration", "series__workload", "series__lun__worker"),
        *("series__journal_lun", "repeat_rule"),
    ).annotate(again_as=F("retried_as__id"))


def run_or_404(run_id: int) -> Run:
    """The run with all that a summary says. Raises Http404."""
    rows = listed_runs().filter(pk=run_id)
    return found(rows, f"There is no run {run_id}; /api/v1/runs lists them.")


def _detail(run: Run) -> With:
    scores = Score.objects.filter(series=run.series).order_by("id")
    total = scores.count() if run.state == RunState.DONE else 0
    listed = scores[: limits.MOST_LISTED_SCORES] if total else []
    return With(
        run,
        refusal=authority.refusal(run.pk) if run.state == RunState.QUEUED else "",
        clients=shown_clients.as_json(run),
        changes=run.changes.order_by("id"),
        scores=[_run_score(run, score) for score in listed],
        scores_total=total,
    )


def _run_score(run: Run, score: Score) -> With:
    own = RunScore.of(run.pk, score)
    return With(
        score,
        run_value=own.value,
        repeats_mean=own.mean,
        percent_from_mean=own.percent_from_mean,
    )


MOST_MEASUREMENTS = 10_000


class ArtefactOut(Schema):
    id: int
    run: int = value_at("run_id")
    name: str
    media_type: str
    sha256: str
    size_bytes: int
    created_at: datetime
    links: dict[str, str]


class MeasurementOut(ClientResultOut):
    """One number as the tool printed it, and where: ``line`` of the raw output ``artefact``.

    Sizes are KB of 1024 bytes. ``samples`` are its intervals, where the tool prints them.
    """

    samples: Any
    flags: list[str] | None
    artefact_id: int | None
    line: int | None


class MeasurementFilters(Schema):
    test: str = Field("", description="write, read, ...; none: all")
    limit: int = Field(1000, ge=1, le=MOST_MEASUREMENTS)
    offset: int = Field(0, ge=0, le=LARGEST_ID)


class EnvironmentOut(Schema):
    """``facts`` by section: [label, value] in reading order. Empty where nothing was captured."""

    kernel: str
    distribution: str
    facts: dict[str, Any]


class RetryRunIn(Strict):
    confirm: str = Field("", description="the names of the run's LUNs, which are erased again")


class RunRetried(Schema):
    """``run`` is the new one; null where it was submitted again already, or did not end badly."""

    run: RunSummary | None


@router.get(
    "/runs/{int:run_id}/artefacts",
    response=list_of("Artefacts", artefacts=ArtefactOut),
    summary="Raw output of a run",
)
@requires(Action.READ)
def list_artefacts(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """The files that its numbers stand in, also where they were kept with another run."""
    run = run_or_404(run_id)
    return {
        "artefacts": [
            With(
                row,
                links={
                    "content": f"/api/v1/runs/{run.pk}/artefacts/{row.pk}",
                    "page": f"/runs/{run.pk}/artefacts/{row.pk}/lines/",
                },
            )
            for row in run_details.artefacts(run)
        ]
    }


@router.get(
    "/runs/{int:run_id}/artefacts/{int:artefact_id}",
    summary="One raw output",
    openapi_extra=binary("text/plain", description="As it came, byte by byte"),
)
@requires(Action.READ)
def get_artefact(request: HttpRequest, run_id: int, artefact_id: int) -> HttpResponse:
    """The bytes that were stored, whatever they are; always as plain text to keep."""
    run_or_404(run_id)
    return artefact_views.artefact(request, run_id, artefact_id)


@router.get(
    "/runs/{int:run_id}/measurements",
    response=page_of("MeasurementsOut", measurements=MeasurementOut),
    summary="The numbers of a run",
)
@requires(Action.READ)
def list_measurements(
    request: HttpRequest,
    response: HttpResponse,
    run_id: int,
    filters: Query[MeasurementFilters],
) -> dict[str, Any]:
    """Every number, unrounded, in the order in which they were stored."""
    run = run_or_404(run_id)
    total, rows = measurements.page(run.pk, filters.test, filters.offset, filters.limit)
    paging = link(request, response, total, filters.limit, filters.offset)
    return {**paging, "measurements": rows}


@router.get(
    "/runs/{int:run_id}/environment",
    response=EnvironmentOut,
    summary="The system that a run ran on",
)
@requires(Action.READ)
def get_environment(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """Kernel, distribution, tools and devices as its worker wrote them down."""
    run = run_or_404(run_id)
    return {
        "kernel": run.series.kernel,
        "distribution": run.series.distribution,
        "facts": run.environment.shown_facts if run.environment else {},
    }


@router.post(
    "/runs/{int:run_id}/retry",
    response={201: RunRetried, 200: RunRetried},
    summary="Submit a run again",
)
@requires(Action.STEER)
def retry_run(request: HttpRequest, run_id: int, job: RetryRunIn) -> Status[dict[str, Any]]:
    """A new run for one that failed, was lost or cancelled; once, however often it is called."""
    run_or_404(run_id)
    run = control.retry_run(run_id, job.confirm, user_of(request))
    if run is None:
        return Status(200, {"run": None})
    return Status(201, {"run": run_or_404(run.pk)})
