"""Why a run ended, as it is kept with the run: what was taken away, and what failed by itself."""

from collections.abc import Callable
from typing import Any

import pytest

from fsbench_web.core.workloads.base import TimedProgress
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs.lifecycle import LeaseHandle
from runner.execution import finish
from runner.execution.record import Recorder
from runner.executors.base import STOPPED, WORKER_SILENT, Outcome
from runner.worker import Host
from tests.runner.fake import FakeExecutor

GONE = Outcome(None, reason="The Docker daemon went away during the run.", cause=Cause.DAEMON)
KILLED = Outcome(137, reason="The container was killed from outside.", cause=Cause.KILLED)
SILENT = Outcome(WORKER_SILENT, cause=Cause.SILENT)
ENDED = Outcome(STOPPED, reason="The container was stopped from outside.", cause=Cause.KILLED)


@pytest.mark.parametrize(
    ("done", "stop_reason", "outcome", "cause"),
    [
        ({}, "", GONE, Cause.DAEMON),
        ({}, "", KILLED, Cause.KILLED),
        ({"ok": False, "stopped": True}, "", ENDED, Cause.KILLED),
        ({"ok": False, "stopped": True}, "", GONE, Cause.DAEMON),
        # An agent of before it said so.
        ({"ok": False}, "", ENDED, Cause.KILLED),
        # What it found wrong by itself it had found before.
        ({"ok": False}, "", GONE, Cause.BENCHMARK),
        ({"ok": False}, "", Outcome(1), Cause.BENCHMARK),
        ({}, "", Outcome(None), Cause.BENCHMARK),
        ({}, "cancelled", GONE, Cause.CANCELLED),
        ({}, "worker", Outcome(None, True), Cause.WORKER_STOPPED),
        ({}, "time", Outcome(None, True), Cause.TIME_LIMIT),
        ({}, "database", Outcome(None, True), Cause.DATABASE),
        # Stopped for longer than its lease, and heard by nobody meanwhile.
        ({"ok": False, "stopped": True}, "database", SILENT, Cause.SILENT),
        ({"ok": False, "stopped": True}, "", SILENT, Cause.SILENT),
    ],
)
def test_why_not(done: dict[str, Any], stop_reason: str, outcome: Outcome, cause: Cause) -> None:
    recorder = Recorder(LeaseHandle(1, 1, 1), TimedProgress(), lambda: False, time_limit_s=60)
    recorder.stop_reason = stop_reason
    if done:
        recorder.take({"type": "done", **done})
        recorder.read()
    ending = finish.interrupted_ending(outcome, recorder)
    assert ending.cause == cause
    assert ending.state == (RunState.CANCELLED if stop_reason == "cancelled" else RunState.FAILED)


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize("outcome", [GONE, Outcome(1, reason="iozone ended with 1.")])
def test_it_is_kept_with_the_run(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    outcome: Outcome,
) -> None:
    host = make_host(FakeExecutor(lambda plan, on_message, should_stop: outcome))
    run = carry_out(submitted(host), host)
    assert (run.state, run.cause) == (RunState.FAILED, outcome.cause)
