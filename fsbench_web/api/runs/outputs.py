"""What a run left: raw output, numbers, environment; and submitting it once more."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.router import Router, binary, user_of
from fsbench_web.api.protocol.schemas import (
    LARGEST_ID,
    PageOut,
    Strict,
    With,
    found,
    link,
    value_at,
)
from fsbench_web.api.runs.routes import listed_runs, run_or_404
from fsbench_web.api.runs.schemas import RunSummary
from fsbench_web.studies.runs import control
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.views import artefacts as artefact_views
from fsbench_web.studies.views import run_details

router = Router()
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


class Artefacts(Schema):
    artefacts: list[ArtefactOut]


class MeasurementOut(Schema):
    """One number as the tool printed it, and where: ``line`` of the raw output ``artefact``.

    Sizes are KB of 1024 bytes. ``samples`` are its intervals, where the tool prints them.
    """

    test: str
    load: str
    record_size_kb: int | None
    file_size_kb: int | None
    value: float
    unit: str
    samples: Any
    flags: list[str] | None
    artefact_id: int | None
    line: int | None


class MeasurementsOut(PageOut):
    measurements: list[MeasurementOut]


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


@router.get("/runs/{int:run_id}/artefacts", response=Artefacts, summary="Raw output of a run")
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
    "/runs/{int:run_id}/measurements", response=MeasurementsOut, summary="The numbers of a run"
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
    row = found(listed_runs().filter(pk=run.pk), f"There is no run {run.pk}.")
    return Status(201, {"run": row})
