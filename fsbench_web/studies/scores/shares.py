"""Scores in percent of what their LUN did (core.scoring.ceilings), stored with the scores."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fsbench_web.core.scoring import ceilings
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN
from fsbench_web.core.scoring.ceilings import Ceiling, Probe, Request
from fsbench_web.core.scoring.quality_cells import Mask, TestColumns
from fsbench_web.core.scoring.shares import (
    Share,
    is_above,
    is_of_time,
    most_percent,
    share_of,
    share_percent,
)
from fsbench_web.core.workloads import ParameterError, Workload, workload_of
from fsbench_web.studies.models import UNTRACED, LunProbe, Run, RunState, Series

OVERALL = "overall"  # a sum of the others, and no rate
MOST_PROBES = 200
"""Of one series, the latest: a block has one, and a hundred say what a thousand would."""


@dataclass
class SeriesCeilings:
    """The ceilings of one series. ``probes`` are those of the blocks of its finished runs."""

    workload: Workload
    probes: Sequence[Probe]
    _found: dict[Request, Ceiling | None] = field(default_factory=dict)

    def share(
        self,
        value: float,
        unit: str,
        test: str,
        category: str,
        cells: Mapping[int, int] | None = None,
    ) -> Share | None:
        """The share of a score of so many ``cells`` of each record size (None: all), if any."""
        ceiling = self.ceiling(test, category, cells)
        if ceiling is None:
            return None
        return share_of(value, unit, test, ceiling, len(self.probes))

    def in_unit(self, unit: str, test: str, record_kb: int | None = None) -> float | None:
        """What the LUN did of one test, or of one record size of it, in the unit of its numbers."""
        share = self.share_of_one(unit, test, record_kb)
        return share.ceiling if share else None

    def share_of_one(self, unit: str, test: str, record_kb: int | None = None) -> Share | None:
        """The same as the share of 1 ``unit``, with its basis."""
        ceiling = self._of(test, record_kb)
        return share_of(1.0, unit, test, ceiling, len(self.probes)) if ceiling else None

    def ceiling(
        self, test: str, category: str, cells: Mapping[int, int] | None = None
    ) -> Ceiling | None:
        """That of a score of this test and category."""
        if category == MEAN:
            return self._of(test, None)
        if category == OVERALL:
            return None
        if cells is not None:
            records = [record for record, count in cells.items() for _ in range(count)]
        else:
            records = [cell[0] for cell in self._cells if CATEGORIES[category].holds(cell)]
        record_ceilings = [
            ceiling for record in records if (ceiling := self._of(test, record)) is not None
        ]
        return (
            ceilings.of_cells(record_ceilings, category)
            if record_ceilings and len(record_ceilings) == len(records)
            else None
        )

    def above_ceiling(self, test: str, unit: str, columns: TestColumns) -> Mask:
        """Which numbers surely exceed the raw LUN, and so are not of the disk."""
        mask = np.zeros(len(columns.values), dtype=np.bool_)
        for record in np.unique(columns.records).tolist():
            if (bound := self.bound(test, unit, record)) is not None:
                above = is_above(columns.values, *bound, is_of_time(unit))
                mask |= above & (columns.records == record)
        return mask

    def bound(self, test: str, unit: str, record_kb: int) -> tuple[float, float] | None:
        """The share of the value 1, and the most that may be of the disk, both in percent."""
        ceiling = self._of(test, record_kb if record_kb > 0 else None)
        percent = ceiling and share_percent(1.0, unit, test, ceiling)
        if ceiling is None or not percent or ceiling.spread_percent is None:
            return None
        return percent, most_percent(ceiling.spread_percent)

    @cached_property
    def _cells(self) -> list[tuple[int, int]]:
        return list(self.workload.cells())

    def _of(self, test: str, record_kb: int | None) -> Ceiling | None:
        """The mean over the probes; None where one of them has none."""
        request = self.workload.counterpart(test, record_kb)
        if request is None:
            return None
        if request not in self._found:
            probe_ceilings = [ceilings.ceiling(probe, request) for probe in self.probes]
            measured = [ceiling for ceiling in probe_ceilings if ceiling is not None]
            self._found[request] = (
                ceilings.mean_of(measured) if len(measured) == len(probe_ceilings) else None
            )
        return self._found[request]


def ceilings_of(series: Series, probe_ids: Collection[int]) -> SeriesCeilings | None:
    """Those of a series by the probes of its runs; None without any. One query, or none."""
    if not probe_ids:
        return None
    return _series_ceilings(series, list(read_probes(probe_ids).values()))


def of_many(series_ids: Collection[int]) -> dict[int, SeriesCeilings]:
    """Those of several series, by key, where their LUNs were measured. Three queries at most."""
    rows = Run.objects.filter(
        series__in=list(series_ids), state=RunState.DONE, tracing=UNTRACED, probe__isnull=False
    ).order_by()
    of_series: dict[int, set[int]] = {}
    for series_id, probe_id in rows.values_list("series", "probe").distinct():
        of_series.setdefault(series_id, set()).add(probe_id or 0)
    if not of_series:
        return {}
    probes = read_probes(set().union(*of_series.values()))
    by_series = {}
    for series in Series.objects.filter(pk__in=of_series).select_related("workload"):
        series_probes = [probes[pk] for pk in sorted(of_series[series.pk]) if pk in probes]
        if (series_ceilings := _series_ceilings(series, series_probes)) is not None:
            by_series[series.pk] = series_ceilings
    return by_series


def read_probes(ids: Collection[int]) -> dict[int, Probe]:
    """By key, the latest MOST_PROBES of these. One query."""
    rows = LunProbe.objects.filter(pk__in=sorted(ids)[-MOST_PROBES:]).order_by("pk")
    return {pk: ceilings.read_probe(result) for pk, result in rows.values_list("pk", "result")}


def _series_ceilings(series: Series, probes: Sequence[Probe]) -> SeriesCeilings | None:
    if not probes or series.workload is None:
        return None
    try:
        workload = workload_of(series.workload.tool, series.workload.parameters)
    except ParameterError:
        return None  # of another release
    return SeriesCeilings(workload, probes)
