"""A worker's part in a run that another worker leads, on the same mount at the same moment.

All checks of a run hold here too. It writes only its own row (``studies.runs.clients.parts``), and
stops as soon as the run is over or has no leader.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from django.db import Error as DatabaseError

from fsbench_web.catalog.models import Worker
from fsbench_web.core.numbers import size
from fsbench_web.core.workloads import workload_of
from fsbench_web.platform import clock, log_lines
from fsbench_web.platform.clock import ChangeWatch
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import ClientState, Run, RunClient
from fsbench_web.studies.runs.clients import parts
from fsbench_web.studies.runs.clients.parts import ClientsCannotContinue, Part
from fsbench_web.studies.runs.leases import LeaseLost
from fsbench_web.studies.runs.new_runs import client_confirmed_as
from runner.agent.messages import output_bytes
from runner.execution import clients, places
from runner.execution.finish import persist
from runner.execution.last_checks import REFUSALS
from runner.execution.mount_watch import MountWatch
from runner.execution.places import RUN_ON, LunUse, RunRefused, RunStopped, UsedLun
from runner.execution.record import COMMANDS_NAME, Recorder, lease_clock, reconnect, stop_after_s
from runner.executors.base import Message, Outcome, Target
from runner.host.hardware import drop_caches
from runner.plan import RunPlan, plan_run
from runner.safety import locks, mounts
from runner.worker import Host

logger = logging.getLogger("fsbench.worker")

_Result = TypeVar("_Result")
HEARTBEAT_EVERY_S = 1.0
# By how much two that ask the database for its time at once may differ.
ASKED_WITHIN_S = 1.0
_LAST_LINES = 200
LOG_NAME = "log.txt"


def take_part(run_id: int, host: Host) -> None:
    """Take part in a run, if it still wants this worker: a message may be late, or come twice."""
    problem = host.executor.problem()
    if not Worker.objects.filter(name=host.name).exists() or not host.has_taken_over or problem:
        return
    try:
        with locks.while_measuring():
            part = parts.accept(run_id, host.name)
            if part is None:
                return
            log_lines.add_context(run=run_id, lease=part.token)
            logger.info("takes part in run %s", run_id)
            with host.carrying_out(run_id):
                _take_part(part, host)
    except locks.LockedElsewhere as error:
        logger.info("takes no part in run %s: %s", run_id, error)


def _take_part(part: Part, host: Host) -> None:
    messages = _ClientMessages(part, host)
    try:
        _measure(messages)
    except LeaseLost:
        logger.warning("run %s is over for this client", part.run_id)
        return
    except RunStopped:
        reason, cause = "Its worker was stopped.", Cause.WORKER_STOPPED
    except REFUSALS as error:
        reason, cause = f"Refused: {error}", Cause.REFUSED
    except ClientsCannotContinue as error:
        reason, cause = str(error), error.cause
    except Exception as error:
        logger.exception("run %s: this client broke off", part.run_id)
        reason, cause = f"It broke off: {type(error).__name__}: {error}", Cause.WORKER_ERROR
    else:
        logger.info("has done its part of run %s", part.run_id)
        return
    logger.warning("run %s: this client gives up: %s", part.run_id, reason)
    with contextlib.suppress(ClientsCannotContinue):
        content = parts.packed_outputs(messages.outputs())
        persist(lambda: parts.hand_over(part, content))
    with contextlib.suppress(LeaseLost):
        persist(lambda: parts.give_up(part, reason, cause))


@dataclass
class _ClientMessages:
    """What the agent of a client says, and the client's own heartbeats."""

    part: Part
    host: Host
    start_at: datetime | None = None
    outputs_by_name: dict[str, list[bytes]] = field(default_factory=dict)
    whole_outputs: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    facts: list[list[str]] = field(default_factory=list)
    began_s: float | None = None
    ended_s: float | None = None
    is_ok: bool = False
    reason: str = ""
    _leader: ChangeWatch = field(default_factory=ChangeWatch)
    _last_heartbeat: float = field(default_factory=lease_clock)

    def take(self, message: Message) -> None:
        """A message of the agent, in the executor's thread."""
        with contextlib.suppress(KeyError, TypeError, ValueError):
            getattr(self, f"_on_{message.get('type')}", lambda _: None)(message)

    def _on_log(self, message: Message) -> None:
        self.lines = [*self.lines, str(message["text"])][-_LAST_LINES:]

    def _on_command(self, message: Message) -> None:
        self.commands.append(Recorder.command_line(message))
        if message["phase"] == "benchmark":
            self.ended_s = float(message["at"])

    def _on_output(self, message: Message) -> None:
        name = str(message["name"])
        self.outputs_by_name.setdefault(name, []).append(output_bytes(str(message["text"])))
        if message["is_last"]:
            self.whole_outputs.add(name)

    def _on_environment(self, message: Message) -> None:
        labels = (("Kernel", "kernel"), ("Distribution", "distribution"))
        self.facts += [[label, str(message[key])[:300]] for label, key in labels]

    def _on_mounted(self, message: Message) -> None:
        self.facts.append(["Mount options", str(message["options"])[:1000]])

    def _on_unlimited_swap(self, message: Message) -> None:
        space = size(int(message["space_bytes"]))
        self.facts.append(["Swap", f"not limited with the memory; the host has {space} of it"])

    def _on_began(self, message: Message) -> None:
        self.began_s = float(message["at"])

    def _on_error(self, message: Message) -> None:
        self.reason = str(message["reason"])

    def _on_done(self, message: Message) -> None:
        self.is_ok = message["ok"] is True

    def outputs(self) -> dict[str, bytes]:
        """By name, with what the commands printed and the last lines of the log."""
        outputs = {
            name if name in self.whole_outputs else f"incomplete {name}": b"".join(pieces)
            for name, pieces in self.outputs_by_name.items()
        }
        for name, lines in ((LOG_NAME, self.lines), (COMMANDS_NAME, self.commands)):
            outputs[name] = "\n".join(lines).encode("utf-8", "replace")
        return outputs

    def heartbeat(self) -> None:
        """A heartbeat where one is due, and what the leader says. Raises LeaseLost, RunStopped."""
        if self.host.stopping.is_set():
            raise RunStopped
        now = lease_clock()
        if now - self._last_heartbeat < HEARTBEAT_EVERY_S:
            return
        try:
            self.start_at = parts.heartbeat(self.part, self._leader)
            self._last_heartbeat = now
        except DatabaseError as error:
            logger.warning("run %s: the database does not answer: %s", self.part.run_id, error)
            reconnect()
            if self.is_overdue():
                raise LeaseLost("the database is away") from None

    def is_overdue(self) -> bool:
        """Whether the run may be over for all that this client knows (``Recorder.is_overdue``)."""
        return lease_clock() - self._last_heartbeat > stop_after_s()

    def should_stop(self) -> bool:
        """What ``places.verify`` asks while it waits. Raises LeaseLost, RunStopped."""
        self.heartbeat()
        return False

    def times(self) -> dict[str, Any]:
        """When its benchmark began and ended, by the database's clock."""
        if self.began_s is None or self.ended_s is None:
            return {}
        clock.ask_soon()
        began, ended = self.began_s, self.ended_s
        return {"began_at": clock.database_time(began), "ended_at": clock.database_time(ended)}


