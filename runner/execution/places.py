"""The LUNs of one run: listed, checked, locked, set up, and free again.

Nothing of any is erased before every check of all has passed.
"""

import contextlib
import errno
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from fsbench_web.catalog.configurations import as_mounted
from fsbench_web.catalog.configurations.filesystems import ALL
from fsbench_web.catalog.configurations.journals import JournalLun
from fsbench_web.catalog.configurations.labels import configuration_label
from fsbench_web.catalog.configurations.options import OptionError
from fsbench_web.catalog.configurations.stacks import DATA, LunCounts, Member
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Series
from fsbench_web.studies.runs.new_runs import confirmed_as
from runner.execution.record import Recorder
from runner.executors.base import Executor
from runner.host import layer_marks
from runner.host.tuning import scheduler_notes
from runner.host.tuning.scheduler import read_schedulers, scheduler_set
from runner.plan import RunPlan
from runner.safety import blockdev, checks, device_aliases, mounts
from runner.safety.locks import device_lock, mount_lock, scheduler_lock
from runner.safety.luns import LunEntry
from runner.worker import Host

# A file system that is being unmounted, or udev looking at a device, is over after this time.
SETTLE_S = 10.0
LOCK_WAIT_S = 10.0
# So many times FREE_AGAIN_S: of a large memory before a slow disk.
WRITTEN_BACK_WITHIN = 15
_PASSING = {"mounts", "openers", "exclusive", "other paths"}


class RunRefused(Exception):
    """The run cannot be carried out; nothing was erased. The text says why and what to do."""


class RunStopped(Exception):
    """The run is to end before anything was erased."""


class Interruptible(Protocol):
    """A run, or a client of one, that may be over at any time."""

    def should_stop(self) -> bool: ...


@dataclass(frozen=True)
class LunUse:
    """What a run uses a LUN for. ``confirmed_as`` is where ``Run.confirmed`` has it."""

    role: str
    confirmed_as: str

    @property
    def listed_as(self) -> str:
        """The role that the host's list must give it: small fast ones are set aside as journal."""
        return "data" if self.role == DATA else "journal"


RUN_ON = LunUse(DATA, "data")
JOURNAL = LunUse("journal", "journal")


def stack_use(role: str, name: str) -> LunUse:
    """That of another LUN of a stack."""
    return LunUse(role, confirmed_as(name))


@dataclass(frozen=True)
class UsedLun:
    """A LUN that a run uses. ``device`` is its real path, ``named_device`` that of the commands."""

    entry: LunEntry
    device: str
    named_device: str
    use: LunUse

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def number(self) -> int | None:
        """The number of the block device; None for a folder."""
        return None if self.entry.is_directory else blockdev.device_number(self.device)

    @property
    def size_bytes(self) -> int | None:
        number = self.number
        return None if number is None else blockdev.size_bytes(number)

    @property
    def as_journal(self) -> JournalLun:
        return JournalLun(self.named_device, self.size_bytes)

    @property
    def as_member(self) -> Member:
        return Member(self.use.role, self.named_device, self.size_bytes)


def entry_of(host: Host, executor: Executor, name: str, use: LunUse) -> LunEntry:
    """The LUN as the host lists it now, for this use. Raises RunRefused, LunUnusable."""
    entry = host.entry(name)
    if entry.role != use.listed_as:
        raise RunRefused(
            f"{name} is set aside for external journals."
            if entry.role == "journal"
            else f"{name} is listed for data and keeps no {use.role}."
        )
    if entry.is_directory and use is not RUN_ON:
        raise RunRefused(f"{name} is a folder, and a stack is made of disks.")
    problem = executor.lun_problem(entry.kind)
    if problem:
        raise RunRefused(problem)
    return entry


@contextlib.contextmanager
def reserve(
    host: Host, executor: Executor, entries: Sequence[tuple[LunUse, LunEntry]]
) -> Iterator[list[UsedLun]]:
    """While a run has these LUNs, nobody else checks or detaches them. Raises LunUnusable, and
    RunRefused if two are one device or one is on the other.
    """
    with contextlib.ExitStack() as stack:
        for _, entry in entries:
            stack.enter_context(host.reserve(entry.name))
        resolved = [(use, entry, host.device(entry)) for use, entry in entries]
        luns = [
            UsedLun(entry, device, host.named_device(entry, device, executor, place), use)
            for place, (use, entry, device) in enumerate(resolved)
        ]
        # Two links in /dev may lead to one disk, which would be erased under its own stack, and so
        # may two devices (runner.safety.device_aliases).
        if len(luns) > 1 and len({*map(_disk, luns)}) < len(luns):
            names = ", ".join(lun.name for lun in luns)
            raise RunRefused(f"Two of {names} are one device: correct the host's list of LUNs.")
        _check_apart(luns)
        yield luns


def _check_apart(luns: Sequence[UsedLun]) -> None:
    """No LUN of a run is a partition of another one, or stands on it. Raises RunRefused."""
    numbers = {number: lun.name for lun in luns if (number := lun.number) is not None}
    for number, name in numbers.items():
        for below in blockdev.ancestors(number) & set(numbers) if len(numbers) > 1 else ():
            raise RunRefused(
                f"{name} is a part of {numbers[below]}, or stands on it: one run cannot use both. "
                "Choose another LUN, or correct the host's list."
            )


