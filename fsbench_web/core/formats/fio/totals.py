"""How much fio says it read and wrote, for engines that the kernel's own counts pass by. Pure.

libaio, io_uring and mmap do not go through read(2) and write(2), so that ``/proc/PID/io`` counts
nothing of them (tried on Linux 6.18 with fio 3.33). fio's totals leave its ramp time out, in which
the device works as well: with one, what was done in all is not known.
"""

import re
from dataclasses import dataclass

from fsbench_web.core.formats.json_text import JsonObject, documents
from fsbench_web.core.formats.result import UnreadableFile

COUNTED = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "posixaio"})
"""Engines whose reads and writes the kernel counts for the process; psync is fio's own choice."""
_NO_RAMP = re.compile("0*(us|ms|s|m|h|d)?")


@dataclass(frozen=True)
class Totals:
    """Bytes and operations that the kernel did not count for fio's processes."""

    read_bytes: float = 0.0
    written_bytes: float = 0.0
    operations: float = 0.0


def last_report(data: bytes) -> JsonObject | None:
    """The last report of a JSON output; None where there is none that can be read."""
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
    number = job.object(direction).number(key)
    return float(number.text) if number is not None else 0.0
