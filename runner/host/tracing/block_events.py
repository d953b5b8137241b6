"""The kernel's block events of one device during a benchmark, bounded in bytes and time.

By a tracefs instance (ftrace.rst) filtered to the device, so that other disks and tracers are not
disturbed. Only root may. ``remove_leftovers`` removes instances of killed workers.
"""

import contextlib
import logging
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from runner.safety import blockdev
from runner.safety.blockdev import ToolError, run_tool

logger = logging.getLogger("fsbench.worker")

TRACEFS = Path("/sys/kernel/tracing")
LOCKDOWN = Path("/sys/kernel/security/lockdown")
EVENTS = ("block_rq_issue", "block_rq_complete")
MOST_BYTES = 32 * 1024 * 1024
"""Of text: some 160,000 requests; compressed a tenth of that."""
MOST_S = 3600.0
BUFFER_KIB = 4096
"""For each processor, until the reader comes."""
_EVERY_S = 0.1
_LAST_WAIT_S = 5.0
_PREFIX = "fsbench"


class TraceError(Exception):
    """The device cannot be traced; the text says why and what to do."""


def why_not_traceable(
    folder: Path = TRACEFS,
    filesystems: Path = Path("/proc/filesystems"),
    lockdown: Path = LOCKDOWN,
) -> str:
    """Why no device of this host can be traced so, or "". Changes nothing."""
    if os.geteuid() != 0:
        return "Only root may read the kernel's block events: run the worker as root."
    if problem := why_no_events(folder, filesystems, lockdown):
        return problem
    if not (folder / "instances").is_dir():
        return ""  # it is mounted where a run asks for it
    missing = [name for name in EVENTS if not (folder / "events/block" / name).is_dir()]
    if missing:
        return f"This kernel has no event block:{missing[0]} (CONFIG_BLK_DEV_IO_TRACE)."
    return ""


def why_no_events(
    folder: Path = TRACEFS,
    filesystems: Path = Path("/proc/filesystems"),
    lockdown: Path = LOCKDOWN,
) -> str:
    """Why this host's kernel gives no events of any kind, or ""."""
    if not folder.is_dir() or "tracefs" not in _words(filesystems):
        return "This kernel has no tracefs (CONFIG_TRACING): run one that has."
    if "[confidentiality]" in _words(lockdown):
        return (
            "The kernel is locked down (lockdown=confidentiality), and gives its events to nobody: "
            "boot it with lockdown=integrity or none."
        )
    if not _is_read_only(folder):
        return ""
    if (folder / "instances").is_dir():
        return "/sys/kernel/tracing is read-only here: run the worker on the host itself."
    return (
        "Nothing mounted /sys/kernel/tracing, and /sys is read-only here, as in a container: "
        "run the worker on the host itself."
    )


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _is_read_only(folder: Path) -> bool:
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return True


def instance_prefix(site: str, worker: str) -> str:
    """How the instances of a worker begin: no other worker of the host has such."""
    return f"{_PREFIX}.{site}.{worker}."


