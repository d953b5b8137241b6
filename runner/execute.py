"""One run from claim to result.

Nothing of a run that did not end well enters a score: measurements are stored in the transaction
that ends the run as done, and only when every cell of the matrix was printed.
"""

import contextlib
import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from django.db import InterfaceError, OperationalError, transaction

from fsbench_web import formats
from fsbench_web.catalog.filesystems import OptionError
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.preparation import Preparation, PreparationError
from fsbench_web.catalog.workloads import ParameterError
from fsbench_web.formats.result import ParsedResult, UnreadableFile
from fsbench_web.studies import ingest, lifecycle, queue
from fsbench_web.studies.environments import environment_for
from fsbench_web.studies.lifecycle import LeaseHandle, LeaseLost
from fsbench_web.studies.models import Run, RunState
from runner import blockdev, checks, conditions
from runner.creation import creation_values
from runner.environment import environment_facts
from runner.executors.base import Outcome, Target
from runner.hardware import drop_caches
from runner.host import Host, LunUnusable
from runner.locks import LockedElsewhere, device_lock
from runner.luns import LunEntry
from runner.plan import OUTPUT_NAME, PlanError, RunPlan, plan_run
from runner.progress import IozoneProgress
from runner.record import COMMANDS_NAME, Recorder, reconnect
from runner.scheduler import SchedulerError, scheduler_set

logger = logging.getLogger("fsbench.worker")

# A file system that is being unmounted, or udev looking at a device, is over after this time.
SETTLE_S = 10.0
# After a run its data may have to be written back before the device is free.
FREE_AGAIN_S = 120.0
_PASSING = {"mounts", "openers", "exclusive"}
NOT_MEASURED = "Nothing of it enters a score."


_Result = TypeVar("_Result")


class Stopped(Exception):
    """The run is to end before anything was erased."""


class RunRefused(Exception):
    """The run cannot be carried out; nothing was erased. The text says why and what to do."""


_REFUSALS = (
    RunRefused,
    LunUnusable,
    LockedElsewhere,
    PlanError,
    OptionError,
    ParameterError,
    PreparationError,
    SchedulerError,
)


def work_on(run_id: int, host: Host) -> None:
    """Run what waits for the LUN of this run, in the queue's order, until nothing does.

    The message that brought ``run_id`` is a nudge: it may be late, repeated, or for a run that has
    ended meanwhile.
    """
    worker = Worker.objects.filter(name=host.name).first()
    lun_id = Run.objects.filter(pk=run_id).values_list("series__lun_id", flat=True).first()
    if worker is None or lun_id is None:
        return
    while not host.stopping.is_set():
        following = queue.next_run(lun_id)
        if following is None or not execute(following.pk, worker, host):
            return


def execute(run_id: int, worker: Worker, host: Host) -> bool:
    """Carry out one run. False when it, or its LUN, could not be claimed."""
    handle = lifecycle.claim(run_id, worker)
    if handle is None:
        return False
    run = Run.objects.select_related(
        "series__lun", "series__configuration", "series__workload"
    ).get(pk=run_id)
    recorder = Recorder(handle, IozoneProgress([]), host.stopping.is_set)
    logger.info("run %s begins on %s", run_id, run.series.lun)
    try:
        state, reason, parsed = _carry_out(run, host, recorder)
        _end(handle, recorder, state, reason, parsed)
        logger.info("run %s ended %s: %s", run_id, state, reason)
    except LeaseLost:
        logger.warning("run %s lost its lease and was stopped; nothing was written", run_id)
    except (OperationalError, InterfaceError):
        logger.exception("run %s: its end cannot be written; it will count as lost", run_id)
    return True


