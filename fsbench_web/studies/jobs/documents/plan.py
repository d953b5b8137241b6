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
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.catalog.configurations.preparation import PLAIN, Preparation, PreparationError
from fsbench_web.catalog.workers.machines import (
    DEFAULT_CPUS,
    DEFAULT_MEMORY_BYTES,
    EXECUTORS,
    GUEST,
    HOST,
    MIB,
)
from fsbench_web.core.scoring.confidence import RepeatTarget
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN
from fsbench_web.studies.jobs.documents.configurations import ConfigurationReader
from fsbench_web.studies.jobs.sequence import RANDOM
from fsbench_web.studies.jobs.spec import (
    ConfigurationSpec,
    GuestSpec,
    Problems,
    ReferenceSpec,
    WorkloadSpec,
)

DEFAULT_REPEATS = 2  # as in the Unisys 2005 paper
DEFAULT_REFERENCE_EVERY = 10
_KEYS = (
    *("study", "lun", "worker", "configurations", "schedulers", "journals", "workloads"),
    *("repeats", "preparation", "executor", "guest", "order", "seed", "reference"),
    *("priority", "time_limit_s", "run_again"),
)


@dataclass(frozen=True)
class JobDocument:
    """What a document says: names are not looked up yet. ``problems`` are sentences by place."""

    study: str = ""
    lun: str = ""
    worker: str = ""
    configurations: tuple[ConfigurationSpec, ...] = ()
    workloads: tuple[WorkloadSpec, ...] = ()
    repeats: int = DEFAULT_REPEATS
    until: RepeatTarget | None = None
    preparation: Preparation = PLAIN
    guest: GuestSpec | None = None
    order: str = RANDOM
    seed: int | None = None
    reference: ReferenceSpec | None = None
    priority: int = 0
    time_limit_s: int | None = None
    run_again: int = DEFAULT_RUN_AGAIN
    left_out: tuple[tuple[str, str, str], ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    problems: Mapping[str, list[str]] = field(default_factory=dict)


def expand(data: object) -> JobDocument:
    """Everything that a document stands for, and everything that is wrong with it."""
    problems = Problems({})
    if not isinstance(data, Mapping):
        problems.add(
            "document", "A job is a map: study, lun, configurations and workloads are needed."
        )
        return JobDocument(problems=problems.by_part)
    reader = _Reader(problems)
    reader.known_keys(data, _KEYS, "document")
    until = reader.until(data)
    return JobDocument(
        study=reader.text(data, "study", "the slug of a study, or the title of a new one"),
        lun=reader.text(data, "lun", "the name of the LUN to run on"),
        worker=reader.text(data, "worker"),
        configurations=tuple(reader.configurations(data)),
        workloads=tuple(reader.workloads(data)),
        repeats=DEFAULT_REPEATS if until else reader.repeats(data),
        until=until,
        preparation=reader.preparation(data),
        guest=reader.guest(data),
        order=reader.text(data, "order") or RANDOM,
        seed=reader.whole(data, "seed", None),
        reference=reader.reference(data),
        priority=reader.whole(data, "priority", 0) or 0,
        time_limit_s=reader.whole(data, "time_limit_s", None),
        run_again=reader.run_again(data),
        left_out=tuple(reader.left_out),
        document=dict(data),
        problems=problems.by_part,
    )


class _Reader(ConfigurationReader):
    """Reads all else of a job."""

    def repeats(self, data: Mapping[str, Any]) -> int:
        if isinstance(data.get("repeats"), Mapping):
            return DEFAULT_REPEATS  # ``until`` said what is wrong with it
        return self.whole(data, "repeats", DEFAULT_REPEATS) or 0

    def run_again(self, data: Mapping[str, Any]) -> int:
        number = self.whole(data, "run_again", DEFAULT_RUN_AGAIN)
        return DEFAULT_RUN_AGAIN if number is None else number

    def until(self, data: Mapping[str, Any]) -> RepeatTarget | None:
        value = data.get("repeats")
        if not isinstance(value, Mapping):
            return None
        self.known_keys(value, ("half_width_percent", "least", "most"), "repeats")
        half_width = value.get("half_width_percent")
        if isinstance(half_width, bool) or not isinstance(half_width, int | float):
            self.problems.add(
                "repeats.half_width_percent",
                f"half_width_percent must be a number, not {half_width!r}.",
            )
            return None
        least, most = (self.whole(value, key, None, "repeats.") for key in ("least", "most"))
        for key, number in (("least", least), ("most", most)):
            if number is None:
                self.problems.add(f"repeats.{key}", f"{key} is missing: a number of repeats.")
        if least is None or most is None:
            return None
        return RepeatTarget(float(half_width), least, most)

    def preparation(self, data: Mapping[str, Any]) -> Preparation:
        value = data.get("preparation")
        try:
            if value is not None and not isinstance(value, Mapping):
                raise PreparationError("preparation must be a map.")
            return Preparation.of(value or {})
        except PreparationError as error:
            self.problems.add("preparation", str(error))
            return PLAIN

    def guest(self, data: Mapping[str, Any]) -> GuestSpec | None:
        executor = self.text(data, "executor") or (GUEST if "guest" in data else HOST)
        value = data.get("guest")
        if executor not in EXECUTORS:
            self.problems.add(
                "executor", f'"{executor}" is no executor: write one of {", ".join(EXECUTORS)}.'
            )
        if executor != GUEST:
            if value is not None and executor in EXECUTORS:
                self.problems.add(
                    "guest",
                    "guest says how guests are run: write executor: guest, or leave it out.",
                )
            return None
        if not isinstance(value, Mapping):
            self.problems.add("guest", "guest must be a map with kernels, a list of names.")
            return None
        self.known_keys(value, ("kernels", "memory_mib", "cpus"), "guest")
        if value.get("kernels") is None:
            self.problems.add("guest.kernels", "kernels is missing: the kernels that are booted.")
            return None
        names = self.names(value["kernels"], "guest.kernels")
        memory = self.whole(value, "memory_mib", DEFAULT_MEMORY_BYTES // MIB, "guest.") or 0
        cpus = self.whole(value, "cpus", DEFAULT_CPUS, "guest.") or 0
        return GuestSpec(
            tuple(name for name, _ in names),
            memory * MIB,
            cpus,
            places={f"kernel {name}": place for name, place in names}
            | {"guest_memory_mib": "guest.memory_mib", "guest_cpus": "guest.cpus"},
        )

    def workloads(self, data: Mapping[str, Any]) -> Iterator[WorkloadSpec]:
        entries = data.get("workloads")
        if not isinstance(entries, list) or not entries:
            self.problems.add("workloads", "workloads must be a list with at least one name.")
            return
        for index, entry in enumerate(entries):
            place = f"workloads[{index}]"
            if isinstance(entry, str):
                entry = {"name": entry}
            if not isinstance(entry, Mapping):
                self.problems.add(place, "A workload is a name, or a map with name and parameters.")
                continue
            self.known_keys(entry, ("name", "parameters"), place)
            parameters = entry.get("parameters") or {}
            if not isinstance(parameters, Mapping):
                self.problems.add(f"{place}.parameters", "parameters must be a map.")
                continue
            for key, value in parameters.items():
                parts = value if isinstance(value, list) else [value]
                if not all(isinstance(part, int | str) for part in parts):
                    self.problems.add(
                        f"{place}.parameters.{key}",
                        f"{key} must be a whole number, a list of them, a word, true or false, "
                        f"not {value!r}.",
                    )
            name = self.text(entry, "name", "the name of a workload", f"{place}.name")
            if name:
                yield WorkloadSpec(name, dict(parameters), place)

    def reference(self, data: Mapping[str, Any]) -> ReferenceSpec | None:
        value = data.get("reference")
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.problems.add("reference", "reference must be a map with configuration and every.")
            return None
        self.known_keys(value, ("configuration", "every"), "reference")
        every = self.whole(value, "every", DEFAULT_REFERENCE_EVERY, "reference.")
        place = "reference.configuration"
        if value.get("configuration") is None:
            self.problems.add(
                place, "configuration is missing: the one that is run again and again."
            )
            return None
        before = self.problems.count
        kept = len(self.left_out)
        found = self.entry(value["configuration"], place, self.shared(data))
        del self.left_out[kept:]
        if len(found) == 1:
            return ReferenceSpec(found[0], every or 0)
        if self.problems.count == before:
            self.problems.add(
                place,
                f"The reference stands for {len(found)} configurations: name one file system, one "
                "scheduler, and one value for each option.",
            )
        return None
