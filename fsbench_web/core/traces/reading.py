"""Which format a trace is of, and what it comes to: iologs, histograms, requests to devices.

``strace`` has a module of its own. Sources of the formats: fio's HOWTO, "Trace file format";
blkparse(1), default format (device, cpu, sequence, seconds, pid, action, RWBS, sector + count);
BCC's biosnoop. A histogram is CSV: ``operation,block,file,count``, sizes as 8k or 4g (or bytes).
"""

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fsbench_web.core.traces import strace
from fsbench_web.core.traces.observed import (
    MOST_BYTES,
    MOST_LINE,
    MOST_LINES,
    ObservedWorkload,
    TraceError,
    power_kb,
)

_HEAD_LINES = 200
_IOLOG_HEADS = {"fio version 2 iolog": 2, "fio version 3 iolog": 3}
_FILE_ACTIONS = frozenset(("add", "open", "close"))
_SYNCS = frozenset(("sync", "datasync"))
_OTHERS = frozenset(("wait", "trim"))
_COLUMNS = ("operation", "block", "file", "count")
_COUNTED = frozenset(("read", "write", "random_read", "random_write"))
_TIMES = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_MOST_COUNTED = 10**15
_SECTOR = 512
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
"""Issued to the device; where a trace has none queued, else completed."""
_MOST_NUMBER = 10**18
_BIOSNOOP = re.compile(r"\s*TIME\(s\)\s+COMM\s+PID\s+DISK\s+T\s+SECTOR\s+BYTES\b")


def read_iolog(lines: Iterable[str]) -> ObservedWorkload:
    """All reads and writes of an iolog. Raises TraceError."""
    observed = ObservedWorkload("fio iolog")
    version = 0
    for number, line in enumerate(lines, start=1):
        if number == 1:
            version = _IOLOG_HEADS[line.strip()]
            continue
        words = line.split()
        if not words:
            continue
        if version == 3:
            if not words[0].isdecimal():
                raise TraceError(number, "a line of version 3 begins with its time.")
            words = words[1:]
        _iolog_line(observed, number, words)
    return observed


def _iolog_line(observed: ObservedWorkload, number: int, words: list[str]) -> None:
    # A name may have spaces: the action is what stands behind it.
    places = [index for index in (-3, -1) if len(words) > -index and _is_action(words, index)]
    tail = places[0] if places else 0
    if not tail:
        raise TraceError(number, "it is not an action on a file: name, action, offset and length.")
    name, action = " ".join(words[:tail]), words[tail]
    if action in ("read", "write"):
        offset, length = words[-2:]
        is_write = action == "write"
        observed.add(name, number, is_write=is_write, offset=int(offset), length=int(length))
    elif action in _SYNCS:
        observed.file(name, number).is_flushed = True
    elif action in _OTHERS:
        observed.skipped[f"actions {action}"] += 1
    else:
        observed.file(name, number)


def _is_action(words: list[str], place: int) -> bool:
    action = words[place]
    if place == -1:
        return action in _FILE_ACTIONS or action in _SYNCS or action == "wait"
    is_known = action in ("read", "write", "trim", "sync", "datasync", "wait")
    return is_known and all(word.isdecimal() and len(word) < 19 for word in words[-2:])


def _columns(line: str) -> list[str] | None:
    names = [name.strip().lower() for name in line.split(",")]
    return names if {"operation", "block", "count"} <= set(names) <= set(_COLUMNS) else None


def read_histogram(lines: Iterable[str]) -> ObservedWorkload:
    """Counts of a histogram. Raises TraceError."""
    observed = ObservedWorkload("Histogram")
    columns: list[str] = []
    try:
        for number, row in enumerate(csv.reader(lines, strict=True), start=1):
            if number == 1:
                columns = _columns(",".join(row)) or []
            elif any(cell.strip() for cell in row):
                _histogram_row(observed, number, columns, [cell.strip() for cell in row])
    except csv.Error as error:
        raise TraceError(0, f"This is no CSV: {error}.") from None
    return observed


def _histogram_row(
    observed: ObservedWorkload, number: int, columns: list[str], cells: list[str]
) -> None:
    if len(cells) != len(columns):
        raise TraceError(number, f"it has {len(cells)} cells, and the head {len(columns)}.")
    row = dict(zip(columns, cells, strict=True))
    operation = row["operation"].lower().replace(" ", "_")
    if operation not in _COUNTED:
        raise TraceError(number, "operation is read, write, random_read or random_write.")
    block = _histogram_size(number, row["block"])
    size = _histogram_size(number, row["file"]) if row.get("file") else None
    try:
        count = float(row["count"])
    except ValueError:
        count = math.nan
    if not 0 <= count <= _MOST_COUNTED:
        raise TraceError(number, "count is a number from 0.")
    key = (size, operation)
    observed.file(key, number).size = size
    place = (key, operation, power_kb(block))
    observed.operations[place] += count
    observed.octets[place] += count * block


