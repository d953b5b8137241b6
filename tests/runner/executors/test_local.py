"""The local executor as root on a loop device, measured by the real IOzone."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import MeasurementBlock, Run, RunState
from fsbench_web.studies.views.run_details import planned_commands
from runner.execution import execute
from runner.executors import local
from runner.executors.base import Capabilities, Message, Target
from runner.executors.local import LocalExecutor
from runner.plan import plan_run
from runner.safety import checks, signatures
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.measured import measured
from tests.runner.conftest import LONG, SMALL, sparse_lun, tool, write_luns

pytestmark = [pytest.mark.django_db, pytest.mark.root]


@pytest.fixture
def host(make_host: Callable[..., Host]) -> Host:
    host = make_host(LocalExecutor())
    assert host.capabilities.tools["iozone"]["usable"], host.capabilities.tools["iozone"]["reason"]
    return host


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_it_measures(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    filesystem: str,
    lun_file: Path,
) -> None:
    run = carry_out(submitted(host, filesystem, scheduler="none"), host)
    assert run.state == RunState.DONE, run.reason
    assert len([row for row in measured(run) if row.unit == "KB/s"]) == 24
    assert run.environment is not None
    facts = dict(run.environment.facts["File system"])
    assert facts["Mounted as"] == filesystem
    ended = [(command["phase"], command["exit_code"]) for command in run.commands]
    assert ended == [(phase, 0) for phase in ("mkfs", "mount", "benchmark", "sync", "unmount")]
    # What was shown before is what was run.
    assert [command["argv"] for command in run.commands] == [
        list(command.argv) for command in planned_commands(run)
    ]
    assert filesystem not in tool("mount").split()[-1]
    assert "/mnt/fsbench" not in Path("/proc/self/mountinfo").read_text()
    entry = read_luns(lun_file)[0]
    results = checks.verify(entry, lun_file, host.device(entry))
    assert checks.problem(results) == ""


def test_mount_options_are_in_effect(
    host: Host, submitted: Callable[..., Run], carry_out: Callable[[Run, Host], Run]
) -> None:
    options = {"atime": "noatime", "journal_mode": "writeback"}
    run = carry_out(submitted(host, "ext4", options=options), host)
    assert run.state == RunState.DONE, run.reason
    assert run.environment is not None
    effective = dict(run.environment.facts["File system"])["Mount options in effect"].split(",")
    assert {"noatime", "data=writeback"} <= set(effective)


def test_a_lun_that_fills_up_fails_the_run_with_the_reason(
    host: Host, submitted: Callable[..., Run], carry_out: Callable[[Run, Host], Run], lun_file: Path
) -> None:
    """The check of the room there is, is told that little is needed: IOzone meets the end."""
    write_luns(lun_file, sparse_lun(lun_file.parent / "small.img", size="16 MiB"))
    host.refresh()
    parameters = SMALL | {"maximum_file_kb": 16384}
    entry = read_luns(lun_file)[0]
    device = host.device(entry)
    plan = plan_run("ext2", {}, "iozone", parameters, device=device)
    object.__setattr__(plan, "space_needed_bytes", 1)
    messages: list[Message] = []
    target = Target(1, host.name, entry.name, device)
    outcome = host.executor.run(plan, target, messages.append, lambda: False)
    assert outcome.exit_code == 1
    (reason,) = [message["reason"] for message in messages if message["type"] == "error"]
    assert reason.startswith("The LUN is full: iozone said “No space left on device”")
    assert checks.problem(checks.verify(entry, lun_file, device)) == ""

    run = carry_out(submitted(host, "ext2", parameters=parameters), host)
    assert run.state == RunState.FAILED
    assert "The LUN is too small" in run.reason
    assert not MeasurementBlock.objects.exists()


NO_MOUNT = "unshare: cannot change root filesystem propagation: Invalid argument"


@pytest.fixture
def _chroot(monkeypatch: pytest.MonkeyPatch) -> None:
    """What unshare(1) says in a chroot whose root is not a mount point."""
    script = ("sh", "-c", f"echo '{NO_MOUNT}' >&2; exit 1")
    monkeypatch.setattr(local, "_ISOLATED", script)


def test_an_agent_that_cannot_be_started_is_quoted(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    request: pytest.FixtureRequest,
) -> None:
    queued = submitted(host, "ext4")
    request.getfixturevalue("_chroot")
    run = carry_out(queued, host)
    assert (run.state, run.cause) == (RunState.FAILED, Cause.BENCHMARK)
    assert NO_MOUNT in run.reason
    assert "without a reason" not in run.reason


@pytest.mark.usefixtures("_chroot")
def test_a_host_without_namespaces_makes_no_file_system() -> None:
    """The worker announces it, and nothing is erased."""
    capabilities = LocalExecutor().probe()
    assert NO_MOUNT in capabilities.refusal("ext4", True, ())
    assert capabilities.refusal("ext4", False, ()) == ""


def test_a_cancelled_run_has_stopped_and_unmounted(host: Host, lun_file: Path) -> None:
    entry = read_luns(lun_file)[0]
    device = host.device(entry)
    plan = plan_run("ext4", {}, "iozone", LONG, device=device)
    messages: list[Message] = []
    stops: list[bool] = []

    def should_stop() -> bool:
        if not stops and any(m.get("phase") == "benchmark" for m in messages):
            stops.append(True)
        return bool(stops)

    target = Target(1, host.name, entry.name, device)
    outcome = host.executor.run(plan, target, messages.append, should_stop)
    assert outcome.was_stopped
    assert outcome.exit_code == 3
    assert checks.problem(checks.verify(entry, lun_file, device)) == ""


def test_a_run_that_is_to_stop_before_it_began_writes_nothing(host: Host, lun_file: Path) -> None:
    entry = read_luns(lun_file)[0]
    device = host.device(entry)
    plan = plan_run("ext4", {}, "iozone", LONG, device=device)
    messages: list[Message] = []
    target = Target(1, host.name, entry.name, device)
    outcome = host.executor.run(plan, target, messages.append, lambda: True)
    assert outcome.was_stopped
    assert messages == []
    assert signatures.of(device) == []


def test_a_lost_lease_kills_the_agent_at_once(host: Host, lun_file: Path) -> None:
    entry = read_luns(lun_file)[0]
    device = host.device(entry)
    plan = plan_run("ext4", {}, "iozone", LONG, device=device)
    phases: list[object] = []

    def fail_when_running() -> bool:
        if "benchmark" in phases:
            raise LookupError("lease lost")
        return False

    with pytest.raises(LookupError):
        host.executor.run(
            plan,
            Target(1, host.name, entry.name, device),
            lambda message: phases.append(message.get("phase")),
            fail_when_running,
        )
    deadline = time.monotonic() + 60
    while checks.problem(checks.verify(entry, lun_file, device)):
        assert time.monotonic() < deadline, "the LUN stayed in use"
        time.sleep(0.1)


def test_without_root_only_directories_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    executor = LocalExecutor()
    can = executor.probe()
    assert can.is_usable
    assert not any(entry["usable"] for entry in can.filesystems.values())
    assert "does not run as root" in can.filesystems["ext4"]["reason"]
    assert executor.lun_problem("directory") == ""
    assert "directories and mounts only" in executor.lun_problem("sparse-file")


def test_a_missing_iozone_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = LocalExecutor()
    environment = dict(executor._environment())
    environment["tools"] = environment["tools"] | {"iozone": {"path": "", "version": ""}}
    monkeypatch.setattr(executor, "_environment", lambda: environment)
    can: Capabilities = executor.probe()
    reason = can.refusal("ext4", True, ["iozone"])
    assert "iozone3" in reason
    assert "non-free" in reason


def test_a_file_system_the_kernel_does_not_know_is_not_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executor = LocalExecutor()
    environment = dict(executor._environment())
    environment["filesystems"] = ["ext4"]
    monkeypatch.setattr(executor, "_environment", lambda: environment)
    can = executor.probe()
    assert can.refusal("ext4", True, ["iozone"]) == ""
    assert "cannot mount Btrfs" in can.refusal("btrfs", True, ["iozone"])


def test_a_real_run_in_a_directory(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    lun_file: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("kept")
    write_luns(lun_file, {"name": "folder", "kind": "directory", "path": str(tmp_path / "folder")})
    host = make_host(LocalExecutor())
    filesystem = checks.directory_filesystem(tmp_path)
    run = carry_out(submitted(host, filesystem, lun="folder"), host)
    assert run.state == RunState.DONE, run.reason
    assert len([row for row in measured(run) if row.unit == "KB/s"]) == 24
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["mine"]


def test_all_commands_of_a_benchmark_share_its_time_limit(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    lun_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five of fio's, of which each by itself stays far below the limit of 10 seconds."""
    monkeypatch.setattr(execute, "_benchmark_limit_s", lambda workload: 3.0)
    (tmp_path / "folder").mkdir()
    write_luns(lun_file, {"name": "folder", "kind": "directory", "path": str(tmp_path / "folder")})
    host = make_host(LocalExecutor())
    parameters = {
        **{"outstanding": [1], "file_mb": 1, "ramp_s": 1, "runtime_s": 2, "interval_s": 1},
        **{"memory_mb": 0, "time_limit_s": 10},
    }
    filesystem = checks.directory_filesystem(tmp_path)
    run = carry_out(
        submitted(host, filesystem, lun="folder", tool="pgmeter", parameters=parameters), host
    )
    assert (run.state, run.cause) == (RunState.FAILED, Cause.TIME_LIMIT)
    assert "time limit of its workload, 3 s for all its commands together" in run.reason
    assert not list((tmp_path / "folder").iterdir())
