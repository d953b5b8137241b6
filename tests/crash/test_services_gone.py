"""Everything around the worker goes away and comes back; the worker itself stays up."""

import json
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.studies.models import Job, Run, RunState
from tests.crash.invariants import assert_sound
from tests.crash.lab import FOR_MINUTES, FOR_SECONDS, IN_MKFS, SILENT_AFTER_S, Lab

FAR_AWAY = datetime(2099, 1, 1, tzinfo=UTC)

pytestmark = [pytest.mark.docker, pytest.mark.postgres, pytest.mark.redis, pytest.mark.root]


def test_the_container_is_killed(lab: Lab) -> None:
    since = time.time()
    run = lab.submit(**FOR_MINUTES)
    lab.wait_for(run, RunState.RUNNING)
    lab.docker("kill", "--signal", "KILL", *lab.containers())
    lab.wait_for(run, RunState.FAILED)
    assert "killed from outside (signal 9)" in run.reason
    assert_sound(lab, since, run)


@pytest.mark.parametrize(
    ("changes", "state", "phase"),
    [(IN_MKFS, RunState.PREPARING, "mkfs"), (FOR_MINUTES, RunState.RUNNING, "benchmark")],
    ids=["mkfs", "running"],
)
def test_dockerd_is_killed_and_started_again(
    lab: Lab, changes: dict[str, Any], state: RunState, phase: str
) -> None:
    """The run fails, its container is ended without the daemon, and the next one waits for it."""
    since, pid = time.time(), lab.worker_pid
    run, following = lab.submit(**changes), lab.submit()
    lab.wait_for(run, state, phase)
    lab.dockerd.kill()
    try:
        lab.wait_for(run, RunState.FAILED)
        assert "The Docker daemon went away during the run" in run.reason
        lab.wait_until(lambda: not lab.agents(), timeout_s=30)
        lab.wait_until(lambda: not Worker.objects.get(name=lab.name).capabilities["is_usable"])
        following.refresh_from_db()
        assert following.state == RunState.QUEUED
    finally:
        lab.dockerd.start()
        lab.dockerd.wait_until_ready()
    lab.wait_for(following, RunState.DONE)
    assert lab.worker_pid == pid
    assert_sound(lab, since, run, following)


def test_what_a_killed_dockerd_had_is_removed_by_the_next_look_and_run_again(lab: Lab) -> None:
    """No other run comes that would remove it: the job is paused, as soon as its run began."""
    since = time.time()
    job, run = lab.job(**FOR_SECONDS)
    lab.resume(job)
    lab.wait_for(run, RunState.RUNNING)
    Job.objects.filter(pk=job.pk).update(paused_at=datetime.now(UTC))
    lab.dockerd.kill()
    try:
        lab.wait_for(run, RunState.FAILED)
    finally:
        lab.dockerd.start()
        lab.dockerd.wait_until_ready()
    lab.wait_until(lambda: not lab.containers(), timeout_s=60)
    assert AuditEntry.objects.filter(what="leftover removed", detail__run=run.pk).count() == 1
    again = Run.objects.get(retry_of=run)
    assert (run.cause, again.state) == ("daemon", RunState.QUEUED)
    lab.resume(job)
    lab.wait_for(again, RunState.DONE)
    assert_sound(lab, since, run, again)


def test_a_worker_that_is_started_without_dockerd_waits_for_it(lab: Lab) -> None:
    """Worker and daemon are both killed, as when a host loses power: then the worker is first."""
    since = time.time()
    run = lab.submit(**FOR_MINUTES)
    lab.wait_for(run, RunState.RUNNING)
    lab.kill_worker()
    lab.dockerd.kill()
    try:
        lab.start_worker()
        worker = Worker.objects.get(name=lab.name)
        assert "No Docker daemon answers" in worker.capabilities["reason"]
    finally:
        lab.dockerd.start()
        lab.dockerd.wait_until_ready()
    lab.wait_for(run, RunState.LOST)
    assert_sound(lab, since, run)


