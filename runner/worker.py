"""A worker on its host: its LUNs, its executor, and what it announces of both."""

import contextlib
import logging
import os
import platform
import threading
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from fsbench_web.catalog.models import PATH_LABEL
from fsbench_web.catalog.workers.announce import LunAnnouncement, WorkerAnnouncement
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS
from fsbench_web.platform import disk_room
from fsbench_web.platform.version import VERSION
from fsbench_web.studies.runs.leases import LeaseWatch
from runner.config import WorkerConfig
from runner.executors.base import Capabilities, Executor
from runner.guests.executor import GuestExecutor
from runner.host.hardware import host_facts, host_mark
from runner.host.tracing import block_events, operation_events
from runner.host.tuning.scheduler import read_schedulers
from runner.safety import blockdev, checks, device_aliases, locks, mounts, sparse
from runner.safety.blockdev import ToolError
from runner.safety.fingerprint import fingerprint
from runner.safety.luns import LunEntry, LunFileError, read_luns

logger = logging.getLogger("fsbench.worker")


class LunUnusable(Exception):
    """The LUN cannot be used now; the text says why."""


class Host:
    """Shared by the threads of a worker: each runs on a LUN of its own."""

    def __init__(
        self,
        config: WorkerConfig,
        executor: Executor,
        executor_reason: str = "",
        guests: GuestExecutor | None = None,
    ) -> None:
        self.config = config
        self.executor = executor
        # Beside the worker's own executor: for the runs that ask for a guest.
        self.guests = guests
        self.executor_reason = executor_reason
        # Kept, because a host without a machine-id(5) may be given another name meanwhile.
        self.mark = host_mark()
        self.capabilities = Capabilities(is_usable=False, reason="The worker is starting.")
        self.stopping = threading.Event()
        # Another host has a worker of this name, which began later: this one ends.
        self.has_lost_name = False
        # False while what an earlier worker left could not be removed: then nothing is claimed.
        self.has_taken_over = True
        # What this process has seen of all workers' leases.
        self.lease_watch = LeaseWatch()
        self._is_executor_away = False
        self._lock = threading.RLock()
        self._entries: dict[str, LunEntry] = {}
        self._loops: dict[str, tuple[sparse.Loop, Path]] = {}
        self._busy: set[str] = set()
        self._running: set[int] = set()
        # How often each LUN was taken into use: what was found on it meanwhile was of a run.
        self._uses: Counter[str] = Counter()
        self._announced: dict[str, LunAnnouncement] = {}
        # What the worker is doing to be able to do more (runner.setup); None: nothing to say.
        self.setup: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def spool_folder(self) -> Path:
        """Where the output of runs is kept until it is stored (runner.execution.spool)."""
        return self.config.data_folder / "spool" / self.name

    def start(self) -> None:
        """Read the allow-list, attach sparse files, look at what can be run. Raises LunFileError"""
        read_luns(self.config.lun_file, self.config.lun_file_must_exist)
        self.capabilities = self.executor.probe()
        self._is_executor_away = not self.capabilities.is_usable
        self.refresh()

    def check_executor(self) -> None:
        """Notice that the place of work went away or came back (a daemon that is restarted)."""
        problem = self.executor.problem()
        if problem and not self._is_executor_away:
            logger.error("no run is claimed: %s", problem)
            self._is_executor_away = True
        if problem:
            # What it can do is still known, and shown with the reason.
            self.capabilities = replace(self.capabilities, is_usable=False, reason=problem)
        elif self._is_executor_away:
            logger.warning("the executor is back")
            self.capabilities = self.executor.probe()
            self._is_executor_away = False

    def use(self, executor: Executor, reason: str, capabilities: Capabilities) -> None:
        """Carry out runs with another executor from now on. No run may be under way."""
        self.executor, self.executor_reason = executor, reason
        self.capabilities = capabilities
        self._is_executor_away = not capabilities.is_usable
        # Which LUNs can be used, and how commands call them, is the executor's to say.
        self.refresh()

    def probe_again(self) -> None:
        """Look at the place of work once more: something that it stands on has changed."""
        self.capabilities = self.executor.probe()
        self._is_executor_away = not self.capabilities.is_usable

    def read_entries(self) -> list[LunEntry]:
        """The allow-list as it is now, with the folders on mounts. Raises LunFileError."""
        entries = read_luns(self.config.lun_file, self.config.lun_file_must_exist)
        return [mounts.mount_entry(entry, self.name, self.config.mount_notes) for entry in entries]

    def refresh(self) -> None:
        """Read the allow-list again and check every LUN that is not in use."""
        try:
            listed = self.read_entries()
        except LunFileError as error:
            # The LUNs of before are still announced, each with this as its problem.
            logger.error("the list of LUNs cannot be used: %s", error)
            listed = list(self._entries.values())
        entries = {entry.name: entry for entry in listed}
        with self._lock:
            gone = [
                name
                for name in set(self._entries) - self._busy
                if entries.get(name) != self._entries[name]
            ]
            self._entries = entries
        for name in gone:
            self._detach(name)
        announcements = {}
        for entry in listed:
            with self._lock:
                is_busy = entry.name in self._busy
            announced = self._announced.get(entry.name)
            announcements[entry.name] = announced if is_busy and announced else self._look_at(entry)
        with self._lock:
            self._announced = announcements

    def recheck_luns(self) -> None:
        """Check again the LUNs that had a problem: what was still being unmounted is free now."""
        with self._lock:
            waiting = [
                self._entries[name]
                for name, lun in self._announced.items()
                if lun.problem and name in self._entries and name not in self._busy
            ]
        for entry in waiting:
            announcement = self._look_at(entry)
            with self._lock:
                if self._entries.get(entry.name) == entry:
                    self._announced[entry.name] = announcement

    def _look_at(self, entry: LunEntry) -> LunAnnouncement:
        problem = self.executor.lun_problem(entry.kind)
        device = ""
        with self._lock:
            uses = self._uses[entry.name]
        if not problem:
            try:
                device = self.device(entry)
                problem = checks.problem(
                    checks.verify(
                        *(entry, self.config.lun_file, device), own_mark=self.own_mark(entry)
                    )
                )
            except LunUnusable as error:
                problem = str(error)
        facts: dict[str, Any] = {}
        if device:
            try:
                facts = fingerprint(entry, device, self.own_mark(entry))
            except (OSError, ToolError, mounts.MountError) as error:
                problem = problem or f"fsbench cannot identify {entry.name}: {error}"
        number = number_of(entry, device) if device else None
        scheduler, schedulers = read_schedulers(number) if number is not None else ("", [])
        with self._lock:
            if entry.name in self._busy or self._uses[entry.name] != uses:
                # A run began meanwhile, and may have ended, too: what was found is its mount.
                problem = ""
                # And its scheduler.
                scheduler = (
                    announced.scheduler if (announced := self._announced.get(entry.name)) else ""
                )
        return LunAnnouncement(
            name=entry.name,
            role=entry.role,
            kind=entry.kind,
            device=self.named_device(entry, device) if device else str(entry.path),
            size_bytes=self._size_bytes(entry, number),
            identity=identity(entry, number),
            controller=entry.controller,
            schedulers=schedulers,
            scheduler=scheduler,
            problem=problem,
            can_discard=number is not None and blockdev.can_discard(number),
            fingerprint=facts,
        )

    def lun_facts(self, entry: LunEntry, device: str) -> list[list[str]]:
        """How a person recognises the LUN of a run: what the list says, what the device says."""
        number = number_of(entry, device)
        size = None if entry.is_directory else self._size_bytes(entry, number)
        facts = [["Name", entry.name], ["Kind", entry.kind], *identity(entry, number)]
        if size is not None:
            facts.append(["Size", f"{size} bytes"])
        return facts

    def entry(self, name: str) -> LunEntry:
        """The LUN as the host's file lists it now. Raises LunUnusable."""
        try:
            listed = self.read_entries()
        except LunFileError as error:
            raise LunUnusable(str(error)) from None
        for entry in listed:
            if entry.name == name:
                with self._lock:
                    self._entries[name] = entry
                return entry
        raise LunUnusable(
            f"{self.config.lun_file} on the worker's host lists no LUN “{name}”. Nothing was "
            "erased. List it there, or choose another LUN."
        )

    def device(self, entry: LunEntry) -> str:
        """The real path of a LUN's device or folder, attached or made if needed. Raises
        LunUnusable.
        """
        if entry.is_mount:
            try:
                return mounts.make_folder(entry, self.config.mount_notes)
            except mounts.MountError as error:
                raise LunUnusable(str(error)) from None
        if entry.kind != "sparse-file":
            return os.path.realpath(entry.path)
        try:
            loop = sparse.attach(entry, self.config.data_folder)
        except sparse.SparseFileError as error:
            raise LunUnusable(str(error)) from None
        with self._lock:
            former = self._loops.get(entry.name)
            is_new = former is None or former[0].device != loop.device
            if is_new:
                self._loops[entry.name] = (loop, entry.path)
        if former is not None and is_new:
            # Its file was removed or replaced: nothing else knows the former device any more.
            _detach(*former)
        return loop.device

    def own_mark(self, entry: LunEntry) -> str:
        """What this host noted of its folder on a mount; "" of every other LUN."""
        return mounts.own_mark(entry, self.config.mount_notes) if entry.is_mount else ""

    def _size_bytes(self, entry: LunEntry, number: int | None) -> int | None:
        if entry.is_mount:
            return mounts.free_bytes(entry, self.own_mark(entry))
        return size_bytes(entry, number)

    def named_device(
        self, entry: LunEntry, device: str, executor: Executor | None = None, place: int = 0
    ) -> str:
        """The path that commands name, by an executor; ``place`` counts the LUNs of a run."""
        if entry.is_directory:
            return device
        return (executor or self.executor).device_path(entry.name, device, entry.role, place)

    @property
    def is_measuring(self) -> bool:
        """Whether a run has one of the LUNs."""
        with self._lock:
            return bool(self._busy)

    def why_wait(self, machine: Machine) -> str:
        """Why a run on this machine cannot begin yet, or nothing: its kernel is to be booted."""
        if not machine.is_guest or self.guests is None:
            return ""
        return self.guests.why_wait(machine.kernel)

    @contextlib.contextmanager
    def carrying_out(self, run_id: int) -> Iterator[None]:
        """While a run is going on here, what belongs to it is no leftover (runner.leftovers)."""
        with self._lock:
            self._running.add(run_id)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(run_id)

    def carried_out(self) -> set[int]:
        """The runs that are going on here."""
        with self._lock:
            return set(self._running)

    @contextlib.contextmanager
    def reserve(self, name: str) -> Iterator[None]:
        """While a run has the LUN, nobody checks it or detaches it."""
        with self._lock:
            self._busy.add(name)
            self._uses[name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(name)

    def wait_until_free(self, names: Container[str] | None = None) -> None:
        """Until no LUN of these names, or of all, is mounted any more, of those that can be looked
        at.
        """
        for entry in list(self._entries.values()):
            if not entry.is_directory and (names is None or entry.name in names):
                with contextlib.suppress(LunUnusable):
                    blockdev.wait_until_free(
                        self.device(entry), blockdev.FREE_AGAIN_S, self.stopping.is_set
                    )

    def announcement(self, has_started: bool = False) -> WorkerAnnouncement:
        capabilities = self.capabilities
        cannot_trace = {
            REQUESTS: block_events.why_not_traceable(),
            OPERATIONS: operation_events.why_not_traceable(),
        }
        with self._lock:
            luns = list(self._announced.values())
        return WorkerAnnouncement(
            name=self.name,
            executor=self.executor.name,
            capabilities={
                "filesystems": capabilities.filesystems,
                "tools": capabilities.tools,
                "kernel": capabilities.kernel,
                "distribution": capabilities.distribution,
                "executor_reason": self.executor_reason,
                "versions": [
                    ["fsbench", VERSION],
                    ["Python", platform.python_version()],
                    *([program, version] for program, version in capabilities.versions.items()),
                ],
                "full_disks": list(map(str, disk_room.short_folders(self._written_folders()))),
                "host_mark": self.mark,
                "limits": self.executor.limit_problems(),
                "is_usable": capabilities.is_usable,
                "reason": capabilities.reason,
                **({"guest": self.guests.announcement()} if self.guests else {}),
                **({"setup": self.setup} if self.setup else {}),
                "tracing": {
                    slug: {"usable": not why, "reason": why} for slug, why in cannot_trace.items()
                },
            },
            luns=luns,
            hardware=host_facts(),
            has_started=has_started,
        )

    def _written_folders(self) -> list[Path]:
        """What fills while runs are carried out: outputs, sparse files, images and containers."""
        with self._lock:
            files = [entry.path for entry in self._entries.values() if entry.kind == "sparse-file"]
        docker = [Path(folder)] if (folder := self.capabilities.folder) else []
        return [self.config.data_folder, *(file.parent for file in files), *docker]

    def stop(self, only_own: bool = False) -> None:
        """Detach the loop devices; with ``only_own`` those found attached stay."""
        for name, (loop, _) in list(self._loops.items()):
            if loop.is_ours or not only_own:
                self._detach(name)

    def _detach(self, name: str) -> None:
        with self._lock:
            loop, path = self._loops.pop(name, (None, None))
        if loop is not None and path is not None:
            _detach(loop, path)


def _detach(loop: sparse.Loop, path: Path) -> None:
    problem = ""
    # Another worker on this host may be using it.
    with (
        contextlib.suppress(locks.LockedElsewhere, OSError),
        locks.device_lock(Path(loop.device)),
    ):
        problem = sparse.detach(loop, path)
    if problem:
        logger.warning("%s Remove it later with: manage.py orphans --remove", problem)


def number_of(entry: LunEntry, device: str) -> int | None:
    """That of its block device; a mount is not asked, because its server may be gone."""
    return None if entry.is_directory else blockdev.device_number(device)


def size_bytes(entry: LunEntry, number: int | None) -> int | None:
    """Of its device; of a directory or mount what is free there, as far as that is known."""
    if number is not None:
        return blockdev.size_bytes(number)
    if entry.is_directory:
        with contextlib.suppress(OSError):
            room = os.statvfs(entry.path)
            return room.f_bavail * room.f_frsize
    return entry.size_bytes


def identity(entry: LunEntry, number: int | None) -> list[list[str]]:
    """How a person recognises the LUN: what the list says, then what the device says."""
    facts = [[PATH_LABEL, str(entry.path)]]
    if entry.is_mount:
        facts += mounts.identity(entry)
    elif entry.is_directory:
        with contextlib.suppress(OSError):
            facts.append(["File system", checks.directory_filesystem(entry.path)])
    if entry.controller:
        facts.append(["Controller", entry.controller])
    if number is not None:
        facts.append(["Device", blockdev.path_of(number)])
        with contextlib.suppress(ToolError, ValueError, LookupError):
            facts += [[label, value] for label, value in _identity_of_device(number)]
    return facts


def _identity_of_device(number: int) -> Iterator[tuple[str, str]]:
    labels = {"model": "Model", "rev": "Firmware", "serial": "Serial", "wwn": "WWN"}
    labels |= {"tran": "Transport"}
    identity = device_aliases.disk_identity(number)
    for key, label in labels.items():
        if identity.get(key):
            yield label, identity[key]
