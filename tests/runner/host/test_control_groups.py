"""Runs without a container in control groups of their own, really limited."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations.limits import MIB, Limits
from fsbench_web.studies.causes import Cause
from runner.executors import containers, local
from runner.executors.base import Message, Target
from runner.executors.local import LocalExecutor
from runner.host import control_groups
from runner.plan import RunPlan, plan_run
from runner.safety import blockdev

pytestmark = pytest.mark.root

READ = "[r]\nrw=read\nbs=64k\nsize=4m\ndirect=1\n"


def leftover_groups() -> list[Path]:
    groups = control_groups.Hierarchies()
    tops = {*groups.folders.values(), *([groups.unified] if groups.unified else [])}
    return [folder for top in tops for folder in top.glob(f"{control_groups.PREFIX}test_groups-*")]


def planned(device: str, limits: Limits) -> RunPlan:
    parameters = {"name": "limited", "version": 1, "space_mb": 20, "text": READ}
    return plan_run(
        "ext2", {}, "own-fio", parameters, device=device, size_bytes=64 * MIB, limits=limits
    )


def test_reads_are_as_slow_as_the_limit_and_the_group_is_gone(other_loop: str) -> None:
    """The most that a limit lets through does not depend on how busy the machine is."""
    plan = planned(other_loop, Limits(read_mib_s=2, memory_mib=256))
    messages: list[Message] = []
    outcome = LocalExecutor().run(
        plan, Target(7, "test groups", "other", other_loop), messages.append, lambda: False
    )
    assert outcome.exit_code == 0, [message for message in messages if message["type"] == "error"]
    printed = "".join(message["text"] for message in messages if message["type"] == "output")
    (job,) = json.loads(printed[printed.index("{") :])["jobs"]
    assert 0 < job["read"]["bw_bytes"] < 2.5 * MIB
    (sampling,) = [message for message in messages if message["type"] == "sampling"]
    # The run's own waiting, and not that of the machine.
    assert "group.pressure_io_some_us" in sampling["fields"]
    assert leftover_groups() == []


HOG = ["python3", "-c", "b'x' * (512 << 20)"]


@pytest.mark.parametrize("dies", ["tool", "agent"])
def test_a_process_that_the_limit_killed_is_told_from_one_that_somebody_killed(
    other_loop: str, dies: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(other_loop, Limits(memory_mib=64))
    steps = [
        replace(step, argv=HOG) if step.save_output_as == "fio.json" else step
        for step in plan.steps
    ]
    if dies == "agent":
        join = f"import os, sys; open(sys.argv[1] + '/cgroup.procs', 'w').write('0'); {HOG[2]}"
        group = control_groups.Hierarchies()
        top = group.folders.get("memory") or group.unified
        folder = f"{top}/{control_groups.PREFIX}test_groups-7-{os.getpid()}"
        monkeypatch.setattr(local, "_ISOLATED", ("python3", "-c", join, folder))
    messages: list[Message] = []
    outcome = LocalExecutor().run(
        replace(plan, steps=steps),
        Target(7, "test groups", "other", other_loop),
        messages.append,
        lambda: False,
    )
    assert outcome.exit_code in (1, -9)
    assert (outcome.reason, outcome.cause) == (
        "Killed by the kernel: out of memory at the 64 MiB limit.",
        Cause.BENCHMARK,
    )
    assert leftover_groups() == []


@pytest.mark.parametrize(
    ("name", "text", "has_killed"),
    [
        ("memory.events", "low 0\nmax 412\noom 3\noom_kill 0\noom_group_kill 0\n", False),
        ("memory.events", "low 0\nmax 412\noom 3\noom_kill 2\noom_group_kill 0\n", True),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", False),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", True),
    ],
)
def test_both_versions_count_who_was_killed(
    name: str, text: str, has_killed: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    assert control_groups.has_killed([str(tmp_path / "absent"), str(tmp_path)]) is has_killed


def test_what_a_killed_worker_left_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["true"]) as killed:
        pass
    monkeypatch.setattr("os.getpid", lambda: killed.pid)
    with control_groups.of_run("test groups", 8, [], {}, 64 * MIB) as folders:
        assert folders
        monkeypatch.undo()
        assert control_groups.remove_leftovers("test groups") == [
            f"control group fsbench-run-test_groups-8-{killed.pid}"
        ]
        assert leftover_groups() == []
    assert control_groups.remove_leftovers("test groups") == []


def test_what_another_process_has_made_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of the same name of another site, whose run has not begun yet."""
    with subprocess.Popen(["sleep", "60"]) as other:
        monkeypatch.setattr("os.getpid", lambda: other.pid)
        with control_groups.of_run("test groups", 8, [], {}, 64 * MIB) as folders:
            monkeypatch.undo()
            assert control_groups.remove_leftovers("test groups") == []
            assert set(leftover_groups()) == {Path(folder) for folder in folders}
            other.kill()
    assert leftover_groups() == []


