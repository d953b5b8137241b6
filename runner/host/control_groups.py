"""A control group for a run without a container: its limits, and counts of it alone.

Hosts have version 1, 2 or both: the kernel's cgroup-v2.rst and cgroup-v1/*.rst.
"""

import contextlib
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fsbench_web.core.numbers import size
from runner.host import swap
from runner.host.hardware import text_of
from runner.safety import blockdev

logger = logging.getLogger("fsbench.worker")

PREFIX = "fsbench-run-"
# Missing where the kernel does not account for swap.
_SWAP_2, _SWAP_1 = "memory.swap.max", "memory.memsw.limit_in_bytes"
NOT_IN_FOLDERS = (
    "A run in a folder has no control group of its own: leave its limits of rates and memory out, "
    "or choose a LUN on which file systems are made."
)
_REMOVE_WAIT_S = 5.0
_VERSION_1_RATES = {
    "read_bps": "blkio.throttle.read_bps_device",
    "write_bps": "blkio.throttle.write_bps_device",
    "read_iops": "blkio.throttle.read_iops_device",
    "write_iops": "blkio.throttle.write_iops_device",
}
_VERSION_2_RATES = {
    "read_bps": "rbps",
    "write_bps": "wbps",
    "read_iops": "riops",
    "write_iops": "wiops",
}


class GroupProblem(Exception):
    """The limits cannot be set on this host; the text says why, and what to do."""


class Hierarchies:
    """Where control groups are mounted: ``unified`` (version 2), and folders by controller."""

    def __init__(self) -> None:
        self.unified: Path | None = None
        self.folders: dict[str, Path] = {}
        for mount in blockdev.own_mounts():
            if mount.filesystem == "cgroup2" and self.unified is None:
                self.unified = Path(mount.point)
            elif mount.filesystem == "cgroup":
                for name in mount.options.split(","):
                    self.folders.setdefault(name, Path(mount.point))

    def has(self, controller: str) -> bool:
        """Whether version 2 has it."""
        if self.unified is None:
            return False
        with contextlib.suppress(OSError):
            return controller in (self.unified / "cgroup.controllers").read_text().split()
        return False


def problem(rates: Mapping[str, int], memory_bytes: int | None) -> str:
    """Why this host cannot limit a run so without a container, or nothing."""
    hierarchies = Hierarchies()
    wanted = {"io": bool(rates), "memory": bool(memory_bytes)}
    for controller, is_wanted in wanted.items():
        old = "blkio" if controller == "io" else controller
        if is_wanted and not hierarchies.has(controller) and old not in hierarchies.folders:
            return (
                f"This host has no control groups for {controller}, so that a run without a "
                "container cannot be limited: leave the limit out, or use Docker."
            )
    if any(wanted.values()) and os.geteuid() != 0:
        return (
            "The worker does not run as root and can limit no run: leave the limits out, start it "
            "as root, or use Docker."
        )
    return ""


def swap_problem(hierarchies: Hierarchies | None = None) -> str:
    """Why a limit of memory does not hold for swap on this host, or nothing."""
    hierarchies = hierarchies or Hierarchies()
    space = swap.space_bytes()
    if hierarchies.unified is not None and hierarchies.has("memory"):
        groups = [file.parent for file in hierarchies.unified.glob("*/memory.max")]
        can_limit = not groups or any((group / _SWAP_2).exists() for group in groups)
    else:
        can_limit = (
            "memory" not in hierarchies.folders
            or (hierarchies.folders["memory"] / _SWAP_1).exists()
        )
    return "" if can_limit or not space else swap.NOT_LIMITED.format(size(space))


def limits_swap(folders: Sequence[str]) -> bool:
    """Whether the limit of memory of a run's groups is one of swap too, read back."""
    for folder in map(Path, folders):
        if text_of(folder / _SWAP_2).strip() == "0":
            return True
        memory_and_swap = text_of(folder / _SWAP_1)
        if memory_and_swap and memory_and_swap == text_of(folder / "memory.limit_in_bytes"):
            return True
    return False


def has_killed(folders: Sequence[str]) -> bool:
    """Whether the kernel has killed a process of these groups for want of memory."""
    texts = [
        text_of(Path(folder, name))
        for folder in folders
        for name in ("memory.events", "memory.oom_control")
    ]
    return any(re.search(r"^oom_kill [1-9]", text, re.M) for text in texts)


def out_of_memory(limit_bytes: int | None) -> str:
    """What such a death is called; ``limit_bytes`` is the run's own limit, if it has one."""
    if not limit_bytes:
        return "Killed by the kernel: the host ran out of memory."
    return f"Killed by the kernel: out of memory at the {size(limit_bytes)} limit."


