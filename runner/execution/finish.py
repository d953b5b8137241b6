"""The end of a run: its worth, written also after the database was away.

Measurements are stored in the transaction that ends the run as done, if the matrix is whole.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from django.db import InterfaceError, OperationalError, transaction

from fsbench_web.catalog.configurations.commands.durability import OUTPUT as CRASH_OUTPUT
from fsbench_web.catalog.configurations.commands.preparation import PROBE_OUTPUT
from fsbench_web.core.formats.result import ParsedResult, ParsedValue, UnreadableFile
from fsbench_web.core.formats.text import as_utf8
from fsbench_web.core.workloads.base import TimedProgress, Workload
from fsbench_web.platform.database_problems import will_pass
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import Artefact, Run, RunState
from fsbench_web.studies.runs import durability, leases, lifecycle, probes
from fsbench_web.studies.runs.clients import parts
from fsbench_web.studies.runs.clients.parts import ClientsCannotContinue
from fsbench_web.studies.runs.lifecycle import LeaseLost
from fsbench_web.studies.scores import ingest, rejudging
from fsbench_web.studies.scores.quality import STEADY_STATE
from runner.execution import client_results, tracing
from runner.execution.client_results import CollectedResults
from runner.execution.record import COMMANDS_NAME, Recorder, reconnect, with_heartbeat
from runner.execution.results import activity, facts
from runner.execution.results.facts import creation_values
from runner.execution.spool import Spooled, leftover_files
from runner.executors.base import STOPPED, WORKER_SILENT, Outcome
from runner.plan import RunPlan

logger = logging.getLogger("fsbench.worker")

_Result = TypeVar("_Result")

# The lease is prolonged in between, and what is back is found before others have looked at all.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 2.0


Results = dict[str, ParsedResult]
"""What the outputs of a run say, by their names; empty for a run that did not end well."""


@dataclass(frozen=True)
class Ending:
    """How a run ends, why, and what it measured. ``all_clients``: the sums of several clients."""

    state: RunState
    reason: str
    cause: Cause = Cause.BENCHMARK
    parsed: Results = field(default_factory=dict)
    all_clients: CollectedResults | None = None


def has_succeeded(outcome: Outcome, recorder: Recorder) -> bool:
    """Whether agent and executor both say so."""
    return bool(recorder.is_ok) and outcome.exit_code == 0


def verdict(plan: RunPlan, outcome: Outcome, recorder: Recorder) -> Ending:
    """What the run was worth, and what each of its outputs says."""
    if not has_succeeded(outcome, recorder):
        return interrupted_ending(outcome, recorder)
    persist(recorder.write, measured=recorder)
    persist(
        lambda: lifecycle.advance(recorder.handle, RunState.COLLECTING),
        measured=recorder,
    )
    artefacts = recorder.artefacts()
    raw = {name: as_utf8(artefacts[name]) for name in plan.outputs if name in artefacts}
    if len(raw) < len(set(plan.outputs)):
        return _failed("The benchmark's output did not arrive.")
    workload = plan.workload
    try:
        parsed = with_heartbeat(recorder, lambda: workload.parse(raw))
    except UnreadableFile as error:
        return _failed(f"Its output cannot be read: {error}")
    values = [value for result in parsed.values() for value in result.values]
    missing = _missing_values(workload, values)
    if missing or not all(result.complete for result in parsed.values()):
        return _failed(missing or "The output ends early.")
    if not values:
        return _failed("Its output holds no value.")
    try:
        all_clients = persist(
            lambda: client_results.collect_results(recorder.handle.run_id, plan, parsed),
            measured=recorder,
        )
    except ClientsCannotContinue as error:
        return _failed(str(error), error.cause)
    if all_clients is not None:
        count = len(all_clients.combined.values)
        text = f"{count} values measured by {len(all_clients.separate)} clients together."
        return Ending(RunState.DONE, text, parsed=parsed, all_clients=all_clients)
    return Ending(RunState.DONE, f"{len(values)} values measured.", parsed=parsed)


def _failed(reason: str, cause: Cause = Cause.BENCHMARK) -> Ending:
    return Ending(RunState.FAILED, reason, cause)


def interrupted_ending(outcome: Outcome, recorder: Recorder) -> Ending:
    """Why a run that was not carried out to its end was not."""
    if recorder.stop_reason == "cancelled":
        return Ending(RunState.CANCELLED, f"Cancelled during {recorder.phase}.", Cause.CANCELLED)
    if recorder.stop_reason == "worker":
        return _failed(f"The worker was stopped during {recorder.phase}.", Cause.WORKER_STOPPED)
    if recorder.stop_reason == "time":
        return _failed(
            f"The run took longer than its job allows, {recorder.time_limit_s:.0f} s, and "
            f"was stopped during {recorder.phase}.",
            Cause.TIME_LIMIT,
        )
    if recorder.stop_reason == "benchmark time":
        return _failed(
            f"The benchmark took longer than the time limit of its workload, "
            f"{recorder.benchmark_limit_s:g} s for all its commands together, and was stopped.",
            Cause.TIME_LIMIT,
        )
    if recorder.stop_reason == "database" and outcome.exit_code != WORKER_SILENT:
        reason = "The database was away for too long, or this host was suspended."
        return _failed(reason, Cause.DATABASE)
    reasons = " ".join(reason for reason in (recorder.reason, outcome.reason) if reason)
    # What the agent found wrong by itself it had found before anything went away.
    was_stopped = recorder.was_stopped or outcome.exit_code in (STOPPED, WORKER_SILENT)
    is_own = recorder.is_ok is False and not was_stopped
    cause = Cause.BENCHMARK if is_own else outcome.cause
    return _failed(reasons or "The agent ended without a reason.", cause)


def _missing_values(workload: Workload, values: list[ParsedValue]) -> str:
    """A sentence about values that should have been printed, or nothing."""
    cells = {(value.test, value.load, value.record_size_kb, value.file_size_kb) for value in values}
    expected = list(workload.expected())
    missing = [cell for cell in expected if cell not in cells]
    if not missing:
        return ""
    test, load, record_kb, file_kb = missing[0]
    place = f" at {load}" if load else ""
    if record_kb is not None and file_kb is not None:
        place += f" with records of {record_kb} KB in a file of {file_kb} KB"
    return f"The output lacks {len(missing)} of {len(expected)} values, first {test}{place}."


def end(recorder: Recorder, ending: Ending) -> None:
    """Write the end of the run, with as much of it as can be written. Raises LeaseLost."""
    has_measured = ending.state == RunState.DONE
    try:
        persist(lambda: _write_all(recorder, ending), measured=recorder if has_measured else None)
        if has_measured:
            _note_drift(recorder.handle.run_id)
        return
    except (LeaseLost, OperationalError, InterfaceError):
        raise
    except Exception as error:
        logger.exception("run %s: its result cannot be stored", recorder.handle.run_id)
        if ending.state == RunState.DONE:
            ending = _failed(f"Its result cannot be stored: {error}", Cause.WORKER_ERROR)
    # What it ran on may be what makes no sense: an agent of another version says other things.
    recorder.on_environment = None
    try:
        bare_ending = replace(ending, parsed={}, all_clients=None)
        persist(lambda: _write_all(recorder, bare_ending))
    except (LeaseLost, OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("run %s: its output cannot be stored", recorder.handle.run_id)
        persist(
            lambda: lifecycle.finish(recorder.handle, ending.state, ending.reason, ending.cause)
        )


def _write_all(recorder: Recorder, ending: Ending) -> None:
    recorder.write_environment()
    recorder.write()
    run = Run.objects.select_related("series__workload").get(pk=recorder.handle.run_id)
    if run.is_extra:
        ending = _without_numbers(ending)
    of_clients = _outputs_of_clients(run, ending)
    prepared = with_heartbeat(recorder, lambda: _prepared(run, recorder, ending, of_clients))
    with transaction.atomic():
        _store(recorder, ending, prepared)


@dataclass(frozen=True)
class _Prepared:
    """What of a run's end takes time, made before anything is locked for it."""

    artefacts: dict[str, Artefact]
    of_clients: list[Artefact]
    sampled: activity.Sampled | None
    traces: list[tracing.Seen]


