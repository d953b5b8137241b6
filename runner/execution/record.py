"""Writes down what an agent says of a run, and hears whether to stop.

The executor's thread calls ``take``. The run's thread alone talks to the database, in
``should_stop``, several times a second. The run ends if the database is away for longer than the
lease lives.
"""

import json
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from fsbench_web.core.activity.series import ActivityBuilder, Step
from fsbench_web.core.numbers import size
from fsbench_web.core.workloads.base import Progress
from fsbench_web.platform import clock, log_lines
from fsbench_web.platform.database_problems import is_disk_full
from fsbench_web.studies.models import RunState
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.runs.lifecycle import LeaseHandle
from runner.agent.messages import output_bytes
from runner.executors.base import Message
from runner.host import swap

if TYPE_CHECKING:
    from runner.execution.tracing import Tracing

logger = logging.getLogger("fsbench.worker")
_Result = TypeVar("_Result")

FLUSH_EVERY_S = 0.5
# Also how soon a cancellation is noticed; the executor then has 4 of its 5 seconds left.
HEARTBEAT_EVERY_S = 1.0
BATCH_LINES = 1000
# Of a tool that prints without end the log keeps this much; the raw output keeps all.
KEPT_TEXT_CHARACTERS = 16 * 1024 * 1024
COMMANDS_NAME = "commands.jsonl"


def stop_after_s() -> float:
    """Seconds after the last answer of the database until a run ends itself: so early that
    nothing of it touches the LUN any more when the lease runs out (executors.stream.STOP_GRACE_S).
    """
    lease_s = float(settings.WORKER_SILENT_AFTER_S)
    return lease_s - min(5.0, lease_s / 4)


def lease_clock() -> float:
    """Seconds of a clock that nobody sets and that goes on while this host is suspended: its leases
    run out meanwhile.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _command(message: Message) -> dict[str, Any]:
    return {key: message[key] for key in ("phase", "argv", "exit_code", "duration_s")}


def _storable(text: str) -> bytes:
    """JSON can say half of a surrogate pair, which no file and no database holds."""
    return text.encode("utf-8", "replace")


def _text_file(lines: list[str]) -> bytes:
    return _storable("\n".join(lines) + "\n")


def reconnect() -> None:
    """After an error of the database: the next query opens a new connection if it must."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()