def _carry_out(
    run: Run, host: Host, recorder: Recorder
) -> tuple[RunState, str, ParsedResult | None]:
    """The end state, its reason and what was measured. Raises LeaseLost and nothing else."""
    try:
        lifecycle.advance(recorder.handle, RunState.PREPARING)
        plan, outcome = _erase_and_measure(run, host, recorder)
        return _verdict(plan, outcome, recorder)
    except _REFUSALS as error:
        return RunState.FAILED, f"Refused: {error}", None
    except Stopped:
        return *_why_not(Outcome(None), recorder), None
    except LeaseLost:
        raise
    except Exception as error:
        logger.exception("run %s broke off", run.pk)
        return RunState.FAILED, f"The worker broke off: {type(error).__name__}: {error}", None


def _erase_and_measure(run: Run, host: Host, recorder: Recorder) -> tuple[RunPlan, Outcome]:
    """Check everything, then run the plan. Raises one of _REFUSALS before anything is erased."""
    lun, configuration, workload = run.series.lun, run.series.configuration, run.series.workload
    if lun is None or workload is None or not configuration.is_known:
        raise RunRefused("Its LUN, workload or options are not known any more.")
    entry = host.entry(lun.name)
    if entry.role != "data":
        raise RunRefused(f"{entry.name} is set aside for external journals.")
    problem = host.executor.lun_problem(entry.kind) or host.capabilities.refusal(
        configuration.filesystem, not entry.is_directory, workload.tool
    )
    if problem:
        raise RunRefused(problem)
    with host.in_use(entry.name):
        device = host.device(entry)
        number = blockdev.device_number(device)
        preparation = Preparation.of(run.series.preparation)
        if preparation.discard and (number is None or not blockdev.can_discard(number)):
            raise RunRefused(f"{entry.name} takes no discard (TRIM): leave it out of the order.")
        plan = plan_run(
            configuration.filesystem,
            configuration.options,
            workload.tool,
            workload.parameters,
            device=host.named_device(entry, device),
            size_bytes=None if number is None else blockdev.size_bytes(number),
            preparation=preparation,
            is_directory=entry.is_directory,
            external_journal=configuration.external_journal,
        )
        recorder.progress = IozoneProgress(plan.cells)
        with device_lock(Path(device)), _pinned(entry, device):
            _verified(entry, host, device, recorder)
            if entry.is_directory:
                _check_directory(entry, configuration.filesystem, configuration.scheduler)
            with _scheduler(entry, device, configuration.scheduler) as scheduler:
                recorder.on_environment = _environment_writer(run, entry, scheduler, host)
                is_dropped = _beside(recorder, drop_caches)
                recorder.log(
                    "The host's page cache was dropped."
                    if is_dropped
                    else "The host's page cache could not be dropped (only root can)."
                )
                _verified(entry, host, device, recorder)
                target = Target(run.pk, host.name, entry.name, device)
                recorder.conditions["before"] = conditions.before(is_dropped, scheduler)
                with _watched_device(number, recorder):
                    outcome = _run_plan(plan, target, host, recorder)
            _wait_until_free(entry, device, recorder)
    return plan, outcome


def _beside(
    recorder: Recorder, work: Callable[[], _Result], stop: threading.Event | None = None
) -> _Result:
    """Do ``work`` in a thread while this one keeps the lease alive. Raises LeaseLost.

    ``stop`` is set when the run is to end; the work must then end soon.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="run") as pool:
        future = pool.submit(work)
        while not future.done():
            wait([future], timeout=0.2)
            try:
                if recorder.should_stop() and stop is not None:
                    stop.set()
            except BaseException:
                if stop is not None:
                    stop.set()
                raise
        return future.result()


def _run_plan(plan: RunPlan, target: Target, host: Host, recorder: Recorder) -> Outcome:
    stop = threading.Event()
    outcome = _beside(
        recorder, lambda: host.executor.run(plan, target, recorder.take, stop.is_set), stop
    )
    recorder.read()
    return outcome


@contextlib.contextmanager
def _watched_device(number: int | None, recorder: Recorder) -> Iterator[None]:
    """Note the device's statistics before and after."""
    if number is None:
        yield
        return
    seen = recorder.conditions["device"] = {"before": conditions.device_statistics(number)}
    try:
        yield
    finally:
        seen["after"] = conditions.device_statistics(number)


