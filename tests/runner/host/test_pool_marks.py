"""What a pool of ZFS leaves on a LUN: fsbench's own is known and removed, all four labels of it.

``layer_marks/*-zfs.gz`` are the first and the last 512 KiB of disks of 160 MiB on which OpenZFS
2.1.11 made a pool and exported it: ``own`` is called fsbench, ``foreign`` tank.
"""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.host import layer_marks
from runner.safety import signatures
from tests.runner.conftest import tool
from tests.runner.host.test_layer_marks import SAMPLES, verdict

pytestmark = pytest.mark.root

MIB = 2**20
ENDS_BYTES = 512 * 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Larger than whole labels, as partitions are."""
    path = tmp_path / "disk.img"
    path.touch()
    os.truncate(path, 160 * MIB + 4096)
    device = tool("losetup", "--find", "--show", str(path))
    yield Path(device)
    tool("losetup", "--detach", device)


def write(disk: Path, sample: str, *, begin: bool = True) -> None:
    ends = gzip.decompress((SAMPLES / f"{sample}.gz").read_bytes())
    with disk.open("r+b") as file:
        if begin:
            file.write(ends[:ENDS_BYTES])
        file.seek(160 * MIB - ENDS_BYTES)
        file.write(ends[ENDS_BYTES:])
        file.flush()
        os.fsync(file.fileno())


def ends(disk: Path) -> bytes:
    with disk.open("rb") as file:
        beginning = file.read(ENDS_BYTES)
        file.seek(160 * MIB - ENDS_BYTES)
        return beginning + file.read(ENDS_BYTES)


def test_an_own_pool_is_known_and_all_labels_are_removed(disk: Path) -> None:
    write(disk, "own-zfs")
    assert verdict(disk) == (True, "zfs_member made by fsbench")
    assert layer_marks.wipe(str(disk)) == ["zfs_member"]
    assert signatures.of(str(disk)) == []
    # Not the signatures alone: what names the pool and its devices is gone from both ends.
    assert not any(ends(disk))
    assert layer_marks.wipe(str(disk)) == []


def test_the_labels_at_the_end_alone_are_known_too(disk: Path) -> None:
    """What was written over from the begin is still found by whoever imports pools."""
    write(disk, "own-zfs", begin=False)
    assert layer_marks.wipe(str(disk)) == ["zfs_member"]
    assert not any(ends(disk))
    write(disk, "foreign-zfs", begin=False)
    assert not verdict(disk)[0]


@pytest.mark.parametrize("begin", [True, False])
def test_the_pool_of_somebody_else_is_refused_and_stays(disk: Path, begin: bool) -> None:
    write(disk, "foreign-zfs", begin=begin)
    before = ends(disk)
    is_free, reason = verdict(disk)
    assert not is_free
    # Each label has its signature many times.
    assert reason.count("zfs_member “tank”") == 1
    assert layer_marks.wipe(str(disk)) == []
    assert ends(disk) == before


def test_own_and_foreign_labels_on_one_disk_are_left_alone(disk: Path) -> None:
    write(disk, "own-zfs")
    write(disk, "foreign-zfs", begin=False)
    before = ends(disk)
    assert layer_marks.wipe(str(disk)) == []
    assert ends(disk) == before
    assert not verdict(disk)[0]


def test_what_is_in_use_is_not_cleared(disk: Path) -> None:
    write(disk, "own-zfs")
    before = ends(disk)
    held = os.open(disk, os.O_RDWR | os.O_EXCL)
    try:
        with pytest.raises(OSError, match="busy"):
            layer_marks.wipe(str(disk))
    finally:
        os.close(held)
    assert ends(disk) == before


def test_pools_of_the_hosts_own_kernel_are_named(tmp_path: Path) -> None:
    assert layer_marks.leftover_pools(tmp_path / "no-zfs-here") == []
    for name in ("fsbench", "tank", "fsbench2"):
        (tmp_path / name).mkdir()
    (tmp_path / "arcstats").write_text("")
    assert layer_marks.leftover_pools(tmp_path) == ["fsbench"]
