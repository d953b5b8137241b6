"""LUNs that stand on other devices, or under them: what is in use there is not erased.

Of loop devices on loop devices, which every kernel can stack; each LUN may be overwritten, so that
what is on it refuses nothing.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from runner.host import blockdev, checks, locks
from runner.host.luns import read_luns
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


def failed(lun_file: Path, path: str) -> dict[str, str]:
    write_luns(lun_file, {"name": "disk", "kind": "device", "path": path, "overwrite": True})
    made = checks.verify(read_luns(lun_file)[0], lun_file)
    return {check.name: check.message for check in made if not check.ok}


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
