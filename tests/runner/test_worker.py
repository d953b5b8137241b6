"""The worker as a process: killed, stopped and asked whether it lives."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers import guest_kernels, maintenance
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.celery import app
from fsbench_web.platform import disk_room
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, RaceSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Lease, MeasurementBlock, Race, Run, RunState, Series
from fsbench_web.studies.runs import lifecycle, logs, nudges
from runner import service
from runner.guests.executor import GuestExecutor
from runner.safety import blockdev, checks
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.measured import measured
from tests.runner.conftest import LONG, SMALL, sparse_lun, tool, write_luns, write_run
from tests.runner.guests.fake_apt import FakeApt
from tests.services.process import holds
from tests.services.server import database_url

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.root]

MANAGE = Path(__file__).resolve().parent.parent.parent / "manage.py"


# A run that is waited for would take minutes; a machine with much else to do needs its time.
SOON_S = 45
_PING = "app.control.ping(timeout=2, destination=['fsbench@{name}'])"


class WorkerProcess:
    def __init__(self, lun_file: Path, log: Path, **environment: str) -> None:
        self.lun_file = lun_file
        self.log = log
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DATABASE_URL": database_url(),
            "FSBENCH_LUNS": str(lun_file),
            "FSBENCH_WORKER": f"test-{os.getpid()}",
            "FSBENCH_EXECUTOR": "local",
            "FSBENCH_WORKER_HEARTBEAT_S": "1",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return self.environment["FSBENCH_WORKER"]

    def start(self) -> "WorkerProcess":
        before = Worker.objects.filter(name=self.name).values_list("started_at", flat=True).first()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(MANAGE), "worker"],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.wait_until(
            lambda: (
                Worker.objects.filter(name=self.name).exclude(started_at=before).exists()
                and self.answers()
            )
        )
        return self

    def answers(self) -> bool:
        """Whether it answers as the health check asks."""
        if self.environment.get("CELERY_BROKER_URL"):
            return "pong" in self.elsewhere(f"print({_PING.format(name=self.name)})")
        return bool(app.control.ping(timeout=1, destination=[f"fsbench@{self.name}"]))

    def elsewhere(self, code: str) -> str:
        """What another process with the same settings prints."""
        start = "import django; django.setup(); from fsbench_web.celery import app; "
        done = subprocess.run(
            [sys.executable, "-c", start + code],
            env=self.environment,
            cwd=MANAGE.parent,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_until(self, condition: Callable[[], bool], timeout_s: float = 120) -> None:
        deadline = time.monotonic() + timeout_s
        while not holds(condition):
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()

    def send(self, number: int) -> float:
        """Send a signal and wait for the end; seconds it took."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(90)
        return time.monotonic() - began


@pytest.fixture
def worker(lun_file: Path, tmp_path: Path) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(lun_file, tmp_path / "worker.log")
    yield worker
    if worker.process is not None and worker.process.poll() is None:
        worker.send(signal.SIGTERM)
    image = read_luns(lun_file)[0].path if read_luns(lun_file) else None
    if image is not None and image.exists():
        for line in tool("losetup", "--noheadings", "-O", "NAME", "-j", str(image)).split():
            tool("losetup", "--detach", line)


def run_on(worker: WorkerProcess, **changes: Any) -> Run:
    """A queued run on the running worker's LUN, nudged as the web does it."""
    run = write_run(Worker.objects.get(name=worker.name), **changes)
    nudges.nudge(run)
    return run


def state_of(run: Run) -> str:
    return Run.objects.values_list("state", flat=True).get(pk=run.pk)


def is_measuring(run: Run) -> Callable[[], bool]:
    return lambda: state_of(run) == RunState.RUNNING


def assert_lun_is_free(lun_file: Path, number: int = 0) -> None:
    entry = read_luns(lun_file)[number]
    device = tool("losetup", "--noheadings", "-O", "NAME", "-j", str(entry.path))
    deadline = time.monotonic() + 15
    while problem := checks.problem(checks.verify(entry, lun_file, device)):
        assert time.monotonic() < deadline, problem
        time.sleep(0.1)


