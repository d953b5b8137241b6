"""Check the machines of a job: guests, or the worker's own with its limits.

Several kernels are a dimension: a pair that one kernel cannot run is left out, with the reason. It
is a problem if no kernel can run it, or if a kernel can run nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsbench_web.catalog.configurations.labels import configuration_label
from fsbench_web.catalog.configurations.limits import LEAST_MEMORY_MIB, LIMITS, NO_LIMITS, Limits
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability, capacity
from fsbench_web.catalog.workers.machines import (
    LEAST_CPUS,
    LEAST_MEMORY_BYTES,
    MIB,
    MOST_CPUS,
    MOST_MEMORY_BYTES,
    OWN_MACHINE,
    GuestAbility,
    GuestKernel,
    Machine,
    memory_words,
)
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec

MOST_COMBINATIONS = 32
"""Of limits."""
LeftOut = tuple[str, str, str]
"""(place, combination, why)"""


@dataclass(frozen=True)
class Host:
    """A machine of a job with the kernel behind it; None is the worker's own executor."""

    machine: Machine = OWN_MACHINE
    kernel: GuestKernel | None = None
    boot_s: tuple[float, bool] | None = None


THIS_HOST = Host()


def hosts_of(spec: JobSpec, lun: Lun | None, problems: Problems) -> list[Host]:
    """The machines that each configuration is run on; none where a problem was noted."""
    limited = _limited_hosts(spec, lun, problems)
    return limited if spec.guest is None else _guests(spec.guest, lun, problems)


def _guests(guest: GuestSpec, lun: Lun | None, problems: Problems) -> list[Host]:
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
            left_out.append((wanted.place(), f"{label_of(wanted)} {host.machine.kernel}", why[1]))
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


def label_of(wanted: ConfigurationSpec) -> str:
    """The configuration's label, as tables show it."""
    options = {key: str(value) for key, value in wanted.options.items()}
    return configuration_label(
        *(wanted.filesystem, options, wanted.scheduler, bool(wanted.journal)),
        wanted.stack.shape,
    )


def _limited_hosts(spec: JobSpec, lun: Lun | None, problems: Problems) -> list[Host]:
    """The worker's own machine with each of the limits."""
    if spec.limits.count == 1 and not spec.limits.combinations()[0].are_any:
        return [THIS_HOST]
    before = problems.count
    if spec.guest is not None:
        problems.add(
            "limits",
            "A guest has memory and CPUs of its own (guest.memory_mib, guest.cpus), and the rates "
            "of its disks are not limited: leave the limits out, or choose the worker's own "
            "executor.",
        )
    if spec.limits.count > MOST_COMBINATIONS:
        problems.add(
            "limits",
            f"The limits make {spec.limits.count} combinations, and {MOST_COMBINATIONS} is the "
            "most: say fewer values.",
        )
        return []
    _check_limits(spec, problems)
    all_limits = spec.limits.combinations()
    if len(set(all_limits)) < len(all_limits):
        problems.add("limits", "A limit is said twice: each value once is enough.")
    if lun is not None and spec.guest is None:
        _check_limited_lun(lun, _all_limited(all_limits), problems)
    return (
        [Host(Machine(limits=limits)) for limits in all_limits] if problems.count == before else []
    )


def _check_limited_lun(lun: Lun, strictest: Limits, problems: Problems) -> None:
    if lun.is_folder:
        if strictest.rates:
            problems.add(
                "limits",
                f"{lun.name} is a {lun.kind}, and has no device of its own to limit: leave the "
                "rates out, or choose a LUN on which file systems are made.",
            )
        if strictest.memory_mib:
            problems.add(
                "limits",
                f"{lun.name} is a {lun.kind}, and its runs have no control group of their own: "
                "leave the memory limit out, or choose a LUN on which file systems are made.",
            )
    for sentence in capacity.machine_limit_problems(Machine(limits=strictest), lun.worker):
        problems.add("limits", sentence)


def _check_limits(spec: JobSpec, problems: Problems) -> None:
    for name, kind in LIMITS.items():
        for value in getattr(spec.limits, name):
            if not 0 <= value <= kind.most:
                problems.add(
                    f"limits.{name}", f"A limit is 0 (none) to {kind.most}, and not {value}."
                )
            elif name == "memory_mib" and 0 < value < LEAST_MEMORY_MIB:
                problems.add(
                    f"limits.{name}",
                    f"With less than {LEAST_MEMORY_MIB} MiB of memory no benchmark runs: say more "
                    f"than {value}, or 0 for no limit.",
                )


def _all_limited(all_limits: Sequence[Limits]) -> Limits:
    """What any of them limits."""
    stored = {name: value for limits in all_limits for name, value in limits.stored().items()}
    return Limits.of(stored) if stored else NO_LIMITS