class Trace:
    """What was read so far. ``begin`` and ``end`` may be called by any thread, and again."""

    def __init__(self, instance: Path) -> None:
        self._instance = instance
        self._parts: list[bytes] = []
        self._size = 0
        self._is_cut = False
        self._began: float | None = None
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, name="trace", daemon=True)

    @property
    def text(self) -> bytes:
        return b"".join(self._parts)

    @property
    def is_cut(self) -> bool:
        """Whether it came to its bound before it was ended."""
        return self._is_cut

    def begin(self) -> None:
        with self._lock:
            if self._began is not None or self._is_over.is_set():
                return
            _write(self._instance / "tracing_on", "1")
            self._began = time.monotonic()
            self._reader.start()

    def end(self) -> None:
        """No event is kept from now on; what the kernel has is read to its end."""
        with self._lock:
            if self._is_over.is_set():
                return
            self._is_over.set()
            with contextlib.suppress(TraceError):
                _write(self._instance / "tracing_on", "0")
            if self._began is not None:
                self._reader.join(_LAST_WAIT_S)

    def _read(self) -> None:
        try:
            handle = os.open(self._instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            logger.error("the trace cannot be read: %s", error)
            return
        try:
            while self._drain(handle) and not self._is_over.is_set():
                select.select([], [], [], _EVERY_S)
                self._stop_in_time()
            if not self._is_cut:
                self._drain(handle)
        except OSError as error:
            self._is_cut = True
            logger.error("the trace broke off: %s", error)
        finally:
            os.close(handle)

    def _drain(self, handle: int) -> bool:
        """Read what there is; False once there is too much of it."""
        while True:
            try:
                data = os.read(handle, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return True
            self._parts.append(data)
            self._size += len(data)
            if self._size >= MOST_BYTES:
                self._cut()
                return False

    def _stop_in_time(self) -> None:
        if self._began is not None and time.monotonic() - self._began > MOST_S:
            self._cut()
            self._is_over.set()

    def _cut(self) -> None:
        self._is_cut = True
        _write(self._instance / "tracing_on", "0")


@contextlib.contextmanager
def trace_device(number: int, name: str, folder: Path = TRACEFS) -> Iterator[Trace]:
    """Read what is given to this block device from ``begin`` on, by an instance ``name``. Raises
    TraceError.
    """
    mount(folder)
    why = why_not_traceable(folder)
    if why:
        raise TraceError(why)
    disk = blockdev.whole_disk(number)
    if not (blockdev.sys_folder(disk) / "mq").is_dir():
        raise TraceError(
            f"{blockdev.kernel_name(disk)} takes its requests as they come, without a queue of its "
            "own (md, device mapper, zram, brd): the kernel tells no latency of them."
        )
    instance = folder / "instances" / name
    _remove(instance)
    try:
        instance.mkdir()
    except OSError as error:
        raise TraceError(f"The kernel gives no buffer for a trace: {error.strerror}.") from None
    trace = Trace(instance)
    try:
        _prepare(instance, disk, number)
        yield trace
    finally:
        trace.end()
        _remove(instance)


def _prepare(instance: Path, disk: int, number: int) -> None:
    _write(instance / "tracing_on", "0")
    _write(instance / "trace_clock", "mono")
    _write(instance / "buffer_size_kb", str(BUFFER_KIB))
    # The kernel's own form of a device number has 20 bits of minor (include/linux/kdev_t.h).
    condition = f"dev == {os.major(disk) << 20 | os.minor(disk)}"
    if disk != number:
        first = first_sector(number)
        last = first + blockdev.size_bytes(number) // 512
        condition += f" && sector >= {first} && sector < {last}"
    for event in EVENTS:
        _write(instance / "events/block" / event / "filter", condition)
        _write(instance / "events/block" / event / "enable", "1")


def first_sector(number: int) -> int:
    """Where the device begins on its disk, in sectors of 512 bytes; 0 where it is the disk."""
    try:
        return int((blockdev.sys_folder(number) / "start").read_text())
    except (OSError, ValueError):
        return 0


def mount(folder: Path) -> None:
    """As every tracer does: most systems have it mounted already. Raises TraceError."""
    if why_no_events(folder) or (folder / "instances").is_dir():
        return
    try:
        run_tool("mount", "-t", "tracefs", "tracefs", str(folder))
    except ToolError as error:
        raise TraceError(f"tracefs cannot be mounted: {error}") from None


def leftover_instances(
    owned: str, is_going_on: Callable[[int], bool], folder: Path = TRACEFS
) -> Iterator[Path]:
    """The instances of a worker (``instance_prefix``) without an active run."""
    for instance in sorted((folder / "instances").glob(f"{owned}*")):
        run = instance.name.removeprefix(owned)
        if not run.isdecimal() or not is_going_on(int(run)):
            yield instance


def remove_leftovers(
    owned: str, is_going_on: Callable[[int], bool], folder: Path = TRACEFS
) -> list[str]:
    """Take away what killed workers left. Returns the names."""
    return [
        instance.name
        for instance in leftover_instances(owned, is_going_on, folder)
        if _remove(instance)
    ]


def remove(instance: Path) -> None:
    """Take one away. Raises ToolError."""
    if not _remove(instance):
        raise ToolError(f"{instance} is still being read.")


def _remove(instance: Path) -> bool:
    """Whether it was there, and is not any more."""
    if not instance.is_dir():
        return False
    with contextlib.suppress(TraceError):
        _write(instance / "tracing_on", "0")
    for event in EVENTS:
        with contextlib.suppress(TraceError):
            _write(instance / "events/block" / event / "enable", "0")
    try:
        instance.rmdir()
    except OSError as error:
        logger.error("%s cannot be removed: %s", instance, error.strerror)
        return False
    return True


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise TraceError(f"{path} takes no {text!r}: {error.strerror}.") from None