def _prepared(
    run: Run, recorder: Recorder, ending: Ending, of_clients: Mapping[str, bytes]
) -> _Prepared:
    """In a thread alongside the heartbeats: it asks the database nothing."""
    outputs, workload = recorder.artefacts(), run.series.workload
    # Of several clients it is what the leader's host did, whose costs are not those of the whole.
    parsed = ending.parsed if ending.all_clients is None else {}
    return _Prepared(
        {name: ingest.packed_artefact(name, data) for name, data in outputs.items()},
        [ingest.packed_artefact(name, data) for name, data in of_clients.items()],
        activity.sampled(
            workload.tool if workload else "",
            workload.parameters if workload else {},
            recorder,
            parsed,
            outputs,
        ),
        tracing.seen(recorder.tracing, run.tracing) if run.is_extra else [],
    )


def _outputs_of_clients(run: Run, ending: Ending) -> dict[str, bytes]:
    """What the other clients of the run printed; of one that did not end well what is there."""
    if not run.series.runs_on.clients:
        return {}
    if ending.all_clients is None:
        return client_results.partial_results(run.pk)
    return ending.all_clients.artefacts


def _note_drift(run_id: int) -> None:
    """Tell the other runs of the job how far its reference has moved. Never fails the run."""
    job_id = Run.objects.filter(pk=run_id).values_list("job_id", flat=True).first()
    try:
        if job_id is not None:
            persist(lambda: rejudging.note_drift(job_id))
    except Exception:
        # The run is stored; "manage.py reflag" writes what is missing here.
        logger.exception("run %s: the drift of its job cannot be written", run_id)


