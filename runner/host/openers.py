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
    # An old C library has none, and a container may forbid it.
    has_statx = ExtendedStat().read(b"/", _DONT_SYNC, _TYPE_AND_INODE)
    own = str(os.getpid())
    return [
        f"{_command_of(process)} (pid {process})"
        for process in blockdev.processes()
        if process != own and _has_open(process, number, wanted, has_statx)
    ]


def _has_open(process: str, number: int, file: tuple[int, int] | None, has_statx: bool) -> bool:
    """Whether one of its open files is the device, a node of which may stand anywhere (in the /dev
    of a chroot, or where somebody made one), or the file.

    A host has some ten thousand of them: of each one thing is asked, and not by its whole path.
    Nothing but what the kernel has in memory is, and of a file its type and inode alone: a server
    of files that hangs must not hang the checks of all LUNs.
    """
    path = f"{blockdev.PROC}/{process}/fd"
    try:
        # A thread of the kernel has none, and is half of all processes.
        if not (handles := os.listdir(path)):  # noqa: PTH208 (no Path is made of each)
            return False
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False  # ended meanwhile, or not ours to see
    found = ExtendedStat()
    try:
        for handle in handles:
            if not has_statx:
                if _is_by_stat(folder, handle, number, file):
                    return True
            elif not found.read(handle.encode(), _DONT_SYNC, _TYPE_AND_INODE, folder):
                continue  # closed meanwhile, which says nothing of others
            elif stat.S_ISBLK(found.mode):
                if found.node == number:
                    return True
            elif file is not None and found.inode == file[1] and found.device == file[0]:
                return True
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
