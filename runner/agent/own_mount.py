"""The file system that a plan has mounted, given up when its run is stopped.

What the benchmark left in memory would be written as it is unmounted, for minutes on a slow disk,
by the kernel, anyone who is killed: longer than another host may have to wait for the disk. Nobody
wants it. The kernel drops it when it is reported to shut the file system down, as it does alone
where a disk fails: ext2 to ext4, XFS, F2FS, exFAT, NTFS3, bcachefs and newer Btrfs know that, each
under the same number (``XFS_IOC_GOINGDOWN`` of xfs_fs.h). The others are unmounted as ever. A guest
needs none of it: what is in its memory ends with it, and its kernel would call this an error.
"""

import contextlib
import fcntl
import os
import struct
from pathlib import Path
from typing import Any

from runner.agent import counters

GOING_DOWN = 0x8004587D  # _IOR('X', 125, __u32)
WITHOUT_LOG_FLUSH = struct.pack("=I", 2)
# (where it is mounted, the number of its device) of what a step of this process has mounted.
_mounted: "tuple[str, int] | None" = None


def note(plan: dict[str, Any], argv: "list[str]") -> None:
    """Call it when ``argv`` has mounted the plan's file system, before anything is above that.

    Whatever is at its place without that may be anybody's, and is not given up.
    """
    global _mounted
    point, devices = plan["mount_point"], {_device(word) for word in argv} - {None}
    sources = [kind[1] for fields, kind in counters.mount_table() if fields[4] == point]
    is_own = bool(plan.get("unmount") and sources) and _device(sources[-1]) in devices
    is_own = is_own and not plan.get("guest")
    _mounted = (point, Path(point).stat().st_dev) if is_own else None


def give_up() -> None:
    """Have nothing more written to it, where it is still there and can do that."""
    if _mounted is None:
        return
    point, device = _mounted
    with contextlib.suppress(OSError):
        descriptor = os.open(point, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            # What covers it, or was below it, is another one.
            if os.fstat(descriptor).st_dev == device:
                fcntl.ioctl(descriptor, GOING_DOWN, WITHOUT_LOG_FLUSH)
        finally:
            os.close(descriptor)


def _device(path: str) -> "int | None":
    """The number of a block device; None of all else."""
    if not path.startswith("/dev/"):
        return None
    with contextlib.suppress(OSError, ValueError):
        return Path(path).stat().st_rdev or None
    return None
