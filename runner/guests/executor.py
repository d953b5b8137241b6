"""Boots a kernel for each run: in QEMU, in the benchmark container (docs/guest.md).

The container gets the leased LUNs and ``/dev/kvm``, and no network or capability. The same agent
runs in the guest, and runner/agent/guest/guest.py passes its lines on.
"""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from docker.models.containers import Container
from docker.types import LogConfig

from fsbench_web.catalog.configurations import networks
from fsbench_web.catalog.configurations.commands import durability
from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.layers import QUICKER_MODULES, layer_modules
from fsbench_web.catalog.workers.machines import (
    EMULATED,
    GUEST_DEVICE,
    KVM,
    LEAST_MEMORY_BYTES,
    MIB,
    TO_BE_BOOTED,
    WHERE_FETCHED,
    guest_device,
    memory_words,
)
from fsbench_web.core.workloads import MOUNT_POINT, workload_of
from runner.executors import containers
from runner.executors.base import Capabilities, ExecutorAway, Target
from runner.executors.containers import ERRORS, error_line
from runner.executors.docker import DockerExecutor
from runner.guests import kernels
from runner.guests.kernel_packages import KernelFetch
from runner.guests.kernels import Kernel, Package, UnusableKernel, read_notes, write_notes
from runner.plan import RunPlan

logger = logging.getLogger("fsbench.worker")

# A kernel that is alive prints within a second; under emulation, on a busy host, in half a minute.
BOOT_LIMITS_S = {KVM: 60.0, EMULATED: 300.0}
# KVM may be there and hang for ever (a nested machine without the processor's help).
KVM_PROBE_S = 20.0
PROBE_LIMIT_S = 1200
LOOK_EVERY_S = 0.5
PROBE_MEMORY_BYTES = 768 * MIB
SCRATCH_BYTES = 2048 * MIB
# What is left to the host when a guest takes the most it may.
HOST_MEMORY_BYTES = 1024 * MIB
_KVM = Path("/dev/kvm")
_INSIDE = "/fsbench/kernel"
# In the image.
_PROGRAM = "/fsbench/runner/agent/guest/guest.py"
STARTING = "The worker is starting."


_SIZES_KB = (("record", 4), ("file", 64))


# Any: of its commands only mkfs and mount are run.
_PROBED_WORKLOAD = workload_of(
    "iozone", {f"{end}_{name}_kb": kb for end in ("minimum", "maximum") for name, kb in _SIZES_KB}
)


@dataclass(frozen=True)
class BootedKernel:
    """What a boot has shown of a kernel, as it is announced (docs/guest.md)."""

    kernel: Kernel | None
    announced: Mapping[str, Any]

    @property
    def problem(self) -> str:
        return str(self.announced.get("problem", ""))


def untried_kernel(package: Package) -> BootedKernel:
    """One that nobody has tried yet."""
    report = {
        "name": package.name,
        "version": "",
        "digest": "",
        "filesystems": {},
        "schedulers": [],
    }
    return BootedKernel(None, report | {"problem": TO_BE_BOOTED, "boot_s": None})


def is_waiting(seen: BootedKernel) -> bool:
    """Whether to try it again: nobody did, or the daemon was away."""
    return not seen.announced.get("digest") or seen.problem.startswith("It could not be tried")


def probes() -> list[dict[str, Any]]:
    """How each file system is made and mounted plainly: the very commands of a run."""
    probes = []
    for slug, spec in FILESYSTEMS.items():
        commands = run_commands(
            slug, {}, _PROBED_WORKLOAD, GUEST_DEVICE, MOUNT_POINT, makes_filesystem=True
        )
        mounted = next(place for place, command in enumerate(commands) if command.phase == "mount")
        probes.append(
            {
                "slug": slug,
                "name": spec.name,
                "kernel_name": spec.kernel_name,
                "device": GUEST_DEVICE,
                "mount_point": MOUNT_POINT,
                "commands": [
                    [command.phase, list(command.argv)]
                    for command in commands[: mounted + 1]
                    if command.phase in ("pool", "mkfs", "mount")
                ],
                "down": [list(command.argv) for command in commands if command.phase == "teardown"],
            }
        )
    return probes


