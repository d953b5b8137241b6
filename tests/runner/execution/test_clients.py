"""One run of several clients: the same mount of two workers, all at once or nothing."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.db import connection

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.scoring import testnames
from fsbench_web.platform import clock
from fsbench_web.studies.models import ClientState, Lease, Run, RunState
from fsbench_web.studies.runs import lifecycle, nudges
from fsbench_web.studies.runs.clients import parts
from fsbench_web.studies.scores import measurements
from runner.agent import barrier
from runner.config import WorkerConfig
from runner.execution import clients, execute, participant
from runner.executors.base import Executor
from runner.executors.docker import DockerExecutor
from runner.executors.local import LocalExecutor
from runner.safety import mount_folder, mounts
from runner.worker import Host
from tests.runner import fake
from tests.runner.conftest import write_luns, write_run
from tests.runner.fake import FakeExecutor
from tests.studies.conftest import after_silence

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.root]

SERVER = "nas:/export"
JOB = """
[work]
rw=randread
bs=4k
size=1m
runtime=1
time_based
"""


class Lab:
    """Two workers that have mounted the same export, each with a list and a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hosts: dict[str, Host] = {}
        self.points: list[Path] = []
        self.pool = ThreadPoolExecutor(4)
        self.parts: list[Future[None]] = []

    def mount(self, name: str) -> Path:
        """A tmpfs that says it is of a server: what is on it is seen at all its places."""
        point = self.folder / name / "nas"
        point.mkdir(parents=True)
        if self.points:
            subprocess.run(["mount", "--bind", self.points[0], point], check=True)
        else:
            argv = ["mount", "-t", "tmpfs", "-o", "size=64m", SERVER, point]
            subprocess.run(argv, check=True)
        self.points.append(point)
        return point

    def mount_another(self, name: str) -> Path:
        """One that only says that it is the same."""
        point = self.folder / name / "nas"
        point.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", SERVER, point], check=True)
        self.points.append(point)
        return point

    def host(self, name: str, executor: Executor) -> Host:
        point = self.mount(name)
        lun_file = self.folder / name / "luns.toml"
        folder = {"folder": f"fsbench-{name}"}
        write_luns(lun_file, {"name": "nas", "kind": "mount", "path": str(point)} | folder)
        config = WorkerConfig(
            name=name,
            lun_file=lun_file,
            lun_file_must_exist=True,
            data_folder=self.folder / name,
            executor="auto",
            image="",
            is_privileged=False,
            site="test",
            drops_caches=False,
        )
        host = self.hosts[name] = Host(config, executor)
        host.start()
        announce(host.announcement(has_started=True))
        return host

    def submitted(self, **changes: Any) -> Run:
        first, *others = self.hosts
        machine = Machine(clients=tuple((name, "nas") for name in others))
        worker = Worker.objects.get(name=first)
        work = {"name": "work", "version": 1, "space_mb": 8, "text": JOB, "time_limit_s": 60}
        arguments = {"tool": "own-fio", "parameters": work} | changes
        return write_run(worker, "tmpfs", lun="nas", machine=machine, **arguments)

    def ask(self, run_id: int, worker: Worker) -> bool:
        """As the broker brings the message to the other worker."""

        def take_part() -> None:
            try:
                participant.take_part(run_id, self.hosts[worker.name])
            finally:
                connection.close()

        self.parts.append(self.pool.submit(take_part))
        return True

    def carry_out(self, run: Run) -> Run:
        execute.work_on(run.pk, next(iter(self.hosts.values())))
        for part in self.parts:
            part.result(60)
        return Run.objects.get(pk=run.pk)

    def leftovers(self) -> dict[str, list[str]]:
        """What is in the folders of fsbench beside their markers."""
        return {
            name: [
                path.name
                for path in Path(mounts.path_of(host.entry("nas"))).iterdir()
                if path.name != mount_folder.MARKER
            ]
            for name, host in self.hosts.items()
        }


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    monkeypatch.setattr(nudges, "notify_client", lab.ask)
    monkeypatch.setattr(clients, "START_AHEAD_S", 1.5)
    yield lab
    lab.pool.shutdown()
    for host in lab.hosts.values():
        host.stop()
    for point in reversed(lab.points):
        subprocess.run(["umount", "--lazy", point], check=True)


def states(run: Run) -> dict[str, str]:
    return dict(run.clients.values_list("worker", "state"))