def limited_number(device: str) -> str:
    """major:minor of what is limited: a partition's is that of its disk, which alone can be."""
    number = blockdev.device_number(device)
    if number is None:
        raise GroupProblem(f"{device} is not a block device: its rate cannot be limited.")
    return blockdev.as_text(blockdev.whole_disk(number))


@contextlib.contextmanager
def of_run(
    worker: str,
    run_id: int,
    devices: Sequence[str],
    rates: Mapping[str, int],
    memory_bytes: int | None,
) -> Iterator[list[str]]:
    """The folders of a new group to join, or none. Raises GroupProblem if a limit fails."""
    is_required = bool(rates or memory_bytes)
    groups: list[Path] = []
    try:
        try:
            hierarchies = Hierarchies()
            folder = f"{PREFIX}{_folder_name(worker)}-{run_id}-{os.getpid()}"
            if hierarchies.unified is not None:
                with contextlib.suppress(OSError):
                    groups.append(_make_folder(hierarchies.unified / folder))
            if rates:
                _limit_rates(
                    hierarchies,
                    folder,
                    groups,
                    [limited_number(device) for device in devices],
                    rates,
                )
            if memory_bytes:
                _limit_memory(hierarchies, folder, groups, memory_bytes)
        except OSError as error:
            if is_required:
                raise GroupProblem(
                    f"The limits cannot be set on this host ({error.filename}: {error.strerror}): "
                    "leave them out, or use Docker."
                ) from None
        yield [str(group) for group in groups]
    finally:
        for group in groups:
            _remove(group)


def _folder_name(name: str) -> str:
    """As the name of a folder."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)


def _make_folder(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def _limit_rates(
    hierarchies: Hierarchies,
    name: str,
    groups: list[Path],
    numbers: Sequence[str],
    rates: Mapping[str, int],
) -> None:
    if hierarchies.unified is not None and hierarchies.has("io"):
        _enable(hierarchies.unified, "io")
        for number in numbers:
            text = " ".join(f"{_VERSION_2_RATES[kind]}={value}" for kind, value in rates.items())
            (hierarchies.unified / name / "io.max").write_text(f"{number} {text}")
        return
    groups.append(_make_folder(hierarchies.folders["blkio"] / name))
    for number in numbers:
        for kind, value in rates.items():
            (groups[-1] / _VERSION_1_RATES[kind]).write_text(f"{number} {value}")


def _limit_memory(
    hierarchies: Hierarchies, name: str, groups: list[Path], memory_bytes: int
) -> None:
    if hierarchies.unified is not None and hierarchies.has("memory"):
        _enable(hierarchies.unified, "memory")
        (hierarchies.unified / name / "memory.max").write_text(str(memory_bytes))
        with contextlib.suppress(OSError):  # a kernel without swap accounting has none to limit
            (hierarchies.unified / name / _SWAP_2).write_text("0")
        return
    groups.append(_make_folder(hierarchies.folders["memory"] / name))
    (groups[-1] / "memory.limit_in_bytes").write_text(str(memory_bytes))
    with contextlib.suppress(OSError):
        (groups[-1] / _SWAP_1).write_text(str(memory_bytes))


def _enable(unified: Path, controller: str) -> None:
    """For the groups below the root: usually systemd has done so already."""
    control = unified / "cgroup.subtree_control"
    if controller not in control.read_text().split():
        control.write_text(f"+{controller}")


def _remove(folder: Path) -> bool:
    """Its processes have ended; the kernel may need a moment."""
    deadline = time.monotonic() + _REMOVE_WAIT_S
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return False
        except OSError as error:
            if time.monotonic() > deadline:
                logger.warning("control group %s stays: %s", folder, error.strerror)
                return False
            time.sleep(0.05)
        else:
            return True


def remove_leftovers(worker: str) -> list[str]:
    """Remove the groups that killed runs of this worker left; returns them."""
    hierarchies = Hierarchies()
    tops = {*hierarchies.folders.values(), *([hierarchies.unified] if hierarchies.unified else [])}
    removed = []
    for top in sorted(tops):
        for folder in sorted(top.glob(f"{PREFIX}{_folder_name(worker)}-*-*[0-9]")):
            maker = folder.name.rpartition("-")[2]
            is_ours = maker == str(os.getpid()) or not Path("/proc", maker).exists()
            if is_ours and not _processes_in(folder) and _remove(folder):
                removed.append(f"control group {folder.name}")
    return list(dict.fromkeys(removed))


def _processes_in(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return bool((folder / "cgroup.procs").read_text().split())
    return False
