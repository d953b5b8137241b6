"""What every executor offers, and what it finds out about its place of work."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fsbench_web.catalog.configurations import zfs
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.networks import Network
from fsbench_web.core import requirements, workloads
from fsbench_web.core.workloads.own import ALLOWED_PREFIX
from fsbench_web.studies.causes import Cause
from runner.agent import messages
from runner.host import allowed_programs
from runner.host.hardware import text_of
from runner.plan import RunPlan
from runner.safety.blockdev import ToolError, run_tool

Message = Mapping[str, Any]
OnMessage = Callable[[Message], None]
# Asked several times a second while a plan runs; an executor stops within 5 seconds of a True.
ShouldStop = Callable[[], bool]

# The exit statuses of an agent that was asked to stop, and of one that did not hear its worker.
STOPPED, WORKER_SILENT = messages.STOPPED, messages.WORKER_SILENT
ONLY_IN_GUESTS = (
    "Layers (md, LVM, dm-crypt, dm-integrity, bcache) are made in guests alone: choose a guest as "
    "executor."
)


def why_in_guests_alone(has_layers: bool, network: Network | None, is_pool: bool) -> str:
    """Why a run cannot be carried out on the host's own kernel, or nothing."""
    if has_layers:
        return ONLY_IN_GUESTS
    if is_pool:
        return zfs.ONLY_IN_GUESTS
    return network.only_in_guests if network is not None else ""


AGENT = Path(__file__).resolve().parent.parent / "agent" / "agent.py"


@dataclass(frozen=True)
class Target:
    """Which run this is and what it may use, and nothing else.

    Devices are real paths on the host, "" without a journal. ``members`` are (name, device).
    """

    run_id: int
    worker: str
    lun: str
    device: str
    journal_lun: str = ""
    journal_device: str = ""
    members: tuple[tuple[str, str], ...] = ()

    @property
    def lun_labels(self) -> dict[str, str]:
        """What a container of this run is known by: any other one of these LUNs is a leftover."""
        return {f"fsbench.member.{name}": "yes" for name, _ in self.members}


@dataclass(frozen=True)
class Outcome:
    """How the execution ended. ``was_stopped``: because ``should_stop`` said so. ``reason``: a
    sentence if the agent could not say its own. ``cause``: whether it was ended from outside.
    """

    exit_code: int | None
    was_stopped: bool = False
    reason: str = ""
    cause: Cause = Cause.BENCHMARK


@dataclass(frozen=True)
class Capabilities:
    """What can be run here (catalog.workers.announce). ``versions`` are the executor's own,
    ``folder`` is where it keeps images.
    """

    kernel: str = ""
    distribution: str = ""
    filesystems: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_usable: bool = True
    reason: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""

    def refusal(self, filesystem: str, makes_filesystem: bool, programs: Iterable[str]) -> str:
        """Why a run cannot be carried out here, or nothing. Asked before anything is erased."""
        if not self.is_usable:
            return self.reason
        ability = self.filesystems.get(filesystem, {})
        if makes_filesystem and not ability.get("usable"):
            return str(ability.get("reason") or f"{filesystem} cannot be made here.")
        for program in programs:
            tool = self.tools.get(program, {})
            if not tool and program.startswith(ALLOWED_PREFIX):
                name = program.removeprefix(ALLOWED_PREFIX)
                return f"This host's {allowed_programs.VARIABLE} does not name {name}."
            if not tool.get("usable"):
                return str(tool.get("reason") or f"{program} is not installed here.")
        return ""


class ExecutorAway(Exception):
    """The place of work cannot be reached now; the text says why. It may come back."""


class Executor(Protocol):
    """Carries out plans. ``name`` is docker, local, guest or fake."""

    name: str

    def probe(self) -> Capabilities:
        """Look at the place of work. Never raises: what is wrong is in the answer."""

    def problem(self) -> str:
        """Why no run can be carried out at this moment, or nothing. Quick: asked before each."""

    def device_path(self, lun: str, device: str, role: str = "data", place: int = 0) -> str:
        """The path of the host's ``device`` in the plan's commands; ``place`` counts its LUNs from
        0.
        """

    def lun_problem(self, kind: str) -> str:
        """Why LUNs of this kind cannot be used by this executor, or nothing."""

    def limit_problems(self) -> dict[str, str]:
        """Why rates ("rates") or memory ("memory") cannot be limited, or memory without swap
        ("swap", which refuses no run), or nothing.
        """

    def facts(self) -> list[list[str]]:
        """What else says where a run was carried out: [[label, value], ...]. Never raises."""

    def run(
        self, plan: RunPlan, target: Target, on_message: OnMessage, should_stop: ShouldStop
    ) -> Outcome:
        """Carry out the plan; nothing of it is left when this returns or raises."""

    def clean_up(self, worker: str) -> list[str]:
        """Remove what earlier runs of this worker left; returns what. Raises ExecutorAway."""


