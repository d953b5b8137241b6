"""Host-wide locks: two workers on one host can never use the same device.

The database's lease keeps runs of one LUN row apart. These locks also hold when two workers with
different databases, or two names for one disk, are configured on a host (flock(2)).
"""

import contextlib
import fcntl
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from runner.safety import blockdev, device_aliases

_AGAIN_S = 0.05
# deploy/install_tools.py takes the same one, of the same name.
_SETUP = "setup"
_LOOK_S = 5.0


class LockedElsewhere(Exception):
    """Another process on this host holds the lock."""


def lock_folder() -> Path:
    """Where the lock files are: /run/fsbench for root, a private temporary folder for others.

    Raises RuntimeError when the folder belongs to somebody else.
    """
    user = os.geteuid()
    folder = Path("/run/fsbench") if user == 0 else Path(tempfile.gettempdir()) / f"fsbench-{user}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != user or status.st_mode & 0o022:
        raise RuntimeError(f"{folder} is not a private folder of this user: remove it.")
    return folder


def _take(name: str, kind: int, advice: str = "", wait_s: float = 0.0) -> int:
    descriptor = os.open(
        lock_folder() / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
    )
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, kind)
            return descriptor
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(_AGAIN_S)
                continue
            os.close(descriptor)
            raise LockedElsewhere(f"Another process on this host holds {name}. {advice}") from None


@contextlib.contextmanager
def short_lock(name: str) -> Iterator[None]:
    """Wait for the lock and hold it; for work of milliseconds."""
    descriptor = _take(name, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def while_measuring() -> Iterator[None]:
    """Held by every run of every worker on this host: nothing is installed meanwhile.

    Raises LockedElsewhere while something is. A look at what is there now takes a second or two:
    that is waited for.
    """
    advice = "Tools are being installed, or the image is being made: runs wait until that is over."
    descriptor = _take(_SETUP, fcntl.LOCK_SH | fcntl.LOCK_NB, advice, _LOOK_S)
    try:
        yield
    finally:
        os.close(descriptor)


def acquire_setup_lock() -> int:
    """For the one installation on this host, and for nothing that measures; close it afterwards.

    Raises LockedElsewhere at once.
    """
    return _take(_SETUP, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def worker_lock(name: str) -> Iterator[None]:
    """One worker of a name and database on a host. Raises LockedElsewhere at once."""
    advice = "Such a worker runs already: stop it, or give this one a name with FSBENCH_WORKER."
    descriptor = _take(f"worker-{name}", fcntl.LOCK_EX | fcntl.LOCK_NB, advice)
    try:
        yield
    finally:
        os.close(descriptor)


def _key(path: Path) -> tuple[str, list[str]]:
    """The lock of what is at ``path``, and those of the devices it is made of."""
    number = blockdev.device_number(path)
    if number is None:
        status = path.stat()
        return f"file-{blockdev.as_text(status.st_dev)}-{status.st_ino}", []
    # Two devices that are one disk have one lock.
    key, *below = (
        blockdev.as_text(device_aliases.lowest_number(device))
        for device in (number, *sorted(blockdev.ancestors(number)))
    )
    return f"block-{key}", [f"block-{lower_key}" for lower_key in sorted({*below} - {key})]


@contextlib.contextmanager
def mount_lock(number: int, folder: str, wait_s: float = 0.0) -> Iterator[None]:
    """Hold a folder on a mount for one run, without asking its server. ``number`` is the mount's.

    Raises LockedElsewhere after ``wait_s``.
    """
    named = hashlib.sha256(folder.encode()).hexdigest()[:16]
    advice = f"{folder} is in use by another worker on this host: submit the run again later."
    kind = fcntl.LOCK_EX | fcntl.LOCK_NB
    descriptor = _take(f"mount-{blockdev.as_text(number)}-{named}", kind, advice, wait_s)
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def scheduler_lock(number: int, *, is_set: bool, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the I/O scheduler of a device's disk, which its partitions share: alone for a run that
    sets it, with others for those that leave it as it is. Raises LockedElsewhere after ``wait_s``.
    """
    disk = blockdev.as_text(device_aliases.lowest_number(blockdev.whole_disk(number)))
    advice = (
        "A run measures on another partition of the same disk, which has one I/O scheduler. Submit "
        "the run again once that is over, or give both LUNs the same controller in the host's list."
    )
    kind = (fcntl.LOCK_EX if is_set else fcntl.LOCK_SH) | fcntl.LOCK_NB
    descriptor = _take(f"scheduler-{disk}", kind, advice, wait_s)
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def device_lock(path: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Hold a device, file or folder for one run. Raises LockedElsewhere after ``wait_s``.

    The disk of a partition is locked too, shared: its partitions may be used at the same time,
    but never the disk and one of its partitions.
    """
    key, below = _key(path)
    advice = (
        f"{path} is in use, perhaps by a worker of another fsbench that lists the same disk. "
        "Submit the run again once it is free, and list a disk for one worker only."
    )
    with contextlib.ExitStack() as stack:
        for name, kind in [
            (key, fcntl.LOCK_EX),
            *((lower_key, fcntl.LOCK_SH) for lower_key in below),
        ]:
            stack.callback(os.close, _take(name, kind | fcntl.LOCK_NB, advice, wait_s))
        yield
