"""Who uses a disk without having it exclusively. Asked of real loop devices with partitions."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.safety import blockdev, checks, openers, sparse
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.runner.conftest import MIB, tool, write_luns

pytestmark = pytest.mark.root


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[str]:
    """A disk with two partitions, of which the kernel knows; no table is on it."""
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    loop = tool("losetup", "--find", "--show", "--partscan", "--direct-io=on", str(image)).strip()
    try:
        for number, start in ((1, 2048), (2, 43008)):
            tool("addpart", loop, str(number), str(start), "40000")
        yield loop
    finally:
        tool("losetup", "--detach", loop)


def failed(lun_file: Path, path: str) -> dict[str, str]:
    """The failed checks of a LUN that may be overwritten: its partitions alone refuse it not."""
    write_luns(lun_file, {"name": "disk", "kind": "device", "path": path, "overwrite": True})
    results = checks.verify(read_luns(lun_file)[0], lun_file)
    return {check.name: check.message for check in results if not check.ok}


@contextmanager
def opened(path: str | Path, mode: str) -> Iterator[int]:
    """Another process that has it open, and does not have it exclusively; its number."""
    with Path(path).open(mode) as file:
        process = subprocess.Popen(["sleep", "60"], stdin=file)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("mode", ["rb", "r+b"])
def test_a_disk_whose_partition_a_process_has_open_is_refused(
    disk: str, lun_file: Path, mode: str
) -> None:
    """A virtual machine's, say: it has its disk not exclusively, and nothing is mounted here."""
    with opened(f"{disk}p1", mode) as process:
        problems = failed(lun_file, disk)
        assert set(problems) == {"openers"}
        assert f"pid {process}" in problems["openers"]
        assert failed(lun_file, f"{disk}p2") == {}
    assert failed(lun_file, disk) == {}


def test_a_partition_whose_disk_a_process_has_open_for_writing_is_refused(
    disk: str, lun_file: Path
) -> None:
    """A virtual machine that has the whole disk, or a dd; what looks at disks harms nobody."""
    with opened(disk, "r+b") as process:
        problems = failed(lun_file, f"{disk}p1")
        assert set(problems) == {"openers"}
        assert f"pid {process}" in problems["openers"]
    with opened(disk, "rb"):
        assert failed(lun_file, f"{disk}p1") == {}


def test_a_partition_whose_disk_is_under_a_loop_device_is_refused(
    disk: str, lun_file: Path
) -> None:
    """The kernel notes no holder, and lets the partition be opened exclusively."""
    loop = tool("losetup", "--find", "--show", disk).strip()
    try:
        problems = failed(lun_file, f"{disk}p1")
        assert set(problems) == {"holders"}
        assert Path(loop).name in problems["holders"]
    finally:
        tool("losetup", "--detach", loop)


def test_a_file_that_is_open_by_another_name_is_refused(
    lun_file: Path, make_host: Callable[..., Host], tmp_path: Path
) -> None:
    """As a container has it, in which its folder is mounted elsewhere."""
    entry = read_luns(lun_file)[0]
    device = make_host().device(entry)
    other = tmp_path / "elsewhere"
    other.hardlink_to(entry.path)
    with opened(other, "r+b") as process:
        results = checks.verify(entry, lun_file, device)
        problems = {check.name: check.message for check in results if not check.ok}
        assert set(problems) == {"openers"}
        assert f"pid {process}" in problems["openers"]
    assert sparse.uses_direct_io(device)


def test_what_the_kernel_serves_to_other_hosts_is_refused(
    disk: str, lun_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """configfs as nvmet and target_core_file have it: neither opens its device exclusively."""
    monkeypatch.setattr(openers, "CONFIGURED", tmp_path)
    assert failed(lun_file, disk) == {}
    namespace = tmp_path / "nvmet/subsystems/nqn.lab:one/namespaces/1"
    namespace.mkdir(parents=True)
    (namespace / "device_path").write_text(f"{disk}p2\n")
    (namespace / "enable").write_text("0\n")
    assert failed(lun_file, disk) == {}
    (namespace / "enable").write_text("1\n")
    assert "the NVMe target nqn.lab:one" in failed(lun_file, disk)["openers"]
    assert failed(lun_file, f"{disk}p1") == {}
    (namespace / "enable").write_text("0\n")
    file = tmp_path / "target/core/fileio_0/backup"
    file.mkdir(parents=True)
    (file / "info").write_text(f"        TCM FILEIO ID: 0        File: {disk}  Size: 67108864\n")
    assert "the SCSI target backup" in failed(lun_file, f"{disk}p1")["openers"]
    assert blockdev.holders(blockdev.device_number(disk) or 0) == []
