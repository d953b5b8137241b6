"""overlayfs above a file system on a LUN: real runs on a loop device."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fsbench_web.core.workloads import presets
from fsbench_web.studies.models import Run, RunState
from runner.agent import mounted
from runner.executors.local import LocalExecutor
from runner.plan import plan_run
from runner.worker import Host
from tests.measured import measured

OVER_EXT4 = {"overlay": "on"}
QUICK = {"depths": [1], "runtime_s": 1, "ramp_s": 0, "file_mb": 8, "time_limit_s": 300}


def test_each_time_it_is_mounted_it_is_above_and_each_unmounting_takes_both() -> None:
    plan = plan_run("ext4", OVER_EXT4, "fio-depths", QUICK, device="/dev/sdx", size_bytes=2**30)
    commands = [f"{step.phase} {step.argv[0]}" for step in plan.steps if step.phase != "benchmark"]
    up = ["mount mount", "overlay mkdir", "overlay mount"]
    down = ["unmount umount", "unmount umount"]
    assert commands == ["mkfs mkfs.ext4", *up, *[*down, *up] * 2, "sync sync", *down]
    words = next(step.argv for step in plan.steps if step.argv[:3] == ["mount", "-t", "overlay"])
    assert words[4].split(",") == [
        f"{name}dir=/mnt/fsbench/fsbench.overlay.{name}" for name in ("lower", "upper", "work")
    ]
    plain = plan_run("ext4", {}, "fio-depths", QUICK, device="/dev/sdx", size_bytes=2**30)
    assert (plan.has_overlay, plain.has_overlay) == (True, False)
    assert plan.filesystem == plain.filesystem == "ext4"


def test_without_overlayfs_in_the_kernel_nothing_is_erased(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = {"mount_point": "/mnt", "filesystem": "ext4", "steps": [{"phase": "overlay"}]}
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "nodev\ttmpfs\n\text4\n")
    with pytest.raises(mounted.commands.StepFailed, match=r"modprobe overlay.*Nothing was erased"):
        mounted.check_overlay(plan, is_mounted=False)
    mounted.check_overlay(plan | {"steps": [{"phase": "mount"}]}, is_mounted=False)
    monkeypatch.setattr(mounted, "mounts", lambda: [("/mnt", "ext4", "rw")])
    with pytest.raises(mounted.commands.StepFailed, match="instead of overlay above ext4"):
        mounted.check_overlay(plan, is_mounted=True)


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize(("filesystem", "preset"), [("ext4", "fio-4k-small"), ("xfs", "git-small")])
def test_it_is_measured_like_any_other_configuration(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    filesystem: str,
    preset: str,
) -> None:
    host, chosen = make_host(LocalExecutor()), presets()[preset]
    parameters = {**chosen.parameters, **(QUICK if chosen.tool == "fio-depths" else {})}
    arguments = {"tool": chosen.tool, "parameters": parameters, "options": OVER_EXT4}
    run = carry_out(submitted(host, filesystem, scheduler="none", **arguments), host)
    assert run.state == RunState.DONE, run.reason
    assert run.series.configuration.label == f"{filesystem}_overlay_none"
    assert measured(run)
    assert dict(run.environment.facts["File system"])["Mounted as"] == filesystem
