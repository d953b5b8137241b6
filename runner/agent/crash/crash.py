"""Find what a file system loses when power fails: ``crash.py`` reads a request, prints JSON lines.

Everything on the device is lost. Stdlib only. The request is one JSON object on standard input::

    {"device": PATH, "filesystem": SLUG, "mount_point": PATH,
     "mkfs": [...], "mount": [...],         both name Disk.written as the device
     "check": [...],                        what changes nothing; the device comes behind it
     "points": N, "seed": N,                at most so many crash points
     "operations": N,                       drawn after the fixed list
     "is_synced": true}                     false: the workload never syncs

The file system's writes go through dm-log-writes. A workload acknowledges each operation with a
line and a mark in the log. Each crash point is replayed, mounted, read, unmounted and checked.
Lines: ``acknowledged``, ``lost`` and ``broken`` points, and a last one with ``crash`` (the version)
and the counts. Exit status: 0, or 1 with a sentence.
"""

import json
import mmap
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)
from runner.agent.crash import disk as disks
from runner.agent.crash.disk import Disk, DiskError
from runner.agent.crash.operations import Expected, carry_out, sync_folder, workload
from runner.agent.crash.points import Point, chosen, marked, points
from runner.agent.crash.write_log import Entry, LogError

VERSION = 1
FINE, LOST, BROKEN = "fine", "lost", "broken"
START, END = "start", "end"
FOLDER = "fsbench.crash"
# The raw control: blocks written, and how many places they have.
RAW_WRITES, RAW_PLACES, RAW_BYTES = 24, 8, 8192
RAW_POINTS = 40
IGNORED_FLUSHES = 4
MOST_TOLD = 50


def say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def on_replay(argv: "Sequence[str]") -> "list[str]":
    """A command for the disk that is written, for the replayed one."""
    return [Disk.replay if word == Disk.written else word for word in argv]


class Filesystem:
    """The file system of the request: recorded once, judged at every point."""

    def __init__(self, disk: Disk, request: "dict[str, Any]") -> None:
        self._disk, self._request = disk, request
        self._folder = f"{request['mount_point']}/{FOLDER}"
        self.operations = workload(
            request["seed"], request["operations"], request.get("is_synced", True)
        )

    def record(self) -> None:
        disks.must(self._request["mkfs"])
        disks.must(self._request["mount"])
        try:
            Path(self._folder).mkdir()
            sync_folder(self._folder)
            sync_folder(self._request["mount_point"])
            os.sync()
            # Where barriers are off nothing else makes this last.
            self._disk.flush()
            self._disk.mark(START)
            for operation in self.operations:
                carry_out(operation, self._folder)
                say(**operation.acknowledgement())
                self._disk.mark(f"op{operation.number}")
            self._disk.mark(END)
        finally:
            disks.must(["umount", self._request["mount_point"]])

    def judge(self, acknowledged: int) -> "tuple[str, str, int]":
        """(verdict, why, operation) of the replayed disk."""
        if self._request["filesystem"] == "btrfs":
            # It knows its devices by their ids, and refuses an older one of the same id.
            disks.must(["btrfs", "device", "scan", "--forget"])
        code, said = disks.run(on_replay(self._request["mount"]))
        if code:
            return BROKEN, f"It cannot be mounted: {said}", -1
        try:
            found = dict(_files_in(self._folder))
        except OSError as error:
            return BROKEN, f"It cannot be read: {error.strerror}", -1
        finally:
            disks.must(["umount", self._request["mount_point"]])
        code, said = disks.run([*self._request["check"], Disk.replay])
        if code:
            return BROKEN, f"Its check ended with {code}: {said}", -1
        for path, number in Expected(self.operations, acknowledged).lost(found):
            return LOST, f"{path} is not what was acknowledged", number
        return FINE, "", -1


def _files_in(folder: str) -> "Iterator[tuple[str, bytes]]":
    for place in Path(folder).iterdir():
        yield place.name, place.read_bytes()


