"""Boots a kernel for each run: in QEMU, in the benchmark container (docs/guest.md).

The container gets the leased LUNs and ``/dev/kvm``, and no network or capability. The same agent
runs in the guest, and runner/agent/guest/guest.py passes its lines on.
"""

import json
import os
from dataclasses import replace

from docker.models.containers import Container

from fsbench_web.catalog.configurations.layers import QUICKER_MODULES
from fsbench_web.catalog.workers.machines import guest_device, memory_words
from runner.executors.base import ExecutorAway, Target
from runner.executors.guest_kernels import BOOT_LIMITS_S, GuestKernels
from runner.plan import RunPlan


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


class GuestExecutor(GuestKernels):
    """Runs in the kernels that were found."""

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
