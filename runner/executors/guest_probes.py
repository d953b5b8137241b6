"""What a kernel is booted to be asked, once, and what it has shown then."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.workers.machines import (
    GUEST_DEVICE,
    TO_BE_BOOTED,
)
from fsbench_web.core.workloads import MOUNT_POINT, workload_of
from runner.host.guest_kernels.kernels import Kernel, Package

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