def _histogram_size(number: int, text: str) -> int:
    letter = text.lower().removesuffix("b").removesuffix("i")[-1:]
    digits = text.lower().removesuffix("b").removesuffix("i").removesuffix(letter)
    if letter.isdecimal():
        digits, letter = digits + letter, ""
    if not (digits.strip().isdecimal() and len(digits.strip()) < 16) or letter not in ("", *_TIMES):
        raise TraceError(number, f"{text[:20]!r} is not a size: 8192, 8k, 4g.")
    size = int(digits) * _TIMES.get(letter, 1)
    if size <= 0:
        raise TraceError(number, "a size is above 0.")
    return size


def read_blkparse(lines: Iterable[str]) -> ObservedWorkload:
    """Requests of blkparse. Raises TraceError."""
    requests: dict[str, list[tuple[int, str, bool, int, int]]] = {name: [] for name in _ACTIONS}
    observed = ObservedWorkload("blkparse", is_device=True)
    is_over = False
    for number, line in enumerate(lines, start=1):
        match = _REQUEST.match(line)
        if match is None:
            if _SUMMARY.match(line):
                is_over = True
            elif not (is_over or _EVENT.match(line) or _OTHER.fullmatch(line)):
                raise TraceError(number, "it is not an event of blkparse's default format.")
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
                    offset=sector * _SECTOR,
                    length=count * _SECTOR,
                )
            break
    return observed


def read_biosnoop(lines: Iterable[str]) -> ObservedWorkload:
    """Read by the named columns, from the end: ``comm`` may hold spaces."""
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
            is_possible = (
                abs(sector) < _MOST_NUMBER
                and abs(octets) < _MOST_NUMBER
                and 0 <= seconds < _MOST_NUMBER
            )
        except ValueError:
            is_possible = False
        if not is_possible:
            raise TraceError(number, "sector, bytes or latency is not a number.")
        if row["T"] not in ("R", "W"):
            observed.skipped["requests that are neither read nor write"] += 1
            continue
        observed.add(
            (row["DISK"], row["T"]),
            number,
            is_write=row["T"] == "W",
            offset=sector * _SECTOR,
            length=octets,
            seconds=seconds,
        )
    return observed


@dataclass(frozen=True)
class TraceFormat:
    """A format by its name, recognised by its first lines."""

    name: str
    recognises: Callable[[list[str]], bool]
    read: Callable[[Iterable[str]], ObservedWorkload]


FORMATS = (
    TraceFormat(
        "fio iolog (version 2 or 3)",
        lambda head: bool(head) and head[0].strip() in _IOLOG_HEADS,
        read_iolog,
    ),
    TraceFormat(
        "histogram as CSV",
        lambda head: bool(head) and _columns(head[0]) is not None,
        read_histogram,
    ),
    TraceFormat("biosnoop", lambda head: any(map(_BIOSNOOP.match, head)), read_biosnoop),
    TraceFormat("blkparse", lambda head: any(map(_EVENT.match, head)), read_blkparse),
    TraceFormat("strace -f -T", strace.recognises, strace.read),
)


def observed(data: bytes) -> ObservedWorkload:
    """What a trace saw. Raises TraceError."""
    if len(data) > MOST_BYTES:
        raise TraceError(0, f"A trace has {MOST_BYTES // 1024**2} MiB at most: cut it.")
    if b"\0" in data[:4096]:
        raise TraceError(0, "This is not text: blktrace's own files go through blkparse first.")
    lines = list(_lines(data))
    head = [line for line in lines[:_HEAD_LINES] if line.strip()]
    for trace_format in FORMATS:
        if trace_format.recognises(head):
            return trace_format.read(lines)
    names = "; ".join(trace_format.name for trace_format in FORMATS)
    raise TraceError(1, f"this is not a format that fsbench reads: {names}.")


def _lines(data: bytes) -> Iterator[str]:
    text = data.decode("utf-8-sig", "replace")
    for number, line in enumerate(text.split("\n"), start=1):
        if number > MOST_LINES:
            raise TraceError(number, f"a trace has {MOST_LINES:,} lines at most: cut it.")
        if len(line) > MOST_LINE:
            raise TraceError(number, f"it has more than {MOST_LINE:,} letters.")
        yield line
