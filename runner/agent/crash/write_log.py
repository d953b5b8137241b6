"""Read the log of dm-log-writes. Stdlib only.

Format: drivers/md/dm-log-writes.c of Linux. The first sector is the superblock. Each entry is one
sector, followed by its data; the entry's own sector holds the text of a mark.
"""

import os
import struct
from dataclasses import dataclass

MAGIC, VERSION = 0x6A736677736872, 1
FLUSH, FUA, DISCARD, MARK, METADATA = 1, 2, 4, 8, 16
_SUPERBLOCK = struct.Struct("<QQQI")
_ENTRY = struct.Struct("<QQQQ")
SECTOR_SIZES = (512, 1024, 2048, 4096)
MOST_ENTRIES = 200_000
MOST_MARK_BYTES = 200


class LogError(Exception):
    """The log cannot be trusted; the text says why."""


@dataclass(frozen=True)
class Entry:
    """One write, flush, discard or mark. ``start`` and ``length`` are bytes of the disk.

    ``data_at`` is where the log has the data. ``mark`` is the text of a mark.
    """

    start: int
    length: int
    flags: int
    data_at: int = 0
    mark: str = ""

    @property
    def is_mark(self) -> bool:
        return bool(self.flags & MARK)

    @property
    def is_boundary(self) -> bool:
        """Whether the disk promises something when this has ended: a flush or a forced write."""
        return bool(self.flags & (FLUSH | FUA)) and not self.is_mark

    @property
    def is_volatile(self) -> bool:
        """A write or discard that a crash may undo until the next flush."""
        return self.length > 0 and not self.flags & (FLUSH | FUA | MARK)


def read_log(descriptor: int, log_bytes: int, disk_bytes: int) -> "list[Entry]":
    """The entries of a log of at most ``log_bytes``. Raises LogError unless every one is whole."""
    head = os.pread(descriptor, _SUPERBLOCK.size, 0)
    if len(head) < _SUPERBLOCK.size:
        raise LogError("The log has no superblock.")
    magic, version, count, sector_bytes = _SUPERBLOCK.unpack(head)
    if magic != MAGIC or version != VERSION:
        raise LogError("This is no log of dm-log-writes, or one of another version.")
    if sector_bytes not in SECTOR_SIZES:
        raise LogError(f"The log has sectors of {sector_bytes} bytes.")
    if count > MOST_ENTRIES:
        raise LogError(f"The log has {count} entries, and {MOST_ENTRIES} are read at most.")
    entries, place = [], sector_bytes
    for number in range(count):
        if place + sector_bytes > log_bytes:
            raise LogError(f"The log ends before entry {number} of {count}.")
        head = os.pread(descriptor, sector_bytes, place)
        if len(head) < sector_bytes:
            raise LogError(f"The log ends before entry {number} of {count}.")
        sector, sectors, flags, text_bytes = _ENTRY.unpack_from(head)
        entry = Entry(sector * sector_bytes, sectors * sector_bytes, flags, place + sector_bytes)
        place += sector_bytes
        if entry.is_mark:
            entry = Entry(0, 0, flags, mark=_mark(head, text_bytes, number))
        elif entry.start + entry.length > disk_bytes:
            raise LogError(f"Entry {number} writes behind the end of the disk.")
        elif not flags & DISCARD:
            place += entry.length
            if place > log_bytes:
                raise LogError(f"The log ends within the data of entry {number} of {count}.")
        entries.append(entry)
    return entries


def _mark(head: bytes, length: int, number: int) -> str:
    if length > min(MOST_MARK_BYTES, len(head) - _ENTRY.size):
        raise LogError(f"The mark of entry {number} is too long.")
    text = head[_ENTRY.size : _ENTRY.size + length].rstrip(b"\0")
    if not text.isascii():
        raise LogError(f"The mark of entry {number} is no text.")
    return text.decode("ascii")
