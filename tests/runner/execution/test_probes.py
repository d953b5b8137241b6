"""A LUN is measured by itself before the first file system of a block: real fio, a loop device."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from fsbench_web.core.scoring.ceilings import read_probe
from fsbench_web.core.scoring.shares import Share
from fsbench_web.studies.models import Job, LunProbe, Run, RunState
from runner.agent.preparation import probe
from runner.execution import planning
from runner.executors.local import LocalExecutor
from runner.host import lun_state
from runner.plan import RunPlan
from runner.worker import Host
from tests.runner.conftest import SMALL, sparse_lun, tool, write_luns

pytestmark = [pytest.mark.django_db, pytest.mark.root]

CarryOut = Callable[[Run, Host], Run]
DIRECT = SMALL | {"direct_io": True}
SHORT_S = 1  # less than any job may ask for: one burst of the five least points


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    path = tmp_path / "luns.toml"
    write_luns(path, sparse_lun(tmp_path / "scratch.img", size="64 MiB"))
    return path


@pytest.fixture
def host(make_host: Callable[..., Host]) -> Host:
    return make_host(LocalExecutor())


def phases(run: Run) -> list[str]:
    return [command["phase"] for command in run.commands]


def in_block(run: Run, block: str) -> Run:
    run.block = block
    run.save()
    return run


def test_the_first_run_of_a_block_measures_the_lun_and_all_are_set_against_it(
    host: Host, submitted: Callable[..., Run], carry_out: CarryOut, client: Client
) -> None:
    job = Job.objects.create(token="t", probe_s=SHORT_S)
    runs = [
        in_block(submitted(host, filesystem, job=job, scheduler="none", parameters=DIRECT), block)
        for filesystem, block in (("ext2", "job 1 block 1"), ("ext4", "job 1 block 1"))
    ]
    for run in runs:
        carry_out(run, host)
        assert run.state == RunState.DONE, run.reason
    first, second = runs
    assert phases(first)[:2] == ["probe", "mkfs"]
    assert "probe" not in phases(second)
    probe = LunProbe.objects.get()
    assert (probe.run, probe.lun) == (first, first.series.lun)
    assert first.probe == second.probe == probe
    result = read_probe(probe.result)
    assert result.device_bytes == 64 * 2**20
    assert result.from_byte == 2**20
    assert len(result.points) == 5
    assert {"write_cache", "scheduler", "logical_block_size"} <= set(probe.state)
    score = second.series.scores.get(test="random_read", category="total_average")
    assert score.share["percent"] > 0
    assert score.share["probes"] == 1
    assert score.share["of"] == "random read of 4 KiB to 8 KiB, queue depth 1"
    assert score.value / score.share["ceiling"] * 100 == pytest.approx(score.share["percent"])
    assert second.series.quality["limit_from"] == "probe"
    assert second.series.scores.get(test="mkfs").share is None
    page = client.get(f"/runs/{second.pk}/").content.decode()
    assert "The LUN without a file system" in page
    shown = Share(**score.share).short  # a busy machine's ceiling may be unreliable
    assert shown in page
    assert f'before\n    <a href="/runs/{first.pk}/">' in page


def test_a_lun_that_cannot_be_measured_is_benchmarked_all_the_same(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: CarryOut,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """fio fails on what is not there, as on a disk that is broken; and makes no file of it."""
    gone = Path("/dev/fsbench-no-such-device")
    real = planning.plan_run

    def elsewhere(*arguments: Any, **more: Any) -> RunPlan:
        plan = real(*arguments, **more)
        return replace(
            plan,
            steps=[
                replace(step, argv=[*step.argv[:-1], str(gone)]) if step.phase == "probe" else step
                for step in plan.steps
            ],
        )

    monkeypatch.setattr(planning, "plan_run", elsewhere)
    job = Job.objects.create(token="t", probe_s=SHORT_S)
    run = carry_out(in_block(submitted(host, job=job, scheduler="none"), "job 1 block 1"), host)
    assert run.state == RunState.DONE, run.reason
    assert phases(run)[0] == "probe"
    assert run.commands[0]["exit_code"] == 1
    assert run.probe is None
    assert not LunProbe.objects.exists()
    assert not gone.exists()
    log = [line.text for line in run.log_lines.all()]
    why = "cannot be opened for itself alone: No such file or directory"
    assert f"The LUN was not measured: {gone} {why}" in log


def test_the_label_in_the_first_mebibyte_stays_and_nobody_can_mount_meanwhile(
    host: Host,
) -> None:
    device = host.device(host.entry("scratch"))
    tool("mkfs.ext4", "-q", "-L", "fsbench", device)
    head = Path(device).read_bytes()[: probe.FROM_BYTE]
    descriptor, size = probe.open_device(device)
    try:
        assert size == 64 * 2**20
        with pytest.raises(probe.ProbeError, match="busy"):
            probe.open_device(device)
        mounted = subprocess.run(
            ["mount", device, "/mnt"], capture_output=True, text=True, check=False
        )
        assert mounted.returncode != 0
        end = probe.write_region(device, 2, size)
    finally:
        probe.os.close(descriptor)
    assert end == size
    with Path(device).open("rb") as opened:
        assert opened.read(probe.FROM_BYTE) == head
        assert opened.read(4096) != bytes(4096)


def test_what_the_kernel_says_of_a_lun_is_read_and_what_it_does_not_say_is_left_out(
    host: Host,
) -> None:
    number = Path(host.device(host.entry("scratch"))).stat().st_rdev
    state = lun_state.read(number)
    assert state["logical_block_size"] in (512, 4096)
    assert state["write_cache"] in ("write back", "write through")
    assert "temperature_c" not in state
    assert "power_state" not in state
