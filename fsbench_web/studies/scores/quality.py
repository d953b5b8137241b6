"""What the numbers of a series are worth: flags of its cells, and scores of those that are sound.

Everything is judged once, when results come in (``ingest.rescore``), over all finished repeats of
the series, because a number may only look odd beside the others. What it was judged by is kept in
``Series.quality``:

    {"rules": 2, "tool": "iozone", "direct_io": false, "memory_kb": 16384000 or null,
     "limit_kb_s": 200000.0 or null, "limit_from": "stated" or "direct I/O" or "probe" or "",
     "boundaries": {test: {"fall": 8.1, "edges": [[record KB, last cached KB, first beyond KB,
                                                   whether the record size shows it itself]]}}}
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import Q

from fsbench_web.catalog.workers.machines import EMULATED, KVM
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring import quality_cells as cells
from fsbench_web.core.scoring.cache_boundary import Boundary, CacheEdge, boundary
from fsbench_web.core.scoring.quality import (
    ABOVE_DEVICE,
    BUFFERED,
    BUSY,
    CLOCK,
    CONTENDED,
    DRIFTED,
    OUTLIER,
    RULES,
    SPIKE,
    SWAPPED,
    UNSTEADY,
    has_swapped,
)
from fsbench_web.core.scoring.quality_cells import Mask, TestColumns
from fsbench_web.core.units import is_known, lower_is_better
from fsbench_web.studies.models import UNTRACED, Run, RunState, Series
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.drift import LEAST_DRIFT_PERCENT
from fsbench_web.studies.scores.queries import ScoreFilter
from fsbench_web.studies.scores.shares import SeriesCeilings, ceilings_of

CELL_FLAGS = (CLOCK, ABOVE_DEVICE, BUFFERED, OUTLIER, SPIKE, UNSTEADY)
"""Flags of a number, in the order of their bits."""
STATED = "stated"
DIRECT = "direct I/O"
PROBE = "probe"
STEADY_STATE = "steady_state"
"""Of a run's conditions: {"attained": [tests with their loads], "missed": [...]}."""
READ_OF_RUNS = ("is_contended", "drift_percent", "conditions", "block", "probe_id")
"""What is read of each finished run beside its key."""
_POSTMARK_TIMES = ("postmark_total_time", "postmark_transactions_time")
_POSTMARK_TRANSACTIONS = ("postmark_transactions", "postmark_transactions_time")
# IOzone's largest matrix has some thousand cells; a dictionary of millions would fill memory.
_MOST_VALUES_OF_BOUNDARY = 200_000
_UNKNOWN = 1 << 7
Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class SeriesContext:
    """What numbers of a series are judged by; None where unknown.

    ``tool``: "" if unknown. ``limit_kb_s``: more than the device delivers. ``unsound``: flags of
    whole runs, by run. ``blocks``: by run. ``elapsed_s``: PostMark's times by run, (all,
    transactions). ``unsteady``: (run, test) that did not reach the steady state.
    """

    tool: str = ""
    is_direct: bool = False
    limit_kb_s: float | None = None
    limit_from: str = ""
    memory_kb: float | None = None
    unsound: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    elapsed_s: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    blocks: Mapping[int, str] = field(default_factory=dict)
    ceilings: SeriesCeilings | None = None
    unsteady: frozenset[tuple[int, str]] = frozenset()

    def as_dict(self, boundaries: Mapping[str, Boundary]) -> dict[str, Any]:
        """For ``Series.quality``."""
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


def boundary_of(quality: Mapping[str, Any] | None, test: str) -> Boundary | None:
    """The boundary of a test as ``Series.quality`` keeps it; None where none was seen."""
    stored = ((quality or {}).get("boundaries") or {}).get(test)
    if stored is None:
        return None
    return Boundary(
        {record: CacheEdge(cached, beyond) for record, cached, beyond, _ in stored["edges"]},
        frozenset(record for record, _, _, is_seen in stored["edges"] if is_seen),
        stored["fall"],
    )


def basis_of(
    series: Series,
    finished: Iterable[Run] | None = None,
) -> SeriesContext:
    """What is known of a series now; its ``finished`` runs are read if not given."""
    workload, hardware = series.workload, series.hardware
    tool = workload.tool if workload else ""
    parameters = workload.parameters if workload else {}
    is_direct = bool(parameters.get("direct_io")) or cells.requests_direct_io(
        parameters.get("modes") or ()
    )
    runs = _facts_of_runs(series, finished)
    memory_bytes = runs.memory_bytes
    if series.runs_on.is_guest:  # what the host has is no cache of a guest's: its disks bypass it
        memory_bytes = [float(series.runs_on.memory_bytes)]
    limit, limit_from = None, ""
    ceilings = ceilings_of(series, runs.probe_ids)
    if ceilings is not None:
        limit_from = PROBE
    elif hardware is not None and hardware.deliverable_kb_s:
        limit, limit_from = hardware.deliverable_kb_s, STATED
    elif not is_direct and (best := best_direct_kb_s(series)) is not None:
        limit, limit_from = cells.HEADROOM * best, DIRECT
    return SeriesContext(
        tool,
        is_direct,
        limit,
        limit_from,
        min(memory_bytes) / 1024 if memory_bytes else None,
        runs.unsound,
        _postmark_times(_stored(series)) if tool == "postmark" else {},
        runs.blocks,
        ceilings,
        frozenset(runs.unsteady),
    )