def test_it_measures_what_it_is_told_to(worker: WorkerProcess) -> None:
    worker.start()
    lun = Lun.objects.get(worker__name=worker.name)
    assert lun.problem == ""
    run = run_on(worker)
    worker.wait_until(lambda: Run.objects.get(pk=run.pk).has_ended)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.reason
    assert len([row for row in measured(run) if row.unit == "KB/s"]) == 24
    assert worker.send(signal.SIGTERM) < SOON_S
    assert tool("losetup", "-j", str(read_luns(worker.lun_file)[0].path)) == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopping_it_ends_the_run_with_the_reason(worker: WorkerProcess, number: int) -> None:
    worker.start()
    run = run_on(worker, parameters=LONG)
    worker.wait_until(is_measuring(run))
    assert worker.send(number) < SOON_S
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert run.reason.startswith("The worker was stopped during benchmark")
    assert not MeasurementBlock.objects.exists()
    assert not Lease.objects.filter(run=run).exists()
    assert tool("losetup", "-j", str(read_luns(worker.lun_file)[0].path)) == ""


def test_a_killed_worker_loses_its_run_and_frees_the_lun_when_it_is_back(
    worker: WorkerProcess,
) -> None:
    worker.start()
    run = run_on(worker, parameters=LONG)
    worker.wait_until(is_measuring(run))
    worker.send(signal.SIGKILL)
    assert state_of(run) == RunState.RUNNING
    assert_lun_is_free(worker.lun_file)
    worker.start()
    run.refresh_from_db()
    assert run.state == RunState.LOST
    assert "worker stopped while the run was running" in run.reason
    assert logs.lines(run)
    assert not MeasurementBlock.objects.exists()
    again = run_on(worker)
    worker.wait_until(lambda: Run.objects.get(pk=again.pk).has_ended)
    assert state_of(again) == RunState.DONE


def test_a_killed_worker_frees_every_lun_of_a_stack(worker: WorkerProcess, tmp_path: Path) -> None:
    write_luns(
        worker.lun_file,
        sparse_lun(tmp_path / "scratch.img"),
        sparse_lun(tmp_path / "second.img", name="second"),
    )
    worker.start()
    stack: dict[str, Any] = {"filesystem": "btrfs", "members": [("data", "second")]}
    run = run_on(worker, parameters=LONG, options={"data_profile": "raid1"}, **stack)
    worker.wait_until(is_measuring(run))
    worker.send(signal.SIGKILL)
    assert_lun_is_free(worker.lun_file)
    assert_lun_is_free(worker.lun_file, 1)
    worker.start()
    assert state_of(run) == RunState.LOST
    assert not Lease.objects.exclude(run=None).exists()
    alone = run_on(worker, lun="second")
    worker.wait_until(lambda: Run.objects.get(pk=alone.pk).has_ended)
    assert state_of(alone) == RunState.DONE


def test_a_race_goes_on_where_its_worker_was_killed(worker: WorkerProcess) -> None:
    """kill -9 in its second block: each block has both once, and the lost run costs no budget."""
    worker.start()
    spec = JobSpec(
        lun_id=Lun.objects.get(worker__name=worker.name).pk,
        configurations=tuple(
            ConfigurationSpec("ext4", options, "none") for options in ({}, {"atime": "noatime"})
        ),
        workload="iozone-small",
        parameters=SMALL | {"maximum_file_kb": 32768, "include_flush": True},
        race=RaceSpec(runs=8),
        new_study="Race",
    )
    for run in submit(spec, "scratch", None):
        nudges.nudge(run)
    late = Run.objects.filter(repeat=2)
    worker.wait_until(lambda: late.filter(state=RunState.RUNNING).exists())
    worker.send(signal.SIGKILL)
    worker.start()
    worker.wait_until(lambda: Race.objects.get().ended_at is not None)
    race = Race.objects.get()
    [lost] = late.filter(state=RunState.LOST)
    assert Run.objects.get(retry_of=lost).rerun == 1
    done = Run.objects.filter(state=RunState.DONE).values_list("block", "series_id")
    blocks = {block for block, _ in done}
    assert sorted(done) == sorted((block, int(who)) for block in blocks for who in race.contenders)
    assert len(done) == Run.objects.count() - 1 == len(race.values)
    assert f"It took {len(done)} runs of 8" in race.conclusion