def _disk(lun: UsedLun) -> str | int:
    return lun.device if lun.number is None else device_aliases.lowest_number(lun.number)


@contextlib.contextmanager
def lock_luns(luns: Sequence[UsedLun]) -> Iterator[None]:
    """Hold all on this host (runner.safety.locks) with their devices open, so that no number goes
    to another disk. Raises LockedElsewhere after LOCK_WAIT_S.
    """
    with contextlib.ExitStack() as stack:
        for lun in luns:
            stack.enter_context(_lock_of(lun))
        for lun in luns:
            if not lun.entry.is_directory:
                descriptor = os.open(lun.device, os.O_RDONLY | os.O_CLOEXEC)
                stack.callback(os.close, descriptor)
        yield


@contextlib.contextmanager
def hold_exclusively(luns: Sequence[UsedLun]) -> Iterator[None]:
    """Nobody on this host can mount these devices meanwhile, or add them to an array; only who
    does not ask for them exclusively, as QEMU, can use them. Raises RunRefused.
    """
    with contextlib.ExitStack() as stack:
        for lun in luns:
            descriptor = _opened_exclusively(lun)
            stack.callback(os.close, descriptor)
        yield


def _opened_exclusively(lun: UsedLun) -> int:
    """Who only looks whether it is free, as this worker itself, is waited for."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        try:
            return os.open(lun.device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise RunRefused(
                    f"{lun.name} was not erased. It cannot be opened exclusively: {error.strerror}."
                ) from None
        time.sleep(0.05)


def _lock_of(lun: UsedLun) -> contextlib.AbstractContextManager[None]:
    if not lun.entry.is_mount:
        return device_lock(Path(lun.device), LOCK_WAIT_S)
    mount = mounts.mounted_at(lun.entry.path)
    return mount_lock(mount.number if mount else 0, lun.device, LOCK_WAIT_S)


def verify(
    host: Host,
    luns: Sequence[UsedLun],
    recorder: Interruptible,
    confirmed: Mapping[str, Mapping[str, Any]],
) -> None:
    """All checks of all LUNs, now; ``confirmed`` is Run.confirmed. Raises RunRefused, RunStopped,
    LeaseLost.
    """
    for lun in luns:
        _verify(host, lun, recorder, confirmed.get(lun.use.confirmed_as, {}))


def _verify(
    host: Host, lun: UsedLun, recorder: Interruptible, confirmed: Mapping[str, Any]
) -> None:
    deadline = time.monotonic() + SETTLE_S
    while True:
        results = checks.verify(
            *(lun.entry, host.config.lun_file, lun.device, confirmed),
            host.own_mark(lun.entry),
        )
        failed = [check for check in results if not check.ok]
        if not failed:
            return
        is_passing = all(check.name in _PASSING for check in failed)
        if recorder.should_stop():
            raise RunStopped
        if not is_passing or time.monotonic() > deadline:
            done = "used" if lun.entry.is_directory else "erased"
            raise RunRefused(f"{lun.name} was not {done}. {checks.problem(failed)}")
        time.sleep(0.5)


def check_directory(
    entry: LunEntry, filesystem: str, options: Mapping[str, str], scheduler: str
) -> None:
    """A folder is on the file system that its results are counted for. Raises RunRefused."""
    if entry.is_mount:
        _check_mount(entry, filesystem, options)
        return
    actual = checks.directory_filesystem(entry.path)
    if actual != ALL[filesystem].kernel_name:
        raise RunRefused(
            f"{entry.path} is on {actual or 'an unknown file system'}, not on {filesystem}: choose "
            f"{actual or 'another LUN'}, or a LUN on which {filesystem} can be made."
        )
    if scheduler:
        raise RunRefused(f"{entry.name} is a folder and has no I/O scheduler to set.")


def with_own_folder(plan: RunPlan, host: Host, lun: UsedLun) -> RunPlan:
    """The plan with what the agent has to find on a mount; any other as it is. Raises RunRefused"""
    if not lun.entry.is_mount:
        return plan
    mount, mark = mounts.mounted_at(lun.entry.path), host.own_mark(lun.entry)
    if mount is None or not mark:
        raise RunRefused(f"Nothing is mounted at {lun.entry.path} any more.")
    return replace(plan, own_mark=mark, filesystem=mount.filesystem)


def _check_mount(entry: LunEntry, filesystem: str, options: Mapping[str, str]) -> None:
    """What is mounted is what the configuration says, with its options. Raises RunRefused."""
    try:
        mount = mounts.find_mount(entry)
        contender = as_mounted.contender(mount.filesystem, mount.options)
    except (mounts.MountError, OptionError) as error:
        raise RunRefused(str(error)) from None
    wanted = (filesystem, dict(options))
    if (contender.filesystem, dict(contender.options)) != wanted:
        raise RunRefused(
            f"{entry.path} is mounted as "
            f"{configuration_label(contender.filesystem, contender.options)} "
            f"now, and this run was submitted for {configuration_label(*wanted)}: submit it again."
        )


@contextlib.contextmanager
def scheduler_of(host: Host, luns: Sequence[UsedLun], wanted: str) -> Iterator[str]:
    """Set the I/O scheduler of all, and yield that of the first as read back.

    The former ones are noted until they are put back (scheduler_notes). Nobody else sets them
    meanwhile. Raises SchedulerError, LockedElsewhere.
    """
    notes = host.config.scheduler_notes
    effective = ""
    numbers = [lun.number for lun in luns if not lun.entry.is_directory]
    disks = {blockdev.whole_disk(number) for number in numbers if number is not None}
    with contextlib.ExitStack() as stack:
        for disk in sorted(disks):
            stack.enter_context(scheduler_lock(disk, is_set=bool(wanted), wait_s=LOCK_WAIT_S))
        for lun in luns:
            number = lun.number
            if lun.entry.is_directory or number is None:
                continue
            if lun is not luns[0] and not read_schedulers(number)[1]:
                continue
            if wanted:
                stack.enter_context(scheduler_notes.note_scheduler(notes, number, wanted))
            scheduler = stack.enter_context(scheduler_set(number, wanted))
            if lun is luns[0]:
                effective = scheduler
        yield effective


def sizes(luns: Sequence[UsedLun]) -> dict[str, tuple[int | None, int | None]]:
    """{LUN: bytes of its device and, of a sparse one, of its file}; None where there is none."""
    return {lun.name: (lun.size_bytes, _file_bytes(lun.entry)) for lun in luns}


def _file_bytes(entry: LunEntry) -> int | None:
    if entry.kind == "sparse-file":
        with contextlib.suppress(OSError):
            return entry.path.stat().st_size
    return None


def why_resized(luns: Sequence[UsedLun], before: Mapping[str, tuple[int | None, ...]]) -> str:
    """A sentence where a LUN has another size than ``before``; then no number is of one disk."""
    for name, now in sizes(luns).items():
        for was_bytes, is_bytes in zip(before[name], now, strict=True):
            if was_bytes != is_bytes:
                became = "nothing" if is_bytes is None else f"{is_bytes} bytes"
                return (
                    f"{name} changed its size during the run: from {was_bytes} bytes to {became}."
                )
    return ""


def wipe_layers(luns: Sequence[UsedLun], recorder: Recorder, is_over: bool = False) -> None:
    """Remove what fsbench's layers left on these LUNs, which are checked, leased and locked. If it
    cannot, the run is refused, or the log says so once it ``is_over``.
    """
    for lun in luns:
        if lun.entry.is_directory:
            continue
        try:
            if kinds := layer_marks.wipe(lun.device):
                recorder.log(f"Left of layers on {lun.name}, and removed: {', '.join(kinds)}.")
        except (blockdev.ToolError, OSError) as error:
            text = f"What layers left on {lun.name} cannot be removed: {error}"
            if not is_over:
                raise RunRefused(text) from None
            recorder.log(text)


def wait_until_free(luns: Sequence[UsedLun], recorder: Recorder, *, is_whole: bool = True) -> None:
    """Wait until the kernel has written back and unmounted, longer if the run was killed."""
    for lun in luns:
        number = lun.number
        if number is None or _becomes_free(lun, recorder):
            continue
        recorder.log(f"{lun.device} is still in use {blockdev.FREE_AGAIN_S:.0f} s later.")
        for _ in range(0 if is_whole else WRITTEN_BACK_WITHIN):
            if recorder.is_worker_stopping() or _is_used_by_somebody(number):
                break
            if _becomes_free(lun, recorder):
                break


def _becomes_free(lun: UsedLun, recorder: Recorder) -> bool:
    return blockdev.wait_until_free(lun.device, blockdev.FREE_AGAIN_S, recorder.should_stop)


def _is_used_by_somebody(number: int) -> bool:
    """Not only by the kernel, which unmounts what no process sees any more."""
    is_mounted = any(number in mount.numbers for mount in blockdev.all_mounts())
    return is_mounted or bool(blockdev.holders(number))


def uses_of(lun: Lun, series: Series) -> list[tuple[LunUse, str]]:
    """Every LUN of a run by name, in order. Raises RunRefused if one is no longer known."""
    uses = [(RUN_ON, lun.name)]
    if series.journal_lun is not None:
        uses.append((JOURNAL, series.journal_lun.name))
    for member in series.members:
        if member.lun is None:
            raise RunRefused("A LUN of its stack is no longer known: submit it again.")
        uses.append((stack_use(member.role, member.lun.name), member.lun.name))
    shape = LunCounts.of(series.configuration.stack)
    if LunCounts.of_roles((member.role for member in series.members), shape.layers) != shape:
        raise RunRefused("Its LUNs are not those of its configuration: submit it again.")
    return uses


def split_by_use(luns: Sequence[UsedLun]) -> tuple[list[UsedLun], list[UsedLun]]:
    """(the journal's, those of the stack) behind the first."""
    journals = [lun for lun in luns[1:] if lun.use == JOURNAL]
    return journals, [lun for lun in luns[1:] if lun.use != JOURNAL]
