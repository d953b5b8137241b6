"""Guests: virtual machines with their own kernels, rebooted before every run.

Several kernels are a dimension: a pair that one kernel cannot run is left out, with the reason. It
is a problem if no kernel can run it, or if a kernel can run nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StrictInt, StrictStr

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import (
    DEFAULT_CPUS,
    DEFAULT_MEMORY_BYTES,
    LEAST_CPUS,
    LEAST_MEMORY_BYTES,
    MIB,
    MOST_CPUS,
    MOST_MEMORY_BYTES,
    GuestAbility,
    Machine,
    memory_words,
)
from fsbench_web.studies.jobs.features.base import ALWAYS, NAMES, Feature, FormField
from fsbench_web.studies.jobs.parts import CLOSED, ConfigurationSpec, Host, LeftOut
from fsbench_web.studies.jobs.problems import Problems


@dataclass(frozen=True)
class GuestSpec:
    """A virtual machine with its own kernel, rebooted before every run."""

    __pydantic_config__ = CLOSED

    kernels: Annotated[
        tuple[StrictStr, ...],
        Field(
            max_length=50,
            description="names of the worker's kernels; every configuration is run with each",
            examples=[["debian-6.1"]],
        ),
    ]
    memory_mib: Annotated[StrictInt, Field(description="MiB")] = DEFAULT_MEMORY_BYTES // MIB
    cpus: StrictInt = DEFAULT_CPUS

    @property
    def memory_bytes(self) -> int:
        return self.memory_mib * MIB


class Guest(Feature):
    shown = ALWAYS
    form_fields = [
        FormField("guest.kernels", "choose fewer kernels", kind=NAMES),
        FormField(
            *("guest.memory_mib", "say how much memory the guest has, in MiB"),
            usual=str(GuestSpec.memory_mib),
            name="guest_memory_mib",
        ),
        FormField(
            *("guest.cpus", "say how many CPUs the guest has"),
            usual=str(GuestSpec.cpus),
            name="guest_cpus",
        ),
    ]

    guest: GuestSpec | None = Field(default=None, description="null: the worker's own executor")


def hosts_of(guest: GuestSpec, lun: Lun | None, problems: Problems) -> list[Host]:
    """The machines that each configuration is run on; none where a problem was noted."""
    before = problems.count
    if not guest.kernels and not problems.is_reported("guest.kernels"):
        problems.add("guest.kernels", "Choose at least one kernel for the guest to boot.")
    for name in dict.fromkeys(guest.kernels):
        if guest.kernels.count(name) > 1:
            problems.add(_place(guest, name), f"The kernel {name} is in the job twice.")
    _check_size(guest, problems)
    if lun is None:
        return []
    for sentence in availability.guest_problems(lun):
        problems.add("executor", sentence)
    ability = availability.guest(lun.worker)
    if ability is None or problems.count > before:
        return []
    _check_room(guest, ability, lun, problems)
    hosts = []
    for name in guest.kernels:
        kernel = ability.kernel(name)
        if kernel is None or kernel.problem:
            problems.add(_place(guest, name), availability.kernel_problem(lun.worker, name))
        else:
            machine = Machine(name, ability.accelerator, guest.memory_bytes, guest.cpus)
            hosts.append(Host(machine, kernel, ability.boot_s(name)))
    return hosts if problems.count == before else []


def _place(guest: GuestSpec, kernel: str) -> str:
    return f"guest.kernels[{guest.kernels.index(kernel)}]"


def _check_size(guest: GuestSpec, problems: Problems) -> None:
    if not LEAST_MEMORY_BYTES <= guest.memory_bytes <= MOST_MEMORY_BYTES:
        problems.add(
            "guest.memory_mib",
            f"The memory of a guest is {LEAST_MEMORY_BYTES // MIB} MiB or more, and at most "
            f"{memory_words(MOST_MEMORY_BYTES)}, not {guest.memory_bytes // MIB} MiB.",
        )
    if not LEAST_CPUS <= guest.cpus <= MOST_CPUS:
        problems.add(
            "guest.cpus",
            f"A guest has {LEAST_CPUS} to {MOST_CPUS} CPUs, not {guest.cpus}.",
        )


def _check_room(guest: GuestSpec, ability: GuestAbility, lun: Lun, problems: Problems) -> None:
    memory, cpus = ability.most_memory_bytes, ability.most_cpus
    if memory is not None and guest.memory_bytes > memory:
        problems.add(
            "guest.memory_mib",
            f"The worker {lun.worker.name} can give a guest {memory_words(memory)} of memory, and "
            f"{memory_words(guest.memory_bytes)} are asked for: choose less, or another worker.",
        )
    if cpus is not None and guest.cpus > cpus:
        problems.add(
            "guest.cpus",
            f"The worker {lun.worker.name} can give a guest {cpus} CPUs, and {guest.cpus} are "
            "asked for: choose fewer, or another worker.",
        )


def pairs(
    configurations: Sequence[ConfigurationSpec],
    hosts: Sequence[Host],
    lun: Lun,
    problems: Problems,
) -> tuple[list[tuple[ConfigurationSpec, Host]], list[LeftOut]]:
    """Which configuration is run on which machine, kernel after kernel, and what is left out."""
    possible: list[tuple[ConfigurationSpec, Host]] = []
    left_out: list[LeftOut] = []
    runnable: set[int] = set()
    data: dict[int, list[tuple[str, str]]] = {}
    for host in hosts:
        before = len(possible)
        for place, wanted in enumerate(configurations):
            why = next(_problems_on_host(wanted, host, lun), None)
            if why is None:
                possible.append((wanted, host))
                runnable.add(place)
                continue
            data.setdefault(place, []).append(why)
            left_out.append((wanted.place(), f"{wanted.label} {host.machine.kernel}", why[1]))
        if len(possible) == before and len(hosts) > 1:
            problems.add(
                "guest.kernels",
                f"The kernel {host.machine.kernel} can run nothing of this job: leave it out.",
            )
    for place, wanted in enumerate(configurations):
        if place not in runnable:
            for part, sentence in data.get(place, ()):
                problems.add(wanted.place(part), sentence)
    return possible, left_out


def _problems_on_host(wanted: ConfigurationSpec, host: Host, lun: Lun) -> Iterator[tuple[str, str]]:
    """(part of the configuration, why it cannot be run there)."""
    return availability.configuration_problems(
        *(lun, wanted.filesystem, wanted.options, wanted.scheduler),
        *(wanted.stack.layers, host.kernel),
    )