@pytest.mark.docker
def test_a_killed_workers_container_is_removed_when_it_is_back(
    worker: WorkerProcess, docker_host: str, runner_image: str
) -> None:
    worker.environment |= {
        "FSBENCH_EXECUTOR": "auto",
        "DOCKER_HOST": docker_host,
        "FSBENCH_IMAGE": runner_image,
    }

    def containers() -> str:
        return tool("docker", "-H", docker_host, "ps", "--all", "--quiet")

    worker.start()
    assert Worker.objects.get(name=worker.name).executor == "docker"
    run = run_on(worker, parameters=LONG)
    worker.wait_until(is_measuring(run))
    worker.send(signal.SIGKILL)
    assert containers() != ""
    worker.start()
    assert containers() == ""
    assert state_of(run) == RunState.LOST
    again = run_on(worker, filesystem="xfs")
    worker.wait_until(lambda: Run.objects.get(pk=again.pk).has_ended)
    again.refresh_from_db()
    assert again.state == RunState.DONE, again.reason
    assert containers() == ""


def test_a_cancelled_run_has_stopped_soon(worker: WorkerProcess) -> None:
    worker.start()
    run = run_on(worker, parameters=LONG)
    worker.wait_until(is_measuring(run))
    lifecycle.cancel(run.pk, "somebody")
    worker.wait_until(lambda: state_of(run) == RunState.CANCELLED)
    assert_lun_is_free(worker.lun_file)


def suspend(process: subprocess.Popen[Any]) -> None:
    """SIGSTOP, but not in the middle of a write: nobody else could write to SQLite then."""
    while True:
        process.send_signal(signal.SIGSTOP)
        try:
            with sqlite3.connect(connection.settings_dict["NAME"], timeout=0.5, uri=True) as other:
                other.execute("BEGIN IMMEDIATE")
                other.rollback()
            return
        except sqlite3.OperationalError:
            process.send_signal(signal.SIGCONT)
            time.sleep(0.2)


def test_a_worker_that_was_stopped_for_longer_than_its_lease_writes_nothing_more(
    worker: WorkerProcess, settings: Any
) -> None:
    """SIGSTOP, as a virtual machine is suspended; somebody else ends its run meanwhile."""
    worker.environment["FSBENCH_WORKER_SILENT_AFTER_S"] = "4"
    settings.WORKER_SILENT_AFTER_S = 4
    watch = lifecycle.LeaseWatch()
    worker.start()
    assert worker.process is not None
    run = run_on(worker, parameters=LONG)
    worker.wait_until(is_measuring(run))
    suspend(worker.process)
    try:
        worker.wait_until(lambda: lifecycle.reap_lost(watch) == [run.pk])
        run.refresh_from_db()
        assert run.state == RunState.LOST
        lines, changes = run.log_lines.count(), run.changes.count()
        again = run_on(worker, filesystem="xfs")
    finally:
        worker.process.send_signal(signal.SIGCONT)
    worker.wait_until(lambda: Run.objects.get(pk=again.pk).has_ended)
    assert state_of(again) == RunState.DONE, Run.objects.get(pk=again.pk).reason
    # The LUN was free for the next run: nothing of the lost one was at work any more.
    before = run.__dict__ | {"_state": None}
    run.refresh_from_db()
    assert run.__dict__ | {"_state": None} == before
    assert (run.log_lines.count(), run.changes.count()) == (lines, changes)
    assert not run.artefacts.exists()
    assert not run.measurement_blocks.exists()
    assert "lost its lease and was stopped" in worker.log.read_text()


def test_a_study_that_is_deleted_while_a_run_of_it_is_measured_frees_the_lun(
    worker: WorkerProcess,
) -> None:
    worker.start()
    run = run_on(worker, parameters=LONG)
    worker.wait_until(is_measuring(run))
    run.series.study.delete()
    again = run_on(worker, filesystem="xfs")
    worker.wait_until(lambda: Run.objects.get(pk=again.pk).has_ended)
    assert state_of(again) == RunState.DONE, Run.objects.get(pk=again.pk).reason
    assert not Lease.objects.exclude(run=None).exists()


