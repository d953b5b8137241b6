"""The boundary between cache and device along the file size. Pure.

One change point by least absolute deviations (docs/method.md#quality-flags).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, log
from statistics import median, median_low

from fsbench_web.core.scoring.categories import Cell

LEAST_SIZES = 5
LEAST_ON_EACH_SIDE = 2
LEAST_FALL = 2.0
LEAST_EXPLAINED = 0.6
LEAST_SHARE_OF_MEMORY = 0.02
MOST_SIZES = 128
"""A record size with more file sizes is not looked at: the search takes the square of them."""


@dataclass(frozen=True)
class CacheEdge:
    """The last file size within the cache and the first beyond it, in KB."""

    cached_kb: int
    uncached_kb: int


@dataclass(frozen=True)
class Boundary:
    """Edges by record size in KB; ``observed_kb`` show their own; ``fall``: median ratio."""

    edges: Mapping[int, CacheEdge]
    observed_kb: frozenset[int]
    fall: float

    def is_cached(self, cell: Cell) -> bool:
        """Which side of the boundary a cell is on; KeyError for an unknown record size."""
        record_kb, file_kb = cell
        return file_kb <= self.edges[record_kb].cached_kb


def edge(speeds: Mapping[int, float]) -> tuple[CacheEdge, float] | None:
    """The edge of one record size and its fall; None: none. ``speeds``: {file size KB: speed}."""
    points = sorted((kb, speed) for kb, speed in speeds.items() if isfinite(speed) and speed > 0)
    if not LEAST_SIZES <= len(points) <= MOST_SIZES:
        return None
    sizes = [kb for kb, _ in points]
    logs = [log(speed) for _, speed in points]
    whole = _spread(logs)
    splits = range(LEAST_ON_EACH_SIDE, len(logs) - LEAST_ON_EACH_SIDE + 1)
    # Where two splits are as good, the one with the larger fall between its neighbours.
    spread, _, split = min(
        (_spread(logs[:k]) + _spread(logs[k:]), logs[k] - logs[k - 1], k) for k in splits
    )
    fall = median(logs[:split]) - median(logs[split:])
    # A billionth for rounding: a fall to exactly a half is one.
    if fall < log(LEAST_FALL) - 1e-9 or spread > (1 - LEAST_EXPLAINED) * whole + 1e-9:
        return None
    return CacheEdge(sizes[split - 1], sizes[split]), exp(fall)


def boundary(speeds: Mapping[Cell, float], memory_kb: float | None = None) -> Boundary | None:
    """The boundary of one test from median speeds by cell; None if too few records have one."""
    rows: dict[int, dict[int, float]] = {}
    for (record_kb, file_kb), speed in speeds.items():
        rows.setdefault(record_kb, {})[file_kb] = speed
    able = [record for record, row in rows.items() if LEAST_SIZES <= len(row) <= MOST_SIZES]
    least_kb = LEAST_SHARE_OF_MEMORY * memory_kb if memory_kb else 0.0
    seen = {
        record: edge_and_fall
        for record in able
        if (edge_and_fall := edge(rows[record])) is not None
        and edge_and_fall[0].uncached_kb >= least_kb
    }
    if not seen or 2 * len(seen) < len(able):
        return None
    usual = CacheEdge(
        median_low([cache_edge.cached_kb for cache_edge, _ in seen.values()]),
        median_low([cache_edge.uncached_kb for cache_edge, _ in seen.values()]),
    )
    return Boundary(
        {record: seen[record][0] if record in seen else usual for record in rows},
        frozenset(seen),
        median([fall for _, fall in seen.values()]),
    )


def _spread(values: Sequence[float]) -> float:
    centre = median(values)
    return sum(abs(value - centre) for value in values)
