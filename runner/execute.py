"""One run from claim to the end of its benchmark; ``runner.finish`` writes what it was worth."""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from django.db import InterfaceError, OperationalError, transaction

from fsbench_web.catalog.filesystems import OptionError
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.preparation import Preparation, PreparationError
from fsbench_web.catalog.workloads import ParameterError
from fsbench_web.formats.result import ParsedResult
from fsbench_web.studies import ingest, lifecycle, queue
from fsbench_web.studies.environments import environment_for
from fsbench_web.studies.lifecycle import LeaseLost
from fsbench_web.studies.models import Run, RunState
from runner import blockdev, checks, conditions
from runner.environment import environment_facts
from runner.executors.base import Message, Outcome, Target
from runner.finish import end, has_succeeded, persist, verdict, why_not
from runner.hardware import drop_caches
from runner.host import Host, LunUnusable
from runner.locks import LockedElsewhere, device_lock
from runner.luns import LunEntry
from runner.plan import PlanError, RunPlan, plan_run
from runner.progress import IozoneProgress
from runner.record import Recorder
from runner.scheduler import SchedulerError, scheduler_set
from runner.spool import Spool

logger = logging.getLogger("fsbench.worker")

# A file system that is being unmounted, or udev looking at a device, is over after this time.
SETTLE_S = 10.0
_PASSING = {"mounts", "openers", "exclusive"}


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
    if worker is None or lun_id is None or not host.has_taken_over:
        return
    while not host.stopping.is_set():
        problem = host.executor.problem()
        if problem:
            # The run waits: it would fail now, and so would all behind it.
            logger.warning("no run is claimed: %s", problem)
            return
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
    spool = Spool(host.spool_folder, handle)
    logger.info("run %s begins on %s", run_id, run.series.lun)
    try:
        state, reason, parsed = _carry_out(run, host, recorder, spool)
        end(recorder, state, reason, parsed)
        spool.remove()
        logger.info("run %s ended %s: %s", run_id, state, reason)
    except LeaseLost:
        spool.remove()
        logger.warning("run %s lost its lease and was stopped; nothing was written", run_id)
    except (OperationalError, InterfaceError):
        logger.exception("run %s: its end cannot be written; it will count as lost", run_id)
    return True


def _carry_out(
    run: Run, host: Host, recorder: Recorder, spool: Spool
) -> tuple[RunState, str, ParsedResult | None]:
    """The end state, its reason and what was measured. Raises LeaseLost and nothing else."""
    try:
        persist(lambda: lifecycle.advance(recorder.handle, RunState.PREPARING))
        plan, outcome = _erase_and_measure(run, host, recorder, spool)
        if has_succeeded(outcome, recorder):
            spool.complete(recorder.conditions)
        return verdict(plan, outcome, recorder)
    except _REFUSALS as error:
        return RunState.FAILED, f"Refused: {error}", None
    except Stopped:
        return *why_not(Outcome(None), recorder), None
    except LeaseLost:
        raise
    except Exception as error:
        logger.exception("run %s broke off", run.pk)
        return RunState.FAILED, f"The worker broke off: {type(error).__name__}: {error}", None


def _erase_and_measure(
    run: Run, host: Host, recorder: Recorder, spool: Spool
) -> tuple[RunPlan, Outcome]:
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
                    outcome = _run_plan(plan, target, host, recorder, spool)
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


def _run_plan(
    plan: RunPlan, target: Target, host: Host, recorder: Recorder, spool: Spool
) -> Outcome:
    stop = threading.Event()
    spool.begin(plan)

    def take(message: Message) -> None:
        spool.add(message)
        recorder.take(message)

    outcome = _beside(recorder, lambda: host.executor.run(plan, target, take, stop.is_set), stop)
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
    if not blockdev.wait_until_free(device, blockdev.FREE_AGAIN_S, recorder.should_stop):
        recorder.log(f"{device} is still in use {blockdev.FREE_AGAIN_S:.0f} s after the run.")
