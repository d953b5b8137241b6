"""Signatures that are no text, or cannot be read, and copies of such: refused, never overlooked."""

import os
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.safety import checks, signatures
from runner.safety.luns import read_luns
from tests.runner.conftest import MIB, tool, write_luns

pytestmark = pytest.mark.root


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(64 * MIB)
    return path


@pytest.fixture
def disk(image: Path) -> Iterator[str]:
    device = tool("losetup", "--find", "--show", str(image)).strip()
    yield device
    tool("losetup", "--detach", device)


def failed(lun_file: Path, path: str, *, overwrite: bool = False) -> dict[str, str]:
    write_luns(lun_file, {"name": "disk", "kind": "device", "path": path, "overwrite": overwrite})
    made = checks.verify(read_luns(lun_file)[0], lun_file)
    return {check.name: check.message for check in made if not check.ok}


@pytest.mark.parametrize(
    ("label", "said"),
    [(b"Gr\xf6\xdfe", r"ext4 “Gr\xf6\xdfe”"), (b'a\\x"b', 'ext4 “a\\x"b”')],
    ids=["Latin-1", "backslash and quote"],
)
def test_a_label_in_any_encoding_is_said(
    disk: str, lun_file: Path, label: bytes, said: str
) -> None:
    tool("mkfs.ext4", "-q", "-F", disk)
    subprocess.run([b"tune2fs", b"-L", label, disk.encode()], check=True, capture_output=True)
    assert said in failed(lun_file, disk)["signature"]
    assert failed(lun_file, disk, overwrite=True) == {}


@pytest.mark.parametrize("left", [63 * MIB, 2 * MIB, 0])
def test_a_disk_whose_end_cannot_be_read_is_no_empty_one(
    disk: str, image: Path, lun_file: Path, left: int
) -> None:
    """The super block of an md array may be there (metadata 1.0), and wipefs(8) says nothing."""
    assert failed(lun_file, disk) == {}
    os.truncate(image, left)
    for overwrite in (False, True):
        assert "cannot be read" in failed(lun_file, disk, overwrite=overwrite)["signature"]


@pytest.mark.parametrize("size", [512, 4096])
def test_a_disk_smaller_than_what_is_read_of_it(tmp_path: Path, size: int) -> None:
    (tmp_path / "small").write_bytes(bytes(size))
    assert signatures.of(str(tmp_path / "small")) == []


def test_a_partition_table_at_the_end_alone_is_one(disk: str, lun_file: Path) -> None:
    """Somebody wrote zeros over the begin: the copy of a GPT still says what was there."""
    last, entries = 64 * MIB // 512 - 1, bytes(128 * 128)

    def header(checksum: int) -> bytes:
        numbers = (0x10000, 92, checksum, 0, last, 1, 34, last - 33)
        end = (last - 32, 128, 128, zlib.crc32(entries))
        return struct.pack("<8s4I4Q16sQ3I", b"EFI PART", *numbers, b"sixteen of bytes", *end)

    with Path(disk).open("r+b") as file:
        file.seek((last - 32) * 512)
        file.write(entries + header(zlib.crc32(header(0))).ljust(512, b"\0"))
        os.fsync(file.fileno())
    assert "gpt" in failed(lun_file, disk)["signature"]
