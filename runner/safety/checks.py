"""May this LUN be erased now? The one place that answers, for every executor.

Asked when LUNs are announced, by ``manage.py luns check``, and again right before a run erases.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.safety import (
    blockdev,
    device_aliases,
    lun_identity,
    mounts,
    openers,
    signatures,
    sparse,
)
from runner.safety.blockdev import ToolError
from runner.safety.fingerprint import fingerprint
from runner.safety.luns import LunEntry, LunFileError, read_luns
from runner.safety.marks import WORK_NAME, is_own

_SYSTEM_FOLDERS = {
    *("/", "/bin", "/boot", "/etc", "/home", "/lib", "/media", "/mnt", "/opt", "/root", "/run"),
    *("/sbin", "/srv", "/tmp", "/usr", "/var", "/var/lib", "/var/tmp"),  # noqa: S108 (refused)
}
_KERNEL_FOLDERS = ("/dev", "/proc", "/sys")


@dataclass(frozen=True)
class Check:
    """One answer. ``message`` says what was found, or why not and what to do."""

    name: str
    ok: bool
    message: str


def problem(checks: list[Check]) -> str:
    """The failed checks in one text; empty when the LUN may be used."""
    return " ".join(check.message for check in checks if not check.ok)


def verify(
    entry: LunEntry,
    lun_file: Path,
    device: str = "",
    confirmed: Mapping[str, Any] | None = None,
    own_mark: str = "",
) -> list[Check]:
    """All checks of a LUN. ``device`` is the block device it is used as (a sparse file's loop).

    ``confirmed`` is what it was when somebody submitted the run that is to erase it (lun_identity;
    empty: not kept); None where no run asks. ``own_mark`` is what this host noted of its folder on
    a mount (mounts.own_mark). Nothing is changed. A check that cannot be made has failed.
    """
    checks = [_listed(entry, lun_file)]
    if entry.is_directory:
        if entry.is_mount:
            checks += [Check(*fields) for fields in mounts.problems(entry, own_mark)]
        else:
            checks += _directory_checks(entry)
        if confirmed is not None and all(check.ok for check in checks):
            checks.append(
                _make_check("confirmed", lambda: _confirmed(entry, "", confirmed, own_mark))
            )
        return checks
    path = device or str(entry.path)
    number = blockdev.device_number(path)
    if number is None:
        reason = "is not attached to a loop device" if entry.kind == "sparse-file" else "is missing"
        checks.append(Check("device", False, f"{entry.path} {reason}, or is not a block device."))
        return checks
    real = os.path.realpath(path)
    checks.append(Check("device", True, f"{real} ({blockdev.as_text(number)})"))
    for name, check in _device_checks(entry, number, real):
        checks.append(_make_check(name, check))
    if confirmed is not None:
        checks.append(_make_check("confirmed", lambda: _confirmed(entry, real, confirmed)))
    return checks


def _make_check(name: str, check: Callable[[], tuple[bool, str]]) -> Check:
    try:
        return Check(name, *check())
    except PermissionError as error:
        return Check(name, False, f"The check “{name}” cannot be made: {_refused(error)}")
    except (OSError, ToolError, mounts.MountError, ValueError, KeyError) as error:
        return Check(name, False, f"The check “{name}” cannot be made: {error}")


def _refused(error: PermissionError) -> str:
    """What the kernel did not let this process do, whom it would let, and how to be that."""
    what = f"{error.filename or 'what it looks at'} may not be opened ({error.strerror})"
    if os.geteuid() != 0:
        return f"{what}: this user has no right to it. Run the worker, and this, as root."
    return (
        f"{what}, though this is root: so it is in a container that was not given the device, or "
        "not what the worker has (capabilities, its list of devices). Ask on the host itself, or "
        "in the worker's own container (docker compose exec worker python manage.py luns check)."
    )


def _device_checks(
    entry: LunEntry, number: int, real: str
) -> Iterator[tuple[str, Callable[[], tuple[bool, str]]]]:
    family = {number, *blockdev.descendants(number)}
    below = device_aliases.used_below(number)
    if entry.kind == "sparse-file":
        yield "backing file", lambda: _backing(entry, real)
    else:
        yield "path", lambda: _path(entry, number)
    yield "identity", lambda: _identity(entry, number)
    yield "root disk", lambda: _root_disk(number, family)
    yield "mounts", lambda: _mounts(family, below)
    yield "swap", lambda: _swap(family, below)
    yield "holders", lambda: _holders(number)
    file = entry.path if entry.kind == "sparse-file" else None
    yield "openers", lambda: _openers(number, family, file)
    yield "exclusive", lambda: _exclusive(number, real)
    if entry.kind == "device":  # of a file its one loop device is asked above
        yield "other paths", lambda: _other_paths(number)
    yield "signature", lambda: _signature(entry, number, real)


def _listed(entry: LunEntry, lun_file: Path) -> Check:
    try:
        listed = {lun.name: lun for lun in read_luns(lun_file)}
    except LunFileError as error:
        return Check("listed", False, str(error))
    if entry.name not in listed:
        return Check("listed", False, f"{lun_file} lists no LUN “{entry.name}”.")
    if listed[entry.name] != entry:
        return Check(
            "listed", False, f"{lun_file} was changed for “{entry.name}”: restart the worker."
        )
    return Check("listed", True, f"{lun_file} lists it")


def _backing(entry: LunEntry, real: str) -> tuple[bool, str]:
    names = [str(device["name"]) for device in sparse.attached_loops(entry.path)]
    if names != [real]:
        return False, f"{entry.path} should be attached as {real} alone, not as {names}."
    if not sparse.uses_direct_io(real):
        return False, f"{real} works without direct I/O: memory would be measured."
    return True, f"{real} stands on {entry.path}, with direct I/O"


def _path(entry: LunEntry, number: int) -> tuple[bool, str]:
    current = blockdev.device_number(entry.path)
    if current != number:
        now = blockdev.path_of(current) if current is not None else "no block device"
        return False, (
            f"{entry.path} leads to {now} now, and no longer to {blockdev.path_of(number)}"
            ", where it led a moment ago: submit the run again once it is settled."
        )
    return True, f"{entry.path} leads there"


def _identity(entry: LunEntry, number: int) -> tuple[bool, str]:
    size = blockdev.size_bytes(number)
    if blockdev.is_read_only(number):
        return False, "The device is read-only."
    if size == 0:
        return False, "The device has no size: it is not ready."
    if entry.size_bytes is not None and size != entry.size_bytes:
        return False, (
            f"The device has {size} bytes ({size / 2**30:.2f} GiB), the list says "
            f"{entry.size_bytes}: this may be another disk."
        )
    identity = device_aliases.disk_identity(number) if entry.serial or entry.wwn else {}
    for key, expected in (("serial", entry.serial), ("wwn", entry.wwn)):
        if expected and identity.get(key) != expected:
            return False, (
                f"Its {key} is “{identity.get(key, 'not known')}”, the list says “{expected}”: "
                "this may be another disk."
            )
    text = (
        "size, serial and wwn as listed" if identity else f"{size} bytes; no serial or wwn listed"
    )
    return True, text


def _root_disk(number: int, family: set[int]) -> tuple[bool, str]:
    system = blockdev.root_disks()
    disk = blockdev.whole_disk(number)
    if ({disk, *family, *blockdev.ancestors(number)}) & system:
        return False, "It is on a disk that the operating system runs from."
    return True, "not on the disks of the operating system"


def _mounts(family: Set[int], below: Set[int] = frozenset()) -> tuple[bool, str]:
    mounts = blockdev.all_mounts()
    for subject, numbers in (("It", family), ("What it stands on", below)):
        if points := sorted({mount.point for mount in mounts if mount.numbers & numbers}):
            return False, f"{subject} is mounted on {', '.join(points)}: unmount it first."
    return True, "not mounted anywhere"


def _swap(family: Set[int], below: Set[int] = frozenset()) -> tuple[bool, str]:
    swap = blockdev.swap_numbers()
    for subject, numbers in (("It", family), ("What it stands on", below)):
        if swap & numbers:
            return False, f"{subject} is in use as swap space: run swapoff first."
    return True, "no swap space"


def _holders(number: int) -> tuple[bool, str]:
    names = blockdev.holders(number)
    if names:
        return False, f"It is part of {', '.join(names)} (RAID, LVM, encryption, loop device)."
    for base, others in device_aliases.sharers(number).items():
        named = ", ".join(sorted(map(blockdev.path_of, others)))
        return False, (
            f"It shares {blockdev.path_of(base)} with {named}, where the same blocks may be in "
            f"use: take {named} down, or remove the LUN from the list."
        )
    return True, "no RAID, LVM, encryption or loop device on it"


def _openers(number: int, family: set[int], file: Path | None = None) -> tuple[bool, str]:
    """Its partitions count as it does. The disk that it is a partition of, and what it is made of,
    counts where it is open for writing. What only looks at disks (udev, smartd) has it open as
    well, and harms nobody.
    """
    below = device_aliases.written_by_others(number)
    names = openers.openers(family, written=below, file=file)
    if names:
        subject = "It, or what it stands on," if below else "It"
        return False, f"{subject} is opened by {', '.join(names)}."
    return True, f"no process has it{' or its file' if file else ''} open"


def _exclusive(number: int, real: str, access: int = os.O_RDWR) -> tuple[bool, str]:
    if why := _not_exclusively(real, access):
        return False, f"It {why}"
    for below in map(blockdev.path_of, device_aliases.claimed_by_none(number)):
        if why := _not_exclusively(below, os.O_RDONLY):
            return False, f"It stands on {below}, which {why}"
    return True, "opened exclusively"


def _not_exclusively(path: str, access: int) -> str:
    try:
        os.close(os.open(path, access | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return "is in use: the kernel refuses to open it exclusively."
        if isinstance(error, PermissionError):
            return f"cannot be checked: {_refused(error)}"
        purpose = "writing" if access == os.O_RDWR else "reading"
        return f"cannot be opened for {purpose}: {error.strerror}."
    return ""


def _other_paths(number: int) -> tuple[bool, str]:
    """Ask the same of all that are the same disk as the device, or the same as one that it is made
    of: a path that multipath does not know of, say.
    """
    chain = {number} | blockdev.ancestors(number)
    twins = sorted(
        set().union(*map(device_aliases.of, {number} | device_aliases.bases(number))) - chain
    )
    for twin in twins:
        name = blockdev.path_of(twin)
        family = {twin, *blockdev.descendants(twin)}
        for is_free, why in (
            _root_disk(twin, family),
            _mounts(family),
            _swap(family),
            _holders(twin),
            _openers(twin, family),
            _exclusive(twin, name, os.O_RDONLY),
        ):
            if not is_free:
                return False, f"{name} is the same disk by another path. {why}"
    if not twins:
        return True, "it is the only device of its disk"
    return True, f"also {', '.join(map(blockdev.path_of, twins))}, which nobody uses"


def _signature(entry: LunEntry, number: int, real: str) -> tuple[bool, str]:
    device_signatures = signatures.of(real)
    foreign = [
        signature
        for signature in device_signatures
        if not is_own(signature.type, signature.label, signature.uuid)
    ]
    parts = sorted(blockdev.kernel_name(partition) for partition in blockdev.partitions(number))
    if not foreign and not parts:
        return _unsigned(entry, device_signatures)
    contents = [
        f"{signature.type} “{signature.label or signature.uuid}”"
        if signature.label or signature.uuid
        else signature.type
        for signature in foreign
    ] + parts
    # A pool of ZFS has its signature some dozens of times.
    text = ", ".join(dict.fromkeys(contents))
    if entry.overwrite:
        return True, f"holds {text}; overwrite = true allows to erase it"
    if not foreign:
        # Of a loop device whose number was used before, say: wipefs finds nothing on it, and the
        # kernel keeps them when it is detached.
        return False, (
            f"The kernel shows partitions on it ({text}), and it holds no partition table. If what "
            f"they hold may be lost, run: partx --delete {real}"
        )
    return False, (
        f"It holds data that fsbench did not write ({text}). If it may be lost, "
        f"write overwrite = true for “{entry.name}” in the list of LUNs, or wipe it with wipefs."
    )


def _unsigned(entry: LunEntry, device_signatures: list[signatures.Signature]) -> tuple[bool, str]:
    if device_signatures:
        return True, f"{device_signatures[0].type} made by fsbench"
    is_stranger = entry.kind == "sparse-file" and not sparse.is_free_to_erase(entry.path)
    if is_stranger and not entry.overwrite:
        return False, (
            f"{entry.path} was not made by fsbench and holds data. If it may be lost, write "
            f"overwrite = true for “{entry.name}” in the list of LUNs."
        )
    return True, "no file system, partition table or label on it"


def _confirmed(
    entry: LunEntry, real: str, confirmed: Mapping[str, Any], own_mark: str = ""
) -> tuple[bool, str]:
    """A name may lead to another disk than the one that somebody agreed to have erased."""
    why = lun_identity.difference(entry.name, confirmed, fingerprint(entry, real, own_mark))
    return not why, why or f"what was confirmed: {lun_identity.in_words(confirmed)}"


def _directory_checks(entry: LunEntry) -> list[Check]:
    path = entry.path
    if not path.is_dir():
        return [Check("directory", False, f"{path} is not a folder: make it, or correct the path.")]
    real = path.resolve()
    if str(real) in _SYSTEM_FOLDERS or any(
        real.is_relative_to(folder) for folder in _KERNEL_FOLDERS
    ):
        return [
            Check(
                "directory",
                False,
                f"{path} is a folder of the operating system, which a benchmark could fill: make "
                "a folder of its own for it.",
            )
        ]
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return [Check("directory", False, f"{path} cannot be read and written by this user.")]
    mode = path.stat().st_mode
    if os.geteuid() == 0 and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return [
            Check(
                "directory",
                False,
                f"{path} can be written by everybody, who could put a link in the way of a "
                f"benchmark that runs as root: chmod o-w {path}",
            )
        ]
    # A benchmark follows a link, and it may run as root.
    for entry_path in sorted(path.iterdir()):
        name = entry_path.name
        is_own_name = name == WORK_NAME or name.startswith(f"{WORK_NAME}.")
        if is_own_name and not _is_own_rest(entry_path):
            return [
                Check(
                    "directory",
                    False,
                    f"{entry_path} is there already, and would be overwritten: remove it.",
                )
            ]
    filesystem = directory_filesystem(path)
    return [
        Check("directory", True, f"{path} can be written"),
        Check("file system", bool(filesystem), filesystem or f"No mount is known for {path}."),
    ]


def _is_own_rest(path: Path) -> bool:
    """A plain file or a folder of this user: what a benchmark that was killed has left."""
    status = path.lstat()
    if stat.S_ISDIR(status.st_mode):
        return status.st_uid == os.geteuid()
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1


def directory_filesystem(path: Path) -> str:
    """The file system of a folder, as the kernel names it; empty when unknown."""
    number = path.stat().st_dev
    real = path.resolve()
    filesystem = ""
    for mount in blockdev.own_mounts():
        # Btrfs subvolumes have numbers of their own: the longest mount point decides there.
        if number in mount.numbers or (real.is_relative_to(mount.point) and not filesystem):
            filesystem = mount.filesystem
    return filesystem
