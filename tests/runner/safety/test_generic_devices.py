"""A disk that a virtual machine has by its SCSI or NVMe generic device is in use."""

import os
import subprocess
from pathlib import Path

import pytest

from runner.safety import blockdev, openers
from runner.safety.extended_stat import ExtendedStat

NULL = os.makedev(1, 3)


@pytest.fixture
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A SCSI disk and an NVMe namespace in sysfs, whose generic devices are /dev/null."""
    folders = {}
    for number, name in ((1, "sda"), (2, "nvme0n1"), (3, "sdb"), (NULL, "ram3")):
        (tmp_path / name / "device").mkdir(parents=True)
        folders[number] = tmp_path / name
    for folder in ("sda/device/scsi_generic/sg0", "ng0n1"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "dev").write_text("1:3\n")
    monkeypatch.setattr(blockdev, "sys_folder", folders.__getitem__)
    return {folder.name: number for number, folder in folders.items()}


@pytest.mark.parametrize("has_statx", [True, False])
@pytest.mark.parametrize("disk", ["sda", "nvme0n1"])
def test_a_process_that_has_the_generic_device_for_writing_counts(
    disks: dict[str, int], disk: str, has_statx: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_statx:
        monkeypatch.setattr(ExtendedStat, "read", lambda *_: False)
    for mode, is_found in (("r+b", True), ("rb", False)):
        with Path("/dev/null").open(mode, buffering=0) as held:
            process = subprocess.Popen(
                ["sleep", "60"],
                stdin=held,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        try:
            # Half of all processes have /dev/null open for writing: the others are looked over.
            monkeypatch.setattr(blockdev, "processes", lambda found=process.pid: [str(found)])
            named = [f"sleep (pid {process.pid})"] if is_found else []
            assert openers.openers([disks[disk]]) == named
            assert openers.openers([], written=[disks[disk]]) == named
            assert openers.openers([disks["sdb"]]) == []
            # A block device of its number is another one.
            assert openers.openers([NULL]) == []
        finally:
            process.kill()
            process.communicate()
