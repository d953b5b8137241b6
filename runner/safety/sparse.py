"""Sparse files as LUNs: made when missing, attached as loop devices with direct I/O.

Without direct I/O the host's page cache stands behind the "disk", which is then memory
(losetup(8), --direct-io).
"""

import contextlib
import json
import os
import secrets
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from runner.safety import blockdev, locks
from runner.safety.blockdev import ToolError, run_tool
from runner.safety.luns import LunEntry

# Marks a file as made by fsbench; it moves with the file and is gone with it (xattr(7)).
_MADE = "user.fsbench.made"
# An id of this file alone: one that is made anew at the same path, with the same inode, is another.
_MARK = "user.fsbench.id"
# Who looks at a device for a moment is done by then.
DETACH_S = 5.0
LARGE_SECTOR_BYTES = 4096
# What the kernel says of a file without a name (d_path).
DELETED = " (deleted)"


class SparseFileError(Exception):
    """The file cannot serve as a LUN; the text says why and what to do."""


@dataclass(frozen=True)
class Loop:
    """A loop device on a file. ``is_ours``: attached by this call, not found."""

    device: str
    is_ours: bool


def _is_inside(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder)


def make(entry: LunEntry, data_folder: Path) -> None:
    """Make the file, sparse and of the listed size, unless it is there. Raises SparseFileError."""
    assert entry.size_bytes is not None
    path = entry.path
    if not path.parent.is_dir():
        if not _is_inside(path, data_folder):
            raise SparseFileError(f"{path.parent} does not exist: make the folder first.")
        for folder in reversed(path.parents):
            folder.mkdir(mode=0o700, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        _check_existing(entry)
        return
    except OSError as error:
        raise SparseFileError(f"{path} cannot be made: {error.strerror}.") from None
    try:
        os.ftruncate(descriptor, entry.size_bytes)
        # Some file systems keep no such marks: the label of the first mkfs serves instead.
        with contextlib.suppress(OSError):
            os.setxattr(descriptor, _MADE, b"1")
            os.setxattr(descriptor, _MARK, secrets.token_hex(8).encode())
    except OSError as error:
        path.unlink()
        raise SparseFileError(f"{path} cannot be made so large: {error.strerror}.") from None
    finally:
        os.close(descriptor)


def _check_existing(entry: LunEntry) -> None:
    status = entry.path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise SparseFileError(f"{entry.path} is not a regular file.")
    if status.st_size != entry.size_bytes:
        raise SparseFileError(
            f"{entry.path} has {status.st_size} bytes and the list says {entry.size_bytes}: "
            "correct the size, or remove the file so that it is made again."
        )


def is_free_to_erase(path: Path) -> bool:
    """True for a file that fsbench made, and for one without a single byte written."""
    return was_made_here(path) or path.stat().st_blocks == 0


def was_made_here(path: Path) -> bool:
    """True for a file that fsbench made, as far as its file system keeps such marks."""
    with contextlib.suppress(OSError):
        os.getxattr(path, _MADE)
        return True
    return False


def mark_of(path: Path) -> str:
    """The id that fsbench gave a file when it made it; empty where there is none."""
    with contextlib.suppress(OSError):
        return os.getxattr(path, _MARK).decode("ascii", "replace")
    return ""


def attached_loops(path: Path) -> list[dict[str, object]]:
    """The loop devices on this very file, whatever path they were attached by."""
    status = path.stat()
    columns = "NAME,BACK-INO,BACK-MAJ:MIN,OFFSET,SIZELIMIT,RO,DIO"
    output = run_tool("losetup", "--list", "--json", "-O", columns)
    devices = json.loads(output)["loopdevices"] if output.strip() else []
    where = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    return [
        device
        for device in devices
        if str(device["back-ino"]) == str(status.st_ino)
        and str(device["back-maj:min"]).strip() == where
    ]


def attach(entry: LunEntry, data_folder: Path) -> Loop:
    """The loop device of the file: found, or attached now. Raises SparseFileError."""
    make(entry, data_folder)
    try:
        with locks.short_lock(f"attach-{entry.name}"):
            return _attach(entry)
    except (ToolError, OSError) as error:
        raise SparseFileError(f"{entry.path} cannot be attached: {error}") from None


def _attach(entry: LunEntry) -> Loop:
    devices = attached_loops(entry.path)
    if len(devices) > 1:
        names = ", ".join(str(device["name"]) for device in devices)
        raise SparseFileError(f"{entry.path} is attached more than once ({names}): detach them.")
    is_ours = not devices
    if devices:
        name = str(devices[0]["name"])
        if devices[0]["ro"] or int(str(devices[0]["offset"])) or int(str(devices[0]["sizelimit"])):
            raise SparseFileError(
                f"{name} shows only a part of {entry.path}, or read-only: losetup -d {name}"
            )
        if not devices[0]["dio"]:
            run_tool("losetup", "--direct-io=on", name)
    else:
        name = run_tool("losetup", "--direct-io=on", "--find", "--show", str(entry.path)).strip()
        if not uses_direct_io(name):
            _with_large_sectors(name)
    if not uses_direct_io(name):
        if is_ours:
            run_tool("losetup", "--detach", name)
        raise SparseFileError(
            f"the file system under {entry.path} does no direct I/O, so that memory would be "
            "measured: put the file somewhere else."
        )
    return Loop(name, is_ours)


def _with_large_sectors(name: str) -> None:
    """Before 6.14 the kernel does no direct I/O for a loop device with sectors smaller than
    those of the disk below the file (drivers/block/loop.c, __loop_update_dio): 512 and 4,096 bytes.
    """
    with contextlib.suppress(ToolError):  # what it says is that there is no direct I/O
        run_tool("losetup", f"--sector-size={LARGE_SECTOR_BYTES}", name)
        run_tool("losetup", "--direct-io=on", name)


def uses_direct_io(device: str) -> bool:
    number = blockdev.device_number(device)
    if number is None:
        return False
    try:
        return (blockdev.sys_folder(number) / "loop" / "dio").read_text().strip() == "1"
    except OSError:
        return False


def detach(loop: Loop, path: Path) -> str:
    """Detach the device if it still stands on ``path`` and nobody uses it; why not, or nothing.

    Somebody who only looks (udev, blkid) is waited for, DETACH_S at most.
    """
    deadline = time.monotonic() + DETACH_S
    while True:
        try:
            if loop.device not in loops_standing_on(path):
                return ""
            # Exclusive: a mounted device stays. (losetup -d would detach it lazily.)
            descriptor = os.open(loop.device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
            os.close(descriptor)
            run_tool("losetup", "--detach", loop.device)
            problem = f"{loop.device} is still open, and goes when its last user closes it."
        except (ToolError, OSError) as error:
            problem = f"{loop.device} cannot be detached: {error}"
        if time.monotonic() >= deadline:
            return problem
        time.sleep(0.05)


def loops_standing_on(path: Path) -> set[str]:
    """The loop devices on this very file, and those on a file of this path that was deleted."""
    names = {str(device["name"]) for device in attached_loops(path)} if path.exists() else set()
    return names | {device for device, file in backing_files() if file == f"{path}{DELETED}"}


def backing_files() -> list[tuple[str, str]]:
    """(loop device, path of its file as the kernel says it) of every loop device that has one."""
    files = []
    for path in sorted(Path("/sys/block").glob("loop*/loop/backing_file")):
        with contextlib.suppress(OSError):
            text = os.fsdecode(path.read_bytes().removesuffix(b"\n"))
            files.append((f"/dev/{path.parent.parent.name}", text))
    return files