def _measure(messages: _ClientMessages) -> None:
    """Check everything, say that it is ready, and run the plan when all do."""
    part, host = messages.part, messages.host
    run = Run.objects.select_related(
        "series__lun", "series__configuration", "series__workload"
    ).get(pk=part.run_id)
    client = RunClient.objects.get(pk=part.client_id)
    configuration, workload = run.series.configuration, run.series.workload
    if workload is None or not configuration.is_known:
        raise RunRefused("Its workload or options are no longer known.")
    entry = places.entry_of(host, host.executor, client.lun_name, RUN_ON)
    if not entry.is_mount:
        raise RunRefused(f"{entry.name} is not a mount.")
    needs = workload_of(workload.tool, workload.parameters).needs
    if problem := host.capabilities.refusal(configuration.filesystem, False, needs):
        raise RunRefused(problem)
    use = LunUse(RUN_ON.role, client_confirmed_as(host.name, client.lun_name))
    with places.reserve(host, host.executor, [(use, entry)]) as luns:
        lun = luns[0]
        plan = places.with_own_folder(
            plan_run(
                *(configuration.filesystem, configuration.options),
                *(workload.tool, workload.parameters),
                device=lun.named_device,
                is_directory=True,
                limits=run.series.runs_on.limits,
            ),
            *(host, lun),
        )
        with places.lock_luns(luns):
            _check(messages, run, lun)
            if host.config.drops_caches:
                # Writing back much memory takes longer than a silence may.
                _with_heartbeat(messages.heartbeat, drop_caches, threading.Event())
            parts.move(part, ClientState.READY)
            plan = replace(plan, start_at=_begin_at(messages), worker_silence_s=stop_after_s())
            parts.move(part, ClientState.MEASURING)
            target = Target(run.pk, host.name, lun.name, lun.device)
            with MountWatch(entry, plan.own_mark) as watch:
                outcome = _run(messages, plan, target, watch)
    if outcome.exit_code != 0 or not messages.is_ok:
        reasons = " ".join(
            reason for reason in (messages.reason, watch.problem or outcome.reason) if reason
        )
        raise ClientsCannotContinue(reasons or "Its agent ended without a reason.", outcome.cause)
    content = parts.packed_outputs(messages.outputs())
    persist(lambda: parts.hand_over(part, content))
    fields = {"facts": messages.facts, **messages.times()}
    persist(lambda: parts.move(part, ClientState.DONE, **fields))


