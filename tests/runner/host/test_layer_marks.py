"""What layers leave on a LUN: fsbench's own is known and removed, everybody else's is refused.

``layer_marks/*.gz`` are the first 32 KiB of 512 MiB disks on which mdadm 4.2, LVM 2.03.16 and
cryptsetup 2.6.1 made an array, a physical volume and a LUKS2 header under Linux 6.1, and of disks
of 160 MiB that dm-integrity (integritysetup 2.6.1) and bcache (1.0.8) were working on: ``own`` by
the commands of ``configurations.commands.layers``, ``foreign`` as anybody does it.
"""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.host import layer_marks
from runner.safety import blockdev, checks, signatures
from runner.safety.luns import LunEntry
from tests.runner.conftest import tool

pytestmark = pytest.mark.root

MIB = 2**20
KINDS = {
    "md": "linux_raid_member",
    "lvm": "LVM2_member",
    "luks": "crypto_LUKS",
    "integrity": "DM_integrity",
    "bcache": "bcache",
    "bcache-cache": "bcache",
}
SAMPLES = Path(__file__).parent / "layer_marks"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk.img"
    path.touch()
    os.truncate(path, 512 * MIB)
    device = tool("losetup", "--find", "--show", str(path))
    yield Path(device)
    tool("losetup", "--detach", device)


def write(disk: Path, sample: str) -> None:
    """As the tool left it."""
    with disk.open("r+b") as file:
        file.write(gzip.decompress((SAMPLES / f"{sample}.gz").read_bytes()))
        file.flush()
        os.fsync(file.fileno())


def beginning(disk: Path) -> bytes:
    with disk.open("rb") as file:
        return file.read(64 * 1024)


def verdict(disk: Path) -> tuple[bool, str]:
    number = blockdev.device_number(disk)
    assert number is not None
    return checks._signature(LunEntry("d", "device", disk), number, str(disk))


@pytest.mark.parametrize("kind", KINDS)
def test_own_layers_are_known_and_removed(disk: Path, kind: str) -> None:
    write(disk, f"own-{kind}")
    assert verdict(disk) == (True, f"{KINDS[kind]} made by fsbench")
    assert layer_marks.wipe(str(disk)) == [KINDS[kind]]
    assert signatures.of(str(disk)) == []
    assert layer_marks.wipe(str(disk)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_layers_of_somebody_else_are_refused_and_stay(disk: Path, kind: str) -> None:
    write(disk, f"foreign-{kind}")
    before = beginning(disk)
    is_free, reason = verdict(disk)
    assert not is_free
    assert f"It holds data that fsbench did not write ({KINDS[kind]}" in reason
    assert layer_marks.wipe(str(disk)) == []
    assert beginning(disk) == before


def test_what_is_in_use_is_not_wiped(disk: Path) -> None:
    write(disk, "own-luks")
    held = os.open(disk, os.O_RDWR | os.O_EXCL)
    try:
        with pytest.raises(OSError, match="busy"):
            layer_marks.wipe(str(disk))
    finally:
        os.close(held)
    assert layer_marks.layers_on(str(disk)) == ["crypto_LUKS"]


def test_a_file_system_of_its_own_is_no_layer(disk: Path) -> None:
    tool("mkfs.ext4", "-q", "-F", "-L", "fsbench", str(disk))
    assert layer_marks.layers_on(str(disk)) == []
    assert layer_marks.wipe(str(disk)) == []
    assert [signature.type for signature in signatures.of(str(disk))] == ["ext4"]


class FakeHost:
    """Devices by number: what each stands on, and of which kind it is."""

    def __init__(self, folder: Path, below: dict[int, set[int]], kinds: dict[int, str]) -> None:
        self.folder, self.below, self.kinds = folder, below, kinds
        for number in {*below, *(parent for parents in below.values() for parent in parents)}:
            (folder / str(number)).mkdir()
            if number in kinds:
                (folder / str(number) / kinds[number]).mkdir()
                (folder / str(number) / kinds[number] / "name").write_text(f"name{number}\n")

    def ancestors(self, number: int) -> set[int]:
        direct = self.below.get(number, set())
        return direct.union(*(self.ancestors(parent) for parent in direct))

    def descendants(self, number: int) -> set[int]:
        return {child for child in self.below if number in self.ancestors(child)}

    def leaves(self, number: int) -> set[int]:
        return {ancestor for ancestor in self.ancestors(number) if ancestor not in self.below}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """LUNs 1 to 4 with own marks on all but the 4th; an array of 1 and 2 with a volume on it, an
    array of 3 and the unlisted disk 9, and one of 3 and 4.
    """
    fake = FakeHost(
        tmp_path,
        {127: {1, 2}, 253: {127}, 126: {3, 9}, 125: {3, 4}},
        {127: "md", 253: "dm", 126: "md", 125: "md"},
    )
    ran: list[tuple[str, ...]] = []
    for name in ("ancestors", "descendants", "leaves"):
        monkeypatch.setattr(blockdev, name, getattr(fake, name))
    monkeypatch.setattr(blockdev, "sys_folder", lambda number: tmp_path / str(number))
    monkeypatch.setattr(blockdev, "kernel_name", lambda number: f"disk{number}")
    own = {"/dev/disk1", "/dev/disk2", "/dev/disk3", "/dev/disk9"}
    monkeypatch.setattr(layer_marks, "layers_on", lambda device: ["md"] if device in own else [])
    monkeypatch.setattr(layer_marks, "run_tool", lambda *argv: ran.append(argv))
    return {"ran": ran}


def test_only_what_stands_on_listed_luns_with_own_marks_is_taken_apart(
    host: dict[str, object],
) -> None:
    """Not what has a disk that is in no list, nor what has one without fsbench's mark."""
    devices = list(layer_marks.assembled_devices({1, 2, 3, 4}))
    assert [(device.number, device.luns) for device in devices] == [(253, {1, 2}), (127, {1, 2})]
    for device in devices:
        device.disassemble()
    assert host["ran"] == [("dmsetup", "remove", "name253"), ("mdadm", "--stop", "/dev/disk127")]
    # Half of an array is listed: it is nobody's to stop.
    assert list(layer_marks.assembled_devices({1, 3})) == []


def test_bcache_of_own_luns_alone_is_stopped_with_its_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host's udev rules may register what a guest left. 1 is its backing device, 2 its cache; on
    another set, of 3 and 4, stands somebody else's device as well.
    """
    fake = FakeHost(tmp_path, {100: {1, 2}, 101: {3, 4}}, {})
    for name in ("ancestors", "descendants", "leaves"):
        monkeypatch.setattr(blockdev, name, getattr(fake, name))
    monkeypatch.setattr(blockdev, "sys_folder", lambda number: tmp_path / str(number))
    monkeypatch.setattr(
        blockdev, "kernel_name", lambda number: f"{'bcache' if number >= 100 else 'sd'}{number}"
    )
    monkeypatch.setattr(layer_marks, "layers_on", lambda device: ["bcache"])
    monkeypatch.setattr(layer_marks, "STOPPED_S", 0.0)
    for number in (100, 101):
        (tmp_path / str(number) / "bcache").mkdir()
    for number in (2, 4):
        (tmp_path / str(number) / "bcache/set").mkdir(parents=True)
    (tmp_path / "4/bcache/set/bdev0").touch()

    for device in layer_marks.assembled_devices({1, 2, 3, 4}):
        device.disassemble()

    stopped = sorted(str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("stop"))
    assert stopped == ["100/bcache", "101/bcache", "2/bcache/set"]
    assert [device.number for device in layer_marks.assembled_devices({2, 3})] == []
