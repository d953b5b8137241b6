"""Notes of the I/O scheduler before a run set it, until it is put back.

If a worker was killed, the next one restores it from the note, unless somebody else set it since.
"""

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from runner.host.tuning.scheduler import SchedulerError, read_schedulers, write_scheduler
from runner.safety import blockdev, locks
from runner.safety.fingerprint import boot_id, disk_of

logger = logging.getLogger("fsbench.worker")


@dataclass(frozen=True)
class Note:
    """The scheduler ``before`` and as ``wanted`` of the disk ``number``; ``boot`` and ``disk`` say
    which disk that was (fingerprint).
    """

    number: int
    boot: str
    disk: str
    before: str
    wanted: str

    @property
    def is_of_this_disk(self) -> bool:
        """Whether the disk of this number is still the one that the note is about."""
        is_there = blockdev.sys_folder(self.number).is_dir()
        return is_there and (self.boot, self.disk) == (boot_id(), disk_of(self.number))


@contextlib.contextmanager
def note_scheduler(folder: Path, number: int, wanted: str) -> Iterator[None]:
    """Note the scheduler durably, after giving back what dead runs left. Call it with the device's
    lock. Raises SchedulerError: nothing is changed then.
    """
    disk = blockdev.whole_disk(number)
    path = folder / f"{os.major(disk)}-{os.minor(disk)}.json"
    note = _read(path)
    if note is not None and note.is_of_this_disk:
        for sentence in _restore_note(blockdev.kernel_name(disk), note):
            logger.warning(sentence)
    before = read_schedulers(disk)[0]
    try:
        _write(path, Note(disk, boot_id(), disk_of(disk), before, wanted))
    except OSError as error:
        raise SchedulerError(
            f"The I/O scheduler stays as it is, because what it was cannot be written to {folder}, "
            f"so that it could be given back: {error.strerror}."
        ) from None
    try:
        yield
    finally:
        if read_schedulers(disk)[0] == before:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:  # what was measured is not lost for that
                logger.warning("%s cannot be removed: %s", path, error)


def pending(folder: Path) -> Iterator[tuple[Path, Note]]:
    """The notes of runs that did not put back what they set, or have not yet."""
    for path in sorted(folder.glob("*.json")):
        note = _read(path)
        if note is not None:
            yield path, note
        elif path.exists():
            logger.error("%s cannot be read, and is removed: no I/O scheduler is given back", path)
            path.unlink(missing_ok=True)


def restore_schedulers(folder: Path) -> list[str]:
    """Put back what dead runs have set, of unlocked disks; returns lines for the log."""
    parts = []
    for path, note in pending(folder):
        name = blockdev.kernel_name(note.number) if note.is_of_this_disk else ""
        if not name:
            parts.append(
                f"the disk {blockdev.as_text(note.number)} is gone or is another one now: its I/O "
                f"scheduler, which was {note.before}, is not given back"
            )
            path.unlink(missing_ok=True)
            continue
        try:
            with locks.device_lock(Path(blockdev.path_of(note.number))):
                if path.exists():  # not put back meanwhile by a run that ended
                    parts += _restore_note(name, note)
                    path.unlink(missing_ok=True)
        except locks.LockedElsewhere:
            continue  # a run has it, and puts it back
        except (SchedulerError, OSError) as error:
            parts.append(f"the I/O scheduler of {name} cannot be given back yet: {error}")
    return parts


def _restore_note(name: str, note: Note) -> list[str]:
    now = read_schedulers(note.number)[0]
    if now == note.before:
        return []
    if now != note.wanted:
        return [
            f"the I/O scheduler of {name} stays {now}: somebody changed it after a run, which was "
            f"killed, had set {note.wanted} instead of {note.before}"
        ]
    write_scheduler(note.number, note.before)
    return [
        f"the I/O scheduler of {name} is {note.before} again: a run that was killed had set "
        f"{note.wanted}"
    ]


def _write(path: Path, note: Note) -> None:
    """Whole or not at all, also where the host loses power."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(json.dumps(asdict(note)))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> Note | None:
    try:
        return Note(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