def _check(messages: _ClientMessages, run: Run, lun: UsedLun) -> None:
    """The mount is the one that was confirmed, and as the configuration says."""
    places.verify(messages.host, [lun], messages, run.confirmed)
    configuration = run.series.configuration
    places.check_directory(
        *(lun.entry, configuration.filesystem, configuration.options), configuration.scheduler
    )
    _check_same_server(messages, run, lun)


def _check_same_server(messages: _ClientMessages, run: Run, lun: UsedLun) -> None:
    """Check that the leader's folder is on this mount: names may be equal. Raises RunRefused."""
    leader = run.series.lun
    if leader is None:
        raise RunRefused("The LUN of its leader is no longer known: submit it again.")
    folder = dict(map(tuple, leader.identity)).get(mounts.FOLDER_LABEL, "")
    mark = run.confirmed.get(RUN_ON.confirmed_as, {}).get("mark", "")
    if not folder or not mark:
        return
    try:
        is_beside = mounts.is_beside(lun.entry, messages.host.own_mark(lun.entry), folder, mark)
    except mounts.MountError as error:
        raise RunRefused(str(error)) from None
    if is_beside is False:
        raise RunRefused(
            f"{folder}, the folder of {leader.worker} on its mount, is not at {lun.entry.path}: "
            "the two are not one file system, though server and export are called alike. Mount "
            "the same export on both."
        )


def _begin_at(messages: _ClientMessages) -> float:
    """When all begin, by this host's clock. Raises ClientsCannotContinue where that is later than
    the leader can have said: one who waited for it would measure when the others are done.
    """
    while messages.start_at is None:
        messages.heartbeat()
        time.sleep(0.1)
    clock.ask_soon()
    ahead_s = (messages.start_at - clock.now()).total_seconds()
    if ahead_s > clients.START_AHEAD_S + ASKED_WITHIN_S:
        raise ClientsCannotContinue(
            f"The start is {ahead_s:.0f} s away, later than the leader set it: the database's "
            "clock was set back. Nothing was measured together.",
            Cause.DATABASE,
        )
    return clients.host_time(messages.start_at.timestamp())


def _run(messages: _ClientMessages, plan: RunPlan, target: Target, watch: MountWatch) -> Outcome:
    stop = threading.Event()

    def should_stop() -> bool:
        # The thread that sets ``stop`` may be waiting for a database that cannot be reached.
        return stop.is_set() or messages.is_overdue() or bool(watch.problem)

    def work() -> Outcome:
        return messages.host.executor.run(plan, target, messages.take, should_stop)

    return _with_heartbeat(messages.heartbeat, work, stop)


def _with_heartbeat(
    heartbeat: Callable[[], None], work: Callable[[], _Result], stop: threading.Event
) -> _Result:
    """Do ``work`` in a thread while this one tells that it lives; its end is waited for always."""
    with ThreadPoolExecutor(1, thread_name_prefix="client") as pool:
        future = pool.submit(log_lines.in_same_context(work))
        while not future.done():
            wait([future], timeout=0.2)
            try:
                heartbeat()
            except BaseException:
                stop.set()
                raise
        return future.result()
