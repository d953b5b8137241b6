"""Workloads: what can be run with which parameters, and those that people uploaded."""

from datetime import datetime
from typing import Any, Literal

from django.db import transaction
from django.http import HttpRequest
from ninja import Schema, Status
from pydantic import Field, StrictInt

from fsbench_web.accounts import audit
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import Answer, Strict, With, list_of, value_at
from fsbench_web.catalog.models import OwnWorkload
from fsbench_web.catalog.workloads.own_workloads import add_version, callable_programs, warning
from fsbench_web.catalog.workloads.views import own_workload_or_404
from fsbench_web.core.formats import FORMATS
from fsbench_web.core.workloads import Parameter, workload_types
from fsbench_web.core.workloads.fio.jobs import MOST_BYTES
from fsbench_web.core.workloads.parameters import Kind, Value
from fsbench_web.studies.jobs.forms.workload import PresetFields, by_workload, shown_presets

router = Router()
_WITH_BOUNDS = (Kind.WHOLE, Kind.WHOLES, Kind.SIZE)


class ParameterOut(Schema):
    """``kind``: whole, wholes (a list of whole numbers), flag, choice or size (a power of two).

    What is ``fixed`` belongs to the workload: no job may change it. ``minimum`` and ``maximum``
    are ``null`` where there is no number; ``default`` is ``null`` where a preset has to say it.
    ``paper`` is what the paper used, as text.
    """

    key: str
    label: str
    kind: str
    unit: str
    default: Any
    minimum: int | None
    maximum: int | None
    choices: list[str]
    help: str
    paper: str
    fixed: bool

    @staticmethod
    def resolve_unit(parameter: Parameter) -> str:
        return "KB" if parameter.kind == Kind.SIZE else parameter.unit

    @staticmethod
    def resolve_minimum(parameter: Parameter) -> int | None:
        return parameter.minimum if parameter.kind in _WITH_BOUNDS else None

    @staticmethod
    def resolve_maximum(parameter: Parameter) -> int | None:
        return parameter.maximum if parameter.kind in _WITH_BOUNDS else None

    @staticmethod
    def resolve_choices(parameter: Parameter) -> list[str]:
        return [value for value, _ in parameter.choices]


class PresetOut(Schema):
    """``parameters`` are all of them. ``asked_s`` is what the parameters themselves ask for, in
    seconds, without what the disk adds; ``null`` where the disk decides alone. ``question`` is the
    group that the form has it in."""

    name: str = value_at("preset.slug")
    title: str = value_at("preset.title")
    description: str = value_at("preset.description")
    question: str = value_at("preset.answers")
    parameters: dict[str, Any]
    space_needed_bytes: int = value_at("space_bytes")
    asked_s: float | None

    @staticmethod
    def resolve_parameters(fields: PresetFields) -> dict[str, Value]:
        workload = fields.preset.workload()
        keys = [parameter.key for parameter in type(workload).parameters]
        return {key: getattr(workload, key) for key in keys}


class WorkloadOut(Schema):
    """``programs`` are those it calls, each with its Debian package."""

    tool: str
    name: str
    about: str
    paper: str
    programs: dict[str, str]
    parameters: list[ParameterOut]
    presets: list[PresetOut]


@router.get(
    "/workloads", response=list_of("WorkloadsOut", workloads=WorkloadOut), summary="All workloads"
)
@requires(Action.READ)
def list_workloads(request: HttpRequest) -> dict[str, Any]:
    """What can be run. A preset's ``name`` is what a job calls ``workload``."""
    return {
        "workloads": [
            With(workload_types()[workload.tool], tool=workload.tool, presets=workload.presets)
            for workload in by_workload(shown_presets((), {}))
        ]
    }


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


class OwnWorkloadIn(Strict):
    """``space_mb`` is room on the file system, MiB. ``parser`` reads a command."""

    title: str = Field(max_length=100)
    kind: Literal["fio", "command"] = "fio"
    text: str = Field(max_length=MOST_BYTES)
    parser: str = Field("", max_length=40)
    space_mb: StrictInt = Field(1024, ge=1, le=2**30)


@router.get(
    "/own-workloads",
    response=list_of("OwnWorkloadsOut", workloads=OwnWorkloadOut),
    summary="Uploaded workloads",
)
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
    row = add_version(**workload.model_dump(), by=user_of(request))
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
