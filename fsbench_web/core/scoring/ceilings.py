"""What a LUN itself can do, and which of it a score is set against. Pure.

A *probe* measured the LUN without a file system (runner/agent/preparation/probe.py). The *ceiling*
of a score is what the probe says of the same requests (``Workload.counterpart``), its *share* the
score in percent of that. Rules: docs/method.md#what-the-lun-does-by-itself.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fsbench_web.core.stats.intervals import interval

SEQUENTIAL, RANDOM = "sequential", "random"
READ, WRITE = "read", "write"
NEAR = 2.0
SURE_PERCENT = 3.0
"""A point of a probe is sure when the 95% half-width of its mean is no more (probe.py)."""
FLUSH_BYTES = 4096
PAGE_BYTES = 4096
"""The page cache reads and writes no less, on the machines that are common."""
LARGE_BYTES = 64 * 1024
"""The time of larger requests goes with their size rather than with their number."""
MOST_POINTS, MOST_BURSTS = 200, 1000


@dataclass(frozen=True)
class Point:
    """What the probe measured of one kind of request. ``iops`` and ``latency_ns``: each burst."""

    pattern: str
    direction: str
    block_bytes: int
    depth: int
    is_flushed: bool
    iops: tuple[float, ...]
    latency_ns: tuple[float, ...]
    flush_ns: tuple[float, ...] = ()

    @property
    def rate_iops(self) -> float:
        """Operations a second, the mean of the bursts."""
        return math.fsum(self.iops) / len(self.iops)

    @property
    def rate_kb_s(self) -> float:
        return self.rate_iops * self.block_bytes / 1024

    @property
    def latency_mean_ns(self) -> float:
        return math.fsum(self.latency_ns) / len(self.latency_ns)

    @property
    def spread_percent(self) -> float | None:
        """Half-width of the 95% interval of the mean of the bursts, in percent of it; None: one."""
        iops_interval = interval(self.iops)
        return None if iops_interval is None else iops_interval.relative_percent


@dataclass(frozen=True)
class Probe:
    """Everything that one probe measured. The region is in bytes of the device."""

    points: tuple[Point, ...]
    from_byte: int
    to_byte: int
    device_bytes: int
    seconds: float
    took_s: float
    fio: str

    @property
    def worst_spread_percent(self) -> float | None:
        """Of the least sure point; None where one has a single burst."""
        spreads = [point.spread_percent for point in self.points]
        known_spreads = [spread for spread in spreads if spread is not None]
        return max(known_spreads) if len(known_spreads) == len(spreads) else None

    def of(self, pattern: str, direction: str, is_flushed: bool = False) -> list[Point]:
        """The points of this kind, by block size and depth."""
        points = [
            point
            for point in self.points
            if (point.pattern, point.direction, point.is_flushed)
            == (pattern, direction, is_flushed)
        ]
        return sorted(points, key=lambda point: (point.block_bytes, point.depth))


def read_probe(data: Mapping[str, Any]) -> Probe:
    """What the agent printed. Raises ValueError for anything else."""
    try:
        if data["probe"] != 1 or len(data["points"]) > MOST_POINTS:
            raise ValueError("it is of another version, or too large")
        return Probe(
            tuple(_point(entry) for entry in data["points"]),
            int(data["from_byte"]),
            int(data["to_byte"]),
            int(data["device_bytes"]),
            float(data["seconds"]),
            float(data["took_s"]),
            str(data["fio"])[:60],
        )
    except (LookupError, TypeError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _point(data: Mapping[str, Any]) -> Point:
    bursts = {
        name: tuple(float(value) for value in data[name][:MOST_BURSTS])
        for name in ("iops", "latency_ns", "flush_ns")
    }
    block_bytes, depth = int(data["block_bytes"]), int(data["depth"])
    if data["pattern"] not in (SEQUENTIAL, RANDOM) or data["direction"] not in (READ, WRITE):
        raise ValueError("a point is neither sequential nor random, read nor write")
    values = [*bursts["iops"], *bursts["latency_ns"], float(block_bytes), float(depth)]
    if not bursts["iops"] or not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("a point has a number that is not above zero, or no burst")
    return Point(
        data["pattern"],
        data["direction"],
        block_bytes,
        depth,
        bool(data["flushed"]),
        bursts["iops"],
        bursts["latency_ns"],
        bursts["flush_ns"],
    )


@dataclass(frozen=True)
class Request:
    """A test's work as requests to the LUN; ``block_bytes`` and ``depth`` None: the best."""

    pattern: str
    direction: str
    block_bytes: int | None = None
    depth: float | None = None
    is_flushed: bool = False
    least_bytes: int = 0
    sizes: tuple[float, float] | None = None

    def by_the_kernel(self) -> "Request":
        """The same through the page cache: written back and read ahead as the kernel does."""
        if self.pattern == RANDOM:
            depth = self.depth if self.direction == READ else None
            return replace(self, depth=depth, least_bytes=PAGE_BYTES)
        return replace(self, block_bytes=None, depth=None)

    def words(self) -> str:
        """What the LUN did: "random read of 4 KiB, queue depth 8"."""
        if self.is_flushed:
            return f"write and flush of {_size(self.block_bytes or FLUSH_BYTES)}"
        block = f" of {_size(self.block_bytes)}" if self.block_bytes else ""
        if self.sizes is not None:
            block = f" of {_size(self.sizes[0])} to {_size(self.sizes[1])}"
        depth = "" if self.depth is None else f", queue depth {self.depth:g}"
        return f"{self.pattern} {self.direction}{block}{depth or ', at its best depth'}"


