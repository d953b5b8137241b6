"""What is wrong with the limits of a job, and the machines that they make of the worker's own."""

from collections.abc import Sequence

from fsbench_web.catalog.configurations.limits import LEAST_MEMORY_MIB, MOST, NO_LIMITS, Limits
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import capacity
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.jobs.checks.guest import THIS_HOST, Host
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import JobSpec

MOST_COMBINATIONS = 32


def hosts_of(spec: JobSpec, lun: Lun | None, problems: Problems) -> list[Host]:
    """The worker's own machine with each of the limits; none where a problem was noted."""
    if spec.limits.count == 1 and not spec.limits.each()[0].are_any:
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
    _check_values(spec, problems)
    each = spec.limits.each()
    if len(set(each)) < len(each):
        problems.add("limits", "A limit is said twice: each value once is enough.")
    if lun is not None and spec.guest is None:
        _check_lun(lun, _strictest(each), problems)
    return [Host(Machine(limits=one)) for one in each] if problems.count == before else []


def _check_lun(lun: Lun, strictest: Limits, problems: Problems) -> None:
    if lun.is_folder:
        if strictest.rates:
            problems.add(
                "limits",
                f"{lun.name} is a {lun.kind}, and has no device of its own whose rate could be "
                "limited: leave the rates out, or choose a LUN on which file systems are made.",
            )
        if strictest.memory_mib:
            problems.add(
                "limits",
                f"{lun.name} is a {lun.kind}, whose runs have no control group of their own: leave "
                "the limit of memory out, or choose a LUN on which file systems are made.",
            )
    for sentence in capacity.machine_limit_problems(Machine(limits=strictest), lun.worker):
        problems.add("limits", sentence)


def _check_values(spec: JobSpec, problems: Problems) -> None:
    for name, most in MOST.items():
        for value in getattr(spec.limits, name):
            if not 0 <= value <= most:
                problems.add(f"limits.{name}", f"A limit is 0 (none) to {most}, and not {value}.")
            elif name == "memory_mib" and 0 < value < LEAST_MEMORY_MIB:
                problems.add(
                    f"limits.{name}",
                    f"With less than {LEAST_MEMORY_MIB} MiB of memory no benchmark runs: say more "
                    f"than {value}, or 0 for no limit.",
                )


def _strictest(each: Sequence[Limits]) -> Limits:
    """What any of them limits."""
    stored = {name: value for one in each for name, value in one.stored().items()}
    return Limits.of(stored) if stored else NO_LIMITS
