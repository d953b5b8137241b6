"""LUNs that stand on other devices, or under them: what is in use there is not erased.

Of loop devices on loop devices, which every kernel can stack; each LUN may be overwritten, so that
what is on it refuses nothing.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from runner.safety import blockdev, checks, device_aliases, fingerprint, locks
from runner.safety.luns import read_luns
from tests.runner.conftest import MIB, tool, write_luns

pytestmark = pytest.mark.root

Attach = Callable[..., str]


@pytest.fixture
def attach() -> Iterator[Attach]:
    """``attach(path)`` is a loop device on it; the last is detached first."""
    with ExitStack() as stack:

        def loop(path: str | Path, *options: str) -> str:
            device = tool("losetup", "--find", "--show", *options, str(path)).strip()
            stack.callback(tool, "losetup", "--detach", device)
            return device

        yield loop


@pytest.fixture
def disk(tmp_path: Path, attach: Attach) -> str:
    """A disk with two partitions, of which the kernel knows; no table is on it."""
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(320 * MIB)
    loop = attach(image, "--partscan", "--direct-io=on")
    for number, start in ((1, 2048), (2, 309248)):
        tool("addpart", loop, str(number), str(start), "307200")
    return loop


@pytest.fixture
def upper(disk: str, attach: Attach) -> str:
    """The LUN: a loop device on the whole disk."""
    return attach(disk)


def failed(lun_file: Path, path: str) -> dict[str, str]:
    write_luns(lun_file, {"name": "disk", "kind": "device", "path": path, "overwrite": True})
    made = checks.verify(read_luns(lun_file)[0], lun_file)
    return {check.name: check.message for check in made if not check.ok}


def assert_free_soon(lun_file: Path, lun: str) -> None:
    """A process that copied the mounts meanwhile, of another test, has what was unmounted until it
    has taken its copy down.
    """
    deadline = time.monotonic() + 60
    while (found := failed(lun_file, lun)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found == {}


@contextmanager
def mounted(device: str, folder: Path) -> Iterator[Path]:
    point = folder / "mounted"
    point.mkdir(exist_ok=True)
    tool("mkfs.ext4", "-q", "-F", device)
    tool("mount", device, str(point))
    try:
        yield point
    finally:
        tool("umount", str(point))


def number_of(path: str) -> int:
    number = blockdev.device_number(path)
    assert number is not None
    return number


def test_a_loop_device_on_a_disk_that_nobody_uses_may_be_erased(
    upper: str, lun_file: Path, attach: Attach
) -> None:
    assert failed(lun_file, upper) == {}
    assert failed(lun_file, attach(upper)) == {}


def test_what_it_stands_on_has_a_partition_that_is_mounted(
    disk: str, upper: str, lun_file: Path, tmp_path: Path, attach: Attach
) -> None:
    top = attach(upper)
    with mounted(f"{disk}p1", tmp_path) as point:
        for lun in (upper, top):
            found = failed(lun_file, lun)
            assert f"What it stands on is mounted on {point}: unmount it" in found["mounts"]
            assert f"It stands on {disk}, which is in use" in found["exclusive"]
    assert_free_soon(lun_file, top)


def test_what_it_stands_on_has_a_partition_that_is_swap_space(
    disk: str, upper: str, lun_file: Path
) -> None:
    tool("mkswap", f"{disk}p2")
    tool("swapon", f"{disk}p2")
    try:
        assert "What it stands on is in use as swap space" in failed(lun_file, upper)["swap"]
    finally:
        tool("swapoff", f"{disk}p2")


def test_what_it_stands_on_is_the_second_device_of_a_mounted_btrfs(
    disk: str, lun_file: Path, tmp_path: Path, attach: Attach
) -> None:
    """mountinfo names the first alone, and a loop device claims nothing of what is below it."""
    upper = attach(f"{disk}p2")
    tool("mkfs.btrfs", "-q", "-f", f"{disk}p1", f"{disk}p2")
    point = tmp_path / "mounted"
    point.mkdir()
    tool("mount", f"{disk}p1", str(point))
    try:
        found = failed(lun_file, upper)
        assert set(found) == {"exclusive"}
        assert f"It stands on {disk}p2, which is in use" in found["exclusive"]
    finally:
        tool("umount", str(point))
    assert_free_soon(lun_file, upper)


@pytest.mark.parametrize("below", ["", "p1"])
def test_what_it_stands_on_is_open_for_writing(
    disk: str, upper: str, lun_file: Path, below: str
) -> None:
    """A virtual machine that has the disk, or a partition of it; what looks at it harms nobody."""
    for mode, names in (("r+b", {"openers"}), ("rb", set())):
        with Path(disk + below).open(mode) as file:
            process = subprocess.Popen(["sleep", "60"], stdin=file)
        try:
            found = failed(lun_file, upper)
            assert set(found) == names
            if names:
                assert (
                    f"what it stands on, is opened by sleep (pid {process.pid})"
                    in (found["openers"])
                )
        finally:
            process.kill()
            process.wait()


def test_what_it_stands_on_is_under_another_loop_device(
    disk: str, upper: str, lun_file: Path, tmp_path: Path, attach: Attach
) -> None:
    """On the same disk, or on a partition of it: both lead to the same blocks."""
    part = attach(f"{disk}p1")
    with mounted(part, tmp_path):
        found = failed(lun_file, upper)["holders"]
        assert f"It shares {disk} with {part}, where" in found
        assert f"take {part} down" in found
    other = attach(disk)
    for lun, twin in ((upper, other), (other, upper)):
        assert twin in failed(lun_file, lun)["holders"]


def test_a_partition_beside_the_mounted_one_may_be_erased(
    disk: str, upper: str, lun_file: Path, tmp_path: Path
) -> None:
    """Of a loop device on a disk: its disk is used, and the LUN's own blocks are not."""
    for number, start in ((1, 2048), (2, 309248)):
        tool("addpart", upper, str(number), str(start), "307200")
    try:
        with mounted(f"{upper}p1", tmp_path):
            assert failed(lun_file, f"{upper}p2") == {}
        with mounted(f"{disk}p1", tmp_path):
            assert set(failed(lun_file, f"{upper}p2")) == {"mounts", "exclusive"}
    finally:
        for number in ("1", "2"):
            tool("delpart", upper, number)