class Raw:
    """The control without a file system: O_DIRECT and fdatasync."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def record(self) -> None:
        descriptor = os.open(Disk.written, os.O_RDWR | os.O_DIRECT)
        try:
            self._disk.flush()
            self._disk.mark(START)
            for number in range(RAW_WRITES):
                os.pwritev(descriptor, [_block(number)], number % RAW_PLACES * RAW_BYTES)
                os.fdatasync(descriptor)
                self._disk.mark(f"op{number}")
            self._disk.mark(END)
        finally:
            os.close(descriptor)

    def judge(self, acknowledged: int) -> "tuple[str, str, int]":
        with Path(Disk.replay).open("rb") as replayed:
            content = replayed.read(RAW_PLACES * RAW_BYTES)
        for place in range(RAW_PLACES):
            number = max(range(place, acknowledged, RAW_PLACES), default=-1)
            # What is in flight may be there in part.
            if number >= 0 and place != acknowledged % RAW_PLACES:
                found = content[place * RAW_BYTES : (place + 1) * RAW_BYTES]
                if found != bytes(_block(number)):
                    return LOST, f"block {place} is not what was acknowledged", number
        return FINE, "", -1


def _block(number: int) -> mmap.mmap:
    """As O_DIRECT wants it: whole pages."""
    block = mmap.mmap(-1, RAW_BYTES)
    block[:] = f"{number:08}".encode() * (RAW_BYTES // 8)
    return block


def acknowledged_before(entries: "Sequence[Entry]", place: int) -> int:
    """How many operations had been acknowledged when this entry was written."""
    return sum(entry.is_mark and entry.mark.startswith("op") for entry in entries[:place])


def every_point(disk: Disk, entries: "Sequence[Entry]") -> "list[Point]":
    """Those of the workload; a disk tears no write within one of its sectors."""
    found = points(entries, marked(entries, START))
    return [point for point in found if point.torn_bytes % disk.sector_bytes == 0]


def try_points(
    disk: Disk,
    entries: "Sequence[Entry]",
    tried: "Sequence[Point]",
    judge: "Callable[[int], tuple[str, str, int]]",
) -> "Iterator[tuple[Point, str, str, int]]":
    """The verdict on each point, in the order of the log."""
    for point in sorted(tried):
        disk.crash(entries, point)
        try:
            verdict = judge(acknowledged_before(entries, point.before))
        finally:
            disk.end_crash()
        yield (point, *verdict)


def ignored_flushes(entries: "Sequence[Entry]", start: int) -> "list[Point]":
    """A disk that answered flushes and kept nothing, or a part: the control that must lose."""
    end = marked(entries, END)
    writes = [p for p in range(start, end) if entries[p].length and not entries[p].is_mark]
    return [
        Point(start + 1, end, "ignored", (part,), tuple(writes[: len(writes) * part // 8]))
        for part in range(IGNORED_FLUSHES)
    ]


def work(request: "dict[str, Any]") -> None:
    began = time.monotonic()
    disk = Disk(request["device"])
    try:
        disk.open()
        disk.begin_log()
        filesystem = Filesystem(disk, request)
        filesystem.record()
        entries = disk.end_log()
        start = marked(entries, START)
        every = every_point(disk, entries)
        tried = chosen(every, request["points"], request["seed"])
        recorded_s = time.monotonic() - began
        counts, told = Counter[str](), 0
        controls = ignored_flushes(entries, start)
        is_caught = False
        for point, verdict, why, number in try_points(
            disk, entries, [*tried, *controls], filesystem.judge
        ):
            if point in controls:
                is_caught = is_caught or verdict == LOST
                continue
            counts[verdict] += 1
            if verdict != FINE and told < MOST_TOLD:
                told += 1
                say(**{verdict: point.name, "why": why, "operation": number})
        replayed_s = time.monotonic() - began - recorded_s
        raw_lost, raw_tried = raw_control(disk, request["seed"])
    finally:
        disk.close()
    say(
        crash=VERSION,
        seed=request["seed"],
        points=len(tried),
        possible=len(every),
        kinds=dict(Counter(point.kind for point in tried)),
        possible_kinds=dict(Counter(point.kind for point in every)),
        operations=len(filesystem.operations),
        entries=len(entries),
        fine=counts[FINE],
        lost=counts[LOST],
        broken=counts[BROKEN],
        ignored_flushes_lose=is_caught,
        raw_points=raw_tried,
        raw_lost=raw_lost,
        record_s=round(recorded_s, 1),
        replay_s=round(replayed_s, 1),
    )


def raw_control(disk: Disk, seed: int) -> "tuple[int, int]":
    """(lost, tried) crash points of direct writes, each followed by fdatasync."""
    disk.begin_log()
    raw = Raw(disk)
    raw.record()
    entries = disk.end_log()
    tried = chosen(every_point(disk, entries), RAW_POINTS, seed)
    verdicts = [verdict for _, verdict, _, _ in try_points(disk, entries, tried, raw.judge)]
    return sum(verdict != FINE for verdict in verdicts), len(verdicts)


def main() -> int:
    try:
        work(json.load(sys.stdin))
    except (DiskError, LogError, OSError, ValueError) as error:
        print(f"Crash points cannot be tried: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