def test_two_workers_measure_at_once_and_what_both_did_is_the_result(lab: Lab) -> None:
    lab.host("node1", LocalExecutor())
    lab.host("node2", LocalExecutor())
    run = lab.carry_out(lab.submitted())
    assert run.state == RunState.DONE, (run.reason, list(run.clients.values()))
    assert states(run) == {"node1": "done", "node2": "done"}
    rows = {(row.test, row.load): row for row in measurements.rows_of(run.pk, 1000) or []}
    first, second = (
        {(row[0], row[1]): row[4] for row in client.results} for client in run.clients.all()
    )
    rate = next(key for key in rows if key[0].endswith("read_iops"))
    assert rows[rate].value == pytest.approx(first[rate] + second[rate])
    assert first[rate] > 0 < second[rate]
    # Shares of a processor are of each by itself.
    assert not any("cpu" in test for test, _ in rows)
    names = set(run.artefacts.values_list("name", flat=True))
    assert {"fio.json", "node2/fio.json", "node2/commands.jsonl"} <= names
    conditions = run.conditions["clients"]
    assert conditions["count"] == 2
    assert conditions["one_machine"] == [["node1", "node2"]]
    assert 0.5 < conditions["overlap"] <= 1
    assert conditions["skew_s"] < 0.5
    assert Lease.objects.exclude(run=None).count() == 0
    assert lab.leftovers() == {"node1": [], "node2": []}
    assert dict(run.clients.get(place=1).facts)["Kernel"]
    assert not run.clients.exclude(content=None).exists()
    assert run.series.scores.filter(test=testnames.at_load(*rate)).exists()


def test_a_client_ends_when_its_agent_says_so_and_not_when_that_is_read() -> None:
    """What the agent prints may wait behind thousands of lines."""
    messages = participant._ClientMessages(Mock(), Mock(), start_at=clock.now())
    ended_s = time.time() - 3
    began = fake.message("began", late_s=0.001)
    step = {"phase": "benchmark", "argv": ["fio"], "exit_code": 0, "duration_s": 1.0}
    messages.take(began)
    messages.take(fake.message("command", **step) | {"at": ended_s})
    assert messages.times()["ended_at"].timestamp() == pytest.approx(
        clock.database_time(ended_s).timestamp(), abs=0.1
    )


