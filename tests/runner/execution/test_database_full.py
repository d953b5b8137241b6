"""The database's disk is full, or the database is away: what a run has measured is kept."""

import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from pytest_django.fixtures import Settings

from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import ingest
from runner.execution import finish
from runner.executors.base import Message, OnMessage, Outcome, ShouldStop
from runner.plan import RunPlan
from runner.worker import Host
from tests.measured import measured
from tests.runner import fake
from tests.runner.fake import FakeExecutor, message

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]


def no_room() -> OperationalError:
    error = OperationalError('could not extend file "base/5/16871": No space left on device')
    error.__cause__ = psycopg.errors.DiskFull()
    return error


class Full:
    """While ``is_full`` nothing of this can be written; a heartbeat without progress can, because
    it writes the row of the lease alone.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        self.refused = 0
        self.advanced: list[str] = []
        for module, names in (
            (lifecycle, ("append_log", "heartbeat", "advance", "record_commands", "finish")),
            (ingest, ("store_packed",)),
        ):
            for name in names:
                monkeypatch.setattr(module, name, self._refusing(getattr(module, name)))

    def _refusing(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: object, **values: object) -> Any:
            if self.is_full and not (write.__name__ == "heartbeat" and not values):
                self.refused += 1
                raise no_room()
            written = write(*arguments, **values)
            if write.__name__ == "advance":
                self.advanced.append(str(arguments[1]))
            return written

        return wrapped


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Full:
    settings.WORKER_SILENT_AFTER_S = 2
    return Full(monkeypatch)


def test_a_run_is_measured_on_while_there_is_no_room_for_its_log_and_its_progress(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, full: Full
) -> None:
    def measure(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        full.is_full = True
        on_message(message("phase", phase="benchmark"))
        until = time.monotonic() + 5
        while time.monotonic() < until:
            on_message(message("log", stream="stdout", text="at work"))
            if should_stop():
                return Outcome(None)
            time.sleep(0.1)
        full.is_full = False
        return fake.succeed(plan, on_message, should_stop)

    run = submitted(host := make_host(FakeExecutor(measure)))
    carry_out(run, host)
    assert run.state == RunState.DONE, run.reason
    assert full.refused
    assert run.log_lines.filter(text="at work").count() > 20


def test_what_was_measured_waits_for_room_for_longer_than_a_lease_lives(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    full: Full,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def measure(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        outcome = fake.succeed(plan, on_message, should_stop)
        full.is_full = True
        return outcome

    watch, began = lifecycle.LeaseWatch(), time.monotonic()

    def look() -> None:
        # Meanwhile others look for leases that nobody prolongs.
        assert not watch.over()
        full.is_full = time.monotonic() - began < 6

    run = submitted(host := make_host(FakeExecutor(measure)))
    monkeypatch.setattr(finish, "reconnect", look)
    carry_out(run, host)
    assert run.state == RunState.DONE, run.reason
    assert time.monotonic() - began > 6
    assert measured(run)


def test_a_worker_that_is_stopped_meanwhile_stores_it_when_it_is_back(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, full: Full
) -> None:
    host = make_host()

    def measure(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        def say(said: Message) -> None:
            on_message(said)
            deadline = time.monotonic() + 10
            while said.get("phase") == "benchmark" and "running" not in full.advanced:
                assert time.monotonic() < deadline
                time.sleep(0.05)

        outcome = fake.succeed(plan, say, should_stop)
        full.is_full = True
        host.stopping.set()
        return outcome

    host.executor = FakeExecutor(measure)
    run = submitted(host)
    carry_out(run, host)
    assert run.is_active
    (kept,) = host.spool_folder.iterdir()
    # It is started again before there is room, and does not take the file for one of no use.
    with pytest.raises(OperationalError):
        finish.finish_spooled(host.spool_folder, lambda: True)
    assert kept.exists()
    full.is_full = False
    assert finish.finish_spooled(host.spool_folder, lambda: False) == [run.pk]
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.reason
    assert measured(run)
    assert not kept.exists()