def test_a_loop_device_on_a_node_elsewhere_is_seen(
    disk: str, lun_file: Path, tmp_path: Path, attach: Attach
) -> None:
    """In a chroot or a container, whose /dev has other names: the kernel says which device it is"""
    node = tmp_path / "node"
    os.mknod(node, 0o60600, number_of(disk))
    loop = attach(node)
    assert blockdev.loop_backing(number_of(loop)) == number_of(disk)
    assert blockdev.loop_backing(number_of(disk)) is None
    node.unlink()
    with mounted(loop, tmp_path) as point:
        found = failed(lun_file, disk)
        assert Path(loop).name in found["holders"]
        assert str(point) in found["mounts"]
    with (
        locks.device_lock(Path(loop)),
        pytest.raises(locks.LockedElsewhere),
        locks.device_lock(Path(disk)),
    ):
        pass


def test_what_it_stands_on_is_used_by_another_path(
    disk: str, upper: str, lun_file: Path, tmp_path: Path, attach: Attach
) -> None:
    """As a path that multipath does not know of: here the file of the disk has a second device."""
    other = attach(tmp_path / "disk.img")
    assert failed(lun_file, upper) == {}
    with mounted(other, tmp_path) as point:
        found = failed(lun_file, upper)
        assert set(found) == {"other paths"}
        assert (
            f"{other} is the same disk by another path. It is mounted on {point}"
            in (found["other paths"])
        )


