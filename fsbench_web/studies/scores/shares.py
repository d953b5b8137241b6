"""What the scores of a series are of what its LUN can do by itself.

The ceiling of a score is the mean of what the probes of its runs' blocks say (core.scoring.ceilings
has the rules); of a matrix it is made of its cells' ceilings as the score is of its cells. Shares
are made with the scores (``ingest.rescore``) and kept with them, so that every reader has the same.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fsbench_web.core.scoring import ceilings
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN
from fsbench_web.core.scoring.ceilings import Ceiling, Probe, Request
from fsbench_web.core.scoring.columns import TestColumns
from fsbench_web.core.scoring.quality_cells import Mask, Numbers
from fsbench_web.core.scoring.shares import Share, is_of_time, most_percent, share_of, share_percent
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
        """What a score is of its ceiling; None where it has none.

        ``cells`` are how many of each record size it is made of; None: all that the workload has.
        """
        found = self.ceiling(test, category, cells)
        if found is None:
            return None
        return share_of(value, unit, test, found, len(self.probes))

    def in_unit(self, unit: str, test: str, record_kb: int | None = None) -> float | None:
        """What the LUN did of one test, or of one record size of it, in the unit of its numbers."""
        share = self.share_of_one(unit, test, record_kb)
        return share.ceiling if share else None

    def share_of_one(self, unit: str, test: str, record_kb: int | None = None) -> Share | None:
        """The same as the share of 1 ``unit``, whose ceiling it is, with what that rests on."""
        found = self._of(test, record_kb)
        return share_of(1.0, unit, test, found, len(self.probes)) if found else None

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
        known = [one for record in records if (one := self._of(test, record)) is not None]
        return ceilings.of_cells(known, category) if known and len(known) == len(records) else None

    def above(self, test: str, unit: str, columns: TestColumns) -> Mask:
        """Which numbers are more than the LUN does by itself, for sure, and so not of the disk."""
        found = np.zeros(len(columns.values), dtype=np.bool_)
        for record in np.unique(columns.records).tolist():
            one = self._of(test, record if record > 0 else None)
            known = one and share_percent(1.0, unit, test, one)
            if one is not None and known and one.spread_percent is not None:
                most = most_percent(one.spread_percent)
                above = _is_above(columns.values, known, most, is_of_time(unit))
                found |= above & (columns.records == record)
        return found

    @cached_property
    def _cells(self) -> list[tuple[int, int]]:
        return list(self.workload.cells())

    def _of(self, test: str, record_kb: int | None) -> Ceiling | None:
        """The mean over the probes; None where one of them has none."""
        request = self.workload.counterpart(test, record_kb)
        if request is None:
            return None
        if request not in self._found:
            every = [ceilings.ceiling(probe, request) for probe in self.probes]
            known = [one for one in every if one is not None]
            self._found[request] = ceilings.mean_of(known) if len(known) == len(every) else None
        return self._found[request]


def _is_above(values: Numbers, percent_of_one: float, most: float, is_of_time: bool) -> Mask:
    """``percent_of_one`` is the share of the value 1; of a time it is of the reciprocal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        percents = percent_of_one / values if is_of_time else percent_of_one * values
        return np.asarray((values > 0) & (percents > most), dtype=np.bool_)


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
    found = {}
    for series in Series.objects.filter(pk__in=of_series).select_related("workload"):
        known = [probes[pk] for pk in sorted(of_series[series.pk]) if pk in probes]
        if (own := _series_ceilings(series, known)) is not None:
            found[series.pk] = own
    return found


def read_probes(ids: Collection[int]) -> dict[int, Probe]:
    """By key, the latest MOST_PROBES of these. One query."""
    kept = LunProbe.objects.filter(pk__in=sorted(ids)[-MOST_PROBES:]).order_by("pk")
    return {pk: ceilings.read_probe(result) for pk, result in kept.values_list("pk", "result")}


def _series_ceilings(series: Series, probes: Sequence[Probe]) -> SeriesCeilings | None:
    if not probes or series.workload is None:
        return None
    try:
        workload = workload_of(series.workload.tool, series.workload.parameters)
    except ParameterError:
        return None  # of another release
    return SeriesCeilings(workload, probes)
