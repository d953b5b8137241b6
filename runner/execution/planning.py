"""What a run is to do on this host: by which executor, whether it can, and in which steps."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fsbench_web.catalog.configurations import networks
from fsbench_web.catalog.configurations.filesystems import ALL, RAW
from fsbench_web.catalog.configurations.layers import programs_of
from fsbench_web.catalog.configurations.limits import Limits
from fsbench_web.catalog.configurations.preparation import Preparation
from fsbench_web.catalog.configurations.stacks import DATA, LunCounts
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.workloads import workload_of
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs import durability, probes
from runner.execution import places
from runner.execution.places import LunUse, RunRefused, UsedLun
from runner.executors.base import Executor, why_in_guests_alone
from runner.guests.executor import GuestExecutor
from runner.plan import RunPlan, plan_run
from runner.safety import blockdev
from runner.safety.luns import LunEntry
from runner.worker import Host

UNKNOWN = "Its LUN, workload or options are no longer known."


def executor_and_luns(run: Run, host: Host) -> tuple[Executor, list[tuple[LunUse, LunEntry]]]:
    """The executor of a run and its LUNs, the measured first. Raises RunRefused, LunUnusable."""
    series, configuration = run.series, run.series.configuration
    if series.lun is None or series.workload is None or not configuration.is_known:
        raise RunRefused(UNKNOWN)
    if configuration.external_journal and series.journal_lun is None:
        raise RunRefused("The LUN of its journal is no longer known: submit it again.")
    machine, layers = Machine.of(series.machine), LunCounts.of(configuration.stack).layers
    executor = _executor_of(host, machine)
    network = networks.network_of(configuration.options)
    is_pool = ALL[configuration.filesystem].is_pool
    refused = why_in_guests_alone(bool(layers), network, is_pool)
    if refused and not machine.is_guest:
        raise RunRefused(refused)
    in_image = (*programs_of(layers), *networks.programs_of(configuration.options))
    entries = [
        (use, places.entry_of(host, executor, name, use))
        for use, name in places.uses_of(series.lun, series)
    ]
    problem = host.capabilities.refusal(
        configuration.filesystem,
        not entries[0][1].is_directory and not machine.is_guest and configuration.filesystem != RAW,
        (
            *workload_of(series.workload.tool, series.workload.parameters).needs,
            # Those of the image, which a worker without containers does not look into.
            *(in_image if host.executor.name == "docker" else ()),
        ),
    )
    problem = problem or _limit_problem(executor, machine.limits)
    if problem:
        raise RunRefused(problem)
    return executor, entries


def plan_on_luns(run: Run, executor: Executor, luns: Sequence[UsedLun]) -> RunPlan:
    """The steps on these LUNs. Raises RunRefused where the device or the guest cannot do them."""
    series, configuration = run.series, run.series.configuration
    if series.workload is None:
        raise RunRefused(UNKNOWN)
    data, (journals, members) = luns[0], places.split_by_use(luns)
    preparation = Preparation.of(series.preparation)
    for lun in (data, *(member for member in members if member.use.role == DATA)):
        if preparation.discard and (lun.number is None or not blockdev.can_discard(lun.number)):
            raise RunRefused(f"{lun.name} takes no discard (TRIM): leave it out of the job.")
    plan = plan_run(
        configuration.filesystem,
        configuration.options,
        series.workload.tool,
        series.workload.parameters,
        device=data.named_device,
        size_bytes=data.size_bytes,
        preparation=preparation,
        is_directory=data.entry.is_directory,
        journal=journals[0].as_journal if journals else None,
        members=[member.as_member for member in members],
        layers=LunCounts.of(configuration.stack).layers,
        guest=_guest_of(Machine.of(series.machine), configuration.scheduler),
        probe_s=probes.due_s(run),
        crash_points=durability.due_points(run),
        limits=Machine.of(series.machine).limits,
    )
    if plan.cpus is not None and plan.guest is None and data.number is not None:
        plan = replace(plan, near_cpus=blockdev.near_cpus(data.number))
    if isinstance(executor, GuestExecutor):
        problem = executor.refusal(plan, configuration.filesystem)
        if problem:
            raise RunRefused(problem)
    return plan


def _limit_problem(executor: Executor, limits: Limits) -> str:
    """Why a run cannot be limited so here, or nothing."""
    problems = executor.limit_problems() if limits.are_any else {}
    return problems.get("rates" if limits.rates else "", "") or problems.get(
        "memory" if limits.memory_mib else "", ""
    )


def _executor_of(host: Host, machine: Machine) -> Executor:
    """The worker's own, or that of guests. Raises RunRefused."""
    if not machine.is_guest:
        return host.executor
    if host.guests is None:
        raise RunRefused(
            "This worker boots no guests: its machine needs Docker, the benchmark image, and "
            "kernels in FSBENCH_GUEST_KERNELS."
        )
    return host.guests


def _guest_of(machine: Machine, scheduler: str) -> dict[str, Any] | None:
    if not machine.is_guest:
        return None
    return {
        "kernel": machine.kernel,
        "memory_bytes": machine.memory_bytes,
        "cpus": machine.cpus,
        "scheduler": scheduler,
    }