@pytest.fixture
def make_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Devices of a kernel that has md and the device mapper, as its sysfs shows them.

    ``make_device(name, below, **lines)`` stands on ``below``, and is its number.
    """
    folders: dict[int, Path] = {}
    monkeypatch.setattr(blockdev, "sys_folder", lambda number: folders[number])

    def make(name: str, below: tuple[int, ...] = (), **lines: str) -> int:
        folder, number = tmp_path / "sys" / name, os.makedev(240, len(folders))
        for part in ("slaves", "holders", "dm", "md"):
            (folder / part).mkdir(parents=True)
        (folder / "dev").write_text(f"240:{len(folders)}\n")
        for line, text in lines.items():
            (folder / line.replace("_", "/", 1)).write_text(f"{text}\n")
        for base in below:
            (folder / "slaves" / folders[base].name).symlink_to(folders[base])
            (folders[base] / "holders" / name).symlink_to(folder)
        folders[number] = folder
        return number

    monkeypatch.setattr(blockdev, "loop_backing", lambda number: None)
    return make


GROUP = "LVM-6xCwDxAbcdefghijklmnopqrstuvwxyz"
OTHER_GROUP = "LVM-6xCwDxAbcdefghijklmnopqrstuvwxyZ"


@pytest.mark.parametrize(
    ("own", "other", "are_apart"),
    [
        (f"{GROUP}one", f"{GROUP}two", True),
        (f"{GROUP}one", f"{OTHER_GROUP}two", False),
        (f"{GROUP}one", "", False),
        ("", "", False),
        ("mpath-3600508b1001c", f"{GROUP}one", False),
        ("part1-mpath-3600508b1001c", "part2-mpath-3600508b1001c", True),
        ("part1-mpath-3600508b1001c", "part2-mpath-3600508b1001d", False),
        ("CRYPT-PLAIN-one", "CRYPT-PLAIN-two", False),
    ],
)
def test_mappings_of_one_disk_are_apart_where_who_made_them_keeps_them_so(
    make_device: Callable[..., int], own: str, other: str, are_apart: bool
) -> None:
    """The device mapper lets every mapping have the disk that another one has."""
    disk = make_device("sdb")
    one = make_device("dm-0", (disk,), dm_uuid=own)
    two = make_device("dm-1", (disk,), dm_uuid=other)
    top = make_device("dm-2", (one,), dm_uuid="CRYPT-LUKS2-0123456789abcdef0123456789abcdef-x")
    assert device_aliases.sharers(one) == ({} if are_apart else {disk: {two}})
    assert device_aliases.sharers(top) == device_aliases.sharers(one)


def test_arrays_of_one_container_are_apart_and_their_monitor_writes_to_their_members(
    make_device: Callable[..., int],
) -> None:
    disks = (make_device("sdb"), make_device("sdc"))
    make_device("md127", disks, md_metadata_version="external:imsm")
    one = make_device("md126", disks, md_metadata_version="external:/md127/0")
    make_device("md125", disks, md_metadata_version="external:/md127/1")
    own = make_device("md0", (make_device("sdd"),), md_metadata_version="1.2")
    assert device_aliases.sharers(one) == {}
    assert device_aliases.written_by_others(one) == set()
    assert device_aliases.used_below(one) == set(disks)
    assert device_aliases.written_by_others(own) == device_aliases.used_below(own) != set()


def test_bcache_devices_share_a_cache(make_device: Callable[..., int]) -> None:
    cache = make_device("sdb")
    one = make_device("bcache0", (make_device("sdc"), cache))
    make_device("bcache1", (make_device("sdd"), cache))
    assert device_aliases.sharers(one) == {}


def test_a_multipath_device_is_recognised_by_the_disk_that_its_paths_lead_to(
    make_device: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another host lists that disk without multipath, whose own name of it may be another one."""
    paths = (make_device("sda"), make_device("sdb"))
    disk = make_device("dm-0", paths, dm_uuid="mpath-1Linux_scsi_debug_2000")
    part = make_device("dm-1", (disk,), dm_uuid="part1-mpath-1Linux_scsi_debug_2000")
    volume = make_device("dm-2", (disk,), dm_uuid=f"{GROUP}one")
    known = {"serial": "2000", "wwn": "0x33333330000007d0"}
    monkeypatch.setattr(blockdev, "identity", lambda number: known if number in paths else {})
    for number in (disk, part):
        assert device_aliases.disk_identity(number) == known
        assert fingerprint._of_device(number)["wwn"] == "0x33333330000007d0"
    assert device_aliases.disk_identity(volume) == {}
