"""Workloads: what can be run, with every parameter, its bounds and what the paper used."""

from typing import Any

from django.http import HttpRequest
from ninja import Schema

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.router import Router
from fsbench_web.core.workloads import Parameter, workload_types
from fsbench_web.core.workloads.parameters import Kind, Value
from fsbench_web.studies.jobs.forms.workload import PresetFields, by_workload, shown_presets

router = Router()


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


class PresetOut(Schema):
    """``parameters`` are all of them. ``asked_s`` is what the parameters themselves ask for, in
    seconds, without what the disk adds; ``null`` where the disk decides alone. ``question`` is the
    group that the form has it in."""

    name: str
    title: str
    description: str
    question: str
    parameters: dict[str, Any]
    space_needed_bytes: int
    asked_s: float | None


class WorkloadOut(Schema):
    """``programs`` are those it calls, each with its Debian package."""

    tool: str
    name: str
    about: str
    paper: str
    programs: dict[str, str]
    parameters: list[ParameterOut]
    presets: list[PresetOut]


class WorkloadsOut(Schema):
    workloads: list[WorkloadOut]


@router.get("/workloads", response=WorkloadsOut, summary="All workloads")
@requires(Action.READ)
def list_workloads(request: HttpRequest) -> dict[str, Any]:
    """What can be run. A preset's ``name`` is what a job calls ``workload``."""
    return {
        "workloads": [
            _workload(workload.tool, workload.presets)
            for workload in by_workload(shown_presets((), {}))
        ]
    }


def _workload(tool: str, presets: tuple[PresetFields, ...]) -> dict[str, Any]:
    kind = workload_types()[tool]
    return {
        "tool": tool,
        "name": kind.name,
        "about": kind.about,
        "paper": kind.paper,
        "programs": dict(kind.programs),
        "parameters": [_parameter(parameter) for parameter in kind.parameters],
        "presets": [_preset(fields) for fields in presets],
    }


def _preset(fields: PresetFields) -> dict[str, Any]:
    workload = fields.preset.workload()
    keys = [parameter.key for parameter in type(workload).parameters]
    values: dict[str, Value] = {key: getattr(workload, key) for key in keys}
    return {
        "name": fields.preset.slug,
        "title": fields.preset.title,
        "description": fields.preset.description,
        "question": fields.preset.answers,
        "parameters": values,
        "space_needed_bytes": fields.space_bytes,
        "asked_s": fields.asked_s,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    has_bounds = parameter.kind in (Kind.WHOLE, Kind.WHOLES, Kind.SIZE)
    return {
        "key": parameter.key,
        "label": parameter.label,
        "kind": parameter.kind.value,
        "unit": "KB" if parameter.kind == Kind.SIZE else parameter.unit,
        "default": parameter.default,
        "minimum": parameter.minimum if has_bounds else None,
        "maximum": parameter.maximum if has_bounds else None,
        "choices": [value for value, _ in parameter.choices],
        "help": parameter.help,
        "paper": parameter.paper,
        "fixed": parameter.fixed,
    }