def persist(ask: Callable[[], _Result], *, measured: Recorder | None = None) -> _Result:
    """Write or read again and again while the database is away, as long as the lease may live.

    With ``measured`` as long as the worker lives: only hours of measuring would bring it again.
    Raises LeaseLost, and in the end the database's error.
    """
    lease_s = lifecycle.lease_duration().total_seconds()
    deadline = time.monotonic() + lease_s
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            return ask()
        except (OperationalError, InterfaceError) as error:
            reconnect()
            logger.warning("the database does not answer: %s", error)
            is_patient = (
                measured is not None and will_pass(error) and not measured.is_worker_stopping()
            )
            if time.monotonic() > deadline and not is_patient:
                raise
            if measured is not None:
                with suppress(OperationalError, InterfaceError):
                    lifecycle.heartbeat(measured.handle)
                reconnect()
            time.sleep(pause_s)
            if is_patient:
                pause_s = min(1.5 * pause_s, LONGEST_PAUSE_S, lease_s / 5)


def finish_spooled(folder: Path, is_stopping: Callable[[], bool]) -> list[int]:
    """End as done what a killed worker had measured but not written. Returns the runs.

    Call it before ``lifecycle.recover``. A run with an expired lease stays lost. Raises the
    database's error, and drops nothing then.
    """
    finished = []
    for spooled in leftover_files(folder):
        try:
            if spooled.conditions is None:
                _store_activity(spooled)
            elif _finish(spooled, is_stopping):
                finished.append(spooled.handle.run_id)
        except LeaseLost:
            logger.warning("run %s had lost its lease; its output is dropped", spooled.path.name)
        except Exception as error:
            if will_pass(error):
                logger.error("%s is kept until the database takes it: %s", spooled.path, error)
                raise
            logger.exception("%s cannot be used; its run will count as lost", spooled.path)
        spooled.path.unlink(missing_ok=True)
    return finished


