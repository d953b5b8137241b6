"""Flags of the numbers of a series, judged over all repeats. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring import quality_cells as cells
from fsbench_web.core.scoring.quality import (
    ABOVE_DEVICE,
    BUFFERED,
    CLOCK,
    OUTLIER,
    RULES,
    SPIKE,
    UNSTEADY,
)
from fsbench_web.core.scoring.quality_cells import Boundary, Mask, TestColumns, boundary
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.units import is_known, lower_is_better

CELL_FLAGS = (CLOCK, ABOVE_DEVICE, BUFFERED, OUTLIER, SPIKE, UNSTEADY)
"""Flags of a number, in the order of their bits."""
POSTMARK_TIMES = ("postmark_total_time", "postmark_transactions_time")
_POSTMARK_TRANSACTIONS = ("postmark_transactions", "postmark_transactions_time")
# IOzone's largest matrix has some thousand cells; a dictionary of millions would fill memory.
_MOST_VALUES_OF_BOUNDARY = 200_000
_UNKNOWN = 1 << 7
Bits = npt.NDArray[np.uint8]


class Ceilings(Protocol):
    """What the raw LUN of a series did: bounds of its numbers and scores."""

    def above_ceiling(self, test: str, unit: str, columns: TestColumns) -> Mask:
        """Which numbers are more than the raw LUN does."""

    def share(
        self,
        value: float,
        unit: str,
        test: str,
        category: str,
        cells: Mapping[int, int] | None = None,
    ) -> Share | None:
        """The share of a score of so many cells of each record size (None: all), if any."""


@dataclass(frozen=True)
class SeriesContext:
    """What numbers of a series are judged by; None where unknown.

    ``unsound``: flags of whole runs. ``elapsed_s``: PostMark's times by run (all, transactions).
    ``unsteady``: (run, test) that missed the steady state.
    """

    tool: str = ""
    is_direct: bool = False
    limit_kb_s: float | None = None
    limit_from: str = ""
    memory_kb: float | None = None
    unsound: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    elapsed_s: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    blocks: Mapping[int, str] = field(default_factory=dict)
    ceilings: Ceilings | None = None
    unsteady: frozenset[tuple[int, str]] = frozenset()

    def as_dict(self, boundaries: Mapping[str, Boundary]) -> dict[str, Any]:
        return {
            "rules": RULES,
            "tool": self.tool,
            "direct_io": self.is_direct,
            "memory_kb": self.memory_kb,
            "limit_kb_s": self.limit_kb_s,
            "limit_from": self.limit_from,
            "boundaries": {
                test: {
                    "fall": cache_boundary.fall,
                    "edges": [
                        [
                            record,
                            edge.cached_kb,
                            edge.uncached_kb,
                            record in cache_boundary.observed_kb,
                        ]
                        for record, edge in sorted(cache_boundary.edges.items())
                    ],
                }
                for test, cache_boundary in sorted(boundaries.items())
            },
        }


def postmark_times(
    numbers: Iterable[tuple[int, MeasurementColumns]],
) -> dict[int, tuple[float, float]]:
    """In s, by run, in the order of POSTMARK_TIMES: at whatever load, the longest."""
    by_run: dict[int, dict[str, float]] = {}
    for run_id, columns in numbers:
        of_times = columns.of_tests(lambda test: test[0] in POSTMARK_TIMES)
        for test, _, _, value, _ in columns.subset(of_times).rows():
            of_run = by_run.setdefault(run_id, {})
            of_run[test.test] = max(value, of_run.get(test.test, value))
    nothing = float("nan")
    return {
        run_id: (times.get(POSTMARK_TIMES[0], nothing), times.get(POSTMARK_TIMES[1], nothing))
        for run_id, times in by_run.items()
    }


@dataclass(frozen=True)
class FlaggedCells:
    """The flags of each number as bits (``CELL_FLAGS``), and the cache boundary of the test."""

    bits: Bits
    boundary: Boundary | None

    def has(self, slug: str) -> Mask:
        return np.asarray(self.bits & (1 << CELL_FLAGS.index(slug)) != 0, dtype=np.bool_)


def judge(test: str, unit: str, columns: TestColumns, basis: SeriesContext) -> FlaggedCells:
    values = columns.values
    is_less_better = is_known(unit) and lower_is_better(unit)
    masks = {
        CLOCK: _clock(test, unit, columns, basis),
        SPIKE: cells.spikes(columns.runs, columns.records, columns.files, values, is_less_better),
    }
    if len(columns.by_run[0]) >= cells.LEAST_REPEATS:
        masks[OUTLIER] = cells.outliers(columns.records, columns.files, values)
    if basis.ceilings is not None:
        masks[ABOVE_DEVICE] = basis.ceilings.above_ceiling(test, unit, columns)
    elif basis.limit_kb_s is not None:
        rates = cells.rates_kb_s(unit, columns.records.astype(np.float64), values)
        masks[ABOVE_DEVICE] = cells.above_device(rates, basis.limit_kb_s)
    if missed := {run for run, name in basis.unsteady if name == test}:
        masks[UNSTEADY] = np.isin(columns.runs, list(missed))
    if cells.is_buffered(test, basis.is_direct):
        masks[BUFFERED] = np.ones(len(values), dtype=np.bool_)
    bits = np.zeros(len(values), dtype=np.uint8)
    for slug, mask in masks.items():
        bits |= mask.astype(np.uint8) << CELL_FLAGS.index(slug)
    return FlaggedCells(bits, _boundary(columns, is_less_better, basis))


def _clock(test: str, unit: str, columns: TestColumns, basis: SeriesContext) -> Mask:
    """By the tool's own clock, of IOzone and PostMark alone."""
    if basis.tool == "postmark":
        place = 1 if test in _POSTMARK_TRANSACTIONS else 0
        times = {run: elapsed[place] for run, elapsed in basis.elapsed_s.items()}
        took = np.array([times.get(int(run), np.nan) for run in columns.runs], dtype=np.float64)
        return cells.clock_limited(took, cells.POSTMARK_TICK_S)
    if basis.tool in ("", "table", "iozone") and cells.iozone_test(test):
        took = cells.seconds(
            test,
            unit,
            columns.records.astype(np.float64),
            columns.files.astype(np.float64),
            columns.values,
        )
        return cells.clock_limited(took, cells.IOZONE_TICK_S)
    return np.zeros(len(columns.values), dtype=np.bool_)


