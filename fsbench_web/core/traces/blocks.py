"""Requests to block devices: the text of blkparse and of BCC's biosnoop.

blkparse(1), default format: device, cpu, sequence, seconds, pid, action, RWBS, sector + count.
What was issued to the device (D) is counted; where a trace has none, what was queued (Q), else
what was completed (C). Sectors are of 512 bytes.
"""

import re
from collections.abc import Iterable

from fsbench_web.core.traces.observed import ObservedWorkload, TraceError

SECTOR = 512
_REQUEST = re.compile(
    r"\s*(?P<device>\d{1,4},\d{1,7})\s+\d+\s+\d+\s+\d+\.\d+\s+(?P<pid>\d+)\s+(?P<action>[A-Z])\s+"
    r"(?P<rwbs>[A-Z]{1,8})\s+(?P<sector>\d{1,18}) \+ (?P<count>\d{1,9})(?:\s|$)"
)
_EVENT = re.compile(r"\s*\d{1,4},\d{1,7}\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+[A-Za-z]{1,3}(?:\s|$)")
_SUMMARY = re.compile(
    r"\s*(CPU\d+ \(|Total \(|Events \(|Throughput \(|Skips:|(Reads?|Writes?|IO|PC|Timer) )"
)
_OTHER = re.compile(r"\s*+(Input file .* added|\.\.\.)?\s*")
"""What blkparse prints first, of each processor's file; and lines that somebody left out."""
_ACTIONS = "DQC"
_MOST = 10**18
_BIOSNOOP = re.compile(r"\s*TIME\(s\)\s+COMM\s+PID\s+DISK\s+T\s+SECTOR\s+BYTES\b")


def recognises_blkparse(head: list[str]) -> bool:
    """By a line that is an event."""
    return any(_EVENT.match(line) for line in head)


def recognises_biosnoop(head: list[str]) -> bool:
    """By its head."""
    return any(_BIOSNOOP.match(line) for line in head)


def read_blkparse(lines: Iterable[str]) -> ObservedWorkload:
    """Raises TraceError."""
    requests: dict[str, list[tuple[int, str, bool, int, int]]] = {name: [] for name in _ACTIONS}
    observed = ObservedWorkload("blkparse", is_device=True)
    is_over = False
    for number, line in enumerate(lines, start=1):
        match = _REQUEST.match(line)
        if match is None:
            if _SUMMARY.match(line):
                is_over = True
            elif not (is_over or _EVENT.match(line) or _OTHER.fullmatch(line)):
                raise TraceError(number, "it is no event of blkparse's default format.")
            continue
        action, rwbs = match["action"], match["rwbs"]
        if action not in requests:
            continue
        if "D" in rwbs or not ("R" in rwbs or "W" in rwbs):
            observed.skipped["discards and requests that are neither read nor write"] += 1
            continue
        requests[action].append(
            (number, match["device"], "W" in rwbs, int(match["sector"]), int(match["count"]))
        )
    for action in _ACTIONS:
        if requests[action]:
            for number, device, is_write, sector, count in requests[action]:
                observed.add(
                    (device, is_write),
                    number,
                    is_write=is_write,
                    offset=sector * SECTOR,
                    length=count * SECTOR,
                )
            break
    return observed


def read_biosnoop(lines: Iterable[str]) -> ObservedWorkload:
    """Columns are told by the head; ``comm`` may hold spaces, so they are counted from the end."""
    observed = ObservedWorkload("biosnoop", has_times=True, is_device=True)
    columns: list[str] = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if _BIOSNOOP.match(line):
            columns = words
            continue
        if not words or not columns or words == ["[...]"] or words[0].startswith("#"):
            continue
        behind = len(columns) - columns.index("PID")
        if len(words) < len(columns) - 1:
            raise TraceError(number, "it has fewer columns than the head.")
        row = dict(zip(columns[-behind:], words[-behind:], strict=True))
        try:
            sector, octets = int(row["SECTOR"]), int(row["BYTES"])
            seconds = float(row.get("LAT(ms)", "0")) / 1000
            is_possible = abs(sector) < _MOST and abs(octets) < _MOST and 0 <= seconds < _MOST
        except ValueError:
            is_possible = False
        if not is_possible:
            raise TraceError(number, "sector, bytes or latency is no number.")
        if row["T"] not in ("R", "W"):
            observed.skipped["requests that are neither read nor write"] += 1
            continue
        observed.add(
            (row["DISK"], row["T"]),
            number,
            is_write=row["T"] == "W",
            offset=sector * SECTOR,
            length=octets,
            seconds=seconds,
        )
    return observed