def _store_activity(spooled: Spooled) -> None:
    """Keep what was sampled of a run that had not ended. Raises LeaseLost."""
    recorder = Recorder(spooled.handle, TimedProgress(), lambda: False)
    for message in spooled.messages:
        recorder.take(message)
    recorder.read()
    sampled = activity.sampled("", {}, recorder, {}, {})
    with transaction.atomic():
        lifecycle.heartbeat(spooled.handle)
        run = Run.objects.select_related("series").get(pk=spooled.handle.run_id)
        activity.store(run, sampled)


def _finish(spooled: Spooled, is_stopping: Callable[[], bool]) -> bool:
    run = Run.objects.filter(pk=spooled.handle.run_id).first()
    # Before it was running nobody had written what it ran on.
    if run is None or run.state not in (RunState.RUNNING, RunState.COLLECTING):
        return False
    recorder = Recorder(
        spooled.handle, TimedProgress(), is_stopping, conditions=spooled.conditions or {}
    )
    recorder.resume_running(len(run.commands))
    for message in spooled.messages:
        recorder.take(message)
    recorder.read()
    recorder.log("The worker was killed before it had stored this; it did so when it was back.")
    end(recorder, verdict(spooled.plan, Outcome(0), recorder))
    return True


def _without_numbers(ending: Ending) -> Ending:
    """The end of an extra run: its outputs are kept, and none of their numbers is a measurement."""
    if ending.state != RunState.DONE:
        return ending
    text = "Extra run, traced. Its numbers enter no score."
    return replace(ending, reason=text, parsed={}, all_clients=None)


def _store_clients(
    run: Run, recorder: Recorder, for_all: CollectedResults | None, outputs: Iterable[Artefact]
) -> None:
    """The sum of all clients is the run's; each client's numbers are kept as well."""
    for artefact in outputs:
        ingest.store_packed(run, artefact)
    if for_all is None:
        return
    ingest.store_values(run, None, for_all.combined.values)
    latencies.store(run, None, for_all.combined.distributions)
    parts.store_results(run.pk, for_all.separate)
    recorder.conditions["clients"] = client_results.client_conditions(run.pk)


def _store(recorder: Recorder, ending: Ending, prepared: _Prepared) -> None:
    handle = recorder.handle
    # First: whoever lost the lease must not write a line.
    leases.lock(handle)
    of_series = ("study", "workload", "hardware")
    run = Run.objects.select_related(*(f"series__{field}" for field in of_series)).get(
        pk=handle.run_id
    )
    parsed = ending.parsed
    if PROBE_OUTPUT in recorder.finished_outputs:
        printed = b"".join(recorder.outputs[PROBE_OUTPUT]).decode("utf-8", "replace")
        probes.record(run, printed, recorder.conditions.get("lun") or {})
    probes.attach(run)
    printed_outputs = {name: b"".join(parts) for name, parts in recorder.outputs.items()}
    if layout := facts.layouts_in(printed_outputs):
        recorder.conditions["layout"] = layout
    if CRASH_OUTPUT in recorder.finished_outputs:
        printed = b"".join(recorder.outputs[CRASH_OUTPUT]).decode("utf-8", "replace")
        recorder.conditions |= durability.noted(run, printed)
    if steady := facts.steady_tests(value for result in parsed.values() for value in result.values):
        recorder.conditions[STEADY_STATE] = steady
    for name, artefact in prepared.artefacts.items():
        ingest.store_packed(run, artefact)
        if name in parsed and ending.all_clients is None:
            ingest.store_values(run, artefact, parsed[name].values)
            latencies.store(run, artefact, parsed[name].distributions)
            latencies.store_series(run, artefact, parsed[name].over_time)
        if parsed and name == COMMANDS_NAME:
            ingest.store_values(run, artefact, creation_values(recorder.commands))
    _store_clients(run, recorder, ending.all_clients, prepared.of_clients)
    activity.store(run, prepared.sampled)
    if prepared.sampled is not None and prepared.sampled.promise is not None:
        recorder.conditions["promise"] = prepared.sampled.promise.as_dict()
    tracing.store(run, prepared.traces)
    lifecycle.finish(handle, ending.state, ending.reason, ending.cause, recorder.conditions)
    if ending.state == RunState.DONE:
        ingest.rescore(run.series)
