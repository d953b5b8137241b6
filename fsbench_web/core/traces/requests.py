"""Requests of a device as two pictures: how long they took, and where they went when. Pure.

Latencies are counted in bins of powers of two microseconds, as BCC's biolatency does. The map
counts requests by first sector and time of issue. Events are lines of tracefs' ``trace_pipe``
(include/trace/events/block.h). Letters of RWBS: F before the operation is a flush, the operation is
R, W, D (discard), F (flush) or N (anything else).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from fsbench_web.core.measurement_columns import UnreadableBlock, pack, unpack
from fsbench_web.core.traces.tracers import latency_rows

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
MAGIC = b"fsbr"
MOST_BINS = 48
"""Of latencies: the last one is some 4 years and all above."""
PARTS = 256
"""Of the device, and of the time."""
MAPPED = (READ, WRITE, DISCARD)


@dataclass
class Requests:
    """All events of a device. Times are microseconds of the kernel's clock.

    ``issued``: (time, operation, first sector, sectors). ``ended``: (operation, latency in µs).
    ``without_end`` and ``without_start``: unpaired. ``lost``: without room in the kernel.
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


def read_events(lines: Iterable[str]) -> Requests:
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


@dataclass(frozen=True)
class RequestTrace:
    """``latencies`` by bin; ``maps``: {operation: {(part of time, part of device): requests}}.

    ``is_cut``: it ended at its bound. ``outside``: began beyond the device.
    """

    seconds: float
    device_bytes: int
    latencies: Mapping[str, tuple[int, ...]]
    maps: Mapping[str, Mapping[tuple[int, int], int]]
    bytes_of: Mapping[str, int]
    is_cut: bool = False
    without_end: int = 0
    without_start: int = 0
    lost: int = 0
    outside: int = 0

    @property
    def requests(self) -> dict[str, int]:
        """How many ended, by operation."""
        return {name: sum(counts) for name, counts in self.latencies.items()}

    @property
    def part_s(self) -> float:
        return self.seconds / PARTS

    def latency_rows(self) -> Iterator[tuple[str, int, int, int]]:
        """(operation, from µs, below µs, requests), without those that are 0."""
        yield from latency_rows(self.latencies)

    def map_rows(self) -> Iterator[tuple[str, float, float, int, int, int]]:
        """(operation, from s, to s, from byte, to byte, requests), without those that are 0."""
        for name, cells in self.maps.items():
            for (time_part, device_part), count in sorted(cells.items()):
                yield (
                    name,
                    time_part * self.part_s,
                    (time_part + 1) * self.part_s,
                    device_part * self.device_bytes // PARTS,
                    (device_part + 1) * self.device_bytes // PARTS,
                    count,
                )


def bin_of(latency_us: int) -> int:
    return min(max(latency_us.bit_length() - 1, 0), MOST_BINS - 1)


def traced(
    lines: Iterable[str], device_bytes: int, *, first_sector: int = 0, is_cut: bool = False
) -> RequestTrace | None:
    """What the events of a LUN from ``first_sector`` on say; None where there are none."""
    requests = read_events(lines)
    if not requests.issued:
        return None
    began = requests.issued[0][0]
    seconds = max(requests.issued[-1][0] - began, 1) / 1e6
    bins: dict[str, Counter[int]] = {name: Counter() for name in OPERATIONS}
    for operation, latency_us in requests.ended:
        bins[operation][bin_of(latency_us)] += 1
    maps: dict[str, Counter[tuple[int, int]]] = {name: Counter() for name in MAPPED}
    sizes: Counter[str] = Counter()
    outside = 0
    for at_us, operation, sector, sectors in requests.issued:
        sizes[operation] += sectors * SECTOR
        if operation not in MAPPED:
            continue
        offset = (sector - first_sector) * SECTOR
        if not 0 <= offset < device_bytes:
            outside += 1
            continue
        time_part = min(int((at_us - began) / 1e6 / seconds * PARTS), PARTS - 1)
        maps[operation][time_part, offset * PARTS // device_bytes] += 1
    return RequestTrace(
        seconds=seconds,
        device_bytes=device_bytes,
        latencies={
            name: tuple(counts[place] for place in range(max(counts) + 1))
            for name, counts in bins.items()
            if counts
        },
        maps={name: dict(cells) for name, cells in maps.items() if cells},
        bytes_of={name: sizes[name] for name in OPERATIONS if sizes[name]},
        is_cut=is_cut,
        without_end=requests.without_end,
        without_start=requests.without_start,
        lost=requests.lost,
        outside=outside,
    )


_SAID = ("seconds", "device_bytes", "is_cut", "without_end", "without_start", "lost", "outside")


def encode(trace: RequestTrace) -> bytes:
    """The block of a trace, of the form of those of measurements: 400 KB at most."""
    cells = [
        (time_part * PARTS + device_part, count)
        for of_operation in trace.maps.values()
        for (time_part, device_part), count in sorted(of_operation.items())
    ]
    directory = {
        **{name: getattr(trace, name) for name in _SAID},
        "bytes_of": dict(trace.bytes_of),
        "latencies": {name: list(counts) for name, counts in trace.latencies.items()},
        "maps": [[name, len(of_operation)] for name, of_operation in trace.maps.items()],
    }
    columns = [
        np.array([place for place, _ in cells], dtype=np.int64),
        np.array([count for _, count in cells], dtype=np.int64),
    ]
    return pack(directory, columns, MAGIC)


def decode(block: bytes) -> RequestTrace:
    """The inverse. Raises UnreadableBlock."""
    directory, arrays = unpack(block, MAGIC)
    try:
        places, counts = (array.tolist() for array in arrays)
        maps, start = {}, 0
        for name, size in directory["maps"]:
            part = slice(start, start + size)
            maps[name] = {
                divmod(place, PARTS): count
                for place, count in zip(places[part], counts[part], strict=True)
            }
            start += size
        trace = RequestTrace(
            **{name: directory[name] for name in _SAID},
            latencies={name: tuple(bins) for name, bins in directory["latencies"].items()},
            maps=maps,
            bytes_of=directory["bytes_of"],
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnreadableBlock(f"The block is not made as it should be: {error!r}.") from None
    if start != len(places) or len(places) != len(counts):
        raise UnreadableBlock("The block holds other numbers than it names.")
    return trace
