"""Operations of a file system as a picture: how long each took, by what it was. Pure.

bpftrace prints it by ``runner.host.tracing.operation_scripts`` with ``-f json``. Bins are powers of
two nanoseconds (B. Gregg, "BPF Performance Tools", 2019, chapter 8).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.core.measurement_columns import UnreadableBlock, pack, unpack
from fsbench_web.core.traces.tracers import latency_rows

MAGIC = b"fsbo"
READ, WRITE, OPEN, SYNC = "read", "write", "open", "sync"
OPERATIONS = (READ, WRITE, OPEN, SYNC)
FUNCTIONS, CALLS = "functions", "calls"
"""How it was traced: functions of the file system (kprobes), or system calls on its files."""
MOST_BINS = 64
"""Of latencies: a nanosecond counter of the kernel has no more bits."""
ENDED = "ended"
"""Printed by the script before what it has counted."""


class UnreadableOutput(ValueError):
    """What bpftrace printed is not what its script prints, as the text says."""


@dataclass(frozen=True)
class OperationTrace:
    """Counts of bins, sums in ns, bytes and failures by operation.

    ``queued`` (libaio, io_uring) and ``without_end`` have no latency. ``is_cut``: it ended at its
    bound.
    """

    by: str
    seconds: float
    latencies: Mapping[str, tuple[int, ...]]
    total_ns: Mapping[str, int]
    bytes_of: Mapping[str, int]
    failed: Mapping[str, int]
    queued: Mapping[str, int]
    without_end: int = 0
    lost: int = 0
    is_cut: bool = False

    @property
    def ended(self) -> dict[str, int]:
        """How many have a latency, by operation."""
        return {name: sum(counts) for name, counts in self.latencies.items()}

    def summary_rows(self) -> Iterator[tuple[str, int, int, int | str, int, int]]:
        """(operation, ended, their time in ns, bytes or "", failed, queued), by operation."""
        for name in OPERATIONS:
            if name in self.latencies or name in self.queued:
                yield (
                    name,
                    sum(self.latencies.get(name, ())),
                    self.total_ns.get(name, 0),
                    self.bytes_of.get(name, 0) if name in (READ, WRITE) else "",
                    self.failed.get(name, 0),
                    self.queued.get(name, 0),
                )

    def latency_rows(self) -> Iterator[tuple[str, int, int, int]]:
        """(operation, from ns, below ns, operations), without those that are 0."""
        yield from latency_rows(self.latencies)


@dataclass
class _Counts:
    """Maps of one moment. ``bins`` counts {(operation, bin): operations}."""

    bins: Counter[tuple[str, int]] = field(default_factory=Counter)
    sums: dict[str, Counter[str]] = field(default_factory=dict)

    def take(self, kind: str, maps: Mapping[str, Any]) -> None:
        for name, by_operation in maps.items():
            if name not in _MAPS or not isinstance(by_operation, dict):
                continue  # a thread's beginning, or an empty map
            for operation, value in by_operation.items():
                if operation not in OPERATIONS:
                    raise UnreadableOutput(f"It counts {operation[:40]!r}, which it was not asked.")
                if kind == "hist":
                    self._read_bins(operation, value)
                else:
                    self.sums.setdefault(name, Counter())[operation] = _whole_number(value)

    def _read_bins(self, operation: str, bins: Iterable[Mapping[str, Any]]) -> None:
        for entry in bins:
            low = max(_whole_number(entry.get("min", 0)), 0)
            place = min(max(low.bit_length() - 1, 0), MOST_BINS - 1)
            self.bins[operation, place] += _whole_number(entry["count"])


_MAPS = ("@ns", "@time", "@bytes", "@begun", "@failed", "@queued")


def read(text: str, by: str, seconds: float, *, is_cut: bool = False) -> OperationTrace | None:
    """What bpftrace counted; None where no operation began. Raises UnreadableOutput."""
    counts, lost = _Counts(), 0
    has_ended = False
    for line in text.splitlines():
        if not line.strip():
            continue
        kind, data = _field_of(line)
        if kind == "printf":
            has_ended = has_ended or str(data).strip() == ENDED
        elif kind == "lost_events":
            lost += _whole_number(data.get("events", 0))
        elif kind in ("map", "hist") and has_ended:
            try:
                counts.take(kind, data)
            except (AttributeError, KeyError, TypeError) as error:
                raise UnreadableOutput(f"A map is not made as it should be: {error!r}.") from None
    if not has_ended:
        raise UnreadableOutput("It did not come to its end.")
    return _trace(counts, by, seconds, lost, is_cut)


def _field_of(line: str) -> tuple[str, Any]:
    try:
        entry = json.loads(line)
        return str(entry["type"]), entry["data"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableOutput(f"It printed {line[:80]!r}, which is no JSON of its own.") from None


def _whole_number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnreadableOutput(f"{str(value)[:40]!r} is not a whole number.")
    return value


def _trace(
    counts: _Counts, by: str, seconds: float, lost: int, is_cut: bool
) -> OperationTrace | None:
    sums = {name: counts.sums.get(name, Counter()) for name in _MAPS}
    if not sums["@begun"] and not counts.bins:
        return None
    latencies = {}
    for operation in OPERATIONS:
        places = {place: count for (name, place), count in counts.bins.items() if name == operation}
        if places:
            latencies[operation] = tuple(places.get(place, 0) for place in range(max(places) + 1))
    ended = sum(counts.bins.values()) + sums["@queued"].total()
    return OperationTrace(
        by=by,
        seconds=seconds,
        latencies=latencies,
        total_ns={name: sums["@time"][name] for name in latencies},
        bytes_of=dict(sums["@bytes"]),
        failed=dict(sums["@failed"]),
        queued=dict(sums["@queued"]),
        without_end=max(sums["@begun"].total() - ended, 0),
        lost=lost,
        is_cut=is_cut,
    )


_SAID = ("by", "seconds", "without_end", "lost", "is_cut")
_BY_OPERATION = ("total_ns", "bytes_of", "failed", "queued")


def encode(trace: OperationTrace) -> bytes:
    """The block of a trace, of the form of those of measurements: some KB at most."""
    directory = {name: getattr(trace, name) for name in _SAID}
    directory |= {name: dict(getattr(trace, name)) for name in _BY_OPERATION}
    directory["latencies"] = {name: list(counts) for name, counts in trace.latencies.items()}
    return pack(directory, [], MAGIC)


def decode(block: bytes) -> OperationTrace:
    """The inverse. Raises UnreadableBlock."""
    directory, _ = unpack(block, MAGIC)
    try:
        return OperationTrace(
            **{name: directory[name] for name in (*_SAID, *_BY_OPERATION)},
            latencies={name: tuple(bins) for name, bins in directory["latencies"].items()},
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise UnreadableBlock(f"The block is not made as it should be: {error!r}.") from None
