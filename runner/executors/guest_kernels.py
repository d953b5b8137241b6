"""Which kernels a worker's guests can boot, what each can do, and the container it is booted in."""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from docker.models.containers import Container
from docker.types import LogConfig

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.layers import layer_modules
from fsbench_web.catalog.configurations.networks import loopback
from fsbench_web.catalog.workers.machines import (
    EMULATED,
    KVM,
    LEAST_MEMORY_BYTES,
    MIB,
    WHERE_FETCHED,
)
from runner.executors import containers, guest_probes
from runner.executors.base import Capabilities
from runner.executors.containers import ERRORS, error_line
from runner.executors.docker import DockerExecutor
from runner.executors.guest_probes import BootedKernel, is_waiting, untried_kernel
from runner.host.guest_kernels import kernels, notes
from runner.host.guest_kernels.kernel_fetch import KernelFetch
from runner.host.guest_kernels.kernels import Kernel, Package, UnusableKernel

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


class BootPostponed(Exception):
    """A boot was broken off, because something more important began."""


class GuestKernels(DockerExecutor):
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
        modules = {*layer_modules(), *loopback.modules()}
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
        if earlier_report := notes.read(note_path):
            return earlier_report
        logger.info("kernel %s is booted to see what it can do", kernel.name)
        request: dict[str, Any] = {"do": "probe", "filesystems": guest_probes.probes()}
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
        notes.write(note_path, report)
        return report

    def _choose_accelerator(self, kernel: Kernel) -> None:
        """KVM where a guest comes up with it in time. Remembered until the host boots again."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        same = {"boot": boot, "qemu": self.qemu}
        note_path = self.cache / "accelerator.json"
        choice = notes.read(note_path)
        if any(choice.get(name) != value for name, value in same.items()):
            reason = self._why_no_kvm(kernel)
            choice = {**same, "accelerator": EMULATED if reason else KVM, "reason": reason}
            notes.write(note_path, choice)
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
