"""The kernel's block events as text: when each request was given to the device, and came back.

Lines of tracefs' ``trace_pipe`` with ``block:block_rq_issue`` and ``block:block_rq_complete``
(include/trace/events/block.h; what biolatency and blktrace read too). Times are seconds with
microseconds, sectors are of 512 bytes. Letters of RWBS: an F before the operation is a flush before
it (PREFLUSH), the operation is R, W, D (discard), F (flush) or N (anything else, zeroes as a rule).
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

SECTOR = 512
READ, WRITE, DISCARD, FLUSH, OTHER = "read", "write", "discard", "flush", "other"
OPERATIONS = (READ, WRITE, FLUSH, DISCARD, OTHER)
_BY_LETTER = {"R": READ, "W": WRITE, "D": DISCARD, "F": FLUSH}
# A task's name has 15 characters at most, so that none can look like an event.
_EVENT = re.compile(
    r" (\d{1,12})\.(\d{6}): block_rq_(issue|complete): (\d{1,4},\d{1,7}) ([A-Z]{1,10}) "
    r"(?:\d{1,10} )?\([^()]*\) (\d{1,20}) \+ (\d{1,10})(?: |$)"
)
_LOST = re.compile(r"CPU:\d+ \[LOST (\d{1,18}) EVENTS\]")


@dataclass
class Requests:
    """What was told. Times are microseconds of the kernel's clock.

    ``issued`` are (time, operation, first sector, sectors) in their order; ``ended`` (operation,
    latency in microseconds). ``without_end`` and ``without_start`` could not be paired, ``lost``
    are events that the kernel had no room for, ``not_read`` lines that are no event.
    """

    issued: list[tuple[int, str, int, int]] = field(default_factory=list)
    ended: list[tuple[str, int]] = field(default_factory=list)
    without_end: int = 0
    without_start: int = 0
    lost: int = 0
    not_read: int = 0


def operation_of(rwbs: str) -> str:
    """What a request does, of its letters."""
    is_flushed_before = len(rwbs) > 1 and rwbs[0] == "F" and rwbs[1] in "RWDFNZ"
    return _BY_LETTER.get(rwbs[1] if is_flushed_before else rwbs[0], OTHER)


def read(lines: Iterable[str]) -> Requests:
    """All that lines of one device tell. Nothing is refused: what is no event is counted."""
    requests = Requests()
    # By operation and where the rest of the request begins: (time, sectors that are to come).
    open_ones: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for line in lines:
        match = _EVENT.search(line)
        if match is None:
            if lost := _LOST.search(line):
                requests.lost += int(lost[1])
            elif line.strip():
                requests.not_read += 1
            continue
        seconds, micros, event, _, rwbs, first, count = match.groups()
        at_us, operation = int(seconds) * 1_000_000 + int(micros), operation_of(rwbs)
        # A flush has no place: the kernel says 0 where it is issued and -1 where it ends.
        sector, sectors = (0, 0) if operation == FLUSH else (int(first), int(count))
        if operation != FLUSH and not sectors:
            continue  # the write behind a flush of its own, told once more without its data
        in_flight = open_ones[operation, sector]
        if event == "issue":
            requests.issued.append((at_us, operation, sector, sectors))
            in_flight.append((at_us, sectors))
        elif not in_flight:
            requests.without_start += 1
        else:
            began, left = in_flight.pop(0)
            if sectors < left:  # a part of it: its end is that of the last part
                open_ones[operation, sector + sectors].append((began, left - sectors))
            else:
                requests.ended.append((operation, max(0, at_us - began)))
    requests.without_end = sum(map(len, open_ones.values()))
    return requests
