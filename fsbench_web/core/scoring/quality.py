"""Quality flags and the words for them. Pure. Flags change no number."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring import quality_cells as cells
from fsbench_web.core.scoring.quality_cells import Boundary, Mask, TestColumns, boundary
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.units import is_known, lower_is_better

CLOCK = "clock"
ABOVE_DEVICE = "above_device"
BUFFERED = "buffered"
OUTLIER = "outlier"
SPIKE = "spike"
UNSTEADY = "unsteady"
CONTENDED = "contended"
DRIFTED = "drifted"
BUSY = "busy"
SWAPPED = "swapped"
NOT_FLUSHED = "not_flushed"
OF_RUNS = (CONTENDED, DRIFTED, BUSY, SWAPPED, NOT_FLUSHED)
"""Flags of whole runs; no cell carries them."""
LEAVE_NOTHING_OUT = frozenset({NOT_FLUSHED})
"""Flags of numbers that are sound: what they promise differs, not how they were measured."""
CACHED = "cached"
UNCACHED = "uncached"
EVERY_CELL, SOUND_CELLS = "all", "sound"
CACHED_CELLS, UNCACHED_CELLS = "cached", "uncached"
"""Selections: which cells a score is made of."""

RULES = 5
"""Grows when a rule changes, so that what was judged by an older one can be found and redone."""


@dataclass(frozen=True)
class Flag:
    """``label`` in a word or two, ``of_cells`` in a list of reasons, ``sentence`` to readers."""

    label: str
    of_cells: str
    sentence: str


FLAGS: dict[str, Flag] = {
    CLOCK: Flag(
        "timer resolution",
        "limited by the timer resolution",
        "A data point took fewer than 100 ticks of the tool's timer: its resolution makes it "
        "uncertain by 1% or more.",
    ),
    ABOVE_DEVICE: Flag(
        "exceeds device",
        "exceeding the device",
        "The rate exceeds what the device can deliver: memory was measured, not the disk.",
    ),
    BUFFERED: Flag(
        "buffered",
        "not reached by direct I/O",
        "The run asked for direct I/O, but IOzone's fwrite, refwrite, fread and refread use the "
        "buffered streams of the C library, and so the page cache.",
    ),
    OUTLIER: Flag(
        "outlier",
        "far off in one repeat",
        "One repeat is far from the others, given how much these scatter.",
    ),
    SPIKE: Flag(
        "lone spike",
        "a lone spike",
        "No neighbour in block or file size reaches two thirds of the best.",
    ),
    UNSTEADY: Flag(
        "not steady",
        "of a test that never became steady",
        "The tool reached its time limit before its rate was steady.",
    ),
    CONTENDED: Flag(
        "contended",
        "of a contended repeat",
        "Another run was active on the same host or controller during one of the repeats.",
    ),
    DRIFTED: Flag(
        "drifted",
        "of a repeat while the machine drifted",
        "The reference configuration of the job had changed by 5% or more around one of the "
        "repeats. Either the machine changed, or the reference scatters that much.",
    ),
    BUSY: Flag(
        "busy machine",
        "of a repeat on a busy machine",
        "The machine was busy with other work when one of the repeats began. Its load average, "
        "less what an earlier benchmark left in it, was above 0.5 a processor.",
    ),
    SWAPPED: Flag(
        "may have swapped",
        "of a repeat whose limit of memory was none of swap",
        "The kernel could not limit the swap of one of the repeats, and something was swapped out "
        "meanwhile: it may have had more memory than its limit.",
    ),
    NOT_FLUSHED: Flag(
        "syncs not flushed",
        "of a repeat that flushed the device too rarely",
        "The device got fewer flushes than the syncs of the workload need: synced data can be lost "
        "in a power failure.",
    ),
}
LEFT_OUT: dict[str, str] = {
    **{slug: flag.of_cells for slug, flag in FLAGS.items()},
    CACHED: "within the cache",
    UNCACHED: "beyond the cache",
}
"""Why cells are left out of a selection, in words."""


def has_swapped(swap: Mapping[str, Any] | None) -> bool:
    """Whether a run may have swapped beyond its limit of memory (``swap`` of its conditions)."""
    return swap is not None and swap.get("written_bytes") != 0


def ordered(flags: set[str]) -> list[str]:
    """Flags in the order of ``FLAGS``; those it does not know last, by name."""
    return [*(slug for slug in FLAGS if slug in flags), *sorted(flags - set(FLAGS))]


def left_out_in_words(left_out: Mapping[str, Any]) -> str:
    """What a selection left out of a score, and why, in a sentence."""
    cells, taken = left_out["cells"], left_out["numbers"]
    whole = f"{cells} {'whole ' if cells != taken else ''}data point{'s' * (cells != 1)}"
    if cells == taken:
        text = f"{whole} left out"
    else:
        text = f"{taken} of {left_out['of']} numbers left out" + (f", {whole}" if cells else "")
    counts = left_out["why"]
    return f"{text}: " + ", ".join(
        f"{counts[slug]} {LEFT_OUT[slug]}" for slug in LEFT_OUT if slug in counts
    )


# Flags of the numbers of a series, judged over all repeats.

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
