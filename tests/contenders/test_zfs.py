"""Pools of OpenZFS for real: made in a guest with the distribution's own modules, and destroyed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations.stacks import Member
from fsbench_web.catalog.workers.machines import EMULATED, MIB, Machine, guest_device
from fsbench_web.studies.models import LogLine, Run, RunState
from runner.execution.record import Recorder
from runner.executors.base import Message, Target
from runner.guests import kernels
from runner.guests.executor import GuestExecutor
from runner.plan import RunPlan, Step, plan_run
from runner.safety import checks, signatures
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.contenders.zfs_modules import kernel_with_zfs
from tests.measured import measured
from tests.runner.conftest import carry_out, make_host, sparse_lun, submitted, write_luns
from tests.runner.guests.test_guest import containers, guests

__all__ = ["carry_out", "guests", "make_host", "submitted"]

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]

QUICK = {"depths": [1], "runtime_s": 1, "ramp_s": 0, "file_mb": 8, "time_limit_s": 600}
NAMES = ("scratch", "second", "third", "fourth")
MEMORY = 768 * MIB


@pytest.fixture(scope="module")
def folder(
    docker_host: str, runner_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", docker_host)
        yield kernel_with_zfs(tmp_path_factory.mktemp("kernels"), runner_image)


@pytest.fixture(scope="module")
def kernel(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> kernels.Kernel:
    [package] = kernels.packages_in(folder)
    kernel = kernels.unpacked_kernel(package, tmp_path_factory.mktemp("guest"))
    assert kernel.has("zfs")
    return kernel


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    path = tmp_path / "luns.toml"
    write_luns(
        path,
        *(
            sparse_lun(tmp_path / f"{name}.img", name=name, size="160 MiB", role=role)
            for name, role in zip(NAMES, ("data", "data", "journal", "journal"), strict=True)
        ),
    )
    return path


@pytest.fixture
def host(make_host: Callable[..., Host], guests: GuestExecutor) -> Host:
    (booted,) = guests._seen.values()
    booted.announced["filesystems"]["zfs"] = {"usable": True, "reason": ""}
    return make_host(guests=guests)


@pytest.fixture
def devices(host: Host, lun_file: Path) -> list[str]:
    return [host.device(entry) for entry in read_luns(lun_file)]


def test_a_kernel_says_that_it_mounts_it(guests: GuestExecutor, kernel: kernels.Kernel) -> None:
    """What a worker does with a new kernel: every file system on the same disk, this one last."""
    guests._seen.clear()
    guests.look()
    (booted,) = guests._seen.values()
    assert booted.problem == ""
    assert booted.announced["filesystems"]["zfs"] == {"usable": True, "reason": ""}
    assert booted.announced["filesystems"]["ext4"]["usable"]


def test_a_pool_of_every_role_is_ordered_measured_and_destroyed(
    host: Host,
    guests: GuestExecutor,
    kernel: kernels.Kernel,
    devices: list[str],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    options = {"layout": "mirror", "recordsize": "16384", "compression": "lz4", "arc_max_mb": "96"}
    run = submitted(
        host,
        "zfs",
        tool="fio-depths",
        parameters=QUICK,
        options=options | {"primarycache": "metadata", "atime": "noatime"},
        members=[("data", "second"), ("special", "third"), ("cache", "fourth")],
        machine=Machine(kernel.name, EMULATED, MEMORY, 1),
        kernel=kernel.version,
    )
    assert run.series.configuration.label == (
        "zfs_noatime_mirror_rs16384_lz4_arc-metadata_arc96m_2luns_1cache_1special"
    )
    run = carry_out(run, host)

    assert run.state == RunState.DONE, run.reason
    assert measured(run)
    assert [command["argv"] for command in run.commands if command["exit_code"]] == []
    (argv,) = (command["argv"] for command in run.commands if command["phase"] == "mkfs")
    assert argv[-8:] == [
        *("fsbench", "mirror", "/dev/fsbench.zpool/vda", "/dev/fsbench.zpool/vdb"),
        *("special", "/dev/fsbench.zpool/vdc", "cache", "/dev/fsbench.zpool/vdd"),
    ]
    # What ZFS caches goes with the pool: exported and imported before each measurement.
    pool = [command["argv"][1] for command in run.commands if command["phase"] == "pool"]
    assert pool == ["nodes", "arc", *["healthy", "export", "import"] * 2, "healthy"]
    assert run.environment is not None
    facts = dict(run.environment.facts["File system"])
    assert facts["Mounted as"] == "zfs"
    assert "noatime" in facts["Mount options in effect"].split(",")
    assert facts["Most memory of the cache (ARC)"] == "96 MiB"
    assert [signatures.of(device) for device in devices] == [[], [], [], []]
    assert containers(guests) == []


def damaged(kernel: kernels.Kernel, device: str, layout: str) -> RunPlan:
    """A pool of two disks, of which this one is written over before the benchmark reads."""
    plan = plan_run(
        "zfs",
        {"layout": layout},
        "fio-depths",
        QUICK,
        device=guest_device(0),
        size_bytes=160 * MIB,
        members=[Member("data", guest_device(1), 160 * MIB)],
    )
    first = next(
        place
        for place, step in enumerate(plan.steps)
        if step.phase == "benchmark" and "--rw=randread" in step.argv
    )
    # Behind the labels at its begin, in front of those at its end.
    broken = ["dd", "if=/dev/urandom", f"of={device}", "bs=1M", "seek=5", "count=150", "conv=fsync"]
    steps = [*plan.steps[:first], Step("layout", broken, 120.0), *plan.steps[first:]]
    guest = {"kernel": kernel.name, "memory_bytes": MEMORY, "cpus": 1}
    return replace(plan, steps=steps, guest=guest)


def test_a_mirror_that_goes_on_with_one_half_is_no_measurement(
    host: Host, guests: GuestExecutor, kernel: kernels.Kernel, devices: list[str]
) -> None:
    """fio reads what it wrote, from the other disk; the pool says what that was."""
    messages: list[Message] = []
    outcome = guests.run(
        damaged(kernel, guest_device(1), "mirror"),
        Target(1, "host-one", "scratch", devices[0], members=(("second", devices[1]),)),
        messages.append,
        lambda: False,
    )

    assert outcome.exit_code == 1
    (error,) = [message["reason"] for message in messages if message["type"] == "error"]
    assert "The pool is not whole any more" in error
    assert "vdb" in error
    assert "wrong checksums" in error
    commands = [message for message in messages if message["type"] == "command"]
    failed = [command["argv"][:2] for command in commands if command["exit_code"]]
    assert failed == [["fsbench-zpool", "healthy"]]
    # It was unmounted by then, and is taken away from the top.
    assert [command["argv"][:2] for command in commands[-4:]] == [
        ["zpool", "destroy"],
        *[["zpool", "labelclear"]] * 2,
        ["wipefs", "--all"],
    ]
    assert [signatures.of(device) for device in devices[:2]] == [[], []]


def test_what_a_killed_guest_leaves_is_removed_from_every_lun(
    host: Host,
    guests: GuestExecutor,
    kernel: kernels.Kernel,
    devices: list[str],
    lun_file: Path,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = submitted(
        host,
        "zfs",
        tool="fio-depths",
        parameters=QUICK | {"runtime_s": 300},
        options={"layout": "raidz1"},
        members=[("data", "second"), ("special", "third")],
        machine=Machine(kernel.name, EMULATED, MEMORY, 1),
        kernel=kernel.version,
    )
    labels: list[list[str]] = []
    take = Recorder.take

    def kill_while_it_measures(recorder: Recorder, message: Message) -> None:
        take(recorder, message)
        if message["type"] == "mounted":
            labels.append(
                sorted({signature.label for path in devices for signature in signatures.of(path)})
            )
            for container in guests.client.containers.list():
                container.kill()

    monkeypatch.setattr(Recorder, "take", kill_while_it_measures)
    carry_out(run, host)

    assert run.state == RunState.FAILED
    assert "killed from outside" in run.reason
    assert labels == [["fsbench"]]
    assert [signatures.of(device) for device in devices] == [[], [], [], []]
    lines = LogLine.objects.filter(run=run, text__startswith="Left of layers")
    assert [line.text for line in lines] == [
        f"Left of layers on {name}, and removed: zfs_member." for name in NAMES[:3]
    ]
    for entry, device in zip(read_luns(lun_file), devices, strict=True):
        assert checks.problem(checks.verify(entry, lun_file, device)) == ""
