"""An order as a document, which ``sweep_plan.expand`` reads as the same order. No database."""

from dataclasses import asdict
from typing import Any

from fsbench_web.catalog.configurations.preparation import PLAIN
from fsbench_web.catalog.workers.machines import GUEST, MIB
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN
from fsbench_web.studies.orders.documents.configurations import DEFAULT_VALUES
from fsbench_web.studies.orders.order import ConfigurationRequest, RunRequest
from fsbench_web.studies.orders.sequence import AS_WRITTEN


def written(request: RunRequest, *, study: str, lun: str, worker: str) -> dict[str, Any]:
    """The document of an order: ``expand`` makes the same order of it."""
    document: dict[str, Any] = {
        "study": study,
        "lun": lun,
        "worker": worker,
        "configurations": [_written_configuration(one) for one in request.configurations],
        "workloads": [
            {"name": one.name, "parameters": dict(one.parameters)} if one.parameters else one.name
            for one in request.workloads
        ],
        "repeats": asdict(request.until) if request.until else request.repeats,
        "order": request.order,
    }
    if request.preparation != PLAIN:
        document["preparation"] = request.preparation.stored()
    if request.guest is not None:
        document["executor"] = GUEST
        document["guest"] = {
            "kernels": list(request.guest.kernels),
            "memory_mib": request.guest.memory_bytes // MIB,
            "cpus": request.guest.cpus,
        }
    if request.order != AS_WRITTEN:
        document["seed"] = request.seed
    if request.reference is not None:
        document["reference"] = {
            "every": request.reference.every,
            "configuration": _written_configuration(request.reference.configuration),
        }
    if request.priority:
        document["priority"] = request.priority
    if request.time_limit_s is not None:
        document["time_limit_s"] = request.time_limit_s
    if request.run_again != DEFAULT_RUN_AGAIN:
        document["run_again"] = request.run_again
    return document


def _written_configuration(wanted: ConfigurationRequest) -> dict[str, Any]:
    entry: dict[str, Any] = {"filesystem": wanted.filesystem}
    options = {key: value for key, value in wanted.options.items() if value not in DEFAULT_VALUES}
    if options:
        entry["options"] = options
    if wanted.scheduler:
        entry["schedulers"] = wanted.scheduler
    if wanted.journal:
        entry["journals"] = wanted.journal
    return entry