def test_a_drained_worker_finishes_its_run_and_claims_the_next_when_it_is_resumed(
    worker: WorkerProcess,
) -> None:
    worker.start()
    row = Worker.objects.get(name=worker.name)
    run = run_on(worker, parameters=SMALL | {"maximum_file_kb": 65536})
    worker.wait_until(is_measuring(run))
    maintenance.set_drained(row, True, by="somebody")
    following = run_on(worker)
    worker.wait_until(lambda: state_of(run) == RunState.DONE)
    seen_at = Worker.objects.get(name=worker.name).seen_at
    worker.wait_until(
        lambda: Worker.objects.get(name=worker.name).seen_at > seen_at + timedelta(seconds=3)
    )
    assert state_of(following) == RunState.QUEUED
    assert Worker.objects.get(name=worker.name).is_drained
    maintenance.set_drained(row, False, by="somebody")
    worker.wait_until(lambda: state_of(following) == RunState.DONE)


@pytest.fixture
def elsewhere(
    make_host: Callable[..., Host], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Host, Run, Callable[[timedelta | None], None]]]:
    """A host whose name a worker of another host has that runs something, and how to have that beat
    while it is waited for: by a clock that far from this one's. None: it is dead.
    """
    settings.WORKER_SILENT_AFTER_S, settings.WORKER_HEARTBEAT_S = 3, 1
    host = make_host()
    worker = service.begin(host)
    run = write_run(worker)
    assert lifecycle.claim(run.pk, worker) is not None
    host.mark = "another host"
    sleep = time.sleep

    def beat_by(ahead: timedelta | None) -> None:
        def beat_then_sleep(_: float) -> None:
            if ahead is not None:
                Worker.objects.update(seen_at=timezone.now() + ahead)
            sleep(0.1)

        beat_then_sleep(0)
        monkeypatch.setattr(service.time, "sleep", beat_then_sleep)

    yield host, run, beat_by
    service.celery_state.should_stop = None


HOUR = timedelta(hours=1)
Elsewhere = tuple[Host, Run, Callable[[timedelta | None], None]]


@pytest.mark.parametrize("ahead", [timedelta(), HOUR, -HOUR], ids=["", "set-back", "set-on"])
def test_a_worker_of_the_same_name_on_another_host_is_refused_while_it_lives(
    elsewhere: Elsewhere, ahead: timedelta
) -> None:
    """Also in the seconds after the database's clock was set: its last heartbeat is an hour old."""
    host, run, beat_by = elsewhere
    beat_by(ahead)
    with pytest.raises(RuntimeError, match="lives on another host"):
        service.begin(host)
    assert state_of(run) == RunState.LEASED


@pytest.mark.parametrize("ahead", [timedelta(), HOUR, -HOUR], ids=["", "set-back", "set-on"])
def test_a_name_is_taken_over_from_who_is_gone(elsewhere: Elsewhere, ahead: timedelta) -> None:
    """Also where its last heartbeat is an hour ahead, because the clock was set back since."""
    host, run, beat_by = elsewhere
    beat_by(ahead)
    beat_by(None)
    service.begin(host)
    assert state_of(run) == RunState.LOST


def test_of_two_workers_of_one_name_the_first_ends_itself(elsewhere: Elsewhere) -> None:
    """However they came to be two: on two hosts in one moment, say."""
    host, _, beat_by = elsewhere
    beat_by(-HOUR)
    beat_by(None)
    seen_at = Worker.objects.get(name=host.name).seen_at
    service.send_heartbeat(host)
    assert host.stopping.is_set()
    assert host.has_lost_name
    assert service.celery_state.should_stop == 1
    assert Worker.objects.get(name=host.name).seen_at == seen_at


def test_a_worker_whose_name_another_host_has_stops_with_a_reason(worker: WorkerProcess) -> None:
    process = worker.start().process
    assert process is not None
    run = run_on(worker, parameters=LONG)
    worker.wait_until(is_measuring(run))
    row = Worker.objects.get(name=worker.name)
    lifecycle.recover(row)
    deadline = time.monotonic() + SOON_S
    while process.poll() is None:
        # Again and again: its own announcement may be under way.
        Worker.objects.update(capabilities=row.capabilities | {"host_mark": "another host"})
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert process.returncode == 1
    assert "CommandError: A worker with the name" in worker.log.read_text()
    assert state_of(run) == RunState.LOST
    assert tool("losetup", "-j", str(read_luns(worker.lun_file)[0].path)) == ""