@dataclass
class Recorder:
    """What is known of one run so far. ``stop_reason``: cancelled, worker, database, time or
    benchmark time. ``time_limit_s`` is the job's, ``benchmark_limit_s`` the workload's; None: none.
    """

    handle: LeaseHandle
    progress: Progress
    is_worker_stopping: Callable[[], bool]
    time_limit_s: float | None = None
    benchmark_limit_s: float | None = None
    commands: list[dict[str, Any]] = field(default_factory=list)
    # The same with what each printed, one JSON object a line: the artefact of the commands.
    command_lines: list[str] = field(default_factory=list)
    outputs: dict[str, list[bytes]] = field(default_factory=dict)
    finished_outputs: set[str] = field(default_factory=set)
    printed: list[str] = field(default_factory=list)
    # What held for this run alone (runner.execution.conditions).
    conditions: dict[str, Any] = field(default_factory=dict)
    environment: Message | None = None
    mounted: Message | None = None
    # How its file system is exported by NFS and mounted again, where it is.
    served: Message | None = None
    # What devices, processors and memory did meanwhile (core.activity).
    activity: ActivityBuilder = field(default_factory=ActivityBuilder)
    # What is traced meanwhile, of an extra run; None before anything is.
    tracing: "Tracing | None" = None
    reason: str = ""
    is_ok: bool | None = None
    # The agent ended because somebody asked it to.
    was_stopped: bool = False
    stop_reason: str = ""
    phase: str = "preparing"
    phase_share: float = 0.0
    on_environment: Callable[["Recorder"], None] | None = None
    _inbox: "queue.SimpleQueue[Message]" = field(default_factory=queue.SimpleQueue)
    _lines: list[tuple[datetime, str, str]] = field(default_factory=list)
    _printed_characters: int = 0
    _phase_began: float = field(default_factory=time.monotonic)
    _benchmark_began: float | None = None
    _benchmark_ended_s: float | None = None
    _began_together_s: float | None = None
    # Looked at now and then, in the run's thread.
    on_heartbeat: Callable[[], None] = lambda: None
    _commands_written: int = 0
    _environment_written: bool = False
    _is_running: bool = False
    _flushed: float = 0.0
    _last_heartbeat: float = 0.0
    _prolonged: float = field(default_factory=lease_clock)
    _began: float = field(default_factory=time.monotonic)

    def resume_running(self, commands_written: int) -> None:
        """Another worker began to write this run: what it runs on, and some of its commands."""
        self._is_running = self._environment_written = True
        self._commands_written = commands_written

    @property
    def mounts(self) -> tuple[Message | None, Message | None]:
        """What was mounted: the file system, and what it is served as."""
        return self.mounted, self.served

    def log(self, text: str) -> None:
        """A line of fsbench itself."""
        self._lines.append((clock.now(), "fsbench", text))

    def take(self, message: Message) -> None:
        """Accept a message in any thread, for ``read`` to understand."""
        self._inbox.put(message)

    def read(self) -> None:
        """Understand what was taken so far."""
        while not self._inbox.empty():
            self._understand(self._inbox.get())

    def _understand(self, message: Message) -> None:
        handler = getattr(self, f"_on_{message.get('type')}", None)
        try:
            if handler is None:
                raise KeyError(message.get("type"))
            handler(message)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            self.log(f"A message that cannot be understood: {str(message)[:500]}")

    def _on_log(self, message: Message) -> None:
        stream, text = str(message["stream"])[:10], str(message["text"])
        self._lines.append((clock.database_time(float(message["at"])), stream, text))
        if stream == "stdout" and self.phase == "benchmark":
            self.progress.feed(text)
            if self._printed_characters < KEPT_TEXT_CHARACTERS:
                self._printed_characters += len(text) + 1
                self.printed.append(text)

    def _on_phase(self, message: Message) -> None:
        self.phase = str(message["phase"])[:60]
        self.phase_share, self._phase_began = 0.0, time.monotonic()
        # A benchmark may be several commands: its time is counted from the first.
        if self.phase == "benchmark" and self._benchmark_began is None:
            self._benchmark_began = time.monotonic()

    def _on_progress(self, message: Message) -> None:
        self.phase_share = min(max(float(message["share"]), 0.0), 1.0)

    def _on_command(self, message: Message) -> None:
        self.commands.append(_command(message))
        self.command_lines.append(self.command_line(message))
        if message["phase"] == "benchmark" and "at" in message:
            self._benchmark_ended_s = float(message["at"])

    @staticmethod
    def command_line(message: Message) -> str:
        """A command with what it printed, as the artefact of the commands has it."""
        printed = {key: str(message.get(key, "")) for key in ("stdout", "stderr")}
        return json.dumps(_command(message) | printed)

    def _on_began(self, message: Message) -> None:
        self._began_together_s = float(message["at"])

    def benchmark_times(self) -> dict[str, datetime]:
        """When the benchmark of one of several clients began and ended, by the database's clock."""
        if self._began_together_s is None or self._benchmark_ended_s is None:
            return {}
        clock.ask_soon()
        began, ended = self._began_together_s, self._benchmark_ended_s
        return {"began_at": clock.database_time(began), "ended_at": clock.database_time(ended)}

    def _on_output(self, message: Message) -> None:
        name = str(message["name"])
        self.outputs.setdefault(name, []).append(output_bytes(str(message["text"])))
        if message["is_last"]:
            self.finished_outputs.add(name)

    def _on_environment(self, message: Message) -> None:
        self.environment = message

    def _on_mounted(self, message: Message) -> None:
        self.mounted = message

    def _on_served(self, message: Message) -> None:
        self.served = message

    def _on_sampling(self, message: Message) -> None:
        self.activity.begin(
            message["fields"],
            message["absent"],
            message["every_s"],
            is_shared=message["is_shared"] is True,
            devices=message.get("devices"),
        )

    def _on_sample(self, message: Message) -> None:
        is_edge = message["is_edge"] is True
        self.activity.add(float(message["t"]), message["values"], is_edge=is_edge)

    def _on_step(self, message: Message) -> None:
        processes = {str(name): float(n) for name, n in message["processes"].items()}
        times = float(message["t0"]), float(message["t1"])
        names = str(message["phase"])[:60], str(message["output"])[:200]
        self.activity.steps.append(Step(*times, *names, processes))

    def _on_space(self, message: Message) -> None:
        self.activity.space = {
            name: None if message[name] is None else int(message[name])
            for name in ("used_before_bytes", "used_after_bytes", "files", "contents_bytes")
        }

    def _on_unlimited_swap(self, message: Message) -> None:
        space = int(message["space_bytes"])
        self.conditions["swap"] = {"space_bytes": space}
        self.log(swap.NOT_LIMITED.format(size(space)))

    def _on_error(self, message: Message) -> None:
        self.reason = str(message["reason"])

    def _on_done(self, message: Message) -> None:
        self.is_ok = message["ok"] is True
        self.was_stopped = message.get("stopped") is True

    def should_stop(self) -> bool:
        """Read and write what is due; True when the run is to end. Raises LeaseLost."""
        self.read()
        if not self.stop_reason and self.is_worker_stopping():
            self.stop_reason = "worker"
        now = time.monotonic()
        if not self.stop_reason and self.time_limit_s is not None:
            self.stop_reason = "time" if now - self._began > self.time_limit_s else ""
        if not self.stop_reason and self._benchmark_takes_too_long(now):
            self.stop_reason = "benchmark time"
        if now - self._flushed < FLUSH_EVERY_S:
            return bool(self.stop_reason)
        self._flushed = now
        try:
            self.write(now)
        except DatabaseError as error:
            logger.warning("run %s: the database does not answer: %s", self.handle.run_id, error)
            reconnect()
        return self.is_overdue() or bool(self.stop_reason)

    def _benchmark_takes_too_long(self, now: float) -> bool:
        """Whether the limit of the workload is over while one of its commands is still at work."""
        if self.benchmark_limit_s is None or self._benchmark_began is None:
            return False
        return self.phase == "benchmark" and now - self._benchmark_began > self.benchmark_limit_s

    def is_overdue(self) -> bool:
        """Whether the lease is about to run out, by this worker's clock. Any thread may call it."""
        if lease_clock() - self._prolonged > stop_after_s():
            self.stop_reason = self.stop_reason or "database"
            return True
        return False

    def write(self, now: float | None = None) -> None:
        """Write everything that is new; nothing is forgotten before it is written. With ``now`` a
        heartbeat too, when it is due: also where the database has no room for the rest.
        """
        try:
            self._write_new()
        except DatabaseError as error:
            if is_disk_full(error):
                self._beat_when_due(now)
            raise
        self._beat_when_due(now)

    def _write_new(self) -> None:
        if self._benchmark_began is not None and not self._is_running:
            self.write_environment()
            lifecycle.advance(self.handle, RunState.RUNNING, "The benchmark began.")
            self._is_running = True
        while self._lines:
            batch = self._lines[:BATCH_LINES]
            lifecycle.append_log(self.handle, batch)
            del self._lines[: len(batch)]
        if len(self.commands) > self._commands_written:
            count = len(self.commands)
            lifecycle.record_commands(self.handle, self.commands)
            self._commands_written = count

    def _beat_when_due(self, now: float | None) -> None:
        if now is not None and now - self._last_heartbeat >= HEARTBEAT_EVERY_S:
            self.ask_now()
            self.on_heartbeat()

    def ask_now(self) -> None:
        """Send a heartbeat now; whether the run is cancelled. Raises LeaseLost, the database's
        error.
        """
        # From before it is asked: the database prolongs the lease a little later than that.
        asked_at, prolonged_at = time.monotonic(), lease_clock()
        try:
            is_cancelled = self._heartbeat(asked_at)
        except DatabaseError as error:
            if not is_disk_full(error):
                raise
            # The lease's own row fits into its place where the run's, with its progress, does not.
            is_cancelled = lifecycle.heartbeat(self.handle)
        self._last_heartbeat, self._prolonged = asked_at, prolonged_at
        if is_cancelled and not self.stop_reason:
            self.stop_reason = "cancelled"

    def write_environment(self) -> None:
        """Once: what the run happens on. Before it is measured, and for a failed run in the end."""
        if not self._environment_written and self.on_environment is not None:
            self.on_environment(self)
            self._environment_written = True

    def _heartbeat(self, now: float) -> bool:
        if self._benchmark_began is None or self.phase != "benchmark":
            share = self.phase_share
            elapsed_s = now - self._phase_began
            return lifecycle.heartbeat(
                self.handle,
                phase=self.phase,
                progress=share,
                remaining_s=elapsed_s * (1 - share) / share if share else None,
            )
        elapsed_s = now - self._benchmark_began
        share, remaining_s = self.progress.share, self.progress.remaining_s(elapsed_s)
        if not share and remaining_s is not None:
            # The tool tells nothing on the way, but its parameters say how long it takes.
            share = elapsed_s / (elapsed_s + remaining_s)
        return lifecycle.heartbeat(
            self.handle, phase=self.phase, progress=share, remaining_s=remaining_s
        )

    def artefacts(self) -> dict[str, bytes]:
        """The raw outputs; what was printed before the agent was killed, when there are none."""
        outputs = {
            name if name in self.finished_outputs else f"incomplete {name}": b"".join(parts)
            for name, parts in self.outputs.items()
        }
        if not outputs and self.printed:
            outputs["incomplete output.txt"] = _text_file(self.printed)
        if self.command_lines:
            outputs[COMMANDS_NAME] = _text_file(self.command_lines)
        return {_storable(name).decode(): data for name, data in outputs.items()}


def with_heartbeat(
    recorder: Recorder, work: Callable[[], _Result], stop: threading.Event | None = None
) -> _Result:
    """Do ``work`` in a thread with heartbeats; ``stop`` is set to end it. Raises LeaseLost."""
    with ThreadPoolExecutor(1, thread_name_prefix="run") as pool:
        future = pool.submit(log_lines.in_same_context(work))
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
