"""Who has a device open, or the file that it stands on. Source: proc_pid_fd(5), statx(2)."""

import ctypes
import os
import stat
import struct
from pathlib import Path

from runner.host import blockdev

_AT_FDCWD = -100
_DONT_SYNC = 0x4000
_TYPE = 1
_BYTES = 256
_MODE, _NUMBER = (("H", 28), ("II", 128))
"""Where a struct statx has the mode and the number of the device that a node is of."""
_statx = getattr(ctypes.CDLL(None), "statx", None)


def openers(number: int, file: str = "") -> list[str]:
    """Processes, other than this one, that have the device open: "qemu (pid 4711)".

    Or the ``file`` that it stands on, by its real path: a virtual machine's, say.
    """
    found, own = [], str(os.getpid())
    with os.scandir(blockdev.PROC) as entries:
        processes = [one.name for one in entries if one.name.isdecimal() and one.name != own]
    for process in processes:
        folder = f"{blockdev.PROC}/{process}/fd"
        try:
            handles = os.listdir(folder)  # noqa: PTH208 (see _is_of)
        except OSError:
            continue  # ended meanwhile, or not ours to see
        if any(_is_of(f"{folder}/{handle}", number, file) for handle in handles):
            found.append(f"{_command_of(blockdev.PROC / process)} (pid {process})")
    return found


def _is_of(handle: str, number: int, file: str) -> bool:
    """Whether this open file is the device. One that was closed meanwhile says nothing of others.

    A host has some ten thousand of them, so no Path is made of each: it takes six times as long.
    """
    try:
        name = os.readlink(handle)  # noqa: PTH115
    except OSError:
        return False
    # Sockets, pipes and their like have no path. A node of the device may stand anywhere: in the
    # /dev of a chroot, or where somebody made one.
    if not name.startswith("/"):
        return False
    return _number_of(handle) == number or (bool(file) and name == file)


def _number_of(handle: str) -> int | None:
    """The block device that is open there, None for all else.

    Nothing but what the kernel has in memory is asked for, and of a file nothing but its type: a
    server of files that hangs must not hang the checks of all LUNs.
    """
    if _statx is None:  # a C library of before 2018
        return blockdev.device_number(handle)
    found = ctypes.create_string_buffer(_BYTES)
    if _statx(_AT_FDCWD, os.fsencode(handle), _DONT_SYNC, _TYPE, found):
        return None
    (mode,) = struct.unpack_from(_MODE[0], found, _MODE[1])
    if not stat.S_ISBLK(mode):
        return None
    return os.makedev(*struct.unpack_from(_NUMBER[0], found, _NUMBER[1]))


def _command_of(process: Path) -> str:
    try:
        return (process / "comm").read_bytes().decode("utf-8", "backslashreplace").strip()
    except OSError:
        return "a process"
