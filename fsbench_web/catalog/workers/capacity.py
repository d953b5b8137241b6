"""How much memory and how many processors a worker has, and which limits it cannot hold."""

import re
from collections.abc import Iterator

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.workloads.base import Limits


def memory_bytes(worker: Worker) -> int | None:
    """The memory of the worker's host, as its hardware profile has it; None: not said."""
    for label, text in worker.hardware.facts if worker.hardware else []:
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(MiB|MB|GiB|GB|TiB|TB)", str(text).strip())
        if label == "Memory" and match:
            # Memory comes in powers of two, whatever its label calls them.
            return int(float(match[1]) * 2 ** {"M": 20, "G": 30, "T": 40}[match[2][0]])
    return None


def processors(worker: Worker) -> int | None:
    """How many the worker's host has, as its hardware profile says; None: not said."""
    for label, text in worker.hardware.facts if worker.hardware else []:
        if label == "Processors online" and re.fullmatch("[0-9]{1,6}", str(text)):
            return int(text)
    return None


def limit_problems(worker: Worker, limits: Limits) -> Iterator[str]:
    """Why this worker cannot hold a benchmark to these limits."""
    cpus = processors(worker)
    if limits.cpus and cpus is not None and cpus < limits.cpus:
        yield (
            f"The workload asks for {limits.cpus} CPUs, and the worker {worker.name} has {cpus}: "
            "choose fewer, or a LUN of a larger worker."
        )
    if limits.memory_bytes and worker.executor == "local":
        yield (
            f"The worker {worker.name} runs benchmarks without a container and cannot limit their "
            "memory: set the memory limit to 0, or choose a LUN of a worker with Docker."
        )


def machine_limit_problems(machine: Machine, worker: Worker) -> Iterator[str]:
    """Why this worker cannot limit runs as the machine of a series has it."""
    limits, cpus = machine.limits, processors(worker)
    if not limits.are_any:
        return
    value = worker.capabilities.get("limits")
    if value is None:
        yield (
            f"The worker {worker.name} has a version of fsbench that limits no run. "
            "Update it, or leave the limits out."
        )
        return
    for key, is_limited in (("rates", limits.rates), ("memory", limits.memory_mib)):
        if is_limited and value.get(key):
            yield str(value[key])
    if limits.cpus and cpus is not None and cpus < limits.cpus:
        yield (
            f"The limit is {limits.cpus} CPUs, and the worker {worker.name} has {cpus}. Choose "
            "fewer, or a LUN of a larger worker."
        )


def guest_limit_problems(cpus: int, limits: Limits) -> Iterator[str]:
    """Why a guest with so many CPUs cannot hold a benchmark to these limits."""
    if limits.cpus and cpus < limits.cpus:
        yield (
            f"The workload asks for {limits.cpus} CPUs, and the guest has {cpus}: give it more, or "
            "choose fewer for the workload."
        )
    if limits.memory_bytes:
        yield (
            "A guest has its memory as a whole: set the workload's memory limit to 0, and say how "
            "much memory the guest has."
        )
