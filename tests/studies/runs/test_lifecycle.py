"""The life of a run, also when two processes want the same thing at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerDown

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.studies.models import (
    ACTIVE_STATES,
    END_STATES,
    Lease,
    Run,
    RunState,
    StateChange,
)
from fsbench_web.studies.runs import lifecycle, nudges
from fsbench_web.studies.runs.environments import environment_for
from fsbench_web.studies.runs.lifecycle import LeaseHandle, LeaseLost
from fsbench_web.studies.scores import ingest
from tests.studies.conftest import after_silence, start, worker_announcement

Result = TypeVar("Result")


@pytest.fixture
def handle(runs: list[Run], worker: Worker) -> LeaseHandle:
    """The first run, claimed."""
    handle = lifecycle.claim(runs[0].pk, worker)
    assert handle is not None
    return handle


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """(run, queue) of every message sent."""
    messages: list[tuple[int, str]] = []

    def send_task(name: str, args: list[int], queue: str, **_: Any) -> None:
        assert name == "runner.execute"
        messages.append((args[0], queue))

    monkeypatch.setattr(nudges.app, "send_task", send_task)
    return messages


def fresh(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


class TestClaim:
    def test_it_takes_the_run_and_its_lun(self, runs: list[Run], worker: Worker) -> None:
        handle = lifecycle.claim(runs[0].pk, worker)
        assert handle is not None
        run = fresh(runs[0])
        assert run.state == RunState.LEASED
        assert run.started_at is not None
        lease = run.leases.get()
        assert lease.token == handle.token
        assert lease.worker == worker
        assert lease.expires_at is not None
        assert lease.expires_at > timezone.now()
        assert run.changes.last().reason == "Claimed by lab1."  # type: ignore[union-attr]

    def test_a_run_is_claimed_once(self, runs: list[Run], worker: Worker) -> None:
        assert lifecycle.claim(runs[0].pk, worker) is not None
        assert lifecycle.claim(runs[0].pk, worker) is None

    def test_a_lun_takes_one_run_at_a_time(
        self, runs: list[Run], worker: Worker, handle: LeaseHandle
    ) -> None:
        assert lifecycle.claim(runs[1].pk, worker) is None
        assert fresh(runs[1]).state == RunState.QUEUED
        lifecycle.finish(handle, RunState.FAILED, "x")
        assert lifecycle.claim(runs[1].pk, worker) is not None

    def test_the_worker_of_another_host_gets_nothing(self, runs: list[Run]) -> None:
        other = announce(worker_announcement(name="lab2"))
        assert lifecycle.claim(runs[0].pk, other) is None
        assert not Lease.objects.filter(run__isnull=False).exists()

    def test_a_cancelled_or_unknown_run_is_not_claimed(
        self, runs: list[Run], worker: Worker
    ) -> None:
        lifecycle.cancel(runs[0].pk, "ann")
        assert lifecycle.claim(runs[0].pk, worker) is None
        assert lifecycle.claim(999_999, worker) is None

    def test_every_lease_has_a_greater_token(self, runs: list[Run], worker: Worker) -> None:
        tokens = []
        for run in runs:
            handle = lifecycle.claim(run.pk, worker)
            assert handle is not None
            tokens.append(handle.token)
            lifecycle.finish(handle, RunState.FAILED, "x")
        assert tokens == sorted(set(tokens))
        assert len(tokens) == 4


class TestFencing:
    """Whoever lost the lease can write nothing."""

    @pytest.mark.parametrize(
        "write",
        [
            lambda handle: lifecycle.advance(handle, RunState.PREPARING),
            lambda handle: lifecycle.heartbeat(handle, phase="mkfs", progress=0.5),
            lambda handle: lifecycle.append_log(handle, [(timezone.now(), "stdout", "x")]),
            lambda handle: lifecycle.record_commands(handle, [{"phase": "mkfs"}]),
            lambda handle: lifecycle.record_environment(handle, environment_for({}), {}),
            lambda handle: lifecycle.finish(handle, RunState.DONE, "x"),
        ],
        ids=["advance", "heartbeat", "append_log", "record_commands", "environment", "finish"],
    )
    @pytest.mark.parametrize("is_taken_again", [False, True])
    def test_a_lost_lease_writes_nothing(
        self,
        runs: list[Run],
        worker: Worker,
        handle: LeaseHandle,
        write: Callable[[LeaseHandle], object],
        is_taken_again: bool,
    ) -> None:
        assert lifecycle.reap_lost(after_silence()) == [runs[0].pk]
        if is_taken_again:
            assert lifecycle.claim(runs[1].pk, worker) is not None
        before = list(Run.objects.order_by("pk").values())
        with pytest.raises(LeaseLost):
            write(handle)
        assert list(Run.objects.order_by("pk").values()) == before
        assert not runs[0].log_lines.exists()

    def test_an_older_token_of_the_same_run_is_refused(self, handle: LeaseHandle) -> None:
        old = LeaseHandle(handle.run_id, handle.lun_id, handle.token - 1)
        with pytest.raises(LeaseLost):
            lifecycle.heartbeat(old)

    def test_results_do_not_stay_when_the_lease_is_lost_at_the_end(
        self, runs: list[Run], handle: LeaseHandle
    ) -> None:
        lifecycle.reap_lost(after_silence())

        @transaction.atomic
        def store() -> None:
            value = ParsedValue("write", None, None, 1, "KB/s", 1)
            ingest.store_values(runs[0], None, [value])
            lifecycle.finish(handle, RunState.DONE, "")

        with pytest.raises(LeaseLost):
            store()
        assert not runs[0].measurement_blocks.exists()


class TestStates:
    def test_forwards_only(self, runs: list[Run], handle: LeaseHandle) -> None:
        lifecycle.advance(handle, RunState.RUNNING)
        for state in (RunState.PREPARING, RunState.LEASED):
            with pytest.raises(ValueError, match="cannot go from running"):
                lifecycle.advance(handle, state)
        lifecycle.advance(handle, RunState.RUNNING)
        assert list(runs[0].changes.values_list("state", flat=True)).count("running") == 1
        lifecycle.advance(handle, RunState.COLLECTING, "reading")
        assert fresh(runs[0]).state == RunState.COLLECTING

    @pytest.mark.parametrize("state", [RunState.QUEUED, *ACTIVE_STATES])
    def test_a_state_that_is_no_end_does_not_end_a_run(
        self, handle: LeaseHandle, state: RunState
    ) -> None:
        with pytest.raises(ValueError, match="does not end a run"):
            lifecycle.finish(handle, state, "")

    @pytest.mark.parametrize("state", END_STATES)
    def test_the_end_is_written_with_its_reason_and_frees_the_lun(
        self, runs: list[Run], handle: LeaseHandle, state: RunState
    ) -> None:
        lifecycle.finish(handle, state, "because")
        run = fresh(runs[0])
        assert (run.state, run.reason) == (state, "because")
        assert run.ended_at is not None
        assert Lease.objects.get(lun_id=handle.lun_id).run is None
        assert run.changes.last().state == state  # type: ignore[union-attr]
        with pytest.raises(LeaseLost):
            lifecycle.finish(handle, RunState.DONE, "again")

    def test_an_unknown_state_cannot_be_stored(self, runs: list[Run]) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            Run.objects.filter(pk=runs[0].pk).update(state="finished")

    def test_every_change_is_kept_with_its_time(self, runs: list[Run]) -> None:
        lifecycle.finish(start(runs[0]), RunState.FAILED, "x")
        states = [change.state for change in runs[0].changes.all()]
        assert states == ["queued", "leased", "preparing", "running", "failed"]
        times = [change.at for change in runs[0].changes.all()]
        assert times == sorted(times)


class TestHeartbeat:
    def test_it_prolongs_the_lease(self, handle: LeaseHandle) -> None:
        past = timezone.now() - timedelta(seconds=1)
        Lease.objects.update(expires_at=past)
        watch = after_silence()
        assert lifecycle.heartbeat(handle) is False
        assert Lease.objects.get(lun_id=handle.lun_id).expires_at > timezone.now()
        assert lifecycle.reap_lost(watch) == []

    def test_it_tells_phase_and_progress_within_bounds(
        self, runs: list[Run], handle: LeaseHandle
    ) -> None:
        lifecycle.heartbeat(handle, phase="mkfs", progress=1.7, remaining_s=3.0)
        run = fresh(runs[0])
        assert (run.phase, run.progress, run.remaining_s) == ("mkfs", 1, 3.0)
        lifecycle.heartbeat(handle)
        assert fresh(runs[0]).progress == 1

    def test_it_brings_the_wish_to_cancel(self, runs: list[Run], handle: LeaseHandle) -> None:
        assert lifecycle.cancel(runs[0].pk, "ann") == RunState.LEASED
        assert lifecycle.heartbeat(handle) is True


class TestCancel:
    def test_a_queued_run_ends_at_once(self, runs: list[Run]) -> None:
        assert lifecycle.cancel(runs[0].pk, "ann") == RunState.CANCELLED
        assert fresh(runs[0]).reason == "Cancelled by ann before it started."

    def test_a_run_that_has_ended_stays_as_it_is(
        self, runs: list[Run], handle: LeaseHandle
    ) -> None:
        lifecycle.finish(handle, RunState.FAILED, "x")
        assert lifecycle.cancel(runs[0].pk, "ann") == RunState.FAILED
        assert fresh(runs[0]).cancel_requested_at is None

    def test_the_first_wish_counts(self, runs: list[Run], handle: LeaseHandle) -> None:
        lifecycle.cancel(runs[0].pk, "ann")
        first = fresh(runs[0]).cancel_requested_at
        lifecycle.cancel(runs[0].pk, "bob")
        assert fresh(runs[0]).cancel_requested_at == first

    def test_an_unknown_run(self, db: None) -> None:
        with pytest.raises(Run.DoesNotExist):
            lifecycle.cancel(1, "ann")


class TestLost:
    def test_a_living_run_is_not_reaped(self, handle: LeaseHandle) -> None:
        watch = after_silence()
        lifecycle.heartbeat(handle)
        assert lifecycle.reap_lost(watch) == []

    def test_a_silent_run_is_lost_and_its_lun_free(
        self, runs: list[Run], worker: Worker, handle: LeaseHandle
    ) -> None:
        lifecycle.advance(handle, RunState.RUNNING)
        assert lifecycle.reap_lost(after_silence()) == [runs[0].pk]
        run = fresh(runs[0])
        assert run.state == RunState.LOST
        assert "no heartbeat for 30 s while the run was running" in run.reason
        assert lifecycle.reap_lost(after_silence()) == []
        assert lifecycle.claim(runs[1].pk, worker) is not None

    def test_a_worker_that_is_back_loses_only_its_own_runs(
        self, runs: list[Run], worker: Worker, handle: LeaseHandle
    ) -> None:
        other = announce(worker_announcement(name="lab2"))
        assert lifecycle.recover(other) == []
        assert lifecycle.recover(worker) == [runs[0].pk]
        assert fresh(runs[0]).state == RunState.LOST
        assert fresh(runs[1]).state == RunState.QUEUED


class TestMessages:
    def test_they_go_to_the_queue_of_the_host_after_the_commit(
        self,
        runs: list[Run],
        sent: list[tuple[int, str]],
        django_capture_on_commit_callbacks: Any,
    ) -> None:
        with django_capture_on_commit_callbacks() as callbacks:
            nudges.nudge_after_commit(runs)
        assert sent == []
        for callback in callbacks:
            callback()
        assert sent == [(run.pk, "host.lab1") for run in runs]
        assert fresh(runs[0]).sent_at is not None

    @pytest.mark.parametrize("error", [BrokerDown("no"), ConnectionRefusedError("no")])
    def test_a_broker_that_is_down_does_not_matter(
        self, runs: list[Run], worker: Worker, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(nudges.app, "send_task", fail)
        Run.objects.update(sent_at=None)
        nudges.nudge(runs[0])
        assert fresh(runs[0]).sent_at is None
        lifecycle.resend(worker)

    def test_the_oldest_run_of_a_free_lun_is_told_again(
        self, runs: list[Run], worker: Worker, sent: list[tuple[int, str]]
    ) -> None:
        Run.objects.update(sent_at=None)
        assert lifecycle.resend(worker) == [runs[0].pk]
        assert lifecycle.resend(worker) == []
        later = timezone.now() + timedelta(seconds=2 * settings.WORKER_HEARTBEAT_S + 1)
        assert lifecycle.resend(worker, later) == [runs[0].pk]
        assert sent == [(runs[0].pk, "host.lab1")] * 2

    def test_it_is_told_again_when_the_clock_was_set_back_since(
        self, runs: list[Run], worker: Worker, sent: list[tuple[int, str]]
    ) -> None:
        Run.objects.update(sent_at=timezone.now() + timedelta(hours=1))
        assert lifecycle.resend(worker) == [runs[0].pk]
        assert lifecycle.resend(worker) == []

    def test_nothing_is_told_while_the_lun_is_in_use(
        self, runs: list[Run], worker: Worker, handle: LeaseHandle, sent: list[tuple[int, str]]
    ) -> None:
        Run.objects.update(sent_at=None)
        assert lifecycle.resend(worker) == []
        lifecycle.finish(handle, RunState.FAILED, "x")
        assert lifecycle.resend(worker) == [runs[1].pk]


def test_what_a_tool_prints_can_be_stored(runs: list[Run], handle: LeaseHandle) -> None:
    lifecycle.append_log(handle, [(timezone.now(), "stdout", "nul \x00, half a pair \ud800")])
    lifecycle.finish(handle, RunState.FAILED, "iozone said \x00\udfff")
    assert runs[0].log_lines.get().text == "nul \ufffd, half a pair ?"
    assert fresh(runs[0]).reason == "iozone said \ufffd?"


def at_once(*works: Callable[[], Result]) -> list[Result]:
    """Do all at the same moment, each with a database connection of its own."""
    barrier = threading.Barrier(len(works))

    def do(work: Callable[[], Result]) -> Result:
        try:
            barrier.wait(60)
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(120) for future in [pool.submit(do, work) for work in works]]


@pytest.mark.django_db(transaction=True)
class TestAtTheSameMoment:
    ROUNDS = 5

    def test_one_of_many_gets_the_run(self, runs: list[Run], worker: Worker) -> None:
        for run in runs:
            handles = at_once(*[lambda run=run: lifecycle.claim(run.pk, worker)] * 4)  # type: ignore[misc]
            won = [handle for handle in handles if handle is not None]
            assert len(won) == 1
            assert run.changes.filter(state=RunState.LEASED).count() == 1
            lifecycle.finish(won[0], RunState.FAILED, "x")

    def test_one_of_several_runs_gets_the_lun(self, runs: list[Run], worker: Worker) -> None:
        for _ in range(self.ROUNDS):
            handles = at_once(
                *[lambda run=run: lifecycle.claim(run.pk, worker) for run in runs]  # type: ignore[misc]
            )
            won = [handle for handle in handles if handle is not None]
            assert len(won) == 1
            assert Run.objects.filter(state=RunState.LEASED).count() == 1
            lifecycle.finish(won[0], RunState.FAILED, "x")
            Run.objects.update(state=RunState.QUEUED, ended_at=None)

    def test_a_run_is_either_claimed_or_cancelled(self, runs: list[Run], worker: Worker) -> None:
        for run in runs:
            handle, state = at_once(
                lambda run=run: lifecycle.claim(run.pk, worker),  # type: ignore[misc]
                lambda run=run: lifecycle.cancel(run.pk, "ann"),  # type: ignore[misc]
            )
            run = fresh(run)
            if handle is None:
                assert run.state == state == RunState.CANCELLED
                assert not Lease.objects.filter(run__isnull=False).exists()
            else:
                assert run.state == state == RunState.LEASED
                assert lifecycle.heartbeat(handle) is True
                lifecycle.finish(handle, RunState.CANCELLED, "x")

    def test_a_run_ends_once_when_it_finishes_while_it_is_reaped(
        self, runs: list[Run], worker: Worker
    ) -> None:
        def finish(handle: LeaseHandle) -> bool:
            try:
                lifecycle.finish(handle, RunState.DONE, "measured")
            except LeaseLost:
                return False
            return True

        for run in runs:
            handle = lifecycle.claim(run.pk, worker)
            assert handle is not None
            watch = after_silence()
            finished, reaped = at_once(
                lambda handle=handle: finish(handle),  # type: ignore[misc]
                lambda watch=watch: bool(lifecycle.reap_lost(watch)),  # type: ignore[misc]
            )
            assert finished != reaped
            assert fresh(run).state == (RunState.DONE if finished else RunState.LOST)
            ends = StateChange.objects.filter(run=run, state__in=END_STATES)
            assert ends.count() == 1

    def test_a_run_that_is_both_recovered_and_reaped_is_lost_once(
        self, runs: list[Run], worker: Worker
    ) -> None:
        for run in runs:
            assert lifecycle.claim(run.pk, worker) is not None
            watch = after_silence()
            first, second = at_once(
                lambda: lifecycle.recover(worker),
                lambda watch=watch: lifecycle.reap_lost(watch),  # type: ignore[misc]
            )
            assert sorted(first + second) == [run.pk]
            assert StateChange.objects.filter(run=run, state=RunState.LOST).count() == 1

    def test_heartbeats_and_a_wish_to_cancel_do_not_lose_each_other(
        self, runs: list[Run], worker: Worker, ann: User
    ) -> None:
        handle = lifecycle.claim(runs[0].pk, worker)
        assert handle is not None
        at_once(
            *[lambda: lifecycle.heartbeat(handle, phase="x", progress=0.5)] * 3,
            lambda: lifecycle.cancel(runs[0].pk, "ann"),
        )
        assert lifecycle.heartbeat(handle) is True
        assert fresh(runs[0]).progress == 0.5