@dataclass(frozen=True)
class Ceiling:
    """What the LUN did of a request. ``spread_percent``: None for a single burst."""

    request: Request
    iops: float
    block_bytes: float
    latency_ns: float
    spread_percent: float | None
    is_between: bool = False
    differ_percent: float = 0.0

    @property
    def kb_s(self) -> float:
        return self.iops * self.block_bytes / 1024


def ceiling(probe: Probe, request: Request) -> Ceiling | None:
    """What the probe says of a request; None where nothing near it was measured."""
    points = probe.of(request.pattern, request.direction, request.is_flushed)
    if not points:
        return None
    if request.block_bytes is None:
        points = [point for point in points if point.block_bytes == points[-1].block_bytes]
    lines: dict[int, list[Point]] = {}
    for point in points:
        lines.setdefault(point.block_bytes, []).append(point)
    block_rates = []
    for block_bytes, line in lines.items():
        if request.depth is None:
            best = max(line, key=lambda point: (point.rate_iops, point.depth))
            block_rates.append((block_bytes, [best], (best.rate_iops, best.latency_mean_ns), False))
            continue
        at = _neighbours([point.depth for point in line], request.depth)
        if at is not None:
            low, high, share = at
            used = [line[low], line[high]]
            is_exact = line[low].depth == line[high].depth == request.depth
            block_rates.append((block_bytes, used, _line(used, share), not is_exact))
    if not block_rates:
        return None
    wanted = float(request.block_bytes or block_rates[-1][0])
    at = _neighbours(
        [block_rate[0] for block_rate in block_rates], max(wanted, request.least_bytes)
    )
    if at is None:
        return None
    low, high, share = at
    (_, low_points, (iops, latency), is_between), (_, high_points, (more_iops, more_latency), _) = (
        block_rates[low],
        block_rates[high],
    )
    spreads = [point.spread_percent for point in (*low_points, *high_points)]
    nearest = block_rates[low][0]
    parts = nearest / wanted if low == high and nearest > max(wanted, LARGE_BYTES) else 1.0
    return Ceiling(
        request,
        _mix(iops, more_iops, share) * parts,
        wanted,
        _mix(latency, more_latency, share) / parts,
        None if None in spreads else max(spread for spread in spreads if spread is not None),
        is_between or block_rates[low][0] != max(wanted, request.least_bytes),
    )


def _neighbours(values: Sequence[float], wanted: float) -> tuple[int, int, float] | None:
    """The two values around ``wanted``, and its share between them by logarithms; None if far."""
    if not values:
        return None
    for place, value in enumerate(values):
        if value == wanted:
            return place, place, 0.0
    if wanted < values[0]:
        return (0, 0, 0.0) if values[0] <= NEAR * wanted else None
    if wanted > values[-1]:
        last = len(values) - 1
        return (last, last, 0.0) if wanted <= NEAR * values[-1] else None
    high = next(place for place, value in enumerate(values) if value > wanted)
    share = math.log(wanted / values[high - 1]) / math.log(values[high] / values[high - 1])
    return high - 1, high, share


def _line(points: Sequence[Point], share: float) -> tuple[float, float]:
    low, high = points
    return (
        _mix(low.rate_iops, high.rate_iops, share),
        _mix(low.latency_mean_ns, high.latency_mean_ns, share),
    )


def _mix(low: float, high: float, share: float) -> float:
    return low if share == 0 else math.exp((1 - share) * math.log(low) + share * math.log(high))


def mean_of(ceilings: Sequence[Ceiling]) -> Ceiling:
    """That of several probes of one request; at least one."""
    joined = _joined_ceilings(ceilings, lambda values: math.fsum(values) / len(values))
    return replace(joined, differ_percent=differ_percent([ceiling.iops for ceiling in ceilings]))


def differ_percent(rates: Sequence[float]) -> float:
    """By how many percent the largest of rates above zero exceeds the smallest."""
    return 100 * (max(rates) - min(rates)) / min(rates)


def of_cells(ceilings: Sequence[Ceiling], category: str) -> Ceiling:
    """The ceiling of a score of these cells: of their rates, as the score is of theirs."""
    if len({ceiling.request for ceiling in ceilings}) == 1:
        return ceilings[0]
    rates = [ceiling.kb_s for ceiling in ceilings]
    pick = {"maximum": max, "minimum": min}.get(category)
    rate = pick(rates) if pick else math.fsum(rates) / len(rates)
    first = ceilings[0]
    sizes = sorted({ceiling.block_bytes for ceiling in ceilings})
    return replace(
        _joined_ceilings(ceilings, max),
        request=replace(first.request, block_bytes=None, sizes=(sizes[0], sizes[-1])),
        iops=rate,
        block_bytes=1024.0,
    )


def _joined_ceilings(ceilings: Sequence[Ceiling], join: Callable[[list[float]], float]) -> Ceiling:
    spreads = [ceiling.spread_percent for ceiling in ceilings]
    return Ceiling(
        ceilings[0].request,
        join([ceiling.iops for ceiling in ceilings]),
        ceilings[0].block_bytes,
        join([ceiling.latency_ns for ceiling in ceilings]),
        None if None in spreads else max(spread for spread in spreads if spread is not None),
        any(ceiling.is_between for ceiling in ceilings),
        max(ceiling.differ_percent for ceiling in ceilings),
    )


def _size(value: float | None) -> str:
    assert value is not None
    if value >= 1024 * 1024:
        return f"{value / 1024 / 1024:g} MiB"
    return f"{value / 1024:g} KiB"
