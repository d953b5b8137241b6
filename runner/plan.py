"""One run as a list of steps, as data: the commands of the preview page. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fsbench_web.catalog.configurations import networks
from fsbench_web.catalog.configurations.commands import durability
from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.filesystems import filesystem as filesystem_named
from fsbench_web.catalog.configurations.filesystems import validated_options
from fsbench_web.catalog.configurations.journals import JournalLun
from fsbench_web.catalog.configurations.layers import Layer, programs_of
from fsbench_web.catalog.configurations.limits import NO_LIMITS, Limits
from fsbench_web.catalog.configurations.planned import PlannedCommand
from fsbench_web.catalog.configurations.preparation import (
    PLAIN,
    PRECONDITION_FROM_BYTES,
    Preparation,
)
from fsbench_web.catalog.configurations.stacks import Member
from fsbench_web.core.workloads import MOUNT_POINT, Workload, workload_of
from fsbench_web.core.workloads.own import ALLOWED_PREFIX
from runner.safety.marks import WORK_NAME

# mkfs writes all inode tables (nothing is left to do in the background), which takes hours on a
# large slow disk; umount may have gigabytes to write back. Writing a whole LUN takes days at most.
TIME_LIMITS_S = {
    "discard": 4 * 3600.0,
    "precondition": 7 * 24 * 3600.0,
    "fill": 7 * 24 * 3600.0,
    "layout": 1800.0,
    "journal": 4 * 3600.0,
    # An array is waited for until all its copies or its parity are written.
    "layer": 7 * 24 * 3600.0,
    "wipe": 600.0,
    "teardown": 600.0,
    "mkfs": 4 * 3600.0,
    "mount": 600.0,
    "sync": 3600.0,
    "unmount": 3600.0,
    "overlay": 600.0,
    "nfs": 600.0,
    "smb": 600.0,
    "pool": 600.0,
}


class PlanError(ValueError):
    """What cannot be run at all; the text says why."""


@dataclass(frozen=True)
class Step:
    """One command with its time limit; ``save_output_as`` names the raw output kept of it.

    ``total_bytes``: what it writes, if it tells progress in bytes. ``stdin``: what it reads.
    """

    phase: str
    argv: list[str]
    timeout_s: float
    save_output_as: str = ""
    total_bytes: int | None = None
    stdin: str = ""
    allow_failure: bool = False


@dataclass(frozen=True)
class RunPlan:
    """Everything the agent needs, and nothing else: it is sent as JSON.

    ``mount_point`` is the folder the benchmark writes into, empty where it writes to ``device``
    itself; ``unmount`` is the command that undoes the mount, empty when nothing is mounted.
    ``journal_device`` is empty where the journal is kept on ``device`` itself; ``member_devices``
    are those of the other LUNs of its stack, which are erased with it. ``layers`` are the kernel's
    modules that its layers need, and ``teardown`` the commands that take these down, whatever
    happened. ``leave_nothing`` is what the start of a name in that folder shows to be the
    benchmark's own, to be removed in the end. ``memory_bytes`` and ``cpus`` limit what the
    benchmark may use. ``guest`` says in which guest it is run (kernel, memory_bytes, cpus, and the
    scheduler that is set in it), None for the worker's own executor. ``tool`` and ``parameters``
    are the workload, which reads ``outputs``. ``sample_every_s`` is how often the kernel's counts
    are read (agent/sampler.py); 0: never. ``near_cpus`` are the processors next to the device,
    which are taken first where ``cpus`` are fewer than all. ``rates`` limit each of its devices
    (``Limits.rates``); ``control_groups`` are folders of the host that the agent joins first, where
    it has no container. ``own_mark`` is the id of fsbench's own folder on a mount, without which
    nothing in it is touched; empty where it is none. ``start_at`` is when the first command of the
    benchmark begins, in seconds of the host's own clock, where several clients begin at once; None:
    as soon as it can. ``worker_silence_s`` is after how long without a sign of life of the worker
    the agent ends the run itself (runner/executors/stream.py); 0: never.
    """

    steps: list[Step]
    filesystem: str
    device: str
    journal_device: str
    member_devices: list[str]
    layers: list[str]
    teardown: list[list[str]]
    mount_point: str
    unmount: list[str]
    leave_nothing: str
    space_needed_bytes: int
    tools: list[str]
    tool: str
    parameters: dict[str, Any]
    outputs: list[str]
    memory_bytes: int | None = None
    cpus: int | None = None
    guest: dict[str, Any] | None = None
    sample_every_s: float = 1.0
    near_cpus: list[int] = field(default_factory=list)
    rates: dict[str, int] = field(default_factory=dict)
    control_groups: list[str] = field(default_factory=list)
    own_mark: str = ""
    start_at: float | None = None
    worker_silence_s: float = 0.0

    @property
    def workload(self) -> Workload:
        """Raises ParameterError."""
        return workload_of(self.tool, self.parameters)

    @property
    def is_on_device(self) -> bool:
        """Not in a folder of the host: with a file system of its own, or on the device itself."""
        return bool(self.unmount) or not self.mount_point

    @property
    def network(self) -> networks.Network | None:
        """What its file system is served by, and mounted over itself; None where it is not."""
        return networks.network_of({step.phase: None for step in self.steps})

    @property
    def is_pool(self) -> bool:
        """Its file system is a pool, which is imported into a kernel as a whole."""
        return any(step.phase == "pool" for step in self.steps)

    @property
    def modules_above(self) -> list[str]:
        """The kernel's modules of what is over its file system, and of its crash points."""
        if any(step.phase == durability.PHASE for step in self.steps):
            return list(durability.MODULES)
        if self.network is not None:
            return list(self.network.modules)
        return ["overlay"] if self.has_overlay else []

    @property
    def has_overlay(self) -> bool:
        """overlayfs is mounted above its file system."""
        return any(step.phase == "overlay" for step in self.steps)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def plan_run(
    filesystem: str,
    options: Mapping[str, object],
    tool: str,
    parameters: Mapping[str, object],
    *,
    device: str,
    size_bytes: int | None = None,
    preparation: Preparation = PLAIN,
    is_directory: bool = False,
    journal: JournalLun | None = None,
    members: Sequence[Member] = (),
    layers: Sequence[Layer] = (),
    guest: dict[str, Any] | None = None,
    probe_s: int = 0,
    crash_points: int = 0,
    limits: Limits = NO_LIMITS,
) -> RunPlan:
    """The plan of one run on ``device`` (a folder if ``is_directory``). Raises OptionError,
    ParameterError, PreparationError or PlanError.
    """
    if is_directory and options and filesystem_named(filesystem).is_made:
        raise PlanError(
            "A directory LUN has the file system it has: no mkfs or mount option can be set there."
        )
    options = validated_options(filesystem, options)
    workload = workload_of(tool, parameters)
    spec = filesystem_named(filesystem)
    mount_point = device.rstrip("/") if is_directory else "" if spec.is_raw else MOUNT_POINT
    is_mounted = not is_directory and not spec.is_raw
    commands = run_commands(
        filesystem,
        options,
        workload,
        device,
        mount_point,
        not is_directory,
        preparation=preparation,
        size_bytes=size_bytes,
        journal=journal,
        members=members,
        layers=layers,
        probe_s=probe_s,
        crash_points=crash_points,
    )
    needs_fio = bool(probe_s or preparation.sprandom_percent)
    sizes = {device: size_bytes, **{member.device: member.size_bytes for member in members}}
    return RunPlan(
        steps=[
            Step(
                command.phase,
                list(command.argv),
                _time_limit_s(command, workload),
                command.output,
                _bytes_written(command, sizes),
                command.stdin,
                command.may_fail,
            )
            for command in commands
        ],
        filesystem=spec.kernel_name,
        device=device,
        journal_device=journal.device if journal else "",
        member_devices=[member.device for member in members],
        layers=[name for layer in layers for name in layer.modules],
        teardown=[list(command.argv) for command in commands if command.phase == "teardown"],
        mount_point=mount_point,
        unmount=["umount", mount_point] if is_mounted else [],
        leave_nothing=WORK_NAME,
        space_needed_bytes=workload.space_needed_bytes(),
        tools=[
            *(program.removeprefix(ALLOWED_PREFIX) for program in workload.needs),
            *([spec.mkfs[0], "mount"] if is_mounted else []),
            *programs_of(layers),
            *networks.programs_of(options),
            *(["fio"] if needs_fio and "fio" not in workload.needs else []),
        ],
        tool=tool,
        parameters=dict(workload.values),
        outputs=[
            command.output
            for command in commands
            if command.output and command.phase == "benchmark"
        ],
        memory_bytes=_strictest(workload.limits().memory_bytes, limits.memory_bytes),
        cpus=_strictest(workload.limits().cpus, limits.cpus),
        guest=guest,
        rates=limits.rates,
    )


def _strictest(*limits: int | None) -> int | None:
    """The strictest of limits; None and 0 are none."""
    return min((limit for limit in limits if limit), default=None)


def _time_limit_s(command: PlannedCommand, workload: Workload) -> float:
    if command.timeout_s is not None:
        return command.timeout_s
    return TIME_LIMITS_S.get(command.phase, float(workload.time_limit_s))


def _bytes_written(command: PlannedCommand, sizes: Mapping[str, int | None]) -> int | None:
    """How much a precondition writes: to the device that it names."""
    if command.phase != "precondition":
        return None
    named = (word.partition("=") for word in command.argv)
    device = next(value for key, _, value in named if key in ("of", "--filename"))
    size_bytes = sizes[device]
    return None if size_bytes is None else size_bytes - PRECONDITION_FROM_BYTES
