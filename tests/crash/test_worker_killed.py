"""`kill -9` of the worker, in every phase of a run."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from fsbench_web.studies.models import Job, Run, RunState
from runner.host.tuning.scheduler import read_schedulers
from tests.crash.invariants import assert_sound
from tests.crash.lab import (
    FOR_MINUTES,
    FOR_SECONDS,
    IN_MKFS,
    IN_MOUNT,
    SILENT_AFTER_S,
    Lab,
)

pytestmark = [pytest.mark.docker, pytest.mark.postgres, pytest.mark.redis, pytest.mark.root]


@pytest.mark.parametrize(
    ("asked", "state", "phase"),
    [
        (IN_MKFS, RunState.PREPARING, "mkfs"),
        (IN_MOUNT, RunState.PREPARING, "mount"),
        (FOR_MINUTES, RunState.RUNNING, "benchmark"),
    ],
    ids=["mkfs", "mount", "running"],
)
def test_with_a_container_at_work(
    lab: Lab, asked: dict[str, Any], state: RunState, phase: str
) -> None:
    since = time.time()
    run = lab.submit(**asked)
    lab.wait_for(run, state, phase)
    assert lab.agents()
    lab.kill_worker()
    # The disk may be another host's soon: nobody writes on it any more, without a worker.
    lab.wait_until(lambda: not lab.agents(), timeout_s=30)
    assert lab.containers()
    run.refresh_from_db()
    assert run.state == state
    lab.start_worker()
    lab.wait_for(run, RunState.LOST)
    assert f"The worker stopped while the run was {state}" in run.reason
    assert_sound(lab, since, run)


def test_in_a_job_the_run_is_run_again_and_the_disk_has_its_scheduler_back(lab: Lab) -> None:
    since = time.time()
    number = Path(lab.losetup()[0]).stat().st_rdev
    before = read_schedulers(number)[0]
    wanted = next(one for one in ("mq-deadline", "kyber", "none") if one != before)
    job, run = lab.job(scheduler=wanted, **FOR_SECONDS)
    lab.resume(job)
    lab.wait_for(run, RunState.RUNNING)
    assert read_schedulers(number)[0] == wanted
    Job.objects.filter(pk=job.pk).update(paused_at=timezone.now())
    lab.kill_worker()
    lab.start_worker()
    lab.wait_for(run, RunState.LOST)
    lab.wait_until(lambda: read_schedulers(number)[0] == before)
    again = Run.objects.get(retry_of=run)
    assert (run.cause, again.repeat, again.rerun) == ("worker-gone", run.repeat, 1)
    assert f"It is retried as run {again.pk}." in run.reason
    lab.resume(job)
    lab.wait_for(again, RunState.DONE)
    assert read_schedulers(number)[0] == before
    assert_sound(lab, since, run, again)


def test_one_that_is_stopped_does_not_measure_on_without_a_lease(lab: Lab) -> None:
    """As by SIGSTOP, or on a host that swaps to death: it cannot end its container."""
    since = time.time()
    run = lab.submit(**FOR_MINUTES)
    lab.wait_for(run, RunState.RUNNING, "benchmark")
    os.kill(lab.worker_pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        lab.wait_until(lambda: not lab.agents(), timeout_s=60)
        assert time.monotonic() - began > SILENT_AFTER_S / 3
        run.refresh_from_db()
        assert run.state == RunState.RUNNING
    finally:
        os.kill(lab.worker_pid, signal.SIGCONT)
    lab.wait_until(lambda: Run.objects.get(pk=run.pk).has_ended)
    run.refresh_from_db()
    assert (run.state, run.cause) in [("failed", "silent"), ("lost", "silent")], run.reason
    assert_sound(lab, since, run)


def test_when_it_has_only_claimed_the_run(lab: Lab) -> None:
    since = time.time()
    with lab.gate(RunState.PREPARING):
        run = lab.submit()
        lab.wait_for(run, RunState.LEASED)
        lab.kill_worker()
    lab.start_worker()
    lab.wait_for(run, RunState.LOST)
    assert "while the run was leased" in run.reason
    assert_sound(lab, since, run)


def test_while_it_checks_the_lun(lab: Lab) -> None:
    """Somebody has the device open: the worker waits for a while before it refuses the run."""
    since = time.time()
    descriptor = os.open(lab.losetup()[0], os.O_RDONLY)
    try:
        run = lab.submit()
        lab.wait_for(run, RunState.PREPARING, "preparing")
        lab.kill_worker()
        assert lab.containers() == []
    finally:
        os.close(descriptor)
    lab.start_worker()
    lab.wait_for(run, RunState.LOST)
    assert_sound(lab, since, run)


def test_while_it_stores_the_results(lab: Lab) -> None:
    """The benchmark is over and its numbers are in the worker's hands: they must not be lost."""
    since = time.time()
    with lab.gate(RunState.DONE):
        run = lab.submit()
        lab.wait_for(run, RunState.COLLECTING)
        lab.kill_worker()
    lab.start_worker()
    lab.wait_for(run, RunState.DONE)
    assert "stored this; it did so when it was back" in run.log_lines.order_by("id").last().text
    assert_sound(lab, since, run)
