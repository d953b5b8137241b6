"""From a document to the configurations and workloads it stands for.

No database. A document is plain data (studies.jobs.documents.text)::

    study: Array test            # the slug of a study, or the title of a new one
    lun: disk1
    worker: lab1                 # where several workers have a LUN of that name
    configurations:
      - filesystem: [ext3, ext4]
        options: {journal_mode: [default, writeback], atime: noatime}
        schedulers: [none]       # else those of the whole job
        journals: [internal]     # internal, or the name of a journal LUN
    schedulers: [none, mq-deadline]
    workloads: [iozone-small, {name: iozone-direct, parameters: {maximum_file_kb: 65536}}]
    repeats: 2                   # or {half_width_percent: 5, least: 3, most: 10}
    race: {hours: 8}             # instead of repeats: find the best, within hours or runs;
                                 # test, category: what decides; margin_percent: no difference
    preparation: {discard: true, precondition: true, fill_percent: 50}
    executor: guest              # or own, the worker's own; a guest is booted for every run
    guest: {kernels: [debian-6.1, debian-4.19], memory_mib: 2048, cpus: 2}
    order: random                # or as-written
    seed: 42
    reference: {every: 10, configuration: {filesystem: ext4}}
    priority: 0
    time_limit_s: 7200
    run_again: 1                 # how often what was interrupted is run again by itself

Lists multiply (studies.jobs.documents.configurations).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, StrictFloat, StrictInt, StrictStr

from fsbench_web.catalog.configurations.preparation import PLAIN, Preparation, PreparationError
from fsbench_web.catalog.workers.machines import EXECUTORS, GUEST, HOST
from fsbench_web.core.scoring.confidence import RepeatTarget
from fsbench_web.core.scoring.paired import EQUIVALENCE_PERCENT
from fsbench_web.studies.jobs.documents.configurations import ConfigurationReader
from fsbench_web.studies.jobs.documents.reader import DocumentMap, names, needed, read
from fsbench_web.studies.jobs.spec import (
    DEFAULT_REPEATS,
    GuestSpec,
    JobOptions,
    JobSpec,
    Problems,
    RaceSpec,
    ReferenceSpec,
    WorkloadSpec,
)
from fsbench_web.studies.sequence import RANDOM

DEFAULT_REFERENCE_EVERY = 10


class JobDocument(JobSpec):
    """What a document says: ``study``, ``lun`` and ``worker`` are names, not looked up yet."""

    lun: str = ""
    worker: str = ""

    @property
    def problems(self) -> Mapping[str, list[str]]:
        """Sentences by place in the document."""
        return self.unreadable


class _Document(JobOptions, DocumentMap):
    """The keys of a document; those that are lists and maps are read one by one."""

    study: StrictStr = ""
    lun: StrictStr = ""
    worker: StrictStr = ""
    configurations: Any = None
    schedulers: Any = None
    journals: Any = None
    workloads: Any = None
    repeats: Any = DEFAULT_REPEATS
    race: Any = None
    preparation: Any = {}
    executor: StrictStr = ""
    guest: Any = None
    order: StrictStr = RANDOM
    reference: Any = None


class _Until(DocumentMap):
    half_width_percent: StrictFloat = -1.0
    least: StrictInt = 0
    most: StrictInt = 0


class _Race(DocumentMap):
    hours: StrictFloat | None = None
    runs: StrictInt | None = None
    test: StrictStr = ""
    category: StrictStr = ""
    margin_percent: StrictFloat = EQUIVALENCE_PERCENT


class _Repeats(DocumentMap):
    repeats: StrictInt = DEFAULT_REPEATS


class _Guest(DocumentMap):
    kernels: Any = None
    memory_mib: StrictInt = Field(GuestSpec.memory_mib)
    cpus: StrictInt = Field(GuestSpec.cpus)


class _Workload(DocumentMap):
    name: StrictStr = ""
    parameters: Any = {}


class _Reference(DocumentMap):
    configuration: Any = None
    every: StrictInt = DEFAULT_REFERENCE_EVERY


def expand(data: object) -> JobDocument:
    """Everything that a document stands for, and everything that is wrong with it."""
    problems = Problems({})
    if not isinstance(data, Mapping):
        problems.add(
            "document", "A job is a map: study, lun, configurations and workloads are needed."
        )
        return JobDocument(lun_id=None, configurations=(), workload="", unreadable=problems.by_part)
    said = read(_Document, data, problems)
    study, lun = said.study.strip(), said.lun.strip()
    needed(study, "study", "the slug of a study, or the title of a new one", problems)
    needed(lun, "lun", "the name of the LUN to run on", problems)
    reader = ConfigurationReader(problems)
    until = _until(said.repeats, problems)
    configurations = tuple(reader.configurations(data))
    first, *more = [*_workloads(said.workloads, problems)] or [WorkloadSpec("")]
    return JobDocument(
        **said.options()
        | {"repeats": _repeats(said.repeats, problems), "order": said.order.strip() or RANDOM},
        study=study,
        lun=lun,
        worker=said.worker.strip(),
        lun_id=None,
        configurations=configurations,
        workload=first.name,
        parameters=first.parameters,
        more_workloads=tuple(more),
        until=until,
        race=_race(data, problems),
        preparation=_preparation(said.preparation, problems),
        guest=_guest(said, problems),
        reference=_reference(said.reference, reader, data),
        left_out=tuple(reader.left_out),
        document=dict(data),
        unreadable=problems.by_part,
    )


def _repeats(value: object, problems: Problems) -> int:
    if isinstance(value, Mapping):  # ``_until`` says what is wrong with it
        return DEFAULT_REPEATS
    return read(_Repeats, {"repeats": value}, problems).repeats


def _until(value: object, problems: Problems) -> RepeatTarget | None:
    if not isinstance(value, Mapping):
        return None
    before = problems.count
    half_width = value.get("half_width_percent")
    said = read(_Until, _with_floats(value, "half_width_percent"), problems, "repeats")
    if half_width is None:
        problems.add("repeats.half_width_percent", "half_width_percent must be a number, not None.")
    needed(said.least or "least" in value, "repeats.least", "a number of repeats", problems)
    needed(said.most or "most" in value, "repeats.most", "a number of repeats", problems)
    found = RepeatTarget(said.half_width_percent, said.least, said.most)
    return found if problems.count == before else None


def _race(data: Mapping[str, Any], problems: Problems) -> RaceSpec | None:
    value = data.get("race")
    if value is None:
        return None
    if not isinstance(value, Mapping):
        problems.add("race", "race must be a map with hours, or runs.")
        return None
    if "repeats" in data:
        problems.add("race", "A race says itself how often what is repeated: leave repeats out.")
    before = problems.count
    said = read(_Race, _with_floats(value, "hours", "margin_percent"), problems, "race")
    return RaceSpec(**said.model_dump()) if problems.count == before else None


def _with_floats(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The same where a whole number stands for a decimal one."""
    return {
        name: float(one) if name in names and type(one) is int else one
        for name, one in value.items()
    }


