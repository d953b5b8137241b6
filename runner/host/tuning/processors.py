"""Processors held at one speed during runs, and given back afterwards.

FSBENCH_HOLD_PROCESSORS: governor *performance*, no turbo, no deep idle states. What was there is
noted first; a note of a dead process is given back. The first run sets, the last one restores.

Sources: cpufreq.rst, intel_pstate.rst, cpuidle.rst; 3 µs is of tuned's latency-performance.
"""

import contextlib
import fcntl
import json
import logging
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.host.hardware import text_of
from runner.safety.blockdev import cpu_list
from runner.safety.fingerprint import boot_id

logger = logging.getLogger("fsbench.worker")

CPUS = Path("/sys/devices/system/cpu")
LATENCY = Path("/dev/cpu_dma_latency")
MOST_LATENCY_US = 3
GOVERNOR = "performance"


def online(cpus: Path = CPUS) -> list[int]:
    """The numbers of the processors that there are now. Some may be missing between them, as where
    siblings are switched off (the kernel's admin-guide/cputopology.rst).
    """
    return cpu_list(_text(cpus / "online")) or list(range(os.cpu_count() or 1))


@dataclass(frozen=True)
class Machine:
    """Where the kernel has its switches; another place in tests."""

    cpus: Path = CPUS
    latency: Path = LATENCY

    def held_settings(self) -> dict[str, str]:
        """{path: value} of all that is to be held and is there."""
        values = {}
        for folder in sorted(self.cpus.glob("cpu[0-9]*/cpufreq")):
            if GOVERNOR in _text(folder / "scaling_available_governors").split():
                values[str(folder / "scaling_governor")] = GOVERNOR
        # One of both is there, by the driver.
        for name, off in (("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")):
            if (self.cpus / name).exists():
                values[str(self.cpus / name)] = off
        return values


@contextlib.contextmanager
def hold_steady(folder: Path, machine: Machine = Machine()) -> Iterator[list[str]]:
    """Hold them; yields in words what is held, what stays as it was, and why. Never raises."""
    with contextlib.ExitStack() as stack:
        try:
            parts = _hold(folder, machine, stack)
        except OSError as error:
            parts = [f"not held: {error.strerror or error}"]
        try:
            stack.enter_context(_limit_latency(machine.latency))
            parts.append(f"idle states of {MOST_LATENCY_US} µs to leave at most")
        except OSError as error:
            parts.append(f"idle states not held: {error.strerror or error}")
        yield parts


def is_leftover(folder: Path) -> bool:
    """Whether runs of the dead hold them, and nobody has given them back."""
    if not _note(folder).exists():
        return False
    with contextlib.ExitStack() as stack:
        stack.enter_context(_lock(folder / "change"))
        try:
            stack.enter_context(_lock(folder / "held", fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return _note(folder).exists()


def restore_settings(folder: Path) -> list[str]:
    """Put back what runs of the dead have set; says what was done, for the log. Call it at any
    time: while a run holds them nothing is done.
    """
    if not _note(folder).exists():
        return []
    with contextlib.ExitStack() as stack:
        stack.enter_context(_lock(folder / "change"))
        try:
            stack.enter_context(_lock(folder / "held", fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            return []
        return _restore_note(folder)


def _hold(folder: Path, machine: Machine, stack: contextlib.ExitStack) -> list[str]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = machine.held_settings()
    if not wanted:
        return ["neither governor nor turbo can be set: the kernel offers none"]
    with _lock(folder / "change"):
        own_locks = contextlib.ExitStack()
        try:
            with _lock(folder / "held", fcntl.LOCK_EX | fcntl.LOCK_NB):
                _restore_note(folder)  # of the dead
                _write_note(folder, {path: _text(Path(path)) for path in wanted}, wanted)
        except BlockingIOError:
            pass  # others hold them already
        own_locks.enter_context(_lock(folder / "held", fcntl.LOCK_SH))
    stack.callback(_release, folder, own_locks)
    refused = []
    for path, value in wanted.items():
        try:
            if _text(Path(path)) != value:
                Path(path).write_text(value)
        except OSError as error:
            refused.append(f"{Path(path).name} stays {_text(Path(path))}: {error.strerror}")
    names = sorted(
        {Path(path).name for path, value in wanted.items() if _text(Path(path)) == value}
    )
    words = {
        "scaling_governor": f"governor {GOVERNOR}",
        "no_turbo": "no turbo",
        "boost": "no turbo",
    }
    return [*(words[name] for name in names), *dict.fromkeys(refused)]


def _release(folder: Path, own_locks: contextlib.ExitStack) -> None:
    """Never raises: what was measured is not lost where a file cannot be opened any more. Who finds
    the note gives back what it says.
    """
    try:
        with _lock(folder / "change"):
            own_locks.close()
            with _lock(folder / "held", fcntl.LOCK_EX | fcntl.LOCK_NB):
                _restore_note(folder)
    except BlockingIOError:
        pass  # others still hold them
    except OSError as error:
        logger.warning("processors are not given back yet: %s", error)
    finally:
        own_locks.close()


def _restore_note(folder: Path) -> list[str]:
    """Of the note that is there; the caller holds both locks."""
    path = _note(folder)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        boot, before, wanted = data["boot"], dict(data["before"]), dict(data["wanted"])
    except (OSError, ValueError, LookupError, TypeError):
        path.unlink(missing_ok=True)
        return []
    restored = 0
    if boot == boot_id():  # else the kernel began anew, and so did they
        for name, value in before.items():
            # What somebody else set since stays.
            if value and _text(Path(name)) == wanted.get(name) != value:
                with contextlib.suppress(OSError):
                    Path(name).write_text(value)
                    restored += 1
    path.unlink(missing_ok=True)
    return [f"{restored} settings of processors are again what they were"] if restored else []


def _write_note(folder: Path, before: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Whole or not at all, also where the host loses power."""
    temporary = _note(folder).with_suffix(".new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"boot": boot_id(), "before": before, "wanted": wanted}))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(_note(folder))


@contextlib.contextmanager
def _limit_latency(latency: Path) -> Iterator[None]:
    descriptor = os.open(latency, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, struct.pack("=i", MOST_LATENCY_US))
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _lock(path: Path, operation: int = fcntl.LOCK_EX) -> Iterator[None]:
    """A lock of flock(2): each opening has its own, and the kernel frees those of the dead."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)


def _note(folder: Path) -> Path:
    return folder / "note.json"


def _text(path: Path) -> str:
    return text_of(path).strip()
