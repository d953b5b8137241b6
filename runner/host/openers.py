"""Who has a device open, or the file that it stands on. Source: proc_pid_fd(5), statx(2)."""

import os
import stat
from pathlib import Path

from runner.host import blockdev
from runner.host.extended_stat import ExtendedStat

_DONT_SYNC = 0x4000
_TYPE_AND_INODE = 0x101


def openers(number: int, file: Path | None = None) -> list[str]:
    """Processes, other than this one, that have the device open: "qemu (pid 4711)".

    Or the ``file`` that it stands on, by whatever name: a virtual machine's, say. Raises OSError.
    """
    status = file.stat() if file is not None else None
    wanted = (status.st_dev, status.st_ino) if status else None
    return [
        f"{_command_of(process)} (pid {process})"
        for process in blockdev.processes()
        if process != str(os.getpid()) and _has_open(process, number, wanted)
    ]


def _has_open(process: str, number: int, file: tuple[int, int] | None) -> bool:
    """Whether one of its open files is the device, a node of which may stand anywhere (in the /dev
    of a chroot, or where somebody made one), or the file.

    A host has some ten thousand of them: of each one thing is asked, and not by its whole path.
    Nothing but what the kernel has in memory is, and of a file its type and inode alone: a server
    of files that hangs must not hang the checks of all LUNs.
    """
    try:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        folder = os.open(f"{blockdev.PROC}/{process}/fd", flags)
    except OSError:
        return False  # ended meanwhile, or not ours to see
    found = ExtendedStat()
    try:
        for handle in os.listdir(folder):  # noqa: PTH208 (a descriptor)
            if not found.read(handle, _DONT_SYNC, _TYPE_AND_INODE, folder):
                # Closed meanwhile, which says nothing of others; or this call cannot be made here.
                if _is_by_stat(folder, handle, number, file):
                    return True
            elif stat.S_ISBLK(found.mode):
                if found.node == number:
                    return True
            elif file is not None and found.inode == file[1] and found.device == file[0]:
                return True
    except OSError:
        return False
    finally:
        os.close(folder)
    return False


def _is_by_stat(folder: int, handle: str, number: int, file: tuple[int, int] | None) -> bool:
    try:
        status = os.stat(handle, dir_fd=folder)
    except OSError:
        return False
    if stat.S_ISBLK(status.st_mode):
        return status.st_rdev == number
    return (status.st_dev, status.st_ino) == file


def _command_of(process: str) -> str:
    try:
        name = (blockdev.PROC / process / "comm").read_bytes()
    except OSError:
        return "a process"
    return name.decode("utf-8", "backslashreplace").strip()
