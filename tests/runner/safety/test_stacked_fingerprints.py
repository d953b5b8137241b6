"""Whether a stacked device that was made again, or stands on others, is told from the old one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.safety import blockdev, device_aliases, fingerprint, lun_identity
from runner.safety.luns import LunEntry
from tests.runner.conftest import MIB, tool


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(64 * MIB)
    return path


@pytest.fixture
def loop(image: Path) -> Iterator[str]:
    """16 MiB of the file, from its first byte."""
    device = tool("losetup", "--find", "--show", "--sizelimit", str(16 * MIB), str(image)).strip()
    yield device
    tool("losetup", "--detach", device)


def of(device: str) -> dict[str, Any]:
    return fingerprint.fingerprint(LunEntry("disk", "device", Path(device)), device)


@pytest.mark.root
def test_another_part_of_the_same_file_is_another_device(loop: str, image: Path) -> None:
    """It has the size, the file and the name of the one that was confirmed."""
    confirmed = of(loop)
    assert "from byte" not in lun_identity.in_words(confirmed)
    tool("losetup", "--detach", loop)
    part = ("--offset", str(16 * MIB), "--sizelimit", str(16 * MIB))
    tool("losetup", *part, loop, str(image))
    why = lun_identity.difference("disk", confirmed, of(loop))
    assert f"from byte {16 * MIB}" in why


@pytest.mark.root
def test_a_stacked_device_is_known_by_what_it_stands_on(loop: str) -> None:
    """A mapping stays the same device when it is given another disk."""
    upper = tool("losetup", "--find", "--show", loop).strip()
    try:
        numbers = [blockdev.device_number(one) for one in (upper, loop)]
        assert None not in numbers
        assert of(upper)["disk"] == " on ".join(fingerprint.disk_of(one or 0) for one in numbers)
    finally:
        tool("losetup", "--detach", upper)


def test_other_disks_below_are_another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_aliases, "bases", lambda number: {5, 6} if number == 1 else set())
    monkeypatch.setattr(fingerprint, "disk_of", lambda number: f"{number}0")
    assert fingerprint._disks(1) == "10 on 50, 60"
    assert fingerprint._disks(2) == "20"


@pytest.mark.parametrize(
    ("uuid", "is_kept"),
    [
        ("LVM-6xCwDxxxxxxxxxxxxxxxxxxxxxxxxxxxKQ8sdfUCp1Wlk4Vt6MxEzG1mPUOZn2bD", True),
        ("mpath-3600508b1001c", True),
        ("part2-mpath-3600508b1001c", True),
        ("CRYPT-LUKS2-0123456789abcdef0123456789abcdef-vault", True),
        ("CRYPT-PLAIN-scratch", False),
        ("CRYPT-TCRYPT-scratch", False),
        ("my-own", False),
    ],
)
def test_a_uuid_that_says_the_mappings_name_alone_names_no_disk(
    uuid: str, is_kept: bool, tmp_path: Path
) -> None:
    """cryptsetup gives every plain mapping of a name the same one, whatever disk is under it."""
    (tmp_path / "dm").mkdir()
    (tmp_path / "dm" / "uuid").write_text(f"{uuid}\n")
    assert fingerprint._uuid(tmp_path) == (uuid if is_kept else "")
