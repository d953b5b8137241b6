"""Who has a device open, or the file that it stands on.

Sources: proc_pid_fd(5), proc_pid_fdinfo(5), statx(2).
"""

import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.safety import blockdev
from runner.safety.extended_stat import ExtendedStat

_DONT_SYNC = 0x4000
_TYPE_AND_INODE = 0x101
CONFIGURED = Path("/sys/kernel/config")


@dataclass(frozen=True)
class _Sought:
    """``written``: devices that count where they are open for writing, and so do ``generic``, the
    character devices that pass commands to the same disk. ``file`` by its file system and inode: it
    has other names in a container, or by another link; ``path`` is its real one.
    """

    devices: frozenset[int]
    written: frozenset[int]
    generic: frozenset[int]
    file: tuple[int, int] | None
    path: str
    has_statx: bool


def openers(
    devices: Collection[int], *, written: Collection[int] = (), file: Path | None = None
) -> list[str]:
    """Processes, other than this one, that have one of the devices open: "qemu (pid 4711)".

    Or the ``file`` that it stands on, by whatever name: a virtual machine's, say. Or one of those
    that are ``written`` for writing. Targets in the kernel count, which no process shows. Raises
    OSError.
    """
    sought = _Sought(
        frozenset(devices),
        frozenset(written),
        frozenset().union(*map(_generic, {*devices, *written})),
        _inode(file) if file is not None else None,
        os.path.realpath(file) if file is not None else "",
        # An old C library has none, and a container may forbid it.
        ExtendedStat().read(b"/", _DONT_SYNC, _TYPE_AND_INODE),
    )
    own_pid = str(os.getpid())
    processes = [
        f"{_command_of(process)} (pid {process})"
        for process in blockdev.processes()
        if process != own_pid and _has_open(process, sought)
    ]
    return processes + sorted(_targets(sought))


def _generic(number: int) -> set[int]:
    """By which a virtual machine has a disk that is passed to it. These are SCSI generic (sg, bsg)
    and the NVMe generic device, next to the block device in sysfs (ng0n1 next to nvme0n1).
    """
    disk = blockdev.sys_folder(blockdev.whole_disk(number))
    folders = [*disk.glob("device/scsi_generic/*"), *disk.glob("device/bsg/*")]
    if disk.name.startswith("nvme"):
        folders.append(disk.parent / disk.name.replace("nvme", "ng", 1))
    return {node for folder in folders if (node := blockdev.number_in(folder)) is not None}


def _inode(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_dev, status.st_ino


def _has_open(process: str, sought: _Sought) -> bool:
    """Whether one of its open files is one of them. A device's node may stand anywhere (in the /dev
    of a chroot, or where somebody made one).

    A host has some ten thousand of them: of each one thing is asked, and not by its whole path.
    Only what the kernel has in memory is asked for, and of a file its type and inode alone. A
    server of files that hangs must not hang the checks of all LUNs.
    """
    path = f"{blockdev.PROC}/{process}/fd"
    try:
        # A thread of the kernel has none, and is half of all processes.
        if not (handles := os.listdir(path)):  # noqa: PTH208 (no Path is made of each)
            return False
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False  # ended meanwhile, or not ours to see
    status = ExtendedStat()
    try:
        for handle in handles:
            if not sought.has_statx:
                mode, node, inode = _by_stat(folder, handle)
            elif not status.read(handle.encode(), _DONT_SYNC, _TYPE_AND_INODE, folder):
                continue  # closed meanwhile, which says nothing of others
            else:
                mode, node = status.mode, status.node
                inode = (status.device, status.inode)
            information = f"{blockdev.PROC}/{process}/fdinfo/{handle}"
            if _is_one(mode, node, inode, sought, information):
                return True
    finally:
        os.close(folder)
    return False


def _by_stat(folder: int, handle: str) -> tuple[int, int, tuple[int, int]]:
    """The mode, the device that is open there, and the file system and inode."""
    try:
        status = os.stat(handle, dir_fd=folder)
    except OSError:
        return 0, 0, (0, 0)
    return status.st_mode, status.st_rdev, (status.st_dev, status.st_ino)


def _is_one(
    mode: int, node: int, inode: tuple[int, int], sought: _Sought, information: str
) -> bool:
    if stat.S_ISBLK(mode):
        return node in sought.devices or (node in sought.written and _is_for_writing(information))
    if stat.S_ISCHR(mode):
        return node in sought.generic and _is_for_writing(information)
    return inode == sought.file


def _is_for_writing(information: str) -> bool:
    """The flags of open(2), in octal. Unknown access counts as writing."""
    try:
        text = Path(information).read_text()
    except FileNotFoundError:
        return False  # closed meanwhile
    except OSError:
        return True
    flags = re.search(r"^flags:\s*([0-7]+)", text, re.M)
    return flags is None or int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY


def _targets(sought: _Sought) -> Iterator[str]:
    """What the kernel serves to other hosts without having it exclusively: namespaces of its NVMe
    target (nvmet, io-cmd-bdev.c) and files of its SCSI target (target_core_file.c).
    """
    served = [
        (f"the NVMe target {path.parent.parent.parent.name}", _text(path))
        for path in CONFIGURED.glob("nvmet/subsystems/*/namespaces/*/device_path")
        if _text(path.parent / "enable") == "1"
    ]
    for path in CONFIGURED.glob("target/core/fileio_*/*/info"):
        if named := re.search(r"\bFile: (\S+)", _text(path)):
            served.append((f"the SCSI target {path.parent.name}", named[1]))
    for name, opened in served:
        # A file may be on a server that hangs: it goes by its name alone.
        number = blockdev.device_number(opened) if opened.startswith("/dev/") else None
        if number in sought.devices | sought.written or opened == sought.path != "":
            yield name


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _command_of(process: str) -> str:
    try:
        name = (blockdev.PROC / process / "comm").read_bytes()
    except OSError:
        return "a process"
    return name.decode("utf-8", "backslashreplace").strip()