class BootPostponed(Exception):
    """A boot was broken off, because something more important began."""


class GuestExecutor(DockerExecutor):
    """Which kernels a worker has, and what each can do: it boots each once.

    ``folder`` has packages, ``cache`` what is unpacked. ``silence_s``: without a heartbeat for so
    long a guest is ended. ``accelerator`` forces kvm or emulated; by default KVM is tried.
    """

    name = "guest"

    def __init__(
        self,
        image: str,
        site: str,
        *,
        folder: Path,
        cache: Path,
        silence_s: float = 60.0,
        accelerator: str = "",
        worker: str = "",
        why_not_fetch: str = "",
    ) -> None:
        super().__init__(image, site)
        self.fetch = KernelFetch(folder, why_not_fetch)
        self.folder, self.cache, self.worker = folder, cache, worker
        self.silence_s = silence_s
        self.qemu = ""
        self.reason = STARTING
        self.accelerator, self.accelerator_reason = accelerator, ""
        self._seen: dict[str, BootedKernel] = {}
        self._lock = threading.Lock()
        self._may_boot: Callable[[], bool] = lambda: True

    def look(self, may_boot: Callable[[], bool] = lambda: True) -> None:
        """Look at the folder, and boot what is new in it, which takes minutes.

        ``may_boot`` is asked before and during each boot: a run goes first. Never raises.
        """
        self._may_boot = may_boot
        try:
            packages = kernels.packages_in(self.folder) if self.folder.exists() else []
        except OSError as error:
            self.reason = f"{self.folder} cannot be read: {error.strerror}."
            return
        if packages:
            self.reason = self._why_unusable()
            if self.reason:
                return
        else:
            # Where nothing could be booted anyway, both are told at once.
            self.reason = f"{self._no_kernel()} {self.setup_problem()}".strip()
        with self._lock:
            names = {package.name for package in packages}
            self._seen = {name: seen for name, seen in self._seen.items() if name in names}
            for package in packages:
                self._seen.setdefault(package.name, untried_kernel(package))
        for package in packages:
            current = self._seen[package.name]
            if current.announced.get("digest") == package.digest and not is_waiting(current):
                continue
            if may_boot():
                try:
                    seen = self._look_at(package)
                except BootPostponed:
                    return
                with self._lock:
                    self._seen[package.name] = seen

    def _no_kernel(self) -> str:
        how = "on its host: manage.py guest_kernel"
        if not self.fetch.why_not:
            how = f"an administrator fetches one {WHERE_FETCHED}, or {how}"
        return f"This worker has no kernel for guests ({self.folder}): {how}."

    def _why_unusable(self) -> str:
        missing = self.setup_problem()
        if missing or self.qemu:
            return missing
        try:
            elsewhere = self.remote_daemon_problem()
            if elsewhere:
                return elsewhere
            report = self._ask([_PROGRAM, "--version"])
        except (*ERRORS, OSError, ValueError, LookupError):
            report = {}
        if not report.get("version") or not report.get("is_whole"):
            return f"The image {self.image} cannot boot guests: build it again (make image)."
        self.qemu = str(report["version"])
        return ""

    def _ask(self, command: list[str]) -> dict[str, Any]:
        output = self._output_of(["python3", "-I"], command)
        answer: dict[str, Any] = json.loads(output.splitlines()[-1])
        return answer

    def _look_at(self, package: Package) -> BootedKernel:
        report: dict[str, Any] = {"name": package.name, "version": "", "digest": package.digest}
        report |= {"problem": "", "filesystems": {}, "schedulers": [], "boot_s": None}
        try:
            kernel = kernels.unpacked_kernel(package, self.cache)
        except UnusableKernel as error:
            return BootedKernel(None, report | {"problem": str(error)})
        except (OSError, LookupError, TypeError, ValueError) as error:
            why = str(error).rstrip(".")
            return BootedKernel(None, report | {"problem": f"It cannot be unpacked: {why}."})
        report["version"] = kernel.version
        modules = {*layer_modules(), *networks.modules(), *durability.MODULES}
        report["layers"] = sorted(name for name in modules if kernel.has(name))
        try:
            if not self.accelerator:
                self._choose_accelerator(kernel)
            return BootedKernel(kernel, report | self._probe_report(kernel))
        except (*ERRORS, OSError, LookupError, TypeError, ValueError) as error:
            # Not kept: a daemon that is away comes back.
            return BootedKernel(
                kernel, report | {"problem": f"It could not be tried: {error_line(error)}"}
            )

    def _probe_report(self, kernel: Kernel) -> dict[str, Any]:
        """What a boot shows, or has shown before with the same image and accelerator."""
        image = str(self.client.images.get(self.image).id).rpartition(":")[2][:16]
        note_path = kernel.folder / f"seen-{image}-{self.accelerator}.json"
        if earlier_report := read_notes(note_path):
            return earlier_report
        logger.info("kernel %s is booted to see what it can do", kernel.name)
        request: dict[str, Any] = {"do": "probe", "filesystems": probes()}
        request |= {"scratch_bytes": SCRATCH_BYTES, "memory_bytes": PROBE_MEMORY_BYTES}
        messages = self._boot(kernel, request, PROBE_LIMIT_S)
        answer = next((message for message in messages if message["type"] == "probed"), None)
        if answer is None:
            reason = next(
                (message["reason"] for message in messages if message["type"] == "error"), ""
            )
            return {"problem": reason or "It does not come to the agent."}
        report = {
            "version": answer["kernel"],
            "filesystems": answer["filesystems"],
            "schedulers": answer["schedulers"],
            "boot_s": answer["boot_s"],
        }
        write_notes(note_path, report)
        return report

    def _choose_accelerator(self, kernel: Kernel) -> None:
        """KVM where a guest comes up with it in time. Remembered until the host boots again."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        same = {"boot": boot, "qemu": self.qemu}
        note_path = self.cache / "accelerator.json"
        choice = read_notes(note_path)
        if any(choice.get(name) != value for name, value in same.items()):
            reason = self._why_no_kvm(kernel)
            choice = {**same, "accelerator": EMULATED if reason else KVM, "reason": reason}
            write_notes(note_path, choice)
        self.accelerator, self.accelerator_reason = choice["accelerator"], choice["reason"]

    def _why_no_kvm(self, kernel: Kernel) -> str:
        if not _KVM.exists():
            return "This host has no /dev/kvm."
        instruction = {
            "do": "greet",
            "memory_bytes": LEAST_MEMORY_BYTES,
            "boot_limit_s": KVM_PROBE_S,
        }
        messages = self._boot(kernel, instruction, int(KVM_PROBE_S) + 20, accelerator=KVM)
        if any(message["type"] == "done" and message["ok"] for message in messages):
            return ""
        reason = next((message["reason"] for message in messages if message["type"] == "error"), "")
        return f"/dev/kvm is there and cannot be used. {reason}".strip()

    def _boot(
        self, kernel: Kernel, instruction: dict[str, Any], limit_s: int, accelerator: str = ""
    ) -> list[dict[str, Any]]:
        """Boot without any LUN, and give what was said."""
        accelerator = accelerator or self.accelerator
        request = {
            "accelerator": accelerator,
            "cpus": 1,
            "boot_limit_s": BOOT_LIMITS_S[accelerator],
            "silence_s": self.silence_s,
            "disks": {},
        } | instruction
        names = [spec.kernel_name for spec in FILESYSTEMS.values()]
        container = self._container(
            kernel, request, kernel.modules_for(names), [], {"fsbench.worker": self.worker}
        )
        deadline = time.monotonic() + limit_s
        try:
            container.start()
            while container.status in ("created", "running"):
                if not self._may_boot():
                    raise BootPostponed
                if time.monotonic() > deadline:
                    return [{"type": "error", "reason": f"It did not end within {limit_s} s."}]
                time.sleep(LOOK_EVERY_S)
                container.reload()
            output = container.logs(stdout=True, stderr=False)
        finally:
            self._remove_for_certain(container)
        return [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]

    def why_wait(self, kernel: str) -> str:
        """Why a run with this kernel cannot begin yet, or nothing. It is asked again soon."""
        missing = self.setup_problem()
        if missing:
            return missing
        seen = self._seen.get(kernel)
        if self.reason == STARTING or (seen is not None and is_waiting(seen)):
            return "The worker's kernels are being booted for the first time."
        return ""

    def probe(self) -> Capabilities:
        return Capabilities(is_usable=False, reason="Guests are announced by kernel.")

    def announcement(self) -> dict[str, Any]:
        """What ``capabilities["guest"]`` of the worker is."""
        memory, cpus = _host_memory_bytes(), os.cpu_count()
        with self._lock:
            seen = [self._seen[name] for name in sorted(self._seen)]
        return {
            "usable": not self.reason,
            "reason": self.reason,
            "accelerator": self.accelerator or EMULATED,
            "accelerator_reason": self.accelerator_reason,
            "qemu": self.qemu,
            "most_memory_bytes": None
            if memory is None
            else max(LEAST_MEMORY_BYTES, (memory - HOST_MEMORY_BYTES) // MIB * MIB),
            "most_cpus": cpus,
            "kernels": [dict(kernel.announced) for kernel in seen],
            **self.fetch.announcement(),
        }

    def _container(
        self,
        kernel: Kernel,
        request: dict[str, Any],
        modules: Iterable[Path],
        pairs: list[tuple[str, str]],
        labels: dict[str, str],
        is_followed: bool = False,
    ) -> Container:
        """Made, not started, with the kernel as files. ``is_followed``: by a connection, without
        logs.
        """
        modules = list(modules)
        if request["accelerator"] == KVM:
            pairs = [*pairs, (str(_KVM), str(_KVM))]
        container = self.client.containers.create(
            self.image,
            entrypoint=["python3", "-I", _PROGRAM],
            command=["/fsbench/guest.json"],
            devices=containers.devices_in(pairs),
            network_mode="none",
            stdin_open=is_followed,
            log_config=LogConfig(type="none") if is_followed else containers.KEPT_LOGS,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            labels={"fsbench.site": self.site, **labels},
        )
        inside = {
            "kernel": f"{_INSIDE}/vmlinuz",
            "modules": [f"{_INSIDE}/{path.name}" for path in modules],
        }
        try:
            container.put_archive("/fsbench", _archive(request | inside, kernel, modules))
        except BaseException:
            self._remove_for_certain(container)
            raise
        return container

    def refusal(self, plan: RunPlan, filesystem: str) -> str:
        """Why this plan cannot be carried out in a guest now, or nothing."""
        if self.reason:
            return self.reason
        guest = plan.guest or {}
        seen = self._seen.get(str(guest.get("kernel")))
        if seen is None or seen.kernel is None:
            names = ", ".join(sorted(self._seen)) or "none"
            return (
                f"This worker has no kernel {guest.get('kernel')} for guests, but: {names}. "
                f"Put its package into {self.folder}. {seen.problem if seen else ''}".strip()
            )
        if seen.problem:
            return f"The kernel {seen.kernel.name} cannot be used: {seen.problem}"
        ability = seen.announced["filesystems"].get(filesystem, {})
        if plan.mount_point and not ability.get("usable"):
            reason = ability.get("reason") or f"{filesystem} was not tried with it."
            return str(reason)
        wanted_modules = [*plan.layers, *plan.modules_above]
        missing = [name for name in wanted_modules if not seen.kernel.has(name)]
        if missing:
            return (
                f"The kernel {seen.kernel.name} has no {', '.join(missing)}, which the layers of "
                "this run need: choose another kernel."
            )
        available_bytes = self.announcement()["most_memory_bytes"]
        if available_bytes is not None and guest["memory_bytes"] > available_bytes:
            return (
                f"The guest would need {memory_words(guest['memory_bytes'])} of memory, and this "
                f"host has {memory_words(available_bytes)} for guests."
            )
        if plan.memory_bytes and plan.memory_bytes != guest["memory_bytes"]:
            return (
                "In a guest the guest's memory is the limit: give the guest "
                f"{memory_words(plan.memory_bytes)}, or leave out the workload's own limit."
            )
        return ""

    def device_path(self, lun: str, device: str, role: str = "data", place: int = 0) -> str:
        return guest_device(place)

    def lun_problem(self, kind: str) -> str:
        if kind in ("directory", "mount"):
            return "A guest gets no folder of the host: choose a LUN that is a device."
        return ""

    def facts(self) -> list[list[str]]:
        return [*super().facts(), ["Host's kernel", os.uname().release]]

    def _create(self, plan: RunPlan, target: Target) -> Container:
        guest = plan.guest or {}
        seen = self._seen.get(str(guest.get("kernel")))
        if seen is None or seen.kernel is None:
            raise ExecutorAway(f"The kernel {guest.get('kernel')} is not there any more.")
        kernel = seen.kernel
        disks = _disks(target)
        pairs = [(outside, inside) for _, outside, inside in disks]
        memory_bytes, cpus = int(guest["memory_bytes"]), int(guest["cpus"])
        request = {
            "do": "run",
            # Its own agent hears nothing of the worker: the program around it does.
            "plan": json.loads(replace(plan, memory_bytes=None, worker_silence_s=0.0).to_json()),
            "scheduler": guest.get("scheduler", ""),
            "disks": {serial: inside for serial, _, inside in disks},
            "memory_bytes": memory_bytes,
            "cpus": cpus,
            "accelerator": self.accelerator,
            "boot_limit_s": BOOT_LIMITS_S[self.accelerator],
            "silence_s": self.silence_s,
            "worker_silence_s": plan.worker_silence_s,
            "facts": [
                ["Accelerator", self.accelerator],
                ["Memory", memory_words(memory_bytes)],
                ["CPUs", str(cpus)],
                ["QEMU", self.qemu],
                ["Kernel package", kernel.name],
            ],
        }
        labels = {
            "fsbench.worker": target.worker,
            "fsbench.run": str(target.run_id),
            "fsbench.lun": target.lun,
            "fsbench.journal": target.journal_lun,
            **target.lun_labels,
        }
        layers = [*plan.layers, *QUICKER_MODULES] if plan.layers else []
        layers += plan.modules_above
        modules = kernel.modules_for([plan.filesystem] if plan.mount_point else [], layers)
        return self._container(kernel, request, modules, pairs, labels, is_followed=True)


def _disks(target: Target) -> list[tuple[str, str, str]]:
    """(serial number, device on the host, device in the container) in the order of their names in
    the guest: the LUN, its journal's, the others of its stack.
    """
    disks = [("fsbench-data", target.device, "/dev/fsbench/data")]
    if target.journal_device:
        disks.append(("fsbench-journal", target.journal_device, "/dev/fsbench/journal"))
    for number, (_, device) in enumerate(target.members):
        name = f"stack-{number:02}"
        disks.append((f"fsbench-{name}", device, f"/dev/fsbench/{name}"))
    return disks


def _archive(request: Mapping[str, Any], kernel: Kernel, modules: Iterable[Path]) -> bytes:
    image = kernel.image if request["accelerator"] == KVM else kernel.quick_image
    files = {"kernel/vmlinuz": image, **{f"kernel/{path.name}": path for path in modules}}
    return containers.archive(
        {name: path.read_bytes() for name, path in files.items()}
        | {"guest.json": json.dumps(request).encode()}
    )


def _host_memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
