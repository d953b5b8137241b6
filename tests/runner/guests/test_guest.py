"""Real guests: a kernel of its own boots in the container and measures a real loop device."""

import io
import shutil
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from fsbench_web.catalog.workers.machines import (
    CONSOLE,
    EMULATED,
    GUEST_DEVICE,
    MIB,
    OOPS,
    Machine,
    guest_ability,
)
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import Artefact, LogLine, Run, RunState
from runner.agent import agent
from runner.executors.base import STOPPED, WORKER_SILENT, Message, Outcome, Target
from runner.guests import executor as guest_executor
from runner.guests import kernels
from runner.guests.executor import BootedKernel, GuestExecutor
from runner.plan import RunPlan, Step, plan_run
from runner.safety import checks
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.measured import measured
from tests.runner.conftest import LONG, SMALL, sparse_lun, write_luns
from tests.runner.executors.silence import SILENT_AFTER_S, Connection
from tests.services.kernel import kernel_package, unpacked

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]

TINY = SMALL | {"maximum_record_kb": 4, "maximum_file_kb": 64}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A worker's folder with one kernel, whatever else was downloaded."""
    package = kernel_package()
    folder = tmp_path_factory.mktemp("kernels")
    (folder / package.name).symlink_to(package)
    return folder


@pytest.fixture(scope="module")
def kernel(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> kernels.Kernel:
    [package] = kernels.packages_in(folder)
    return unpacked(package, tmp_path_factory.mktemp("guest"))


@pytest.fixture
def guests(
    docker_host: str,
    runner_image: str,
    kernel: kernels.Kernel,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> GuestExecutor:
    """An executor that knows its kernel without having booted it."""
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    executor = GuestExecutor(
        runner_image,
        "test",
        folder=folder,
        cache=kernel.folder.parent,
        accelerator=EMULATED,
    )
    executor.reason, executor.qemu = "", "7.2"
    usable = {"usable": True, "reason": ""}
    executor._seen[kernel.name] = BootedKernel(
        kernel,
        {
            "name": kernel.name,
            "version": kernel.version,
            "digest": kernel.digest,
            "problem": "",
            "filesystems": dict.fromkeys(("jfs", "reiser3", "ext4", "btrfs", "xfs"), usable),
            "schedulers": ["none", "mq-deadline", "bfq", "kyber"],
            "boot_s": None,
        },
    )
    return executor


@pytest.fixture
def client(docker_host: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[docker.DockerClient]:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture
def machine(kernel: kernels.Kernel) -> Machine:
    return Machine(kernel.name, EMULATED, 384 * MIB, 1)


@pytest.fixture
def host(make_host: Callable[..., Host], guests: GuestExecutor) -> Host:
    return make_host(guests=guests)


def test_it_measures_what_the_hosts_kernel_may_not_have(
    host: Host,
    machine: Machine,
    kernel: kernels.Kernel,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    run = carry_out(
        submitted(
            host,
            "reiser3",
            parameters=TINY,
            machine=machine,
            kernel=kernel.version,
            scheduler="bfq",
        ),
        host,
    )

    assert run.state == RunState.DONE, run.reason
    assert measured(run, test="write")
    assert run.series.kernel == kernel.version
    assert Machine.of(run.series.machine) == machine
    assert run.environment is not None
    facts = run.environment.facts
    assert ["Accelerator", EMULATED] in facts["Guest"]
    assert ["Memory", "384 MiB"] in facts["Guest"]
    assert ["Kernel", kernel.version] in facts["Operating system"]
    assert ["I/O scheduler", "bfq"] in facts["LUN"]


def test_an_external_journal_is_the_guests_second_disk(
    make_host: Callable[..., Host],
    guests: GuestExecutor,
    machine: Machine,
    kernel: kernels.Kernel,
    lun_file: Path,
    tmp_path: Path,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    write_luns(
        lun_file,
        sparse_lun(tmp_path / "scratch.img"),
        sparse_lun(tmp_path / "log.img", name="log", role="journal", size="128 MiB"),
    )
    host = make_host(guests=guests)

    run = carry_out(
        submitted(
            host,
            "jfs",
            parameters=TINY,
            machine=machine,
            kernel=kernel.version,
            journal="log",
        ),
        host,
    )

    assert run.state == RunState.DONE, run.reason
    assert any("/dev/vdb" in command["argv"] for command in run.commands)


class InGuest:
    """A plan in a guest on the host's LUN, in a thread of its own."""

    def __init__(self, host: Host, lun_file: Path, machine: Machine, plan: RunPlan | None = None):
        assert host.guests is not None
        self.executor, self.entry, self.lun_file = host.guests, read_luns(lun_file)[0], lun_file
        self.device = host.device(self.entry)
        plan = plan or plan_run("ext4", {}, "iozone", LONG, device=GUEST_DEVICE)
        self.plan = replace(
            plan, guest={"kernel": machine.kernel, "memory_bytes": 384 * MIB, "cpus": 1}
        )
        self.messages: list[Message] = []
        self.stop = threading.Event()
        self.outcome: Outcome | None = None
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        target = Target(1, "host-one", self.entry.name, self.device)
        self.outcome = self.executor.run(self.plan, target, self.messages.append, self.stop.is_set)

    def start(self) -> "InGuest":
        self.thread.start()
        deadline = time.monotonic() + 200
        while not any(message.get("phase") == "benchmark" for message in self.messages):
            assert time.monotonic() < deadline, self.messages
            assert self.thread.is_alive(), self.messages
            time.sleep(0.05)
        return self

    def assert_free(self) -> None:
        deadline = time.monotonic() + 60
        while problem := checks.problem(checks.verify(self.entry, self.lun_file, self.device)):
            assert time.monotonic() < deadline, problem
            time.sleep(0.1)


def containers(executor: GuestExecutor) -> list[str]:
    return [str(container.name) for container in executor.client.containers.list(all=True)]


def test_a_cancelled_guest_is_gone(host: Host, lun_file: Path, machine: Machine) -> None:
    run = InGuest(host, lun_file, machine).start()
    run.stop.set()
    run.thread.join(60)

    assert run.outcome is not None
    assert run.outcome.was_stopped
    assert containers(run.executor) == []
    run.assert_free()


@pytest.mark.parametrize(
    ("is_silent", "status", "cause"),
    [(True, WORKER_SILENT, Cause.SILENT), (False, STOPPED, Cause.KILLED)],
    ids=["silent", "gone"],
)
def test_without_its_worker_a_guest_ends(
    host: Host,
    lun_file: Path,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    is_silent: bool,
    status: int,
    cause: Cause,
) -> None:
    connection = Connection(monkeypatch)
    run = InGuest(host, lun_file, machine)
    run.plan = replace(run.plan, worker_silence_s=SILENT_AFTER_S)
    run.start()
    connection.fall_silent() if is_silent else connection.close()
    run.thread.join(60)

    assert run.outcome is not None
    assert (run.outcome.exit_code, run.outcome.cause) == (status, cause)
    assert containers(run.executor) == []
    run.assert_free()
    reason = [message["reason"] for message in run.messages if message["type"] == "error"]
    assert not is_silent or "no sign of life for 4 s" in reason[0]


def test_what_a_killed_worker_leaves_is_removed_with_its_guest(
    host: Host, lun_file: Path, machine: Machine, runner_image: str, kernel: kernels.Kernel
) -> None:
    run = InGuest(host, lun_file, machine).start()
    successor = GuestExecutor(runner_image, "test", folder=lun_file.parent, cache=Path("/nowhere"))

    removed = successor.clean_up("host-one")

    run.thread.join(60)
    assert len(removed) == 1
    assert containers(run.executor) == []
    run.assert_free()
    assert run.outcome is not None
    assert run.outcome.exit_code != 0


def test_a_panic_fails_the_run_and_is_its_reason(
    host: Host,
    machine: Machine,
    kernel: kernels.Kernel,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crash = Step("benchmark", ["sh", "-c", "echo c >/proc/sysrq-trigger"], 60.0)
    create = GuestExecutor._create
    monkeypatch.setattr(
        GuestExecutor,
        "_create",
        lambda self, plan, target: create(
            self, replace(plan, steps=[*plan.steps[:-1], crash]), target
        ),
    )

    run = carry_out(
        submitted(host, "ext4", parameters=TINY, machine=machine, kernel=kernel.version), host
    )

    assert run.state == RunState.FAILED
    assert run.reason.startswith("The guest's kernel panicked: sysrq triggered crash.")
    artefacts = {artefact.name: artefact for artefact in Artefact.objects.filter(run=run)}
    assert {CONSOLE, OOPS} <= set(artefacts)
    assert not run.measurement_blocks.exists()
    lines = LogLine.objects.filter(run=run, stream="console")
    assert any("sysrq_handle_crash" in line.text for line in lines)


def test_a_kernel_is_known_by_booting_it_once(
    guests: GuestExecutor, kernel: kernels.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    probes = {probe["slug"]: probe for probe in guest_executor.probes()}
    missing = probes["jfs"] | {"slug": "reiser4", "name": "Reiser4", "kernel_name": "reiser4"}
    selected = [probes["jfs"], probes["exfat"], probes["ntfs3"], missing]
    monkeypatch.setattr(guest_executor, "probes", lambda: selected)
    # A folder that comes after the worker's start is found without a restart.
    elsewhere = guests.folder.rename(guests.folder.with_name("elsewhere"))
    guests.look()
    assert "This worker has no kernel for guests" in guests.announcement()["reason"]
    assert guests.announcement()["kernels"] == []
    elsewhere.rename(guests.folder)

    guests.look(lambda: False)
    assert guests.why_wait(kernel.name)
    guests.look()

    ability = guest_ability({"guest": guests.announcement()})
    assert ability is not None
    [usable] = ability.usable_kernels
    assert usable.version == kernel.version
    assert usable.mounts("jfs")
    assert usable.mounts("exfat")
    # NTFS by the kernel's own driver came to Debian's kernels behind this one.
    assert usable.mounts("ntfs3") == kernel.has("ntfs3")
    assert usable.mounts("ntfs3") or "has no NTFS3" in usable.filesystems["ntfs3"]["reason"]
    assert "has no Reiser4" in usable.filesystems["reiser4"]["reason"]
    assert {"mq-deadline", "bfq", "kyber"} <= set(usable.schedulers)
    assert usable.boot_s
    assert containers(guests) == []
    assert guests.why_wait(kernel.name) == ""
    # Known: not booted again, also not by the next worker.
    guests._seen.clear()
    monkeypatch.setattr(guests, "_boot", None)
    guests.look()
    assert [
        kernel.name
        for kernel in guest_ability({"guest": guests.announcement()}).usable_kernels  # type: ignore[union-attr]
    ]


def test_a_look_at_a_kernel_makes_way_for_a_run(
    guests: GuestExecutor, kernel: kernels.Kernel, tmp_path: Path
) -> None:
    never_booted = shutil.ignore_patterns("seen-*")
    shutil.copytree(kernel.folder, tmp_path / kernel.digest, ignore=never_booted)
    guests.cache = tmp_path
    guests._seen.clear()
    answers = iter([True, True])

    guests.look(lambda: next(answers, False))

    assert containers(guests) == []
    assert guests.why_wait(kernel.name)


def test_a_run_that_no_guest_can_do_is_refused_before_anything_is_erased(
    host: Host,
    machine: Machine,
    kernel: kernels.Kernel,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    cases = (
        ("ext4", replace(machine, kernel="linux-2.6"), "no kernel linux-2.6"),
        ("nilfs2", machine, "nilfs2 was not tried"),
        ("ext4", replace(machine, memory_bytes=2**50), "this host has"),
    )
    for filesystem, run_machine, words in cases:
        run = carry_out(
            submitted(
                host, filesystem, parameters=TINY, machine=run_machine, kernel=kernel.version
            ),
            host,
        )

        assert run.state == RunState.FAILED
        assert run.reason.startswith("Refused: ")
        assert words in run.reason


def assert_compiled(container: Container) -> None:
    """All of the agent, by its text's hash (PEP 552): the guest's files have other times."""
    chunks, _ = container.get_archive("/fsbench/runner/agent")
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        files = [member for member in archive.getmembers() if member.name.endswith(".pyc")]
        heads = [archive.extractfile(file).read(8) for file in files]  # type: ignore[union-attr]
    here = Path(agent.__file__).parent
    modules = {str(path.relative_to(here.parent).with_suffix("")) for path in here.rglob("*.py")}
    compiled = (Path(file.name) for file in files)
    assert {str(path.parent.parent / path.name.partition(".")[0]) for path in compiled} == modules
    assert {head[4:] for head in heads} == {(0b11).to_bytes(4, "little")}


def test_a_guests_container_has_no_capability_and_no_other_device(
    guests: GuestExecutor, machine: Machine, client: docker.DockerClient
) -> None:
    plan = plan_run("ext4", {}, "iozone", TINY, device=GUEST_DEVICE)
    plan = replace(plan, guest={"kernel": machine.kernel, "memory_bytes": 384 * MIB, "cpus": 1})

    container = guests._create(plan, Target(7, "host-one", "scratch", "/dev/null"))
    try:
        host_config = client.api.inspect_container(container.id)["HostConfig"]
        assert_compiled(container)
    finally:
        container.remove(force=True)

    assert host_config["CapDrop"] == ["ALL"]
    assert not host_config["CapAdd"]
    assert not host_config["Privileged"]
    assert host_config["NetworkMode"] == "none"
    assert host_config["SecurityOpt"] == ["no-new-privileges"]
    assert not host_config["Binds"]
    assert [device["PathOnHost"] for device in host_config["Devices"]] == ["/dev/null"]