@contextlib.contextmanager
def _pinned(entry: LunEntry, device: str) -> Iterator[None]:
    """Keep the device open: its name and number cannot go to another disk meanwhile."""
    if entry.is_directory:
        yield
        return
    descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        os.close(descriptor)


def _scheduler(entry: LunEntry, device: str, wanted: str) -> contextlib.AbstractContextManager[str]:
    number = blockdev.device_number(device)
    if entry.is_directory or number is None:
        return contextlib.nullcontext("")
    return scheduler_set(number, wanted)


def _verified(entry: LunEntry, host: Host, device: str, recorder: Recorder) -> None:
    """All checks of the LUN, here and now. Raises RunRefused or Stopped."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        failed = [
            check for check in checks.verify(entry, host.config.lun_file, device) if not check.ok
        ]
        if not failed:
            return
        is_passing = all(check.name in _PASSING for check in failed)
        if not is_passing or time.monotonic() > deadline or recorder.should_stop():
            raise RunRefused(f"{entry.name} was not erased. {checks.problem(failed)}")
        time.sleep(0.5)


def _check_directory(entry: LunEntry, filesystem: str, scheduler: str) -> None:
    """A folder is on the file system it is on: its numbers must not go to another one's account."""
    found = checks.directory_filesystem(entry.path)
    if found != filesystem:
        raise RunRefused(
            f"{entry.path} is on {found or 'an unknown file system'}, not on {filesystem}: choose "
            f"{found or 'another LUN'}, or a LUN on which {filesystem} can be made."
        )
    if scheduler:
        raise RunRefused(f"{entry.name} is a folder and has no I/O scheduler to set.")


def _environment_writer(
    run: Run, entry: LunEntry, scheduler: str, host: Host
) -> Callable[[Recorder], None]:
    """What writes the environment, once the agent has told it, and files the run under it."""

    def write(recorder: Recorder) -> None:
        said = recorder.environment
        if said is None:
            return
        facts = environment_facts(
            said, host.executor, host.lun_facts(entry), scheduler, recorder.mounted
        )
        environment = environment_for(
            facts, kernel=said["kernel"], distribution=said["distribution"]
        )
        with transaction.atomic():
            lifecycle.record_environment(recorder.handle, environment)
            lifecycle.record_conditions(recorder.handle, recorder.conditions)
            ingest.move_to_kernel(
                Run.objects.get(pk=run.pk), environment.kernel, environment.distribution
            )

    return write


def _wait_until_free(entry: LunEntry, device: str, recorder: Recorder) -> None:
    """A file system is gone only when its last block is written back."""
    if entry.is_directory:
        return
    deadline = time.monotonic() + FREE_AGAIN_S
    while time.monotonic() < deadline:
        try:
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError as error:
            if error.errno != errno.EBUSY:
                return
            recorder.should_stop()
            time.sleep(0.2)
        else:
            return
    recorder.log(f"{device} is still in use {FREE_AGAIN_S:.0f} s after the run.")


def _verdict(
    plan: RunPlan, outcome: Outcome, recorder: Recorder
) -> tuple[RunState, str, ParsedResult | None]:
    """What the run was worth."""
    if not (recorder.is_ok and outcome.exit_code == 0):
        return (*_why_not(outcome, recorder), None)
    _persist(recorder.handle, recorder.write)
    _persist(recorder.handle, lambda: lifecycle.advance(recorder.handle, RunState.COLLECTING))
    raw = recorder.artefacts().get(OUTPUT_NAME)
    if raw is None:
        return RunState.FAILED, f"The benchmark's output did not arrive. {NOT_MEASURED}", None
    try:
        parsed = formats.parse(OUTPUT_NAME, raw)
    except UnreadableFile as error:
        return RunState.FAILED, f"Its output cannot be read: {error}. {NOT_MEASURED}", None
    missing = _missing_cells(plan, parsed)
    if missing or not parsed.complete:
        return RunState.FAILED, f"{missing or 'The output ends early.'} {NOT_MEASURED}", None
    return RunState.DONE, f"{len(parsed.values)} values measured.", parsed


