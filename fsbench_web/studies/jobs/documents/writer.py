"""A job as a document, which ``documents.plan.expand`` reads as the same job. No database."""

from dataclasses import asdict
from typing import Any

from fsbench_web.catalog.configurations.preparation import PLAIN
from fsbench_web.catalog.workers.machines import GUEST
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN
from fsbench_web.studies.jobs.documents.configurations import DEFAULT_VALUES
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, RaceSpec
from fsbench_web.studies.sequence import AS_WRITTEN

# What a document does not say at its default, so that those of before stay as they were.
_LEFT_OUT = {"priority": 0, "time_limit_s": None, "run_again": DEFAULT_RUN_AGAIN}


def written(spec: JobSpec, *, study: str, lun: str, worker: str) -> dict[str, Any]:
    """The document of a job: ``expand`` makes the same job of it."""
    document: dict[str, Any] = {
        "study": study,
        "lun": lun,
        "worker": worker,
        "configurations": [_written_configuration(one) for one in spec.configurations],
        "workloads": [
            {"name": one.name, "parameters": dict(one.parameters)} if one.parameters else one.name
            for one in spec.workloads
        ],
        **spec.options(),
    }
    if spec.until is not None:
        document["repeats"] = asdict(spec.until)
    if spec.race is not None:
        del document["repeats"]
        unsaid = asdict(RaceSpec())
        document["race"] = {
            name: value for name, value in asdict(spec.race).items() if value != unsaid[name]
        }
    if spec.order == AS_WRITTEN:
        del document["seed"]
    for name, usual in _LEFT_OUT.items():
        if document[name] == usual:
            del document[name]
    if spec.preparation != PLAIN:
        document["preparation"] = spec.preparation.stored()
    if spec.guest is not None:
        document["executor"] = GUEST
        document["guest"] = {
            "kernels": list(spec.guest.kernels),
            "memory_mib": spec.guest.memory_mib,
            "cpus": spec.guest.cpus,
        }
    if spec.reference is not None:
        document["reference"] = {
            "every": spec.reference.every,
            "configuration": _written_configuration(spec.reference.configuration),
        }
    return document


def _written_configuration(wanted: ConfigurationSpec) -> dict[str, Any]:
    entry: dict[str, Any] = {"filesystem": wanted.filesystem}
    options = {key: value for key, value in wanted.options.items() if value not in DEFAULT_VALUES}
    if options:
        entry["options"] = options
    if wanted.scheduler:
        entry["schedulers"] = wanted.scheduler
    if wanted.journal:
        entry["journals"] = wanted.journal
    return entry
