"""A job as a document, which ``documents.plan.expand`` reads as the same job. No database."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from fsbench_web.catalog.configurations.stacks import PLAIN_STACK
from fsbench_web.catalog.workers.machines import GUEST
from fsbench_web.studies.jobs.documents.configurations import DEFAULT_VALUES
from fsbench_web.studies.jobs.features.times import Times
from fsbench_web.studies.jobs.spec import FEATURES, ConfigurationSpec, JobOptions, JobSpec
from fsbench_web.studies.sequence import AS_WRITTEN


def _options(spec: JobOptions) -> dict[str, Any]:
    return spec.model_dump(mode="json", include=set(JobOptions.model_fields))


_USUAL = _options(JobOptions())
_USUAL_PARTS = {
    part: to_jsonable_python(usual) for feature in FEATURES for part, usual in feature.parts.items()
}
# Said at its default too; of what else is at its default a document says nothing, so that those of
# before stay as they were.
_ALWAYS = ("repeats", "order", "seed")


def document_of(spec: JobSpec, *, study: str, lun: str, worker: str) -> dict[str, Any]:
    """The document of a job: ``expand`` makes the same job of it."""
    document: dict[str, Any] = {
        "study": study,
        "lun": lun,
        "worker": worker,
        "configurations": [
            _written_configuration(configuration) for configuration in spec.configurations
        ],
        "workloads": [
            {"name": workload.name, "parameters": dict(workload.parameters)}
            if workload.parameters
            else workload.name
            for workload in spec.workloads
        ],
        "repeats": spec.repeats,
        **{
            name: value
            for name, value in _options(spec).items()
            if name in _ALWAYS or value != _USUAL[name]
        },
    }
    if spec.until is not None:
        document["repeats"] = document.pop("until")
    if spec.race is not None:
        del document["repeats"]
    if spec.order == AS_WRITTEN:
        del document["seed"]
    for part in document.keys() & _USUAL_PARTS.keys():
        usual = _USUAL_PARTS[part]
        document[part] = {
            name: value for name, value in document[part].items() if value != usual[name]
        }
    if spec.guest is not None:
        document["executor"] = GUEST
    if spec.reference is not None:
        document["reference"] = {
            "every": spec.reference.every,
            "configuration": _written_configuration(spec.reference.configuration),
        }
    return document


def without_times(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a job as another one begins with it: times are of one job alone."""
    return {key: value for key, value in document.items() if key not in Times.model_fields}


def _written_configuration(wanted: ConfigurationSpec) -> dict[str, Any]:
    entry: dict[str, Any] = {"filesystem": wanted.filesystem}
    options = {key: value for key, value in wanted.options.items() if value not in DEFAULT_VALUES}
    if options:
        entry["options"] = options
    if wanted.scheduler:
        entry["schedulers"] = wanted.scheduler
    if wanted.journal:
        entry["journals"] = wanted.journal
    if wanted.stack != PLAIN_STACK:
        entry["stacks"] = wanted.stack.stored()
    return entry