def _why_not(outcome: Outcome, recorder: Recorder) -> tuple[RunState, str]:
    if recorder.stop_reason == "cancelled":
        return RunState.CANCELLED, f"Cancelled during {recorder.phase}. {NOT_MEASURED}"
    if recorder.stop_reason == "worker":
        return (
            RunState.FAILED,
            f"The worker was stopped during {recorder.phase}. {NOT_MEASURED}",
        )
    if recorder.stop_reason == "database":
        return RunState.FAILED, f"The database was away for too long. {NOT_MEASURED}"
    reasons = " ".join(reason for reason in (recorder.reason, outcome.reason) if reason)
    return RunState.FAILED, f"{reasons or 'The agent ended without a reason.'} {NOT_MEASURED}"


def _missing_cells(plan: RunPlan, parsed: ParsedResult) -> str:
    """A sentence about cells that should have been printed, or nothing."""
    found = {(value.test, value.record_size_kb, value.file_size_kb) for value in parsed.values}
    missing = [
        (test, record_kb, file_kb)
        for record_kb, file_kb in plan.cells
        for test in plan.tests
        if (test, record_kb, file_kb) not in found
    ]
    if not missing:
        return ""
    test, record_kb, file_kb = missing[0]
    return (
        f"The output lacks {len(missing)} of {len(plan.cells) * len(plan.tests)} values, first "
        f"{test} with records of {record_kb} KB in a file of {file_kb} KB."
    )


def _end(
    handle: LeaseHandle,
    recorder: Recorder,
    state: RunState,
    reason: str,
    parsed: ParsedResult | None,
) -> None:
    """Write the end of the run. Raises LeaseLost."""

    def write() -> None:
        recorder.write_environment()
        recorder.write()
        with transaction.atomic():
            _store(handle, recorder, state, reason, parsed)

    try:
        _persist(handle, write)
        return
    except (LeaseLost, OperationalError):
        raise
    except Exception as error:
        logger.exception("run %s: its result cannot be stored", handle.run_id)
        state, parsed = RunState.FAILED, None
        reason = f"Its result cannot be stored: {error} {NOT_MEASURED}"
    _persist(handle, write)


def _persist(handle: LeaseHandle, write: Callable[[], None]) -> None:
    """Write, again and again while the database is away, as long as the lease may live.

    Raises LeaseLost, and OperationalError in the end.
    """
    deadline = time.monotonic() + lifecycle.lease_duration().total_seconds()
    while True:
        try:
            write()
        except (OperationalError, InterfaceError) as error:
            reconnect()
            logger.warning("run %s: the database does not answer: %s", handle.run_id, error)
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
        else:
            return


def _store(
    handle: LeaseHandle,
    recorder: Recorder,
    state: RunState,
    reason: str,
    parsed: ParsedResult | None,
) -> None:
    # First, because it locks the lease: whoever lost it must not write a line.
    lifecycle.heartbeat(handle)
    run = Run.objects.select_related("series").get(pk=handle.run_id)
    for name, data in recorder.artefacts().items():
        artefact = ingest.store_artefact(run, name, data)
        if parsed is not None and name == OUTPUT_NAME:
            ingest.store_result(run, artefact, parsed)
        if parsed is not None and name == COMMANDS_NAME:
            ingest.store_values(run, artefact, creation_values(recorder.commands))
    lifecycle.record_conditions(handle, recorder.conditions)
    lifecycle.finish(handle, state, reason)
    if state == RunState.DONE:
        ingest.rescore(run.series)
