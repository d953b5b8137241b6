"""One run from claim to the end of its benchmark; ``runner.execution.finish`` writes
what it was worth.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from django.db import InterfaceError, OperationalError

from fsbench_web.catalog.configurations.filesystems import RAW
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.workloads import Workload as BenchmarkWorkload
from fsbench_web.core.workloads.base import TimedProgress
from fsbench_web.platform import log_lines, table_version
from fsbench_web.platform.database_problems import will_pass
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import END_STATES, Run, RunState
from fsbench_web.studies.runs import lifecycle, queue
from fsbench_web.studies.runs.clients.parts import ClientsCannotContinue
from fsbench_web.studies.runs.lifecycle import LeaseLost
from runner.execution import conditions, last_checks, lock_statistics, places, planning
from runner.execution.clients import Clients
from runner.execution.environment import AgentMismatch, environment_writer
from runner.execution.finish import (
    Ending,
    end,
    has_succeeded,
    interrupted_ending,
    persist,
    verdict,
)
from runner.execution.last_checks import REFUSALS
from runner.execution.mount_watch import MountWatch
from runner.execution.places import RunStopped, UsedLun
from runner.execution.record import Recorder, stop_after_s, with_heartbeat
from runner.execution.spool import Spool
from runner.execution.tracing import IN_A_GUEST, WITHOUT_FILESYSTEM, tracing
from runner.executors.base import Executor, Message, Outcome, Target
from runner.host import lun_state, swap
from runner.host.hardware import drop_caches
from runner.host.tracing import block_events
from runner.host.tuning import processors
from runner.plan import RunPlan
from runner.safety import locks
from runner.safety.locks import LockedElsewhere
from runner.worker import Host

logger = logging.getLogger("fsbench.worker")


def work_on(run_id: int, host: Host) -> None:
    """Run what waits for the LUN of this run until nothing does; ``run_id`` is only a nudge."""
    worker = Worker.objects.filter(name=host.name).first()
    lun_id = Run.objects.filter(pk=run_id).values_list("series__lun_id", flat=True).first()
    if worker is None or lun_id is None or not host.has_taken_over:
        return
    while not host.stopping.is_set():
        try:
            with locks.while_measuring():
                if not _work_on_next(lun_id, run_id, worker, host):
                    return
        except LockedElsewhere as error:
            logger.info("no run is claimed: %s", error)
            return


def _work_on_next(lun_id: int, run_id: int, worker: Worker, host: Host) -> bool:
    """Run what is in turn on the LUN. False when nothing more can be done there now."""
    if _is_of_another_version():
        return False
    problem = host.executor.problem()
    if problem:
        # The run waits: it would fail now, and so would all behind it.
        logger.warning("no run is claimed: %s", problem)
        return False
    if not host.capabilities.is_usable:
        # It may be back since the last heartbeat, and what that found would refuse the run.
        host.check_executor()
    if not host.capabilities.is_usable:
        logger.warning("no run is claimed: %s", host.capabilities.reason)
        return False
    following = queue.next_run(lun_id)
    if following is None:
        return False
    problem = host.why_wait(Machine.of(following.series.machine))
    if problem:
        logger.warning("run %s waits: %s", following.pk, problem)
        return False
    # The request that sent the message submitted its run, and not those before and behind it.
    request = log_lines.current("request") if following.pk == run_id else None
    with log_lines.log_context(run=following.pk, request=request):
        if execute(following.pk, worker, host):
            return True
        # One that was refused or cancelled lets the next one have its turn.
        return Run.objects.filter(pk=following.pk, state__in=END_STATES).exists()


_is_version_logged = False


def _is_of_another_version() -> bool:
    """Whether the tables were migrated under this worker: it knows nothing of what they want now,
    and another worker that does may have the same disk. Logged once.
    """
    global _is_version_logged
    is_other = table_version.has_changed()
    if is_other and not _is_version_logged:
        logger.error(
            "no run is claimed: the database was migrated to another version of fsbench. Restart "
            "this worker with that version."
        )
    _is_version_logged = is_other
    return is_other


def execute(run_id: int, worker: Worker, host: Host) -> bool:
    """Carry out one run. False when it, or its LUN, could not be claimed."""
    handle = lifecycle.claim(run_id, worker)
    if handle is None:
        return False
    log_lines.add_context(run=run_id, lease=handle.token)
    run = Run.objects.select_related(
        *("series__lun__worker", "series__journal_lun"),
        *("series__configuration", "series__workload"),
        "job",
    ).get(pk=run_id)
    limit_s = run.job.time_limit_s if run.job else None
    recorder = Recorder(handle, TimedProgress(), host.stopping.is_set, time_limit_s=limit_s)
    spool = Spool(host.spool_folder, handle)
    logger.info("run %s begins on %s", run_id, run.series.lun)
    try:
        with host.carrying_out(run_id):
            ending = _carry_out(run, host, recorder, spool)
            end(recorder, ending)
            spool.remove()
        logger.info("run %s ended %s: %s", run_id, ending.state, ending.reason)
    except LeaseLost:
        spool.remove()
        logger.warning("run %s lost its lease and was stopped; nothing was written", run_id)
    except (OperationalError, InterfaceError):
        kept = f"; what it measured is in {spool.path}, for when this worker starts again"
        logger.exception(
            "run %s: its end cannot be written; it counts as lost when its lease runs out%s",
            *(run_id, kept if spool.is_complete else ""),
        )
    return True


def _carry_out(run: Run, host: Host, recorder: Recorder, spool: Spool) -> Ending:
    """How the run ends, and what was measured. Raises LeaseLost, and the database's error where
    all was measured, and else nothing.
    """
    try:
        persist(lambda: lifecycle.advance(recorder.handle, RunState.PREPARING))
        plan, outcome = _erase_and_measure(run, host, recorder, spool)
        if has_succeeded(outcome, recorder):
            spool.complete(recorder.conditions)
        return verdict(plan, outcome, recorder)
    except REFUSALS as error:
        return Ending(RunState.FAILED, f"Refused: {error}", Cause.REFUSED)
    except ClientsCannotContinue as error:
        return Ending(RunState.FAILED, str(error), error.cause)
    except RunStopped:
        ending = interrupted_ending(Outcome(None), recorder)
        return replace(ending, reason=f"{ending.reason} Nothing was erased.")
    except LeaseLost:
        raise
    except AgentMismatch as error:
        return Ending(RunState.FAILED, str(error), Cause.WORKER_ERROR)
    except Exception as error:
        if spool.is_complete and will_pass(error):
            raise
        logger.exception("run %s broke off", run.pk)
        text = f"The worker broke off: {type(error).__name__}: {error}"
        return Ending(RunState.FAILED, text, Cause.WORKER_ERROR)


def _erase_and_measure(
    run: Run, host: Host, recorder: Recorder, spool: Spool
) -> tuple[RunPlan, Outcome]:
    """Check everything, then run the plan. Raises one of REFUSALS before anything is erased."""
    configuration, machine = run.series.configuration, Machine.of(run.series.machine)
    executor, entries = planning.executor_and_luns(run, host)
    with places.reserve(host, executor, entries) as luns:
        data, sizes = luns[0], places.sizes(luns)
        plan = places.with_own_folder(planning.plan_on_luns(run, executor, luns), host, data)
        recorder.progress = plan.workload.progress()
        recorder.benchmark_limit_s = _benchmark_limit_s(plan.workload)
        with places.lock_luns(luns):
            places.verify(host, luns, recorder, run.confirmed)
            if data.entry.is_directory:
                places.check_directory(
                    *(data.entry, configuration.filesystem, configuration.options),
                    configuration.scheduler,
                )
            # A guest's is set in the guest; the host's below it stays as it is.
            wanted = "" if machine.is_guest else configuration.scheduler
            with (
                places.scheduler_of(host, luns, wanted) as scheduler,
                _steady_processors(host, recorder),
            ):
                recorder.on_environment = environment_writer(run, luns, scheduler, host, executor)
                is_wanted = host.config.drops_caches
                is_dropped = is_wanted and with_heartbeat(recorder, drop_caches)
                recorder.log(_cache_notice(is_wanted, is_dropped))
                if data.number is not None:
                    recorder.conditions["lun"] = lun_state.read(data.number)
                    if any(step.phase == "probe" for step in plan.steps):
                        health = with_heartbeat(recorder, partial(lun_state.health, data.device))
                        recorder.conditions["lun"] |= {"health": health} if health else {}
                places.verify(host, luns, recorder, run.confirmed)
                owned = block_events.instance_prefix(host.config.site, host.name)
                unseen = (
                    IN_A_GUEST
                    if machine.is_guest
                    else WITHOUT_FILESYSTEM
                    if configuration.filesystem == RAW
                    else ""
                )
                # Before the last checks, because a tracer may be compiled for a minute.
                with tracing(
                    *(run, data.number, owned, configuration.filesystem, unseen),
                    recorder.should_stop,
                ) as recorder.tracing:
                    last_checks.note_erasures(run, host, luns, recorder)
                    last_checks.still_wanted(run, host, recorder)
                    last_checks.still_free(run, host, luns, recorder)
                    recorder.conditions["before"] = conditions.host_state(is_dropped, scheduler)
                    places.wipe_layers(luns, recorder)
                    with (
                        # A guest's mkfs and mount are in its own kernel: this host's sees neither.
                        places.hold_exclusively(luns if machine.is_guest else ()),
                        _watched_device(data.number, recorder),
                        MountWatch(data.entry, plan.own_mark) as watch,
                    ):
                        target = _target(run, host, luns)
                        outcome = _run_with_clients(
                            run, plan, target, executor, recorder, spool, watch
                        )
            if resized := places.why_resized(luns, sizes):
                reason = f"{resized} {outcome.reason}".strip()
                outcome = replace(outcome, exit_code=outcome.exit_code or 1, reason=reason)
            is_whole = has_succeeded(outcome, recorder)
            places.wait_until_free(luns, recorder, is_whole=is_whole)
            if plan.layers or plan.is_pool:
                places.wipe_layers(luns, recorder, is_over=True)
    return plan, outcome


def _target(run: Run, host: Host, luns: Sequence[UsedLun]) -> Target:
    data, (journals, members) = luns[0], places.split_by_use(luns)
    return Target(
        run.pk,
        host.name,
        data.name,
        data.device,
        journals[0].name if journals else "",
        journals[0].device if journals else "",
        members=tuple((member.name, member.device) for member in members),
    )


def _benchmark_limit_s(workload: BenchmarkWorkload) -> float:
    """Of all commands together: each alone has it too, as a step of the plan."""
    return float(workload.time_limit_s)


def _run_with_clients(
    run: Run,
    plan: RunPlan,
    target: Target,
    executor: Executor,
    recorder: Recorder,
    spool: Spool,
    watch: MountWatch,
) -> Outcome:
    """Run the plan, with other clients if any. Raises ClientsCannotContinue, RunStopped."""
    clients = Clients(run, recorder)
    begun = clients.gather(plan, recorder.should_stop)
    if begun is None:
        raise RunStopped
    outcome = _run_plan(begun, target, executor, recorder, spool, watch, clients)
    return clients.common_outcome(plan, outcome, recorder.should_stop)


def _run_plan(
    plan: RunPlan,
    target: Target,
    executor: Executor,
    recorder: Recorder,
    spool: Spool,
    watch: MountWatch,
    clients: Clients,
) -> Outcome:
    stop = threading.Event()
    # The agent ends by itself when this worker would end it, if that cannot any more.
    plan = replace(plan, worker_silence_s=stop_after_s())
    spool.begin(plan)

    def take(message: Message) -> None:
        spool.add(message)
        recorder.take(message)
        if recorder.tracing is not None:
            recorder.tracing.on_message(message)

    def should_stop() -> bool:
        # The thread that sets ``stop`` may be waiting for a database that cannot be reached.
        return stop.is_set() or recorder.is_overdue() or bool(watch.problem or clients.problem)

    outcome = with_heartbeat(recorder, lambda: executor.run(plan, target, take, should_stop), stop)
    recorder.read()
    if watch.problem and outcome.exit_code != 0:
        return replace(outcome, reason=watch.problem, cause=Cause.BENCHMARK)
    return outcome


def _cache_notice(is_wanted: bool, is_dropped: bool) -> str:
    if not is_wanted:
        return "The host's page cache was left as it is (FSBENCH_DROP_CACHES)."
    if is_dropped:
        return "The host's page cache was dropped."
    return "The host's page cache could not be dropped (only root can)."


@contextlib.contextmanager
def _steady_processors(host: Host, recorder: Recorder) -> Iterator[None]:
    """Hold the processors where the host wants that; what is held is noted with the run."""
    if not host.config.holds_processors:
        yield
        return
    with processors.hold_steady(host.config.processor_notes) as held:
        recorder.conditions["processors"] = held
        yield


@contextlib.contextmanager
def _watched_device(number: int | None, recorder: Recorder) -> Iterator[None]:
    """Note the device's statistics before and after, what waited for locks meanwhile, and of a run
    that may swap beyond its limit how much the host did.
    """
    locks, swapped = lock_statistics.read(), swap.written_bytes()
    try:
        with _note_statistics(number, recorder):
            yield
    finally:
        if "swap" in recorder.conditions:
            recorder.conditions["swap"] |= conditions.swapped_between(swapped, swap.written_bytes())
        recorder.conditions["locks"] = lock_statistics.waits_between(locks, lock_statistics.read())


@contextlib.contextmanager
def _note_statistics(number: int | None, recorder: Recorder) -> Iterator[None]:
    if number is None:
        yield
        return
    seen = recorder.conditions["device"] = {"before": conditions.device_statistics(number)}
    try:
        yield
    finally:
        seen["after"] = conditions.device_statistics(number)
