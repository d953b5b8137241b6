"""From a document to the configurations and workloads it stands for. No database.

``docs/api.md`` has an example of all keys. Lists multiply (``documents.configurations``).
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictInt, StrictStr, StringConstraints

from fsbench_web.catalog.workers.machines import EXECUTORS, GUEST, HOST
from fsbench_web.studies.jobs.documents.configurations import ConfigurationReader
from fsbench_web.studies.jobs.documents.reader import Names, Several, map_of, read_map, require
from fsbench_web.studies.jobs.features.order import DEFAULT_REFERENCE_EVERY
from fsbench_web.studies.jobs.features.race import REPEATS_ITSELF
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import (
    GuestSpec,
    JobOptions,
    JobSpec,
    ReferenceSpec,
    WorkloadSpec,
)
from fsbench_web.studies.sequence import RANDOM


def _kernel_alone(value: Any) -> Any:
    if isinstance(value, Mapping) and isinstance(value.get("kernels"), str):
        return {**value, "kernels": [value["kernels"]]}
    return value


_NO_WORKLOAD = "This must be a name, or a map with name and parameters."
_Name = Annotated[StrictStr, StringConstraints(strip_whitespace=True)]


class _Reference(BaseModel):
    model_config = ConfigDict(extra="forbid")

    configuration: Any = None
    every: StrictInt = DEFAULT_REFERENCE_EVERY


class _Document(JobOptions):
    """The keys of a document. Configurations, which multiply, are read one by one."""

    model_config = ConfigDict(extra="forbid")

    study: _Name = ""
    lun: _Name = ""
    worker: _Name = ""
    configurations: Any = None
    schedulers: Names = [None]
    journals: Names = [None]
    stacks: Several = [None]
    workloads: list[Annotated[WorkloadSpec, map_of("name", _NO_WORKLOAD)]] = []
    executor: _Name = ""
    guest: Annotated[GuestSpec | None, BeforeValidator(_kernel_alone)] = None
    order: _Name = RANDOM
    reference: _Reference | None = None


def expand(data: object) -> JobSpec:
    """Everything that a document stands for, and everything that is wrong with it."""
    problems = Problems({})
    if not isinstance(data, Mapping):
        problems.add(
            "document", "A job is a map: study, lun, configurations and workloads are needed."
        )
        return JobSpec(lun_id=None, configurations=(), workload="", unreadable=problems.by_part)
    document = _read(data, problems)
    require(document.study, "study", "the slug of a study, or the title of a new one", problems)
    require(document.lun, "lun", "the name of the LUN to run on", problems)
    reader = ConfigurationReader(document, data, problems)
    configurations = tuple(reader.configurations(data))
    first, *more = _workloads(document, problems)
    return JobSpec(
        **document.options()
        | {"order": document.order or RANDOM, "guest": _guest(document, problems)},
        study=document.study,
        lun=document.lun,
        worker=document.worker,
        lun_id=None,
        configurations=configurations,
        workload=first.name,
        parameters=first.parameters,
        more_workloads=tuple(more),
        reference=_reference(document.reference, reader),
        left_out=tuple(reader.left_out),
        document=dict(data),
        unreadable=problems.by_part,
    )


def _read(data: Mapping[str, Any], problems: Problems) -> _Document:
    """The document by its keys. ``until`` is written under ``repeats``, in place of a number."""
    if data.get("until") is not None:
        problems.add("until", '"until" means nothing here: write its map under repeats.')
    if data.get("race") is not None and data.get("repeats") is not None:
        problems.add("race", REPEATS_ITSELF)
    keys = {key: value for key, value in data.items() if key != "until"}
    if not isinstance(target := data.get("repeats"), Mapping):
        return read_map(_Document, keys, problems)
    del keys["repeats"]
    document = read_map(_Document, keys | {"until": target}, problems)
    for key in ("least", "most"):
        require(key in target, f"repeats.{key}", "a number of repeats", problems)
    return document


def _guest(document: _Document, problems: Problems) -> GuestSpec | None:
    executor = document.executor or (HOST if document.guest is None else GUEST)
    if executor not in EXECUTORS:
        problems.add(
            "executor", f'"{executor}" is not an executor: write one of {", ".join(EXECUTORS)}.'
        )
        return None
    if executor == GUEST and document.guest is None and not problems.is_reported("guest"):
        problems.add("guest", "guest must be a map with kernels, a list of names.")
    if executor != GUEST and document.guest is not None:
        problems.add(
            "guest", "guest says how guests are run: write executor: guest, or leave it out."
        )
    return document.guest if executor == GUEST else None


def _workloads(document: _Document, problems: Problems) -> list[WorkloadSpec]:
    """All of them with their places, also those that could not be read: without a name."""
    if not document.workloads and "workloads" not in problems.by_part:
        problems.add("workloads", "workloads must be a list with at least one name.")
    workloads = [
        WorkloadSpec(workload.name.strip(), workload.parameters) for workload in document.workloads
    ]
    for index, workload in enumerate(workloads):
        if not problems.is_reported(f"workloads[{index}]"):
            require(workload.name, f"workloads[{index}].name", "the name of a workload", problems)
    return workloads or [WorkloadSpec("")]


def _reference(reference: _Reference | None, reader: ConfigurationReader) -> ReferenceSpec | None:
    problems, place = reader.problems, "reference.configuration"
    if reference is None:
        return None
    if reference.configuration is None:
        problems.add(place, "configuration is missing: the one that is run again and again.")
        return None
    before, left_out_before = problems.count, len(reader.left_out)
    configurations = reader.entry(reference.configuration, place)
    del reader.left_out[left_out_before:]
    if len(configurations) == 1:
        return ReferenceSpec(configurations[0], reference.every)
    if problems.count == before:
        problems.add(
            place,
            f"The reference stands for {len(configurations)} configurations: name one file system, "
            "one scheduler, and one value for each option.",
        )
    return None
