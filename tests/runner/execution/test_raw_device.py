"""The raw device as a contender: real runs on a loop device, with the checks of any other run."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fsbench_web.studies.models import Run, RunState
from runner.executors.local import LocalExecutor
from runner.worker import Host
from tests.measured import measured
from tests.runner.conftest import sparse_lun, write_luns
from tests.runner.fake import FakeExecutor

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]
QUICK = {"depths": [1], "runtime_s": 1, "ramp_s": 0, "file_mb": 8, "time_limit_s": 300}


def fio(submitted: Submit, host: Host, filesystem: str) -> Run:
    return submitted(host, filesystem, tool="fio-depths", parameters=QUICK, scheduler="none")


def test_it_is_measured_and_leaves_a_lun_that_fsbench_knows_as_its_own(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, tmp_path: Path, lun_file: Path
) -> None:
    image = tmp_path / "given.img"
    with image.open("wb") as file:  # made by nobody's fsbench, and empty
        file.truncate(400 * 2**20)
    write_luns(lun_file, sparse_lun(image))
    host = make_host(LocalExecutor())
    tests = []
    for filesystem in ("raw", "ext4", "raw"):
        run = carry_out(fio(submitted, host, filesystem), host)
        assert run.state == RunState.DONE, run.reason
        tests.append({(row.test, row.load) for row in measured(run) if "iops" in row.test})
    assert run.series.configuration.label == "raw_none"
    assert ("random_4k_write_iops", "iodepth=1") in tests[0]
    assert tests[0] == tests[1] == tests[2]
    label = subprocess.run(
        ["blkid", "-p", "-s", "LABEL", "-o", "value", image], capture_output=True, text=True
    )
    assert label.stdout.strip() == "fsbench"
    assert run.conditions["device"]["after"] != run.conditions["device"]["before"]
    assert all(command["argv"][0] not in ("mount", "umount") for command in run.commands)


def test_what_a_stranger_wrote_is_not_overwritten(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, tmp_path: Path, lun_file: Path
) -> None:
    image = tmp_path / "theirs.img"
    with image.open("wb") as file:
        file.truncate(64 * 2**20)
    write_luns(lun_file, sparse_lun(image, size="64 MiB"))
    host = make_host(LocalExecutor())
    run = fio(submitted, host, "raw")
    subprocess.run(["mkfs.ext4", "-q", "-F", "-L", "payroll", image], check=True)
    before = image.read_bytes()
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert "scratch was not erased. It holds data that fsbench did not write" in run.reason
    assert image.read_bytes() == before


def test_a_folder_and_a_small_lun_are_refused(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, tmp_path: Path, lun_file: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_luns(
        *(lun_file, sparse_lun(tmp_path / "small.img", size="8 MiB")),
        {"name": "home", "kind": "directory", "path": str(folder)},
    )
    host = make_host(FakeExecutor())
    small = carry_out(fio(submitted, host, "raw"), host)
    assert "make its file smaller, or choose a larger LUN" in small.reason
    in_folder = submitted(host, "raw", tool="fio-depths", parameters=QUICK, lun="home")
    assert "is on" in carry_out(in_folder, host).reason
    assert host.executor.plans == []  # type: ignore[attr-defined]
