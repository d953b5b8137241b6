"""What fsbench's layers left on LUNs, which are made and taken down in guests.

After a killed guest a host may assemble them. Only what stands on listed LUNs with fsbench's own
mark is taken apart.
"""

import os
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from fsbench_web.catalog.configurations.zfs import POOL
from runner.safety import blockdev, signatures
from runner.safety.blockdev import ToolError, run_tool
from runner.safety.marks import (
    LAYER_SIGNATURES,
    POOL_SIGNATURE,
    is_own,
)

# The kernel stops bcache behind the write that asks for it.
STOPPED_S = 5.0
LABEL_BYTES = 256 * 1024
# A folder for each imported pool, beside files of the module itself (spl's kstat).
KSTAT = Path("/proc/spl/kstat/zfs")


def layers_on(device: str) -> list[str]:
    """The kinds of fsbench's own layers on a device, if nothing else is on it. Raises ToolError."""
    device_signatures = signatures.of(device)
    if not all(
        is_own(signature.type, signature.label, signature.uuid) for signature in device_signatures
    ):
        return []
    return sorted({signature.type for signature in device_signatures} & LAYER_SIGNATURES)


def wipe(device: str) -> list[str]:
    """Remove what ``layers_on`` says from a device opened alone. Raises ToolError, OSError."""
    kinds = layers_on(device)
    if kinds:
        descriptor = os.open(device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
        try:
            if POOL_SIGNATURE in kinds:
                _clear_labels(descriptor)
        finally:
            os.close(descriptor)
        run_tool("wipefs", "--all", "--types", ",".join(kinds), device)
    return kinds


def _clear_labels(descriptor: int) -> None:
    """Zero the four labels of ZFS, two at each end, as zpool labelclear does (vdev_impl.h)."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    end = size - size % LABEL_BYTES
    for place in (0, LABEL_BYTES, end - 2 * LABEL_BYTES, end - LABEL_BYTES):
        if 0 <= place <= size - LABEL_BYTES:
            os.pwrite(descriptor, bytes(LABEL_BYTES), place)
    os.fsync(descriptor)


@dataclass(frozen=True)
class AssembledDevice:
    """An array or a mapping of this host that stands on LUNs with fsbench's own marks alone."""

    number: int
    luns: frozenset[int]

    @property
    def name(self) -> str:
        """As its kind's own tool knows it."""
        path = blockdev.sys_folder(self.number) / "dm" / "name"
        return path.read_text().strip() if path.exists() else blockdev.kernel_name(self.number)

    def disassemble(self) -> None:
        """Neither tool touches what is in use. Raises ToolError."""
        folder = blockdev.sys_folder(self.number)
        if (folder / "md").is_dir():
            run_tool("mdadm", "--stop", blockdev.path_of(self.number))
        elif (folder / "dm").is_dir():
            run_tool("dmsetup", "remove", self.name)
        elif _is_bcache(self.number):
            _stop_bcache(self.number, self.luns)
        else:
            raise ToolError(f"{self.name} is not of md, the device mapper or bcache.")


def assembled_devices(luns: Collection[int]) -> Iterator[AssembledDevice]:
    """What stands on these LUNs (by number), the uppermost first."""
    numbers = {number for lun in luns for number in blockdev.descendants(lun)}
    marked_luns = {lun for lun in luns if _has_mark(lun)}
    waiting = [number for number in numbers if _is_layer(number)]
    waiting.sort(key=lambda number: (len(blockdev.ancestors(number)), number), reverse=True)
    for number in waiting:
        leaves = frozenset(blockdev.leaves(number))
        if leaves and leaves <= marked_luns:
            yield AssembledDevice(number, leaves)


def _is_layer(number: int) -> bool:
    folder = blockdev.sys_folder(number)
    return (folder / "md").is_dir() or (folder / "dm").is_dir() or _is_bcache(number)


def _is_bcache(number: int) -> bool:
    """Not what is below it, which has a folder of this name too."""
    return blockdev.kernel_name(number).startswith("bcache")


def _stop_bcache(number: int, luns: Collection[int]) -> None:
    """Stop the device, and its set if no other is left (bcache.rst, stop). Raises ToolError."""
    try:
        _stop(blockdev.sys_folder(number) / "bcache")
        for lun in luns:
            cache_set = blockdev.sys_folder(lun) / "bcache" / "set"
            if cache_set.is_dir() and not any(cache_set.glob("bdev*")):
                _stop(cache_set)
    except OSError as error:
        raise ToolError(f"bcache cannot be stopped: {error.strerror}.") from None


def _stop(folder: Path) -> None:
    (folder / "stop").write_text("1", encoding="ascii")
    deadline = time.monotonic() + STOPPED_S
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.1)


def leftover_pools(folder: Path = KSTAT) -> list[str]:
    """ZFS pools with fsbench's names that this host has imported. A host with ZFS may import what a
    killed guest left; then no run begins on that LUN.
    """
    return [POOL] if (folder / POOL).is_dir() else []


def _has_mark(number: int) -> bool:
    try:
        return bool(layers_on(blockdev.path_of(number)))
    except (ToolError, OSError):
        return False