def test_a_new_kernel_waits_for_the_queue_and_runs_that_wait_for_it_do_not_hold_it_up(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    guests = GuestExecutor("none", "test", folder=tmp_path, cache=tmp_path)
    host = make_host(guests=guests)
    answers: list[bool] = []
    for look in (guests, guests.fetch):
        monkeypatch.setattr(look, "look", lambda may_begin, *_: answers.append(may_begin()))

    def may_begin() -> bool:
        answers.clear()
        service.refresh_kernels(host)
        assert len(set(answers)) == 1
        return answers[0]

    assert may_begin()
    # The run before it has ended, and it has its turn next.
    run = submitted(host)
    assert not may_begin()
    machine = Machine("new", "kvm", 2**30, 1)
    in_guest = submitted(host, machine=machine, kernel="6.1")
    monkeypatch.setattr(guests, "why_wait", lambda kernel: "" if kernel == "old" else kernel)
    carry_out(run, host)
    assert state_of(in_guest) == RunState.QUEUED
    assert may_begin()
    with host.carrying_out(run.pk):
        assert not may_begin()
    Series.objects.filter(pk=in_guest.series_id).update(
        machine=replace(machine, kernel="old").stored()
    )
    assert not may_begin()
    Worker.objects.update(drained_at=timezone.now())
    assert may_begin()


def test_a_worker_says_which_of_its_disks_are_nearly_full(
    make_host: Callable[..., Host], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host = make_host()
    host.capabilities = replace(host.capabilities, folder="/var/lib/docker")
    looked_at: list[Path] = []
    monkeypatch.setattr(disk_room, "short_folders", lambda folders: looked_at.extend(folders) or [])
    assert host.announcement().capabilities["full_disks"] == []
    assert looked_at == [tmp_path, tmp_path, Path("/var/lib/docker")]
    monkeypatch.setattr(disk_room, "short_folders", lambda _: [tmp_path])
    assert host.announcement().capabilities["full_disks"] == [str(tmp_path)]


@pytest.mark.parametrize("has_run", [True, False])
def test_a_worker_gives_a_lun_back_when_nothing_of_its_run_uses_it(
    make_host: Callable[..., Host], monkeypatch: pytest.MonkeyPatch, has_run: bool
) -> None:
    """What ran on it ended by itself after the worker was killed, and may be ending still."""
    host = make_host()
    worker = service.begin(host)
    run = write_run(worker)
    if has_run:
        assert lifecycle.claim(run.pk, worker) is not None
    waited_for: list[tuple[str, str]] = []

    def wait(device: str, *_: Any) -> bool:
        waited_for.append((device, state_of(run)))
        return True

    monkeypatch.setattr(blockdev, "wait_until_free", wait)
    service.begin(host)
    lun = host.entry("scratch")
    assert waited_for == ([(host.device(lun), RunState.LEASED)] if has_run else [])
    assert state_of(run) == (RunState.LOST if has_run else RunState.QUEUED)


def test_a_second_worker_of_the_same_name_is_refused(worker: WorkerProcess, tmp_path: Path) -> None:
    worker.start()
    done = subprocess.run(
        [sys.executable, str(MANAGE), "worker"],
        env=worker.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "Another process on this host holds" in done.stderr
    assert "FSBENCH_WORKER" in done.stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"FSBENCH_EXECUTOR": "podman"}, "FSBENCH_EXECUTOR"),
        ({"FSBENCH_WORKER": "Not A Slug"}, "FSBENCH_WORKER"),
        ({"FSBENCH_LUNS": "/nosuch/luns.toml"}, "/nosuch/luns.toml"),
        ({"FSBENCH_LUNS": "luns.toml"}, "FSBENCH_LUNS"),
    ],
)
def test_bad_configuration_fails_at_start(
    worker: WorkerProcess, changes: dict[str, str], words: str
) -> None:
    done = subprocess.run(
        [sys.executable, str(MANAGE), "worker"],
        env=worker.environment | changes,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


# Nothing listens on the first one; the second has no tables.
@pytest.mark.parametrize(
    ("database", "expected"),
    [
        ("postgresql://fsbench:s3cret-x@127.0.0.1:9/fsbench", "The database cannot be used"),
        ("", "The database is not prepared for this version"),
    ],
)
def test_a_worker_without_its_database_says_so(
    worker: WorkerProcess, tmp_path: Path, database: str, expected: str
) -> None:
    def start(log_format: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, str(MANAGE), "worker"],
            env=worker.environment
            | {"DATABASE_URL": database or f"sqlite:///{tmp_path / 'empty.sqlite3'}"}
            | {"FSBENCH_LOG_FORMAT": log_format},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "s3cret-x" not in done.stderr
        return done

    stderr = start("text").stderr
    assert expected in stderr
    assert "manage.py prepare" in stderr
    lines = [json.loads(line) for line in start("json").stderr.splitlines()]
    assert lines[-1]["level"] == "CRITICAL"
    assert expected in lines[-1]["message"]
    assert lines[-1]["worker"] == worker.name


def test_luns_check_says_what_is_wrong(
    worker: WorkerProcess, make_host: Callable[..., Host]
) -> None:
    def luns_check() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, str(MANAGE), "luns", "check"],
            env=worker.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    good = luns_check()
    assert good.returncode == 0, good.stderr
    assert "ok   signature" in good.stdout
    image = read_luns(worker.lun_file)[0].path
    assert tool("losetup", "-j", str(image)) == ""
    host = make_host()
    tool("mkfs.ext4", "-q", "-F", host.device(read_luns(worker.lun_file)[0]))
    bad = luns_check()
    assert bad.returncode == 1
    assert "FAIL signature" in bad.stdout
    assert "Not to be used now: scratch" in bad.stderr
    write_luns(worker.lun_file, sparse_lun(image, colour="red"))
    assert "unknown key colour" in luns_check().stderr
    write_luns(worker.lun_file, sparse_lun(image))