def _boundary(columns: TestColumns, is_less_better: bool, basis: SeriesContext) -> Boundary | None:
    if len(columns.values) > _MOST_VALUES_OF_BOUNDARY:
        return None
    medians = cells.cell_medians(columns.records, columns.files, columns.values)
    speeds = {
        cell: 1 / value if is_less_better else value for cell, value in medians.items() if value > 0
    }
    # With direct I/O the edge is of the device's own cache, which has nothing to do with memory.
    return boundary(speeds, None if basis.is_direct else basis.memory_kb)


def slugs(bits: int) -> list[str]:
    return [slug for place, slug in enumerate(CELL_FLAGS) if bits & (1 << place)]


def flags_of(bits: Bits) -> tuple[list[list[str] | None], Bits]:
    """The flags of numbers as they are stored: kinds, and the place in them of each number."""
    present = np.flatnonzero(np.bincount(bits))
    codes = np.zeros(256, dtype=np.uint8)
    codes[present] = np.arange(len(present))
    return [slugs(kind) or None for kind in present.tolist()], codes[bits]


def bits_of(flags: Sequence[str] | None) -> int:
    """Flags of one number as bits; those of another version as bits that nothing has."""
    bits = 0
    for flag in flags or ():
        bits |= 1 << CELL_FLAGS.index(flag) if flag in CELL_FLAGS else _UNKNOWN
    return bits
