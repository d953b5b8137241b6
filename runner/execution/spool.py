"""What an agent said, on the worker's disk until the run's end is written.

A worker that was killed after the benchmark stores it later (``finish.finish_spooled``), if nobody
took the lease. One file a run, one JSON object a line: the lease, the plan, all messages but log
lines, and the run's conditions.
"""

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from fsbench_web.platform import private_files
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs.lifecycle import LeaseHandle
from runner.executors.base import Message
from runner.plan import RunPlan, Step

logger = logging.getLogger("fsbench.worker")


def file_name(run_id: int) -> str:
    return f"run-{run_id}.jsonl"


class Spool:
    """One run's file. A disk that is full or gone costs the safety net, never the run."""

    def __init__(self, folder: Path, handle: LeaseHandle) -> None:
        self.path = folder / file_name(handle.run_id)
        self._handle = handle
        self._file: IO[str] | None = None
        self._lock = threading.Lock()
        self.is_complete = False

    def begin(self, plan: RunPlan) -> None:
        """Open the file with what is known before the first message."""
        try:
            private_files.make_folder(self.path.parent)
            self._file = self.path.open("w", encoding="utf-8")
        except OSError as error:
            logger.warning("%s cannot be made: %s", self.path, error)
        self._write({"handle": asdict(self._handle), "plan": asdict(plan)})

    def add(self, message: Message) -> None:
        """Keep a message; called in the executor's thread."""
        if message.get("type") != "log":
            self._write({"message": message})

    def complete(self, conditions: dict[str, Any]) -> None:
        """All is said and the benchmark's output is whole."""
        self._write({"conditions": conditions})
        self.is_complete = self._file is not None

    def _write(self, entry: dict[str, Any]) -> None:
        with self._lock:
            if self._file is None:
                return
            try:
                self._file.write(json.dumps(entry) + "\n")
                self._file.flush()
            except OSError as error:
                logger.warning("%s cannot be written: %s", self.path, error)
                self._remove()

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def remove(self) -> None:
        """The end of the run is in the database, or is not this worker's any more."""
        with self._lock:
            self._remove()

    def _remove(self) -> None:
        self._close()
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:  # a file system that became read-only
            logger.warning("%s cannot be removed: %s", self.path, error)


@dataclass(frozen=True)
class Spooled:
    """A file that a killed worker left; ``conditions`` are None where the run had not ended."""

    path: Path
    handle: LeaseHandle
    plan: RunPlan
    messages: list[Message]
    conditions: dict[str, Any] | None


def leftover_files(folder: Path) -> Iterator[Spooled]:
    """The files of runs; those that cannot be read are of no use and removed."""
    for path in sorted(folder.glob("run-*.jsonl")):
        spooled = _read(path)
        if spooled is None:
            path.unlink(missing_ok=True)
        else:
            yield spooled


def files_by_use(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Each file, and whether it may still be stored: once its run has ended it is of no use."""
    for path in sorted(folder.glob("run-*.jsonl")):
        number = path.stem.removeprefix("run-")
        run = Run.objects.filter(pk=int(number)).first() if number.isdigit() else None
        yield path, run is not None and run.is_active


def _read(path: Path) -> Spooled | None:
    try:
        *lines, _ = path.read_text(encoding="utf-8").split("\n")
        # Behind the last end of a line is nothing, or what was being written.
        entries = [json.loads(line) for line in lines]
        first, last = entries[0], entries[-1]
        handle, plan = dict(first["handle"]), dict(first["plan"])
        # JSON has lists where these have tuples.
        handle["others"] = tuple(tuple(pair) for pair in handle["others"])
        plan["steps"] = [Step(**step) for step in plan["steps"]]
        return Spooled(
            path,
            LeaseHandle(**handle),
            RunPlan(**plan),
            [entry["message"] for entry in entries if "message" in entry],
            dict(last["conditions"]) if "conditions" in last else None,
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None