def test_a_limit_that_cannot_be_set_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    limited = control_groups.of_run("test groups", 9, [str(tmp_path)], {"read_bps": 1}, None)
    with pytest.raises(control_groups.GroupProblem, match="not a block device"), limited:
        pass
    assert leftover_groups() == []


def test_a_folder_is_refused_where_something_is_limited(tmp_path: Path) -> None:
    plan = plan_run(
        "ext4",
        {},
        "own-fio",
        {"name": "limited", "version": 1, "space_mb": 20, "text": READ},
        device=str(tmp_path),
        is_directory=True,
        limits=Limits(memory_mib=256),
    )
    outcome = LocalExecutor().run(
        plan, Target(10, "test groups", "folder", str(tmp_path)), lambda _: None, lambda: False
    )
    assert outcome.exit_code == 1
    assert "no control group of its own" in outcome.reason


def test_docker_is_told_the_limits_of_each_device(other_loop: str) -> None:
    rates = Limits(read_mib_s=2, write_iops=100).rates
    assert containers.rates_in([other_loop], rates) == {
        "device_read_bps": [{"Path": other_loop, "Rate": 2 * MIB}],
        "device_write_iops": [{"Path": other_loop, "Rate": 100}],
    }
    assert containers.rates_in([other_loop], {}) == {}


def test_hierarchies_of_version_2_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu io memory\n")
    groups = hierarchies(b"30 20 0:26 / %s rw - cgroup2 cgroup2 rw\n", tmp_path, monkeypatch)
    assert (groups.unified, groups.folders) == (tmp_path, {})
    assert (groups.has("io"), groups.has("blkio")) == (True, False)


def test_a_mount_whose_name_is_no_text_hides_no_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker asks with every heartbeat: it was silent as long as such a mount was there."""
    lines = (
        b"36 35 8:1 / /mnt/f\xfcr\xc2\x85zwei rw - ext4 none rw\n"
        b"31 20 0:27 / %s/blkio rw,nosuid - cgroup cgroup rw,blkio\n"
    )
    groups = hierarchies(lines, tmp_path, monkeypatch)
    assert groups.folders["blkio"] == tmp_path / "blkio"


def hierarchies(
    lines: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> control_groups.Hierarchies:
    (folder / "self").mkdir()
    (folder / "self" / "mountinfo").write_bytes(lines % bytes(folder))
    monkeypatch.setattr(blockdev, "PROC", folder)
    return control_groups.Hierarchies()


@pytest.mark.usefixtures("odd_mounts")
def test_a_mount_of_an_odd_name_hides_no_hierarchy() -> None:
    """A worker asks with every heartbeat: it ended before the first one."""
    groups = control_groups.Hierarchies()
    assert groups.unified or groups.folders
    assert {"rates", "memory"} <= set(LocalExecutor().limit_problems())
