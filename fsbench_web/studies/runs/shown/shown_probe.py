"""A probe as pages show it. No HTTP here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fsbench_web.core.scoring.ceilings import SURE_PERCENT, Point, Request, read_probe
from fsbench_web.studies.models import LunProbe

_STATE = (
    ("write_cache", "Volatile write cache"),
    ("scheduler", "I/O scheduler"),
    ("rotational", "Rotates"),
    ("logical_block_size", "Logical block"),
    ("physical_block_size", "Physical block"),
    ("temperature_c", "Temperature"),
    ("power_state", "NVMe power state"),
)
_CACHES = {
    "write back": "on: what is written is safe after a flush (write back)",
    "write through": "none, or as good as none (write through)",
}


@dataclass(frozen=True)
class Row:
    """One kind of request."""

    words: str
    kb_s: float
    iops: float
    latency_ns: float
    flush_ns: float | None
    spread_percent: float | None
    bursts: int


@dataclass(frozen=True)
class ShownProbe:
    """A probe. ``made_by``: its run, if it may be seen. ``target``: the stack, "" for a LUN.
    ``sure`` means are known to SURE_PERCENT.
    """

    made_by: int | None
    target: str
    fio: str
    took_s: float
    region_bytes: int
    sure: int
    worst_spread: float | None
    state: list[tuple[str, str]]
    rows: list[Row]


def of_probe(probe: LunProbe, made_by: int | None) -> ShownProbe:
    """``made_by``: as it is shown."""
    reading = read_probe(probe.result)
    return ShownProbe(
        made_by,
        probe.target,
        reading.fio,
        reading.took_s,
        reading.to_byte - reading.from_byte,
        sum((point.spread_percent or 100) <= SURE_PERCENT for point in reading.points),
        reading.worst_spread_percent,
        state_rows(probe.state),
        [_row(point) for point in sorted(reading.points, key=_place)],
    )


def state_rows(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the worker read of the device (runner.host.lun_state), with labels."""
    return [(label, _text_of(name, state[name])) for name, label in _STATE if name in state]


def _text_of(name: str, value: Any) -> str:
    if name == "write_cache":
        return _CACHES.get(value, str(value))
    if name == "rotational":
        return "yes, or so the kernel says" if value else "no"
    if name.endswith("block_size"):
        return f"{value:,} bytes"
    if name == "temperature_c":
        return f"{value:.0f} °C before it"
    return str(value)


def _place(point: Point) -> tuple[bool, bool, str, int, int]:
    is_random = point.pattern == "random"
    return (point.is_flushed, is_random, point.direction, point.block_bytes, point.depth)


def _row(point: Point) -> Row:
    request = Request(
        point.pattern, point.direction, point.block_bytes, point.depth, point.is_flushed
    )
    words = request.words()
    flush = point.flush_ns
    return Row(
        words[:1].upper() + words[1:],
        point.rate_kb_s,
        point.rate_iops,
        point.latency_mean_ns,
        sum(flush) / len(flush) if flush else None,
        point.spread_percent,
        len(point.iops),
    )
