"""Uploaded workloads: everybody reads, operators add versions, administrators withdraw them."""

from datetime import datetime
from typing import Any, Literal

from django.db import transaction
from django.http import HttpRequest
from ninja import Schema, Status
from pydantic import Field, StrictInt

from fsbench_web.accounts import audit
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.auth import user_of
from fsbench_web.api.protocol.bodies import Strict
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.objects import Answer, With, value_at
from fsbench_web.api.protocol.router import Router
from fsbench_web.catalog.models import OwnWorkload
from fsbench_web.catalog.workloads.own_workloads import add_version, callable_programs, warning
from fsbench_web.catalog.workloads.views import own_workload_or_404
from fsbench_web.core.formats import FORMATS
from fsbench_web.core.workloads import ParameterError
from fsbench_web.core.workloads.fio.jobs import MOST_BYTES

router = Router()


class OwnWorkloadOut(Answer):
    """``name`` is what a job calls ``workload``; ``text`` the job file or command itself.

    ``warning`` says why no worker could run it now, and is empty where one can.
    """

    id: int
    name: str
    title: str
    version: int
    kind: str
    text: str
    parser: str
    space_mb: int
    is_withdrawn: bool
    created_at: datetime
    created_by: str | None = value_at("created_by.username", None)
    warning: str


class OwnWorkloadsOut(Schema):
    workloads: list[OwnWorkloadOut]


class OwnWorkloadIn(Strict):
    """``space_mb`` is room on the file system, MiB. ``parser`` reads a command."""

    title: str = Field(max_length=100)
    kind: Literal["fio", "command"] = "fio"
    text: str = Field(max_length=MOST_BYTES)
    parser: str = Field("", max_length=40)
    space_mb: StrictInt = Field(1024, ge=1, le=2**30)


@router.get("/own-workloads", response=OwnWorkloadsOut, summary="Uploaded workloads")
@requires(Action.READ)
def list_own_workloads(request: HttpRequest) -> dict[str, Any]:
    """Every version that was uploaded, withdrawn ones too."""
    rows = OwnWorkload.objects.select_related("created_by")
    programs = callable_programs()
    return {"workloads": [_row(row, programs) for row in rows]}


@router.post("/own-workloads", response={201: OwnWorkloadOut}, summary="Upload a workload")
@requires(Action.UPLOAD)
def upload_own_workload(request: HttpRequest, workload: OwnWorkloadIn) -> Status[With]:
    """A new title, or a new version of one. What it may say is checked before it is kept."""
    if not workload.text.strip():
        raise Refused(422, [("text", "Write the text: a job file of fio, or a command.")])
    if workload.kind == "command" and workload.parser not in FORMATS:
        parsers = ", ".join(FORMATS)
        raise Refused(422, [("parser", f"Say which parser reads its output: {parsers}.")])
    try:
        row = add_version(
            workload.title,
            workload.kind,
            workload.text,
            parser=workload.parser,
            space_mb=workload.space_mb,
            by=user_of(request),
        )
    except ParameterError as error:
        raise Refused(422, [(None, str(error))]) from None
    return Status(201, _row(row, callable_programs()))


@router.get(
    "/own-workloads/{int:workload_id}", response=OwnWorkloadOut, summary="One uploaded workload"
)
@requires(Action.READ)
def get_own_workload(request: HttpRequest, workload_id: int) -> With:
    """One version with its text."""
    return _row(own_workload_or_404(workload_id), callable_programs())


@router.post(
    "/own-workloads/{int:workload_id}/withdraw",
    response=OwnWorkloadOut,
    summary="Offer an uploaded workload no more",
)
@requires(Action.PROVIDE)
def withdraw_own_workload(request: HttpRequest, workload_id: int) -> With:
    """All versions of it. Their texts stay, and so do the runs made of them."""
    row = own_workload_or_404(workload_id)
    with transaction.atomic():
        if OwnWorkload.objects.filter(slug=row.slug, is_withdrawn=False).update(is_withdrawn=True):
            audit.note_here("workload withdrawn", row.title)
    return _row(own_workload_or_404(workload_id), callable_programs())


def _row(row: OwnWorkload, programs: set[str]) -> With:
    return With(
        row,
        name=f"own-{row.slug}-v{row.version}",
        warning="" if row.is_withdrawn else warning(row, programs),
    )
