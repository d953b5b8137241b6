"""The log of dm-log-writes: read whole, or refused."""

import os
import struct
from pathlib import Path

import pytest

from runner.agent.crash import write_log
from runner.agent.crash.write_log import DISCARD, FLUSH, FUA, MARK, LogError, read_log

DISK_BYTES = 1 << 20


def written(entries: list[tuple[int, int, int, bytes]], **head: int) -> bytes:
    """A log as the kernel writes it: (sector, sectors, flags, data or mark)."""
    sector_bytes = head.get("sector_bytes", 512)
    superblock = struct.pack(
        "<QQQI",
        head.get("magic", write_log.MAGIC),
        head.get("version", 1),
        head.get("count", len(entries)),
        sector_bytes,
    )
    parts = [superblock.ljust(max(sector_bytes, 28), b"\0")]
    for sector, sectors, flags, data in entries:
        text = data if flags & MARK else b""
        parts.append(
            (struct.pack("<QQQQ", sector, sectors, flags, len(text)) + text).ljust(512, b"\0")
        )
        if not flags & (MARK | DISCARD):
            parts.append(data)
    return b"".join(parts)


def read(tmp_path: Path, content: bytes) -> list[write_log.Entry]:
    path = tmp_path / "log"
    path.write_bytes(content)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return read_log(descriptor, len(content), DISK_BYTES)
    finally:
        os.close(descriptor)


WHOLE = [
    (8, 2, 0, b"a" * 1024),
    (0, 0, FLUSH, b""),
    (0, 0, MARK, b"start"),
    (64, 128, DISCARD, b""),
    (10, 1, FUA, b"b" * 512),
]


def test_entries_say_where_their_data_are(tmp_path: Path) -> None:
    content = written(WHOLE)
    write, flush, mark, discard, forced = read(tmp_path, content)
    assert (write.start, write.length, write.is_volatile) == (4096, 1024, True)
    assert content[write.data_at : write.data_at + write.length] == b"a" * 1024
    assert flush.is_boundary
    assert not flush.is_volatile
    assert mark.mark == "start"
    assert mark.is_mark
    assert not mark.is_boundary
    assert (discard.start, discard.length, discard.is_volatile) == (32768, 65536, True)
    assert content[forced.data_at : forced.data_at + forced.length] == b"b" * 512
    assert forced.is_boundary
    assert not forced.is_volatile


@pytest.mark.parametrize("cut", [10, 300, 600, 1400, 2200, 2900, 3583])
def test_a_log_that_is_cut_off_is_refused(tmp_path: Path, cut: int) -> None:
    content = written(WHOLE)
    assert cut < len(content)
    with pytest.raises(LogError):
        read(tmp_path, content[:cut])


@pytest.mark.parametrize(
    "head",
    [
        {"magic": 1},
        {"version": 2},
        {"sector_bytes": 0},
        {"sector_bytes": 100},
        {"sector_bytes": 1 << 31},
        {"count": len(WHOLE) + 1},
        {"count": 2**64 - 1},
    ],
)
def test_a_superblock_that_lies_is_refused(tmp_path: Path, head: dict[str, int]) -> None:
    content = written(WHOLE, **(head if head.get("sector_bytes", 0) < 4096 else {}))
    if head.get("sector_bytes", 0) >= 4096:
        content = content[:24] + struct.pack("<I", head["sector_bytes"]) + content[28:]
    with pytest.raises(LogError):
        read(tmp_path, content)


@pytest.mark.parametrize(
    "entry",
    [
        (DISK_BYTES // 512, 1, 0, b"c" * 512),
        (2**55, 1, 0, b"c" * 512),
        (0, 2**40, DISCARD, b""),
        (0, 0, MARK, b"m" * 201),
        (0, 0, MARK, b"\xff"),
    ],
)
def test_an_entry_that_lies_is_refused(tmp_path: Path, entry: tuple[int, int, int, bytes]) -> None:
    with pytest.raises(LogError):
        read(tmp_path, written([entry]))