def probed_tools() -> list[str]:
    """Every program that a run may call."""
    return [
        *workloads.tools(),
        *allowed_programs.allowed_names(),
        *("mount", "umount"),
        *filesystem_tools(),
        *requirements.LAYERS,
        *requirements.NETWORK,
    ]


def filesystem_tools() -> list[str]:
    return [spec.mkfs[0] for spec in FILESYSTEMS.values()]


def load_modules() -> None:
    """Have the kernel load the file systems it has as modules, before anything is probed."""
    loaded = {line.split()[-1] for line in text_of("/proc/filesystems").splitlines()}
    kernel_names = (spec.kernel_name for spec in FILESYSTEMS.values() if not spec.is_pool)
    for name in (*kernel_names, "overlay"):
        if name not in loaded:
            try:
                run_tool("modprobe", "--quiet", name)
            except ToolError:
                continue


def capabilities_from(
    environment: Message, *, where: str, filesystem_reason: str = ""
) -> Capabilities:
    """Capabilities from the agent's ``environment`` message. ``where`` ends sentences ("on this
    host"). ``filesystem_reason``: why no file system can be made.
    """
    reported_filesystems, reported_tools = environment["filesystems"], environment["tools"]
    filesystems: dict[str, dict[str, Any]] = {}
    for slug, spec in FILESYSTEMS.items():
        tool = spec.mkfs[0]
        if filesystem_reason:
            reason = filesystem_reason
        elif spec.is_pool:
            reason = zfs.ONLY_IN_GUESTS
        elif spec.kernel_name not in reported_filesystems:
            reason = (
                f"The kernel {environment['kernel']} of the worker cannot mount {spec.name}: "
                "choose another file system, or install the kernel module."
            )
            if not reported_tools.get(tool, {}).get("path"):
                reason += f" Its tools (package {spec.tool_package}) are missing {where} as well."
        elif not reported_tools.get(tool, {}).get("path"):
            reason = f"{tool} is not installed {where}: install the package {spec.tool_package}."
        else:
            reason = ""
        filesystems[slug] = {"usable": not reason, "reason": reason}
    tools: dict[str, dict[str, Any]] = {}
    packages = {**workloads.tools(), **requirements.LAYERS, **requirements.NETWORK}
    for tool in (*packages, *filesystem_tools()):
        entry = dict(reported_tools.get(tool, {}))
        package = packages.get(tool) or next(
            spec.tool_package for spec in FILESYSTEMS.values() if spec.mkfs[0] == tool
        )
        usable = bool(entry.get("path"))
        tools[tool] = {
            "usable": usable,
            "version": entry.get("version", ""),
            "path": entry.get("path", ""),
            "package": package,
            "reason": "" if usable else _missing(tool, package, where),
        }
    for program in allowed_programs.allowed_names():
        entry = dict(reported_tools.get(program, {}))
        tools[f"{ALLOWED_PREFIX}{program}"] = {
            "usable": bool(entry.get("path")),
            "version": entry.get("version", ""),
            "path": entry.get("path", ""),
            "package": "",
            "reason": "" if entry.get("path") else f"{program} is not installed {where}.",
        }
    return Capabilities(environment["kernel"], environment["distribution"], filesystems, tools)


def _missing(tool: str, package: str, where: str) -> str:
    """``where`` is "in the image x", or a host: there `make tools` brings what workloads need."""
    name = "IOzone" if tool == "iozone" else tool
    part = " (in Debian of the component non-free)" if tool == "iozone" else ""
    if tool in requirements.workload_programs() and not where.startswith("in "):
        return (
            f"{name} is not installed {where}: run “sudo make tools” there, or install the package "
            f"{package}{part}. It is found within seconds."
        )
    return f"{name} is not installed {where}: install the package {package}{part}."
