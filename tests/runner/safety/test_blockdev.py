"""What is read of the kernel, from texts that are rare on a quiet host."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from runner.safety import blockdev, extended_stat, openers


@pytest.mark.parametrize("name", ["a\x0cb", "a\x85b", "a\u2028b", "a\u00a0b"])
def test_a_mount_whose_name_has_a_line_or_space_of_unicode_is_found(name: str) -> None:
    lines = f"36 35 8:1 / /mnt/{name} rw - ext4 /dev/nosuch rw\n37 35 8:2 / /srv rw - xfs x rw\n"
    first, second = blockdev.parse_mountinfo(lines)
    assert first.point == f"/mnt/{name}"
    assert first.numbers == {os.makedev(8, 1)}
    assert second.numbers == {os.makedev(8, 2)}


def test_a_mount_whose_name_is_no_text_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_bytes(
        b"36 35 8:1 / /mnt/\xff rw - ext4 none rw\n37 35 8:2 / /srv rw - xfs none rw\n"
    )
    mounts = blockdev.mounts_of(tmp_path)
    assert [mount.point for mount in mounts] == ["/mnt/\\xff", "/srv"]
    # It is announced, and stored as text.
    assert mounts[0].point.encode()


def test_a_file_that_was_closed_meanwhile_hides_no_opener(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = tmp_path / "4711"
    (process / "fd").mkdir(parents=True)
    (process / "comm").write_bytes(b"qemu-\xff\n")
    for number in range(50):  # a link to nothing: asked, it fails as one that is gone
        (process / "fd" / str(number)).symlink_to("gone")
    file = tmp_path / "disk"
    file.touch()
    (process / "fd" / "50").symlink_to(file)
    monkeypatch.setattr(blockdev, "PROC", tmp_path)
    assert openers.openers([7], file=file) == ["qemu-\\xff (pid 4711)"]
    assert openers.openers([7]) == []


@pytest.mark.parametrize("statx", [None, lambda *_: -1])
def test_without_statx_whoever_has_a_device_open_is_found_too(
    statx: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old C library, and a container that forbids the call."""
    monkeypatch.setattr(extended_stat, "_statx", statx)
    monkeypatch.setattr(stat, "S_ISBLK", stat.S_ISCHR)  # any device that is there without root
    number = Path("/dev/zero").stat().st_rdev
    with subprocess.Popen(["sleep", "60"], stdin=Path("/dev/zero").open("rb")) as process:
        try:
            assert f"sleep (pid {process.pid})" in openers.openers([number])
        finally:
            process.kill()


def test_the_processors_beside_a_device_are_those_of_the_node_of_its_bus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "pci0/nvme/nvme0/nvme0n1"
    disk.mkdir(parents=True)
    nodes = tmp_path / "nodes"
    (nodes / "node1").mkdir(parents=True)
    (nodes / "node1/cpulist").write_text("4-6,12\n")
    monkeypatch.setattr(blockdev, "sys_folder", lambda number: disk)
    assert blockdev.near_cpus(1, nodes) == []
    (tmp_path / "pci0/nvme/numa_node").write_text("1\n")
    assert blockdev.near_cpus(1, nodes) == [4, 5, 6, 12]
    # The nearest one counts, and -1 is none.
    (tmp_path / "pci0/nvme/nvme0/numa_node").write_text("-1\n")
    assert blockdev.near_cpus(1, nodes) == []
    (tmp_path / "pci0/nvme/nvme0/numa_node").write_text("7\n")
    assert blockdev.near_cpus(1, nodes) == []


def test_lists_of_processors() -> None:
    assert blockdev.cpu_list("0-2,5\n") == [0, 1, 2, 5]
    assert blockdev.cpu_list("\n") == []
    with pytest.raises(ValueError, match="invalid literal"):
        blockdev.cpu_list("0-x")


def test_a_device_in_a_folder_of_dev_is_asked_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ATA over Ethernet: the kernel calls it etherd!e0.0, and udev makes /dev/etherd/e0.0."""
    calls: list[tuple[str, ...]] = []
    (tmp_path / "etherd!e0.0").mkdir()
    (tmp_path / "152:0").symlink_to("etherd!e0.0")
    monkeypatch.setattr(blockdev, "SYS_BLOCK", tmp_path)

    def lsblk(*argv: str) -> str:
        calls.append(argv)
        return '{"blockdevices": [{"serial": "S1"}]}'

    monkeypatch.setattr(blockdev, "run_tool", lsblk)
    assert blockdev.identity(os.makedev(152, 0)) == {"serial": "S1"}
    assert calls[0][-1] == "/dev/etherd/e0.0"
