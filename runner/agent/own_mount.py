"""Give up the file system of a plan when its run is stopped.

Otherwise unmounting could write for minutes, and another host waits for the disk. The kernel drops
what is in memory on XFS_IOC_GOINGDOWN (xfs_fs.h), which most file systems know. Guests need none of
it.
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
    """Call it when ``argv`` has mounted the plan's file system: only then it is given up."""
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