def test_a_begin_that_nobody_named_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database's clock was set back after the leader had asked it: the others would begin when
    it has ended, and what both did would be summed.
    """
    messages = participant._ClientMessages(Mock(), Mock(), start_at=clock.now())
    participant._begin_at(messages)
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now - timedelta(minutes=5))
    with pytest.raises(parts.ClientsCannotContinue, match="clock was set back"):
        participant._begin_at(messages)


def test_each_client_measures_in_a_container_of_its_own(
    lab: Lab, docker_host: str, runner_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    monkeypatch.setattr(clients, "START_AHEAD_S", 15)
    for name in ("node1", "node2"):
        lab.host(name, DockerExecutor(runner_image, "test"))
    run = lab.carry_out(lab.submitted())
    assert run.state == RunState.DONE, (run.reason, list(run.clients.values()))
    assert states(run) == {"node1": "done", "node2": "done"}
    conditions = run.conditions["clients"]
    assert conditions["skew_s"] < barrier.LATE_S
    assert conditions["overlap"] > 0.5
    assert lab.leftovers() == {"node1": [], "node2": []}


def test_a_client_whose_mount_is_another_takes_the_whole_run_with_it(lab: Lab) -> None:
    lab.host("node1", FakeExecutor())
    lab.host("node2", FakeExecutor())
    run = lab.submitted()
    subprocess.run(["umount", lab.points[1]], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "other:/export", lab.points[1]], check=True)
    run = lab.carry_out(run)
    assert run.state == RunState.FAILED
    assert "The client node2 could not go on: Refused: nas was not used" in run.reason
    assert states(run) == {"node1": "failed", "node2": "failed"}
    assert [host.executor.plans for host in lab.hosts.values()] == [[], []]  # type: ignore[attr-defined]


def test_two_file_systems_under_one_name_are_not_measured_together(lab: Lab) -> None:
    """As where two networks have a server called nas each: server, export and options agree."""
    lab.host("node1", FakeExecutor())
    lab.mount = lab.mount_another  # type: ignore[method-assign]
    lab.host("node2", FakeExecutor())
    run = lab.carry_out(lab.submitted())
    assert run.state == RunState.FAILED
    refusal = "fsbench-node1, the folder of node1 on its mount, is not at "
    assert f"The client node2 could not go on: Refused: {refusal}{lab.points[1]}" in run.reason
    assert [host.executor.plans for host in lab.hosts.values()] == [[], []]  # type: ignore[attr-defined]


def test_a_folder_that_this_user_may_not_see_says_nothing(lab: Lab) -> None:
    """With root_squash, hosts may be other users to the server."""
    host = lab.host("node1", FakeExecutor())
    other = lab.host("node2", FakeExecutor())
    entry, mark = other.entry("nas"), other.own_mark(other.entry("nas"))
    of_first = host.own_mark(host.entry("nas"))
    assert mounts.is_beside(entry, mark, "fsbench-node1", of_first) is True
    assert mounts.is_beside(entry, mark, "fsbench-node1", "another") is False
    assert mounts.is_beside(entry, mark, "fsbench-node3", of_first) is False
    own = lab.points[1] / "fsbench-node2"
    for path in (own, own / mount_folder.MARKER):
        os.chown(path, 65534, 65534)
    request = {"point": ".", "beside": {"folder": "fsbench-node1", "id": of_first}}
    script = (
        "import os, mount_folder; os.setgroups([]); os.setresuid(65534, 65534, 65534); "
        f"print(mount_folder.is_beside({request!r}))"
    )
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=lab.points[1],
        env={"PYTHONPATH": str(Path(mount_folder.__file__).parent)},
        capture_output=True,
        text=True,
    )
    assert process.stdout.strip() == "None", process.stderr


def test_a_client_that_does_not_answer_is_named(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nudges, "notify_client", lambda *_: False)
    monkeypatch.setattr(clients, "READY_WITHIN_S", 0.2)
    lab.host("node1", FakeExecutor())
    lab.host("node2", FakeExecutor())
    run = lab.carry_out(lab.submitted())
    assert run.state == RunState.FAILED
    assert "Not ready within 0 s: node2. Nothing was measured." in run.reason
    assert lab.hosts["node1"].executor.plans == []  # type: ignore[attr-defined]
    assert Lease.objects.exclude(run=None).count() == 0


def test_a_client_that_breaks_off_ends_the_others(lab: Lab) -> None:
    def break_off(plan: Any, say: Callable[..., None], should_stop: Any) -> Any:
        say({"type": "error", "at": time.time(), "reason": "The disk is full."})
        return fake.Outcome(1)

    lab.host("node1", FakeExecutor(fake.wait_to_be_stopped))
    lab.host("node2", FakeExecutor(break_off))
    run = lab.carry_out(lab.submitted())
    assert run.state == RunState.FAILED
    assert "The client node2 could not go on: The disk is full." in run.reason
    assert states(run)["node1"] == "failed"


def test_without_its_leader_a_client_ends(lab: Lab, settings: Any) -> None:
    """As after kill -9 of the leader: nobody prolongs the leases, and that is enough."""
    settings.WORKER_SILENT_AFTER_S = 4
    lab.host("node1", FakeExecutor(fake.wait_to_be_stopped))
    second = lab.host("node2", FakeExecutor(fake.wait_to_be_stopped))
    run = lab.submitted()
    handle = lifecycle.claim(run.pk, Worker.objects.get(name="node1"))
    assert handle is not None
    lab.ask(run.pk, Worker.objects.get(name="node2"))
    wait_for(lambda: states(run)["node2"] == ClientState.READY)
    parts.start(handle, clock.now())
    wait_for(lambda: bool(second.executor.plans))  # type: ignore[attr-defined]
    for part in lab.parts:
        part.result(30)
    assert lifecycle.reap_lost(after_silence()) == [run.pk]
    assert Lease.objects.exclude(run=None).count() == 0


def test_a_client_that_falls_silent_is_told_from_one_that_failed(lab: Lab) -> None:
    lab.host("node1", FakeExecutor())
    lab.host("node2", FakeExecutor())
    run = lab.submitted()
    assert lifecycle.claim(run.pk, Worker.objects.get(name="node1"))
    assert parts.accept(run.pk, "node2")
    assert parts.accept(run.pk, "node2") is None
    assert parts.accept(run.pk, "node1") is None
    ticks = [0.0]
    heartbeats = clock.ChangeWatch(lambda: ticks[0])
    parts.progress_of(run.pk, heartbeats)
    ticks[0] += settings.WORKER_SILENT_AFTER_S + 1
    with pytest.raises(parts.ClientsCannotContinue, match="node2 sent no heartbeat"):
        parts.progress_of(run.pk, heartbeats)


def test_a_client_that_has_much_to_write_back_is_not_silent(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Of hundreds of gigabytes of memory to slow disks: longer than a silence may be."""
    settings.WORKER_SILENT_AFTER_S = 4
    monkeypatch.setattr(participant, "drop_caches", lambda: threading.Event().wait(7))
    monkeypatch.setattr(clients, "START_AHEAD_S", 5.0)
    lab.host("node1", LocalExecutor())
    second = lab.host("node2", LocalExecutor())
    second.config = replace(second.config, drops_caches=True)
    run = lab.carry_out(lab.submitted())
    assert run.state == RunState.DONE, run.reason


def test_a_client_ends_in_time_while_the_database_hangs(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """As a cut network leaves it: the thread that asks comes back long after its lease is over."""
    lab.host("node1", FakeExecutor(fake.wait_to_be_stopped))
    has_ended, in_time = threading.Event(), []

    def measure(plan: Any, say: Callable[..., None], should_stop: Callable[[], bool]) -> Any:
        settings.WORKER_SILENT_AFTER_S = 3
        monkeypatch.setattr(parts, "heartbeat", hang)
        outcome = fake.wait_to_be_stopped(plan, say, should_stop)
        has_ended.set()
        return outcome

    def hang(part: parts.Part, leader: clock.ChangeWatch) -> None:
        in_time.append(has_ended.wait(15))
        raise parts.LeaseLost("as another run has it")

    lab.host("node2", FakeExecutor(measure))
    run = lab.submitted()
    handle = lifecycle.claim(run.pk, Worker.objects.get(name="node1"))
    assert handle is not None
    lab.ask(run.pk, Worker.objects.get(name="node2"))
    wait_for(lambda: states(run)["node2"] == ClientState.READY)
    parts.start(handle, clock.now())
    for part in lab.parts:
        part.result(30)
    assert in_time == [True]


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)