def test_messages_and_pings_go_through_redis(worker: WorkerProcess, redis_url: str) -> None:
    worker.environment["CELERY_BROKER_URL"] = redis_url
    worker.start()
    run = write_run(Worker.objects.get(name=worker.name))
    # Sent a moment ago, as far as the worker can see: it will not look for the run by itself.
    Run.objects.filter(pk=run.pk).update(sent_at=timezone.now() + timedelta(hours=1))
    queue = f"host.{worker.name}"
    worker.elsewhere(f"app.send_task('runner.execute', args=[{run.pk}], queue='{queue}')")
    worker.wait_until(lambda: Run.objects.get(pk=run.pk).has_ended)
    assert state_of(run) == RunState.DONE


def test_it_fetches_a_kernel_that_it_is_asked_for(worker: WorkerProcess, tmp_path: Path) -> None:
    apt = FakeApt(tmp_path / "apt")
    folder = tmp_path / "kernels"
    worker.environment |= {
        "PATH": f"{apt.folder}{os.pathsep}{os.environ['PATH']}",
        "FSBENCH_GUEST_KERNELS": str(folder),
        "FSBENCH_INSTALL": "yes",  # kernels alone: the machine of the tests lacks nothing else
        "DOCKER_HOST": f"unix://{tmp_path}/no.sock",
    }
    worker.start()

    def guest() -> dict[str, Any]:
        ability: dict[str, Any] = Worker.objects.get(name=worker.name).capabilities["guest"]
        return ability

    worker.wait_until(lambda: "has no kernel for guests" in guest()["reason"])
    assert not folder.exists()
    guest_kernels.request_kernel(Worker.objects.get(name=worker.name), "")
    worker.wait_until(lambda: guest().get("fetching", {}).get("state") == "done")
    assert [path.suffix for path in folder.glob("linux-image-*")] == [".deb"]
    worker.wait_until(lambda: "has no kernel for guests" not in guest()["reason"])
    worker.send(signal.SIGTERM)
    # What the host's owner does not want is refused there too, whoever sent the task.
    worker.environment["FSBENCH_INSTALL"] = "no"
    worker.start()
    app.send_task("runner.fetch_guest_kernel", args=[""], queue=f"host.{worker.name}")
    worker.wait_until(lambda: guest().get("fetching", {}).get("state") == "failed")
    assert "FSBENCH_INSTALL=no" in guest()["fetching"]["problem"]
