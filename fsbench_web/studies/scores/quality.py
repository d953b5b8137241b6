"""What the numbers of a series are worth: flags of its cells, and scores of those that are sound.

Everything is judged once, when results come in (``ingest.rescore``), over all finished repeats of
the series, because a number may only look odd next to the others. What it was judged by is kept in
``Series.quality``:

    {"rules": 2, "tool": "iozone", "direct_io": false, "memory_kb": 16384000 or null,
     "limit_kb_s": 200000.0 or null, "limit_from": "stated" or "direct I/O" or "probe" or "",
     "boundaries": {test: {"fall": 8.1, "edges": [[record KB, last cached KB, first beyond KB,
                                                   whether the record size shows it itself]]}}}
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from django.db.models import Q

from fsbench_web.catalog.workers.machines import EMULATED, KVM
from fsbench_web.core.activity.durability import LOST
from fsbench_web.core.activity.promises import NOT_KEPT
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring import quality_cells as cells
from fsbench_web.core.scoring.quality import (
    BUSY,
    CLOCK,
    CONTENDED,
    DRIFTED,
    FAILED_CRASH_POINTS,
    NOT_FLUSHED,
    SPIKE,
    SWAPPED,
    has_swapped,
)
from fsbench_web.core.scoring.quality_cells import Boundary, CacheEdge
from fsbench_web.core.scoring.series_quality import POSTMARK_TIMES, SeriesContext, postmark_times
from fsbench_web.studies.models import UNTRACED, Run, RunState, Series
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.drift import LEAST_DRIFT_PERCENT
from fsbench_web.studies.scores.queries import ScoreFilter
from fsbench_web.studies.scores.shares import ceilings_of

STATED = "stated"
DIRECT = "direct I/O"
PROBE = "probe"
STEADY_STATE = "steady_state"
"""Of a run's conditions: {"attained": [tests with their loads], "missed": [...]}."""
READ_OF_RUNS = ("is_contended", "drift_percent", "conditions", "block", "probe_id")
"""What is read of each finished run."""
NOTED = ("busy", "swap", "promise", "durability")
"""What ``flags_of_run`` takes of a run's conditions."""


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
        postmark_times(_stored(series)) if tool == "postmark" else {},
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
    is_contended: bool,
    drift_percent: float | None,
    busy: object,
    swap: Any,
    promise: Any,
    durability: Any,
) -> tuple[str, ...]:
    """Flags of all numbers of a run. The last four are of its conditions, None without."""
    parts = (
        (CONTENDED, is_contended),
        (DRIFTED, drift_percent is not None and abs(drift_percent) >= LEAST_DRIFT_PERCENT),
        (BUSY, busy is not None),
        (SWAPPED, has_swapped(swap)),
        (NOT_FLUSHED, (promise or {}).get("verdict") == NOT_KEPT),
        (FAILED_CRASH_POINTS, (durability or {}).get("verdict") == LOST),
    )
    return tuple(flag for flag, is_so in parts if is_so)


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
        noted = map(conditions.get, NOTED)
        if flags := flags_of_run(is_contended, drift, *noted):
            runs.unsound[run_id] = flags
        if block:
            runs.blocks[run_id] = block
        steadiness = conditions.get(STEADY_STATE) or {}
        runs.unsteady |= {(run_id, test) for test in steadiness.get("missed") or ()}
        total = (conditions.get("before") or {}).get("memory_total_bytes")
        if isinstance(total, int | float) and total > 0:
            runs.memory_bytes.append(float(total))
        if probe_id is not None:
            runs.probe_ids.add(probe_id)
    return runs


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
        if any(test in POSTMARK_TIMES for test, *_ in block.tests):
            yield block.run_id, block.read().columns