def _preparation(value: object, problems: Problems) -> Preparation:
    try:
        if not isinstance(value, Mapping):
            raise PreparationError("preparation must be a map.")
        return Preparation.of(value)
    except PreparationError as error:
        problems.add("preparation", str(error))
        return PLAIN


def _guest(document: _Document, problems: Problems) -> GuestSpec | None:
    value = document.guest
    executor = document.executor.strip() or (HOST if value is None else GUEST)
    if executor not in EXECUTORS:
        problems.add(
            "executor", f'"{executor}" is no executor: write one of {", ".join(EXECUTORS)}.'
        )
    if executor != GUEST:
        if value is not None and executor in EXECUTORS:
            problems.add(
                "guest", "guest says how guests are run: write executor: guest, or leave it out."
            )
        return None
    if not isinstance(value, Mapping):
        problems.add("guest", "guest must be a map with kernels, a list of names.")
        return None
    said = read(_Guest, value, problems, "guest")
    if said.kernels is None:
        problems.add("guest.kernels", "kernels is missing: the kernels that are booted.")
        return None
    kernels = names(said.kernels, "guest.kernels", problems)
    return GuestSpec(
        tuple(name for name, _ in kernels),
        said.memory_mib,
        said.cpus,
        places={f"kernel {name}": place for name, place in kernels}
        | {"guest_memory_mib": "guest.memory_mib", "guest_cpus": "guest.cpus"},
    )


def _workloads(entries: object, problems: Problems) -> Iterator[WorkloadSpec]:
    if not isinstance(entries, list) or not entries:
        problems.add("workloads", "workloads must be a list with at least one name.")
        return
    for index, entry in enumerate(entries):
        place = f"workloads[{index}]"
        if isinstance(entry, str):
            entry = {"name": entry}
        if not isinstance(entry, Mapping):
            problems.add(place, "A workload is a name, or a map with name and parameters.")
            continue
        said = read(_Workload, entry, problems, place)
        if not isinstance(said.parameters, Mapping):
            problems.add(f"{place}.parameters", "parameters must be a map.")
            continue
        for key, value in said.parameters.items():
            parts = value if isinstance(value, list) else [value]
            if not all(isinstance(part, int | str) for part in parts):
                problems.add(
                    f"{place}.parameters.{key}",
                    f"{key} must be a whole number, a list of them, a word, true or false, "
                    f"not {value!r}.",
                )
        if needed(said.name.strip(), f"{place}.name", "the name of a workload", problems):
            yield WorkloadSpec(said.name.strip(), dict(said.parameters), place)


def _reference(
    value: object, reader: ConfigurationReader, data: Mapping[str, Any]
) -> ReferenceSpec | None:
    problems, place = reader.problems, "reference.configuration"
    if value is None:
        return None
    if not isinstance(value, Mapping):
        problems.add("reference", "reference must be a map with configuration and every.")
        return None
    said = read(_Reference, value, problems, "reference")
    if said.configuration is None:
        problems.add(place, "configuration is missing: the one that is run again and again.")
        return None
    before, kept = problems.count, len(reader.left_out)
    found = reader.entry(said.configuration, place, reader.shared(data))
    del reader.left_out[kept:]
    if len(found) == 1:
        return ReferenceSpec(found[0], said.every)
    if problems.count == before:
        problems.add(
            place,
            f"The reference stands for {len(found)} configurations: name one file system, one "
            "scheduler, and one value for each option.",
        )
    return None
