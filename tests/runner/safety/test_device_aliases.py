"""One disk by two paths: used by the one, it is not erased by the other."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.safety import blockdev, checks, device_aliases, locks
from runner.safety.luns import LunEntry, read_luns
from tests.runner.conftest import tool, write_luns


@pytest.fixture
def twin(other_loop: str, tmp_path: Path) -> Iterator[str]:
    """A second loop device on the file of the first."""
    device = tool("losetup", "--find", "--show", str(tmp_path / "other.img"))
    yield device
    tool("losetup", "--detach", device)


@pytest.fixture
def entry(other_loop: str, lun_file: Path) -> LunEntry:
    listed = {"name": "disk", "kind": "device", "path": other_loop, "overwrite": True}
    write_luns(lun_file, listed)
    return read_luns(lun_file)[0]


def refused(entry: LunEntry, lun_file: Path) -> dict[str, str]:
    return {check.name: check.message for check in checks.verify(entry, lun_file) if not check.ok}


@pytest.mark.root
def test_what_is_mounted_by_another_path_is_not_erased(
    entry: LunEntry, lun_file: Path, twin: str, tmp_path: Path
) -> None:
    [free] = [check for check in checks.verify(entry, lun_file) if check.name == "other paths"]
    assert (free.ok, twin in free.message) == (True, True)
    point = tmp_path / "mounted"
    point.mkdir()
    tool("mkfs.ext4", "-q", "-F", twin)
    tool("mount", twin, str(point))
    try:
        problems = refused(entry, lun_file)
        assert set(problems) == {"other paths"}
        assert (
            f"{twin} is the same disk by another path. It is mounted on {point}"
            in (problems["other paths"])
        )
    finally:
        tool("umount", str(point))
    with (
        Path(twin).open("rb") as held,
        subprocess.Popen(["/bin/sleep", "60"], stdin=held) as reader,
    ):
        try:
            assert f"pid {reader.pid}" in refused(entry, lun_file)["other paths"]
        finally:
            reader.kill()
    assert refused(entry, lun_file) == {}


@pytest.mark.root
def test_two_paths_of_one_disk_are_locked_as_one(other_loop: str, twin: str) -> None:
    with (
        locks.device_lock(Path(other_loop)),
        pytest.raises(locks.LockedElsewhere, match="in use"),
        locks.device_lock(Path(twin)),
    ):
        pass
    with locks.device_lock(Path(twin)):
        pass


def test_disks_of_one_name_and_size_are_one(tmp_path: Path) -> None:
    """Two ports of one LUN, as the kernel shows them."""

    def disk(name: str, minor: int, wwid: str, size: int = 2048, below: str = "device/") -> Path:
        place = tmp_path / name / f"{below}wwid"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{wwid}\n")
        (tmp_path / name / "dev").write_text(f"8:{minor}\n")
        (tmp_path / name / "size").write_text(f"{size}\n")
        return tmp_path / name

    first = disk("sda", 0, "naa.600508b1001c")
    disk("sdb", 16, "naa.600508b1001d")
    disk("sdc", 32, "naa.600508b1001c")
    disk("sdd", 48, "naa.600508b1001c", size=4096)  # of a maker who names all alike
    nvme = disk("nvme0n1", 64, "eui.01", below="")
    (disk("nvme0c0n1", 80, "eui.01", below="") / "dev").unlink()  # a path of the kernel's own
    nameless = [disk("vda", 96, ""), disk("vdb", 112, "")][0]
    assert device_aliases.namesakes(first, tmp_path) == {os.makedev(8, 32)}
    assert device_aliases.namesakes(nvme, tmp_path) == set()
    assert device_aliases.namesakes(nameless, tmp_path) == set()


@pytest.mark.root
def test_a_partition_is_that_of_the_same_place(
    other_loop: str, twin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another partition of the disk may be in use, by whichever path."""
    device, other = blockdev.device_number(other_loop), blockdev.device_number(twin)
    assert device is not None
    assert other is not None
    places = {11: (device, "1"), 12: (device, "2"), 21: (other, "1"), 22: (other, "2")}
    monkeypatch.setattr(blockdev, "whole_disk", lambda number: places.get(number, (number, ""))[0])
    monkeypatch.setattr(
        blockdev,
        "partitions",
        lambda disk: {part for part, (of, _) in places.items() if of == disk},
    )
    monkeypatch.setattr(device_aliases, "_partition", lambda number: places[number][1])
    assert device_aliases.of(12) == {22}
    assert device_aliases.of(device) == {other}
    del places[21], places[22]
    assert device_aliases.of(12) == {other}