@dataclass
class _RunFacts:
    """What is known of finished runs; the first two as ``SeriesContext`` has them."""

    unsound: dict[int, tuple[str, ...]] = field(default_factory=dict)
    blocks: dict[int, str] = field(default_factory=dict)
    memory_bytes: list[float] = field(default_factory=list)
    probe_ids: set[int] = field(default_factory=set)
    unsteady: set[tuple[int, str]] = field(default_factory=set)


def flags_of_run(
    is_contended: bool, drift_percent: float | None, busy: object, swap: Any
) -> tuple[str, ...]:
    """Flags of all numbers of a run. ``busy`` and ``swap`` are of its conditions, None without."""
    has_drifted = drift_percent is not None and abs(drift_percent) >= LEAST_DRIFT_PERCENT
    parts = ((CONTENDED, is_contended), (DRIFTED, has_drifted), (BUSY, busy is not None))
    return tuple(flag for flag, is_so in (*parts, (SWAPPED, has_swapped(swap))) if is_so)


def _facts_of_runs(series: Series, finished: Iterable[Run] | None) -> _RunFacts:
    rows: Iterable[tuple[Any, ...]]
    if finished is None:
        of_series = Run.objects.filter(
            series=series, state=RunState.DONE, tracing=UNTRACED
        ).order_by("id")
        rows = of_series.values_list("id", *READ_OF_RUNS)
    else:
        rows = map(attrgetter("id", *READ_OF_RUNS), finished)
    runs = _RunFacts()
    for run_id, is_contended, drift, conditions, block, probe_id in rows:
        conditions = conditions or {}
        noted = (conditions.get("busy"), conditions.get("swap"))
        if flags := flags_of_run(is_contended, drift, *noted):
            runs.unsound[run_id] = flags
        if block:
            runs.blocks[run_id] = block
        runs.unsteady |= {(run_id, test) for test in _unsteady_tests(conditions)}
        total = (conditions.get("before") or {}).get("memory_total_bytes")
        if isinstance(total, int | float) and total > 0:
            runs.memory_bytes.append(float(total))
        if probe_id is not None:
            runs.probe_ids.add(probe_id)
    return runs


def _unsteady_tests(conditions: Mapping[str, Any]) -> list[str]:
    """The tests, with their loads, that were to become steady and did not."""
    return list((conditions.get(STEADY_STATE) or {}).get("missed") or ())


def best_direct_kb_s(series: Series) -> float | None:
    """The best unflagged rate of direct I/O on the same LUN, KB/s; None without any. One query.

    Emulated guests count among themselves.
    """
    if series.lun_id is None:
        return None
    key = "series__machine__accelerator"
    condition = (
        Q(**{key: EMULATED})
        if series.runs_on.is_emulated
        # Not its negation: of a key that is missing a database says neither yes nor no.
        else Q(**{f"{key}__isnull": True}) | Q(**{key: KVM})
    )
    scores = ScoreFilter(categories=("maximum",)).scores.filter(
        condition,
        series__lun=series.lun_id,
        series__workload__tool="iozone",
        series__workload__parameters__direct_io=True,
        unit="KB/s",
    )
    rates = [
        value
        for test, value, flags in scores.values_list("test", "value", "flags")
        if not cells.is_buffered(test, True) and not {CLOCK, SPIKE} & set(flags)
    ]
    return max(rates, default=None)


def _stored(series: Series) -> Iterator[tuple[int, MeasurementColumns]]:
    for block in measurements.listed(measurements.of_finished([series.pk]), samples=False):
        if any(test in _POSTMARK_TIMES for test, *_ in block.tests):
            yield block.run_id, block.read().columns


def _postmark_times(
    numbers: Iterable[tuple[int, MeasurementColumns]],
) -> dict[int, tuple[float, float]]:
    """In s, by run, in the order of _POSTMARK_TIMES: at whatever load, the longest."""
    by_run: dict[int, dict[str, float]] = {}
    for run_id, columns in numbers:
        of_times = columns.of_tests(lambda test: test[0] in _POSTMARK_TIMES)
        for test, _, _, value, _ in columns.subset(of_times).rows():
            of_run = by_run.setdefault(run_id, {})
            of_run[test.test] = max(value, of_run.get(test.test, value))
    nothing = float("nan")
    return {
        run_id: (times.get(_POSTMARK_TIMES[0], nothing), times.get(_POSTMARK_TIMES[1], nothing))
        for run_id, times in by_run.items()
    }


@dataclass(frozen=True)
class FlaggedCells:
    """The flags of each number as bits (``CELL_FLAGS``), and the cache boundary of the test."""

    bits: Bits
    boundary: Boundary | None

    def has(self, slug: str) -> Mask:
        """Which numbers carry a flag."""
        return np.asarray(self.bits & (1 << CELL_FLAGS.index(slug)) != 0, dtype=np.bool_)


def judge(test: str, unit: str, columns: TestColumns, basis: SeriesContext) -> FlaggedCells:
    """The flags of all numbers of one test of one series."""
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
    """By the tool's own clock; other tools are never limited.

    IOzone's test names count in tables without a tool, too. PostMark's rates take the time of its
    transactions, or of everything if it prints no other.
    """
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
    """The flags of one number."""
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
