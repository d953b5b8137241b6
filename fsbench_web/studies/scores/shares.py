"""What scores are of what their LUNs can do by themselves: ceilings and shares, for any reader.

The ceiling of a score is the mean of what the probes of its runs' blocks say (core.scoring.ceilings
has the rules); of a matrix it is made of its cells' ceilings as the score is of its cells. Three
queries, however many series.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fsbench_web.core.scoring import ceilings
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN
from fsbench_web.core.scoring.ceilings import Ceiling, Probe, Request
from fsbench_web.core.workloads import ParameterError, Workload, workload_of
from fsbench_web.studies.models import LunProbe, Run, RunState, Series

OVERALL = "overall"  # a sum of the others, and no rate
MOST_PROBES = 2000
"""That one answer reads: a block has one, whatever the number of its runs."""


@dataclass(frozen=True)
class Share:
    """A score in percent of its ceiling.

    ``ceiling`` is in the unit of the score; ``of`` says what the LUN did, ``probes`` how many
    blocks it is the mean of. ``spread_percent`` is that of the least sure point behind it.
    """

    percent: float
    ceiling: float
    of: str
    probes: int
    spread_percent: float | None
    is_between: bool

    @property
    def is_not_of_the_disk(self) -> bool:
        return self.percent > ceilings.NOT_OF_THE_DISK_PERCENT


@dataclass
class SeriesCeilings:
    """The ceilings of one series; ``probes`` are those of its finished runs, by their keys."""

    workload: Workload | None
    probes: Sequence[Probe] = ()
    _found: dict[Request, Ceiling | None] = field(default_factory=dict)

    def share(self, value: float, unit: str, test: str, category: str) -> Share | None:
        """What a score is of its ceiling; None where it has none."""
        found = self.ceiling(test, category)
        percent = found and ceilings.share_percent(value, unit, test, found)
        if found is None or not percent:
            return None
        # A latency that is twice the LUN's own is half its speed.
        is_less_better = ceilings.is_of_time(unit)
        return Share(
            percent,
            value * percent / 100 if is_less_better else value * 100 / percent,
            found.request.words(),
            len(self.probes),
            found.spread_percent,
            found.is_between,
        )

    def ceiling(self, test: str, category: str) -> Ceiling | None:
        """That of a score of this test and category."""
        if self.workload is None or not self.probes:
            return None
        if category == MEAN:
            request = self.workload.counterpart(test)
            return None if request is None else self._of(request)
        if category == OVERALL:
            return None
        cells = [cell for cell in self._cells if CATEGORIES[category].holds(cell)]
        by_record = {record: self._of_record(test, record) for record, _ in cells}
        known = [one for record, _ in cells if (one := by_record[record]) is not None]
        return ceilings.of_cells(known, category) if known and len(known) == len(cells) else None

    @cached_property
    def _cells(self) -> list[tuple[int, int]]:
        return list(self.workload.cells()) if self.workload else []

    def _of_record(self, test: str, record_kb: int) -> Ceiling | None:
        assert self.workload is not None
        request = self.workload.counterpart(test, record_kb)
        return None if request is None else self._of(request)

    def _of(self, request: Request) -> Ceiling | None:
        """The mean over the probes; None where one of them has none."""
        if request not in self._found:
            every = [ceilings.ceiling(probe, request) for probe in self.probes]
            known = [one for one in every if one is not None]
            self._found[request] = ceilings.mean_of(known) if len(known) == len(every) else None
        return self._found[request]


def ceilings_of(serieses: Iterable[Series]) -> dict[int, SeriesCeilings]:
    """By series, of those that have any; each with its workload read."""
    by_id = {series.pk: series for series in serieses}
    of_series = _probe_ids(by_id)
    probes = _read(set().union(*of_series.values())) if of_series else {}
    found = {}
    for pk, ids in of_series.items():
        workload = by_id[pk].workload
        try:
            kind = workload_of(workload.tool, workload.parameters) if workload else None
        except ParameterError:
            kind = None  # of another release
        known = [probes[one] for one in sorted(ids) if one in probes]
        if known:
            found[pk] = SeriesCeilings(kind, known)
    return found


def _probe_ids(series_ids: Collection[int]) -> dict[int, set[int]]:
    rows = Run.objects.filter(
        series__in=list(series_ids), state=RunState.DONE, probe__isnull=False
    ).order_by()
    found: dict[int, set[int]] = {}
    for series_id, probe_id in rows.values_list("series", "probe").distinct():
        assert probe_id is not None
        found.setdefault(series_id, set()).add(probe_id)
    return found


def _read(ids: Collection[int]) -> Mapping[int, Probe]:
    rows = LunProbe.objects.filter(pk__in=sorted(ids)[-MOST_PROBES:]).order_by()
    return {pk: ceilings.read_probe(result) for pk, result in rows.values_list("pk", "result")}
