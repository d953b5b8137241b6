"""Real containers on a real loop device, measured by the real IOzone."""

import contextlib
import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import APIError, DockerException
from docker.models.containers import Container, ContainerCollection
from docker.utils import parse_devices

from fsbench_web.catalog.configurations.limits import Limits
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.causes import INTERRUPTED, Cause
from fsbench_web.studies.models import MeasurementBlock, Run, RunState
from runner import orphans
from runner.execution import execute
from runner.executors import containers
from runner.executors import docker as docker_executor
from runner.executors.base import STOPPED, Message, Outcome, Target
from runner.executors.docker import DockerExecutor
from runner.host import swap
from runner.host.tuning import processors
from runner.plan import RunPlan, plan_run
from runner.safety import checks, locks
from runner.safety.blockdev import as_text, device_number
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.measured import measured, measurement_of
from tests.runner.conftest import LONG, SMALL, tool, write_luns, written_on
from tests.runner.executors.silence import SILENT_AFTER_S, Connection
from tests.services.dockerd import Dockerd, docker_daemon
from tests.services.image import runner_store

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]


@pytest.fixture
def client(
    docker_host: str, runner_image: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[docker.DockerClient]:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture
def executor(client: docker.DockerClient, runner_image: str) -> DockerExecutor:
    return DockerExecutor(runner_image, "test")


@pytest.fixture
def host(make_host: Callable[..., Host], executor: DockerExecutor) -> Host:
    return make_host(executor)


class OnLun:
    """A plan of minutes on the host's LUN, run in a thread of its own."""

    def __init__(self, host: Host, lun_file: Path, plan: RunPlan | None = None) -> None:
        self.host, self.entry = host, read_luns(lun_file)[0]
        self.device = host.device(self.entry)
        inside = host.named_device(self.entry, self.device)
        self.plan = plan or plan_run("ext4", {}, "iozone", LONG, device=inside)
        self.messages: list[Message] = []
        self.stop = threading.Event()
        self.outcome: Outcome | None = None
        self.thread = threading.Thread(target=self._run)
        self.lun_file = lun_file

    def _run(self) -> None:
        target = Target(1, self.host.name, self.entry.name, self.device)
        self.outcome = self.host.executor.run(
            self.plan, target, self.messages.append, self.stop.is_set
        )

    def start(self) -> "OnLun":
        self.thread.start()
        deadline = time.monotonic() + 120
        while not any(m.get("phase") == "benchmark" for m in self.messages):
            assert time.monotonic() < deadline, self.messages
            time.sleep(0.05)
        return self

    def assert_free(self) -> None:
        deadline = time.monotonic() + 60
        while problem := checks.problem(checks.verify(self.entry, self.lun_file, self.device)):
            assert time.monotonic() < deadline, problem
            time.sleep(0.1)


@pytest.mark.parametrize(
    ("filesystem", "options"), [("ext4", {}), ("xfs", {}), ("ext4", {"overlay": "on"})]
)
def test_it_measures(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    client: docker.DockerClient,
    filesystem: str,
    options: dict[str, str],
) -> None:
    assert host.announcement().luns[0].problem == ""
    queued = submitted(host, filesystem, scheduler="mq-deadline", options=options)
    run = carry_out(queued, host)
    assert run.state == RunState.DONE, run.reason
    assert len([row for row in measured(run) if row.unit == "KB/s"]) == 24
    assert run.series.scores.exists()
    assert run.commands[0]["argv"][-1] == "/dev/fsbench/scratch"
    assert run.environment is not None
    assert dict(run.environment.facts["File system"])["Mounted as"] == filesystem
    assert dict(run.environment.facts["LUN"])["I/O scheduler"] == "mq-deadline"
    assert client.containers.list(all=True) == []


def test_the_raw_device_is_measured_and_free_when_it_is_stopped_in_the_middle(
    host: Host,
    lun_file: Path,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    client: docker.DockerClient,
) -> None:
    quick = {"depths": [1], "runtime_s": 1, "ramp_s": 0, "file_mb": 8, "time_limit_s": 300}
    run = carry_out(submitted(host, "raw", tool="fio-depths", parameters=quick), host)
    assert run.state == RunState.DONE, run.reason
    rates = [row for row in measured(run) if row.test == "random_4k_write_iops"]
    assert [row.load for row in rates] == ["iodepth=1"]
    device = host.named_device(read_luns(lun_file)[0], host.device(read_luns(lun_file)[0]))
    long = plan_run("raw", {}, "fio-depths", quick | {"runtime_s": 290}, device=device)
    work = OnLun(host, lun_file, long).start()
    work.stop.set()
    work.thread.join(120)
    assert work.outcome is not None
    assert work.outcome.was_stopped
    work.assert_free()
    assert client.containers.list(all=True) == []


@pytest.mark.parametrize(
    ("online", "near", "cpus", "expected"),
    [
        ([0, 1, 2, 3], [], 2, "0,1"),
        ([0, 1, 2, 3], [2, 3], 3, "0,2,3"),
        # Those that are off are no processors to ask for.
        ([0, 2, 3], [], 2, "0,2"),
        ([0, 2, 3], [], 3, "0,2,3"),
        ([0, 1, 4, 5], [4, 5], 3, "0,4,5"),
        # More than there are: the daemon says which there are.
        ([0, 2, 3], [], 4, "0,1,2,3"),
    ],
)
def test_a_daemon_is_asked_for_processors_that_there_are(
    monkeypatch: pytest.MonkeyPatch, online: list[int], near: list[int], cpus: int, expected: str
) -> None:
    monkeypatch.setattr(processors, "online", lambda: online)
    plan = plan_run("ext4", {}, "iozone", LONG, device="/dev/x")
    assert docker_executor._cpus(replace(plan, cpus=cpus, near_cpus=near)) == expected
    assert docker_executor._cpus(plan) is None


@pytest.mark.parametrize(
    ("discarded", "named"),
    [
        ("mem_limit", "limit memory,"),
        ("cpuset_cpus", "limit processors,"),
        ("device_read_bps", "limit rates,"),
    ],
)
def test_a_limit_that_the_daemon_discards_is_missed(
    client: docker.DockerClient, runner_image: str, other_loop: str, discarded: str, named: str
) -> None:
    """Without the kernel's control groups for it a daemon warns, and makes the container."""
    arguments: dict[str, Any] = {
        "mem_limit": 1 << 30,
        "cpuset_cpus": "0",
        "device_read_bps": [{"Path": other_loop, "Rate": 1 << 20}],
    }
    limits: tuple[int, str, dict[str, int]] = (1 << 30, "0", {"read_bps": 1 << 20})
    whole = client.containers.create(runner_image, network_mode="none", **arguments)
    arguments.pop(discarded)
    without = client.containers.create(runner_image, network_mode="none", **arguments)
    try:
        containers.check_limits(whole, *limits)
        with pytest.raises(containers.NotLimited, match=named):
            containers.check_limits(without, *limits)
        containers.check_limits(without, None, None, {})
    finally:
        whole.remove()
        without.remove()


def test_a_run_without_its_limit_is_refused_before_anything_is_erased(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    client: docker.DockerClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create = ContainerCollection.create

    def discard(self: ContainerCollection, image: str, **arguments: Any) -> Container:
        return create(self, image, **(arguments | {"mem_limit": None, "memswap_limit": None}))

    monkeypatch.setattr(ContainerCollection, "create", discard)
    before = written_on(host, "scratch")
    machine = Machine(limits=Limits(memory_mib=1024))
    run = carry_out(submitted(host, "ext4", machine=machine), host)
    assert run.state == RunState.FAILED
    assert "cannot limit memory" in run.reason
    assert run.cause == Cause.REFUSED
    assert written_on(host, "scratch") == before
    assert client.containers.list(all=True) == []


def test_a_tool_that_the_limit_of_memory_killed_is_told_with_the_limit(
    host: Host, lun_file: Path, client: docker.DockerClient
) -> None:
    """The agent lives, and its container ends with 1 as after any failure of a tool."""
    inside = host.named_device(read_luns(lun_file)[0], "")
    plan = plan_run(
        *("ext4", {}, "iozone", SMALL),
        device=inside,
        limits=Limits(memory_mib=64),
    )
    hog = ["python3", "-c", "b'x' * (512 << 20)"]
    steps = [replace(step, argv=hog) if step.phase == "benchmark" else step for step in plan.steps]
    work = OnLun(host, lun_file, replace(plan, steps=steps)).start()
    work.thread.join()
    assert work.outcome is not None
    assert (work.outcome.exit_code, work.outcome.cause) == (1, Cause.BENCHMARK)
    assert work.outcome.reason == "Killed by the kernel: out of memory at the 64 MiB limit."
    assert client.containers.list(all=True) == []


def test_a_run_whose_swap_is_not_limited_keeps_that(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a daemon makes it whose kernel does not account for swap: with a warning alone."""
    create = ContainerCollection.create

    def without(self: ContainerCollection, image: str, **arguments: Any) -> Container:
        return create(
            self,
            image,
            **(arguments | {"memswap_limit": -1} if "mem_limit" in arguments else arguments),
        )

    monkeypatch.setattr(ContainerCollection, "create", without)
    monkeypatch.setattr(swap, "space_bytes", lambda: 2**30)
    run = carry_out(submitted(host, "ext4", machine=Machine(limits=Limits(memory_mib=1024))), host)
    assert run.state == RunState.DONE, run.reason
    assert run.conditions["swap"]["space_bytes"] == 2**30
    assert run.conditions["swap"]["written_bytes"] >= 0
    assert any("cannot limit swap" in line.text for line in run.log_lines.all())


def test_a_container_that_hears_nothing_of_its_worker_ends(
    host: Host,
    lun_file: Path,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    client: docker.DockerClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By itself, with a reason, as the worker would end it if it could."""
    monkeypatch.setattr(execute, "stop_after_s", lambda: SILENT_AFTER_S)
    Connection(monkeypatch).fall_silent()
    run = carry_out(submitted(host, "ext4", parameters=LONG), host)
    assert run.state == RunState.FAILED
    assert run.cause == Cause.SILENT
    assert "The worker gave no sign of life for 4 s" in run.reason
    assert client.containers.list(all=True) == []
    # What was in memory of its file system is not written any more (agent.own_mount).
    assert "needs_recovery" in tool("dumpe2fs", "-h", host.device(host.entry("scratch")))


def test_a_container_whose_worker_is_gone_ends(
    host: Host, lun_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = Connection(monkeypatch)
    work = OnLun(host, lun_file)
    work.plan = replace(work.plan, worker_silence_s=60.0)
    work.start()
    connection.close()
    work.thread.join(30)
    assert work.outcome is not None
    assert work.outcome.exit_code == STOPPED
    work.assert_free()


@pytest.mark.parametrize("gone", ["image", "container"])
def test_what_is_removed_while_a_run_begins_is_an_interruption(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    client: docker.DockerClient,
    monkeypatch: pytest.MonkeyPatch,
    gone: str,
) -> None:
    """After the worker's own look: a job runs it again, as what was killed from outside."""
    create = ContainerCollection.create

    def too_late(self: ContainerCollection, image: str, **arguments: Any) -> Container:
        container = create(self, "fsbench-removed:1" if gone == "image" else image, **arguments)
        client.containers.get(container.id).remove(force=True)
        return container

    monkeypatch.setattr(ContainerCollection, "create", too_late)
    run = carry_out(submitted(host, "ext4"), host)
    assert run.state == RunState.FAILED
    assert f"The {'benchmark image' if gone == 'image' else gone} was removed" in run.reason
    assert run.cause == Cause.KILLED
    assert run.cause in INTERRUPTED


def test_a_proxy_that_lets_nobody_ask_for_events_and_info_is_enough(
    host: Host,
    executor: DockerExecutor,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many give a worker such a way to the daemon's socket, by kinds of calls."""

    def forbid(*_: object, **__: object) -> None:
        raise APIError("403 Client Error: Forbidden")

    monkeypatch.setattr(docker.DockerClient, "info", forbid)
    monkeypatch.setattr(docker.DockerClient, "events", forbid)
    assert executor.probe().is_usable
    assert executor.limit_problems() == {"rates": "", "memory": "", "swap": ""}
    run = carry_out(submitted(host, "ext4"), host)
    assert run.state == RunState.DONE, run.reason


def test_what_a_daemon_would_discard_is_announced() -> None:
    info = {"MemoryLimit": False, "Warnings": ["WARNING: No memory limit support"]}
    problems = containers.limit_problems(info)
    assert "cannot limit memory" in problems["memory"]
    assert problems["rates"] == ""
    for words in ("No blkio throttle.read_bps_device support", "No io.max (rbps) support"):
        problems = containers.limit_problems(
            {"MemoryLimit": True, "Warnings": [f"WARNING: {words}"]}
        )
        assert "cannot limit rates" in problems["rates"]
        assert problems["memory"] == ""
    assert not any(containers.limit_problems({"MemoryLimit": True, "Warnings": None}).values())


def test_no_other_disk_can_be_reached(
    host: Host, lun_file: Path, other_loop: str, client: docker.DockerClient
) -> None:
    """Even as root in the container, even with a device node made by hand."""
    number = device_number(other_loop)
    assert number is not None
    major, minor = as_text(number).split(":")
    work = OnLun(host, lun_file).start()
    try:
        (container,) = client.containers.list()
        for script in (
            f"mknod /tmp/other b {major} {minor} && head -c 512 /tmp/other",
            f"head -c 512 {other_loop}",
            "ls /sys/class/net | grep -v ^lo$ | grep .",
        ):
            code, output = container.exec_run(["sh", "-c", script])
            assert code != 0, output
        code, output = container.exec_run(["sh", "-c", "ls /dev/fsbench"])
        assert output.split() == [b"scratch"]
        assert container.attrs["HostConfig"]["Binds"] in (None, [])
        assert not container.attrs["HostConfig"]["Privileged"]
        assert container.attrs["HostConfig"]["CapAdd"] in (["SYS_ADMIN"], ["CAP_SYS_ADMIN"])
    finally:
        work.stop.set()
        work.thread.join(60)


def test_cancelling_stops_and_leaves_nothing(
    host: Host, lun_file: Path, client: docker.DockerClient
) -> None:
    work = OnLun(host, lun_file).start()
    work.stop.set()
    work.thread.join(60)
    assert work.outcome is not None
    assert work.outcome.was_stopped
    assert client.containers.list(all=True) == []
    work.assert_free()


def test_a_killed_container_fails_the_run_with_the_reason(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    client: docker.DockerClient,
    lun_file: Path,
) -> None:
    run = submitted(host, "ext4", parameters=LONG)

    def kill_when_measuring() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for container in client.containers.list():
                code, _ = container.exec_run(["sh", "-c", "ls /mnt/fsbench/fsbench.work.iozone"])
                if code == 0:
                    container.kill()
                    return
            time.sleep(0.1)

    killer = threading.Thread(target=kill_when_measuring)
    killer.start()
    carry_out(run, host)
    killer.join()
    assert run.state == RunState.FAILED
    assert "killed from outside (signal 9)" in run.reason
    assert not MeasurementBlock.objects.exists()
    assert client.containers.list(all=True) == []
    assert (
        checks.problem(
            checks.verify(read_luns(lun_file)[0], lun_file, host.device(read_luns(lun_file)[0]))
        )
        == ""
    )


def pause(container: Container) -> None:
    """runc gives up where a process waits for its disk for long: then it is tried again."""
    for _ in range(4):
        with contextlib.suppress(APIError):
            container.pause()
            return
    container.pause()


@pytest.mark.parametrize(
    ("meddle", "words"),
    [
        (lambda container: (pause(container), container.unpause()), "paused from outside"),
        (lambda container: pause(container), "paused from outside"),
        (lambda container: container.update(cpu_shares=2), "limits were changed from outside"),
    ],
)
def test_a_container_that_somebody_holds_up_measures_nothing(
    host: Host,
    lun_file: Path,
    client: docker.DockerClient,
    meddle: Callable[[Container], object],
    words: str,
) -> None:
    """Nor does one that stays paused keep its LUN until the time of its workload is over."""
    work = OnLun(host, lun_file).start()
    try:
        (container,) = client.containers.list()
        meddle(container)
        work.thread.join(60)
        assert work.outcome is not None
        assert (work.outcome.exit_code, work.outcome.was_stopped) == (None, False)
        assert words in work.outcome.reason
        assert work.outcome.cause == Cause.KILLED
        assert client.containers.list(all=True) == []
        work.assert_free()
    finally:
        work.stop.set()
        work.thread.join(60)


def test_what_is_to_end_ends_while_the_daemon_hangs(
    host: Host,
    lun_file: Path,
    client: docker.DockerClient,
    docker_service: Dockerd,
) -> None:
    """When a lease runs out, nothing may touch the LUN any more: another host may have it then."""
    work = OnLun(host, lun_file).start()
    (container,) = client.containers.list()
    first_process = Path("/proc") / str(containers.first_process(container))
    assert first_process.exists()
    docker_service.process.send_signal(signal.SIGSTOP)
    try:
        work.stop.set()
        deadline = time.monotonic() + docker_executor.API_TIMEOUT_S * 0.8
        while first_process.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not first_process.exists()
    finally:
        docker_service.process.send_signal(signal.SIGCONT)
        work.stop.set()
        work.thread.join(120)
    assert work.outcome is not None
    assert work.outcome.was_stopped
    assert client.containers.list(all=True) == []
    work.assert_free()


def test_leftovers_of_a_worker_are_removed_and_others_stay(
    host: Host,
    lun_file: Path,
    executor: DockerExecutor,
    client: docker.DockerClient,
    runner_image: str,
) -> None:
    def leave(worker: str, site: str = "test", lun: str = "scratch") -> str:
        labels = {"fsbench.site": site, "fsbench.worker": worker, "fsbench.lun": lun}
        container = client.containers.run(
            runner_image,
            entrypoint=["sleep", "600"],
            labels=labels,
            detach=True,
            network_mode="none",
        )
        return str(container.id)

    own, other = leave(host.name), leave("another")
    elsewhere, sibling = leave(host.name, site="elsewhere"), leave(host.name, lun="second")
    try:
        # A run removes what is left of its own LUN only: its siblings may be running.
        entry = read_luns(lun_file)[0]
        executor._remove({"fsbench.worker": host.name, "fsbench.lun": entry.name})
        assert {c.id for c in client.containers.list()} == {other, elsewhere, sibling}
        assert len(executor.clean_up(host.name)) == 1
        assert {c.id for c in client.containers.list()} == {other, elsewhere}
    finally:
        for container in client.containers.list(all=True):
            container.remove(force=True)
    assert own


def test_what_somebody_starts_of_a_runs_container_is_not_the_runs(
    host: Host, executor: DockerExecutor, client: docker.DockerClient, runner_image: str
) -> None:
    """An image that is committed of a container, to see why a run failed, has its labels."""
    labels = {"fsbench.site": "test", "fsbench.worker": host.name, "fsbench.run": "7"}
    leftover = client.containers.create(runner_image, labels=labels, network_mode="none")
    leftover.commit("debugged", "debugged")
    shell = client.containers.create(
        "debugged:debugged", entrypoint=["sleep", "600"], network_mode="none"
    )
    try:
        assert shell.labels["fsbench.run"] == "7"
        assert [container.id for container in executor.containers()] == [leftover.id]
        assert executor.clean_up(host.name) == [f"container {leftover.name}"]
        assert [container.id for container in client.containers.list(all=True)] == [shell.id]
    finally:
        shell.remove(force=True)
        client.images.remove("debugged:debugged", force=True)


def test_it_says_what_is_missing(client: docker.DockerClient) -> None:
    absent = DockerExecutor("fsbench-runner:nosuch", "test")
    assert "runner/image/build fsbench-runner:nosuch" in absent.setup_problem()
    assert absent.probe().refusal("ext4", True, ["iozone"]) == absent.setup_problem()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("unix:///nosuch.sock", "there is no such socket"),
        ("tcp://127.0.0.1:1", "nothing listens there"),
    ],
)
def test_it_says_in_a_sentence_why_no_daemon_answers(
    address: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    assert DockerExecutor("x", "test").setup_problem() == (
        f"No Docker daemon answers at {address}: {reason}. Start it, or set DOCKER_HOST."
    )


def test_no_client_is_made_where_nothing_listens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With every heartbeat: most hosts have no daemon."""
    clients: list[int] = []
    monkeypatch.setattr(docker, "from_env", lambda **_: clients.append(1))
    stale_socket = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(stale_socket))  # as a daemon leaves it that was killed
    for path in (stale_socket, tmp_path / "nosuch.sock", tmp_path / ("x" * 200)):
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        assert "No Docker daemon answers" in DockerExecutor("x", "test").setup_problem()
    assert clients == []


def test_a_user_who_may_not_ask_the_daemon_is_not_told_to_start_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(**_: object) -> None:
        raise DockerException("Error") from PermissionError(13, "Permission denied")

    monkeypatch.setattr(docker, "from_env", refuse)
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    problem = DockerExecutor("x", "test").setup_problem()
    assert "this user may not use that socket. Add this user to its group, or set" in problem


def test_a_daemon_on_another_host_gets_no_run(
    executor: DockerExecutor, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was checked here is erased by the name it has there."""
    assert host.capabilities.is_usable
    assert executor.problem() == ""
    monkeypatch.setattr(docker_executor, "_boot_id", lambda: b"of another kernel")
    capabilities = executor.probe()
    assert not capabilities.is_usable
    assert "on another host" in capabilities.reason
    assert executor.problem() == capabilities.reason


@pytest.fixture
def _refused_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon cannot start a container that may do anything."""
    create = ContainerCollection.create

    def with_what_is_not_there(
        self: ContainerCollection, image: str, **arguments: Any
    ) -> Container:
        if arguments.get("privileged") or arguments.get("cap_add"):
            arguments |= {"devices": ["/dev/fsbench-absent"]}
        return create(self, image, **arguments)

    monkeypatch.setattr(ContainerCollection, "create", with_what_is_not_there)


@pytest.mark.usefixtures("_refused_rights")
def test_refused_privileges_are_known_before_a_run_is_claimed(
    client: docker.DockerClient,
    runner_image: str,
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executor = DockerExecutor(runner_image, "test", is_privileged=True)
    host = make_host(executor)
    host.probe_again()
    assert not host.capabilities.is_usable
    assert "FSBENCH_DOCKER_PRIVILEGED" in host.capabilities.reason
    assert executor.problem() == host.capabilities.reason
    run = carry_out(submitted(host, "ext4"), host)
    assert run.state == RunState.QUEUED
    assert client.containers.list(all=True) == []
    # A daemon that was away may be another one.
    with monkeypatch.context() as patch:
        patch.setattr(executor, "setup_problem", lambda: "away")
        assert executor.problem() == "away"
    assert executor.problem() == ""


@pytest.mark.usefixtures("_refused_rights")
def test_where_containers_may_not_mount_no_file_system_can_be_made(
    executor: DockerExecutor,
) -> None:
    """Folders on mounts need no right, and stay usable."""
    capabilities = executor.probe()
    assert executor.problem() == ""
    assert "FSBENCH_DOCKER_PRIVILEGED" in capabilities.refusal("ext4", True, ())
    assert capabilities.refusal("nfs", False, ()) == ""


def test_a_daemon_that_keeps_no_logs_is_as_good(
    runner_image: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many have "local", "syslog" or "none" as their log driver, whose logs cannot be read back."""
    with docker_daemon(runner_store(), "--log-driver", "none") as daemon:
        monkeypatch.setenv("DOCKER_HOST", daemon.host)
        capabilities = DockerExecutor(runner_image, "test").probe()
    assert capabilities.is_usable, capabilities.reason
    assert dict(capabilities.tools["iozone"]) == dict(host.capabilities.tools["iozone"])


@pytest.mark.parametrize("entrypoint", ["true", "echo 5", "echo {}", "sleep 600"])
def test_another_image_of_that_name_is_refused_in_words_and_leaves_nothing(
    entrypoint: str,
    client: docker.DockerClient,
    runner_image: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(docker_executor, "PROBE_LIMIT_S", 1)
    container = client.containers.create(runner_image, network_mode="none")
    try:
        words = json.dumps(["sh", "-c", entrypoint])
        container.commit("odd", "odd", changes=f"ENTRYPOINT {words}")
    finally:
        container.remove()
    try:
        capabilities = DockerExecutor("odd:odd", "test").probe()
        assert not capabilities.is_usable
        assert capabilities.reason.startswith("The image odd:odd cannot be run: ")
        assert client.containers.list(all=True) == []
    finally:
        client.images.remove("odd:odd", force=True)


def test_a_device_with_a_colon_in_its_name_is_no_other_device() -> None:
    """Split at its colon it would be /dev/mapper/a, and readable and writable as said behind."""
    (device,) = parse_devices(containers.devices_in([("/dev/mapper/a:b", "/dev/fsbench/x")]))
    assert device["PathOnHost"] == "/dev/mapper/a:b"
    assert device["PathInContainer"] == "/dev/fsbench/x"
    assert device["CgroupPermissions"] == "rw"


def test_a_run_that_is_to_stop_before_it_began_writes_nothing(
    host: Host, lun_file: Path, client: docker.DockerClient
) -> None:
    run = OnLun(host, lun_file)
    run.stop.set()
    run._run()
    assert run.outcome is not None
    assert run.outcome.was_stopped
    assert run.messages == []
    assert client.containers.list(all=True) == []


def test_a_directory_is_not_for_containers(host: Host, lun_file: Path, tmp_path: Path) -> None:
    write_luns(lun_file, {"name": "folder", "kind": "directory", "path": str(tmp_path)})
    host.refresh()
    assert "FSBENCH_EXECUTOR=local" in host.announcement().luns[0].problem


def test_the_image_holds_the_agent_of_this_tree(
    client: docker.DockerClient, runner_image: str
) -> None:
    from runner.executors.base import AGENT

    inside = client.containers.run(
        runner_image,
        entrypoint=["cat", "/fsbench/runner/agent/agent.py"],
        remove=True,
        network_mode="none",
    )
    assert inside == AGENT.read_bytes()


def test_the_build_names_what_is_missing(docker_host: str, tmp_path: Path) -> None:
    build = Path("runner/image/build").resolve()
    done = subprocess.run(
        ["/bin/sh", str(build), "x:y"],
        env={"PATH": "/nonexistent", "DOCKER_HOST": docker_host},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "apt-get install docker.io, from Debian 13 on docker-cli" in done.stderr


def test_a_lun_is_prepared_inside_the_container_too(
    host: Host, submitted: Callable[..., Run], carry_out: Callable[[Run, Host], Run]
) -> None:
    run = submitted(host, "ext4", scheduler="none")
    series = run.series
    series.preparation = {"discard": True, "precondition": True, "fill_percent": 20}
    series.save()
    carry_out(run, host)
    assert run.state == RunState.DONE, run.reason
    assert [command["phase"] for command in run.commands] == [
        *("discard", "precondition", "mkfs", "mount", "fill", "benchmark", "sync", "unmount")
    ]
    assert measurement_of(run, test="mkfs").value > 0


def test_the_image_is_named_with_its_digest(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    runner_image: str,
) -> None:
    run = carry_out(submitted(host, "ext4"), host)
    assert run.environment is not None
    facts = dict(run.environment.facts["Execution"])
    assert facts["Image"] == runner_image
    assert facts["Image digest"].startswith("sha256:")
    assert run.conditions["before"]["scheduler"]
    assert (
        run.conditions["device"]["after"]["writes"] > run.conditions["device"]["before"]["writes"]
    )


def test_containers_of_dead_workers_are_orphans(
    host: Host, lun_file: Path, client: docker.DockerClient
) -> None:
    """Also of a worker of another name, but not of another site on this host."""
    config = host.config
    work = OnLun(host, lun_file).start()
    try:
        with locks.worker_lock(orphans.lock_of(host.name, config.site)):
            # A run that nobody knows, of a worker that lives, is its own business for now.
            assert [orphan for orphan in orphans.find(config) if orphan.kind == "container"] == []
        assert not [
            orphan
            for orphan in orphans.find(replace(config, site="other", name="other"))
            if orphan.kind == "container"
        ]
        (orphan,) = (orphan for orphan in orphans.find(config) if orphan.kind == "container")
        assert f"of worker {host.name}, run 1" in orphan.description
        assert orphan.remove is not None
        orphan.remove()
        assert client.containers.list(all=True) == []
    finally:
        work.stop.set()
        work.thread.join()
    work.assert_free()