def test_redis_is_killed_and_started_again_empty(lab: Lab) -> None:
    since, pid = time.time(), lab.worker_pid
    run = lab.submit(**FOR_SECONDS)
    lab.wait_for(run, RunState.RUNNING)
    lab.redis.kill()
    following = lab.submit()
    time.sleep(2)
    lab.redis.start()
    lab.redis.wait_until_ready()
    lab.wait_for(run, RunState.DONE)
    lab.wait_for(following, RunState.DONE)
    # Not only the queue of before is read again: messages that are sent now arrive, too.
    message_only = lab.submit()
    Run.objects.filter(pk=message_only.pk).update(sent_at=FAR_AWAY)
    lab.send(message_only)
    lab.wait_for(message_only, RunState.DONE)
    assert lab.worker_pid == pid
    assert_sound(lab, since, run, following, message_only)


def test_postgres_is_restarted_during_a_run(lab: Lab) -> None:
    since, pid = time.time(), lab.worker_pid
    run = lab.submit(**FOR_SECONDS)
    lab.wait_for(run, RunState.RUNNING)
    lab.stop_postgres()
    time.sleep(1)
    lab.start_postgres()
    lab.wait_for(run, RunState.DONE)
    assert lab.worker_pid == pid
    assert_sound(lab, since, run)


def test_postgres_is_restarted_while_results_are_stored(lab: Lab) -> None:
    since, pid = time.time(), lab.worker_pid
    with lab.gate(RunState.DONE):
        run = lab.submit()
        lab.wait_for(run, RunState.COLLECTING)
        lab.stop_postgres()
    lab.start_postgres()
    lab.wait_for(run, RunState.DONE)
    assert lab.worker_pid == pid
    assert_sound(lab, since, run)


def test_postgres_is_away_for_longer_than_the_lease_lives(lab: Lab) -> None:
    since, pid = time.time(), lab.worker_pid
    run = lab.submit(**FOR_MINUTES)
    lab.wait_for(run, RunState.RUNNING)
    lab.stop_postgres()
    time.sleep(SILENT_AFTER_S + 1)
    lab.start_postgres()
    lab.wait_until(lambda: Run.objects.get(pk=run.pk).has_ended)
    run.refresh_from_db()
    assert run.state in (RunState.FAILED, RunState.LOST), run.reason
    assert lab.worker_pid == pid
    assert_sound(lab, since, run)


def test_the_same_message_again_and_again(lab: Lab) -> None:
    """Before the run, during it and after its end."""
    since = time.time()
    run = lab.submit(**FOR_SECONDS)
    lab.send(run, times=4)
    lab.wait_for(run, RunState.RUNNING)
    lab.send(run, times=4)
    lab.wait_for(run, RunState.DONE)
    lab.send(run, times=4)
    time.sleep(1)
    assert_sound(lab, since, run)


def test_the_web_is_down_during_a_run(lab: Lab) -> None:
    since = time.time()
    user, _ = User.objects.get_or_create(username="ann")
    token = tokens.create(user, "tests")[1]
    lab.wait_until(lambda: not Lun.objects.get(name="disk").problem)
    web, address = lab.web()
    try:
        body = {
            "study": "over-the-web",
            "lun": "disk",
            "confirm": "disk",
            "configurations": [{"filesystem": "ext4", "scheduler": "none"}],
            "workload": "iozone-small",
            "parameters": FOR_SECONDS["parameters"],
            "repeats": 1,
        }
        request = urllib.request.Request(
            f"{address}/api/v1/runs",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as refused:
            pytest.fail(refused.read().decode())
        with answer:
            number = json.load(answer)["runs"][0]["id"]
        run = Run.objects.get(pk=number)
        lab.wait_for(run, RunState.RUNNING)
        web.kill()
        lab.wait_for(run, RunState.DONE)
    finally:
        web.stop()
    web, address = lab.web()
    try:
        with urllib.request.urlopen(f"{address}/api/v1/runs/{number}", timeout=60) as answer:
            assert json.load(answer)["state"] == "done"
    finally:
        web.stop()
    assert_sound(lab, since, run)
