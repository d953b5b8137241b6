"""Who has a device open, or the file that it stands on.

Sources: proc_pid_fd(5), proc_pid_fdinfo(5), statx(2).
"""

import ctypes
import os
import re
import stat
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.host import blockdev

_AT_FDCWD = -100
_DONT_SYNC = 0x4000
_TYPE, _INODE = 0x1, 0x100
_BYTES = 256
_MODE, _INODE_NUMBER, _DEVICE, _FILE_SYSTEM = (("H", 28), ("Q", 32), ("II", 128), ("II", 136))
"""Where a struct statx has the mode, the inode, the number of the device that a node is of, and
that of the file system."""
_statx = getattr(ctypes.CDLL(None), "statx", None)
CONFIGURED = Path("/sys/kernel/config")


@dataclass(frozen=True)
class _Sought:
    """``written``: devices that count where they are open for writing. ``file`` by its real path,
    and by its file system and inode: it has other names in a container or by another link.
    """

    devices: frozenset[int]
    written: frozenset[int]
    file: str
    inode: tuple[int, int] | None


def openers(
    devices: Collection[int], *, written: Collection[int] = (), file: str = ""
) -> list[str]:
    """Processes, other than this one, that have one of the devices open: "qemu (pid 4711)".

    Or the ``file`` that it stands on, by its real path: a virtual machine's, say. Or one of those
    that are ``written`` for writing. Targets in the kernel count, which no process shows.
    """
    sought = _Sought(frozenset(devices), frozenset(written), file, _inode(file))
    found, own = [], str(os.getpid())
    with os.scandir(blockdev.PROC) as entries:
        processes = [one.name for one in entries if one.name.isdecimal() and one.name != own]
    for process in processes:
        folder = f"{blockdev.PROC}/{process}"
        try:
            handles = os.listdir(f"{folder}/fd")  # noqa: PTH208 (see _is_of)
        except OSError:
            continue  # ended meanwhile, or not ours to see
        if any(_is_of(folder, handle, sought) for handle in handles):
            found.append(f"{_command_of(blockdev.PROC / process)} (pid {process})")
    return found + sorted(_targets(sought))


def _inode(file: str) -> tuple[int, int] | None:
    try:
        status = Path(file).stat() if file else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status else None


def _is_of(process: str, handle: str, sought: _Sought) -> bool:
    """Whether this open file is one of them. One that was closed meanwhile says nothing of others.

    A host has some ten thousand of them, so no Path is made of each: it takes six times as long.
    """
    path = f"{process}/fd/{handle}"
    try:
        name = os.readlink(path)  # noqa: PTH115
    except OSError:
        return False
    # Sockets, pipes and their like have no path. A node of the device may stand anywhere: in the
    # /dev of a chroot, or where somebody made one.
    if not name.startswith("/"):
        return False
    if sought.file and name == sought.file:
        return True
    number, inode = _identity_of(path, with_inode=sought.inode is not None)
    if number is None:
        return inode is not None and inode == sought.inode
    if number in sought.devices:
        return True
    return number in sought.written and _is_for_writing(process, handle)


def _identity_of(handle: str, *, with_inode: bool) -> tuple[int | None, tuple[int, int] | None]:
    """The block device that is open there, or the file system and inode of the file.

    Nothing but what the kernel has in memory is asked for, and of a file no more than this: a
    server of files that hangs must not hang the checks of all LUNs.
    """
    if _statx is None:  # a C library of before 2018
        return blockdev.device_number(handle), None
    found = ctypes.create_string_buffer(_BYTES)
    mask = _TYPE | _INODE * with_inode
    if _statx(_AT_FDCWD, os.fsencode(handle), _DONT_SYNC, mask, found):
        return None, None
    (mode,) = struct.unpack_from(_MODE[0], found, _MODE[1])
    if stat.S_ISBLK(mode):
        return os.makedev(*struct.unpack_from(_DEVICE[0], found, _DEVICE[1])), None
    if not (with_inode and stat.S_ISREG(mode)):
        return None, None
    (inode,) = struct.unpack_from(_INODE_NUMBER[0], found, _INODE_NUMBER[1])
    file_system = os.makedev(*struct.unpack_from(_FILE_SYSTEM[0], found, _FILE_SYSTEM[1]))
    return None, (file_system, inode)


def _is_for_writing(process: str, handle: str) -> bool:
    """The flags of open(2), in octal. What cannot be told is taken for writing."""
    try:
        text = Path(f"{process}/fdinfo/{handle}").read_text()
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
        number = blockdev.device_number(opened) if opened.startswith("/dev/") else None
        if number in sought.devices | sought.written or (sought.file and opened == sought.file):
            yield name


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _command_of(process: Path) -> str:
    try:
        return (process / "comm").read_bytes().decode("utf-8", "backslashreplace").strip()
    except OSError:
        return "a process"
