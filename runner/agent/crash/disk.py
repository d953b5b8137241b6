"""A disk of a guest in parts: one is written and logged, one is where crashes are replayed.

Stdlib only. The parts are device-mapper tables on the disk; everything on them is lost. A crash
point is a snapshot over the replayed part, so the next one begins from what was replayed.
"""

import contextlib
import fcntl
import os
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from runner.agent.crash.points import Point
from runner.agent.crash.write_log import DISCARD, Entry, read_log

MIB = 1024 * 1024
# What stands before is the label by which fsbench knows its own disks.
FROM_BYTE = MIB
SECTOR = 512
PREFIX = "fsbench-crash"
WRITTEN, LOG, REPLAYED, CHANGES = "written", "log", "replayed", "changes"
# In sixteenths of the disk.
SHARES = {WRITTEN: 5, REPLAYED: 5, LOG: 4, CHANGES: 2}
LARGEST_PART = 512 * MIB
BLKGETSIZE64, BLKSSZGET, BLKZEROOUT, BLKFLSBUF = 0x80081272, 0x1268, 0x127F, 0x1261
TOOL_LIMIT_S = 120
# A tool that still holds a device lets it go within this time.
REMOVE_S = 10.0


class DiskError(Exception):
    """The disk cannot be used so; the text says why. Nothing is known of any crash point."""


def run(argv: "Sequence[str]", limit_s: float = TOOL_LIMIT_S) -> "tuple[int, str]":
    """Exit status and the last line of what a tool said. Raises DiskError where it cannot end."""
    try:
        done = subprocess.run(argv, capture_output=True, timeout=limit_s, check=False)
    except FileNotFoundError:
        raise DiskError(f"{argv[0]} is not installed.") from None
    except subprocess.TimeoutExpired:
        # A busy host may be why: no file system is accused of it.
        raise DiskError(f"{argv[0]} did not end within {limit_s:g} s.") from None
    lines = (done.stderr + b"\n" + done.stdout).decode("utf-8", "replace").strip().splitlines()
    return done.returncode, lines[-1][:300] if lines else ""


def must(argv: "Sequence[str]") -> None:
    """Raises DiskError unless the tool ends well."""
    code, said = run(argv)
    if code:
        raise DiskError(f"{argv[0]} ended with {code}: {said}")


def node(name: str) -> str:
    return f"/dev/mapper/{PREFIX}-{name}"


class Disk:
    """``written`` is what a file system is made on, ``replay`` where it is after a crash."""

    written, replay = node("disk"), node("replay")

    def __init__(self, device: str) -> None:
        self._device = device
        self._descriptor = os.open(device, os.O_RDWR | os.O_EXCL)
        size = fcntl.ioctl(self._descriptor, BLKGETSIZE64, b"\0" * 8)
        sector = fcntl.ioctl(self._descriptor, BLKSSZGET, b"\0" * 4)
        self.sector_bytes = struct.unpack("I", sector)[0]
        sixteenth = (struct.unpack("Q", size)[0] - FROM_BYTE) // 16 // MIB * MIB
        self.sizes = {name: min(share * sixteenth, LARGEST_PART) for name, share in SHARES.items()}
        self._descriptors: dict[str, int] = {}
        if not sixteenth:
            raise DiskError("The disk is too small for crash points.")

    def open(self) -> None:
        begin = FROM_BYTE
        os.close(self._descriptor)
        for name, size in self.sizes.items():
            table = f"0 {size // SECTOR} linear {self._device} {begin // SECTOR}"
            self._create(name, table)
            begin += size
            self._descriptors[name] = os.open(node(name), os.O_RDWR)

    def close(self) -> None:
        """Take everything down, whatever is there."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors = {}
        for name in ("replay", "disk", *self.sizes):
            if Path(node(name)).exists():
                with contextlib.suppress(DiskError):
                    self._remove(name)

    def _create(self, name: str, table: str) -> None:
        must(["dmsetup", "create", f"{PREFIX}-{name}", "--verifyudev", "--table", table])

    def _remove(self, name: str) -> None:
        deadline = time.monotonic() + REMOVE_S
        while (ended := run(["dmsetup", "remove", "--verifyudev", f"{PREFIX}-{name}"]))[0]:
            if time.monotonic() > deadline:
                raise DiskError(f"{PREFIX}-{name} cannot be removed: {ended[1]}")
            time.sleep(0.1)

    def begin_log(self) -> None:
        """``written`` is empty then, and everything that is written to it is logged."""
        for name in (WRITTEN, REPLAYED):
            self._zero(name, 0, self.sizes[name])
        self._zero(LOG, 0, MIB)
        sectors = self.sizes[WRITTEN] // SECTOR
        self._create("disk", f"0 {sectors} log-writes {node(WRITTEN)} {node(LOG)}")

    def mark(self, text: str) -> None:
        must(["dmsetup", "message", f"{PREFIX}-disk", "0", "mark", text])

    def flush(self) -> None:
        """A flush of the disk, whatever the file system on it does."""
        descriptor = os.open(self.written, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def end_log(self) -> "list[Entry]":
        """All that was written. Raises DiskError and LogError."""
        self._remove("disk")
        descriptor = self._descriptors[LOG]
        fcntl.ioctl(descriptor, BLKFLSBUF, 0)
        self._replayed = 0
        return read_log(descriptor, self.sizes[LOG], self.sizes[WRITTEN])

    def crash(self, entries: "Sequence[Entry]", point: Point) -> None:
        """Make ``replay`` what the disk is after this point, which is not before the last one."""
        base = self._descriptors[REPLAYED]
        for entry in entries[self._replayed : point.upto]:
            self._apply(base, entry)
        self._replayed = max(self._replayed, point.upto)
        os.fsync(base)
        fcntl.ioctl(base, BLKFLSBUF, 0)
        sectors = self.sizes[REPLAYED] // SECTOR
        self._create("replay", f"0 {sectors} snapshot {node(REPLAYED)} {node(CHANGES)} N 8")
        if not point.more and point.torn < 0:
            return
        descriptor = os.open(self.replay, os.O_RDWR)
        try:
            for place in point.more:
                self._apply(descriptor, entries[place])
            if point.torn >= 0:
                self._apply(descriptor, entries[point.torn], point.torn_bytes)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def end_crash(self) -> None:
        """Raises DiskError where there was no room for what the replay wrote."""
        done = subprocess.run(
            ["dmsetup", "status", f"{PREFIX}-replay"], capture_output=True, check=False
        )
        self._remove("replay")
        if b"Invalid" in done.stdout or b"Overflow" in done.stdout:
            raise DiskError("The disk is too small: recovery wrote more than there is room for.")

    def _apply(self, descriptor: int, entry: Entry, most: "int | None" = None) -> None:
        if not entry.length:
            return
        if entry.flags & DISCARD:
            zero(descriptor, entry.start, entry.length)
            return
        length, place = entry.length if most is None else most, 0
        while place < length:
            count = min(length - place, MIB)
            data = os.pread(self._descriptors[LOG], count, entry.data_at + place)
            if len(data) < count or os.pwrite(descriptor, data, entry.start + place) < count:
                raise DiskError("An entry of the log cannot be replayed.")
            place += count

    def _zero(self, name: str, start: int, length: int) -> None:
        zero(self._descriptors[name], start, length)


def zero(descriptor: int, start: int, length: int) -> None:
    fcntl.ioctl(descriptor, BLKZEROOUT, struct.pack("QQ", start, length))
