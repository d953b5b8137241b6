"""What fio's JSON report says that fio did: its syncs, and what the kernel did not count. Pure.

fio 3.33 counts fsync, but neither fdatasync nor writes with O_SYNC (io_u.c, stat.c). The kernel's
``/proc/PID/io`` counts nothing of libaio, io_uring and mmap. fio's totals leave its ramp time out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsbench_web.core.activity.promises import Syncs
from fsbench_web.core.formats.json_text import JsonObject, documents
from fsbench_web.core.formats.result import UnreadableFile
from fsbench_web.core.identity import ONE_AT_A_TIME

Options = Mapping[str, str]
_WRITES = frozenset({"write", "randwrite"})
_MIXED = frozenset({"rw", "readwrite", "randrw"})
_OPENED = frozenset({"1", "sync", "dsync"})
COUNTED = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "posixaio"})
"""Engines that the kernel counts reads and writes of; psync is fio's default."""
_NO_RAMP = re.compile("0*(us|ms|s|m|h|d)?")


def syncs(data: bytes, jobs: Sequence[Options]) -> Syncs | None:
    """The syncs of all ``jobs`` of a report together; None: not known, or in several ways."""
    report = last_report(data)
    writing = [job for job in jobs if _pattern(job) in _WRITES | _MIXED]
    ways = {_way(job) for job in writing}
    if report is None or len(ways) > 1:
        return None
    way, every = ways.pop() if ways else ("", 0)
    if not way:
        return Syncs(0)
    written, fsyncs = (
        int(sum(total_of(job, kind, "total_ios") for job in report.objects("jobs")))
        for kind in ("write", "sync")
    )
    at_once = sum(_count(job) * _at_once(job) for job in writing)
    if way == "sync":
        # Through mmap there is no write(2) that O_SYNC could make wait.
        if any(job.get("ioengine") == "mmap" for job in writing):
            return None
        is_direct = any(job.get("direct") == "1" or job.get("buffered") == "0" for job in writing)
        return Syncs(written, at_once, can_be_forced=is_direct)
    # Of several files fio may sync another one than it wrote to.
    if any(job.get("nrfiles", "1") != "1" for job in writing):
        return None
    if way == "fsync" and all(_pattern(job) in _WRITES for job in writing):
        return Syncs(fsyncs, at_once)
    # After reads fio syncs again, with nothing to write: what counts are the writes before. The
    # last of each process may be without one.
    return Syncs(max(written // every - 2 * sum(map(_count, writing)), 0), at_once)


def _pattern(job: Options) -> str:
    return job.get("rw", job.get("readwrite", "read"))


def _way(job: Options) -> tuple[str, int]:
    """How a job syncs, and after how many writes; ("", 0) where it does not."""
    if job.get("sync", "0") in _OPENED:
        return "sync", 1
    for name in ("fsync", "fdatasync"):
        if (every := int(job.get(name, "0"))) > 0:
            return name, every
    return "", 0


def _count(job: Options) -> int:
    return int(job.get("numjobs", "1"))


def _at_once(job: Options) -> int:
    """How many syncs of one process a flush can serve: 1 where each waits for the one before."""
    is_one = job.get("ioengine", "psync") in ONE_AT_A_TIME
    depth = 1 if is_one else int(job.get("iodepth", "1"))
    # As many again find their writes still in flight, and nothing to flush.
    return depth if depth == 1 else 2 * depth


@dataclass(frozen=True)
class Totals:
    """Bytes and operations that the kernel did not count for fio's processes."""

    read_bytes: float = 0.0
    written_bytes: float = 0.0
    operations: float = 0.0


def last_report(data: bytes) -> JsonObject | None:
    try:
        reports = [*documents(data.decode("utf-8", "replace").split("\n"))]
    except UnreadableFile:
        return None
    return reports[-1] if reports else None


def uncounted(data: bytes) -> Totals | None:
    """What jobs of other engines did in the last report of a JSON output; None: not known."""
    root = last_report(data)
    if root is None:
        return None
    shared = root.object("global options")
    read = written = operations = 0.0
    for job in root.objects("jobs"):
        options = job.object("job options")
        if (options.text("ioengine") or shared.text("ioengine") or "psync") in COUNTED:
            continue
        if not _NO_RAMP.fullmatch(options.text("ramp_time") or shared.text("ramp_time")):
            return None
        if total_of(job, "mixed", "io_bytes"):
            return None
        read += total_of(job, "read", "io_bytes")
        written += total_of(job, "write", "io_bytes")
        operations += sum(total_of(job, kind, "total_ios") for kind in ("read", "write"))
    return Totals(read, written, operations)


def total_of(job: JsonObject, direction: str, key: str) -> float:
    """A number of one direction of a job; 0 where it is missing."""
    return job.object(direction).amount(key) or 0.0
