"""How long runs will take, told from how long finished runs took; never guessed.

The nearest experience counts: the same workload with the same file system on the same LUN, then
with any file system there, then with the same file system anywhere, then the workload anywhere.
Each is the mean over done runs, because sums are made of them. Only runs with the same preparation
count: writing a LUN once may take longer than everything else. So do only runs of the same kind of
machine: an emulated guest takes many times as long.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Avg, Count, ExpressionWrapper, F, fields

from fsbench_web.catalog.workloads.stored import known_workload
from fsbench_web.studies.jobs.planned_runs import PlannedRun
from fsbench_web.studies.models import UNTRACED, Run, RunState

Kind = tuple[int, int, str]
"""(workload, LUN, file system) by keys and slug."""


@dataclass(frozen=True)
class Estimate:
    """Seconds of one run: the mean of ``runs`` done runs; ``basis`` says of which."""

    duration_s: float
    runs: int
    basis: str


@dataclass(frozen=True)
class Total:
    """Seconds of several runs: the known ones together, and how many are not known."""

    known_s: float
    known: int
    unknown: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing from the sum."""
        return self.unknown == 0

    @property
    def duration_s(self) -> float | None:
        """The sum; None where any part of it is not known."""
        return self.known_s if self.is_whole else None


class Experience:
    """How long the done runs of some workloads took. One query when it is made, none later."""

    def __init__(self, workload_ids: Iterable[int]) -> None:
        self._seen: dict[tuple[int, int | None, str | None, str], list[tuple[float, int]]] = (
            defaultdict(list)
        )
        took = ExpressionWrapper(F("ended_at") - F("started_at"), fields.DurationField())
        rows = (
            Run.objects.filter(
                state=RunState.DONE,
                tracing=UNTRACED,
                origin=Run.Origin.MEASURED,
                started_at__isnull=False,
                series__workload__in=set(workload_ids),
            )
            .values_list(
                "series__workload",
                "series__lun",
                "series__configuration__filesystem",
                "series__preparation",
                "series__machine",
            )
            .annotate(mean=Avg(took), count=Count("id"))
            .order_by()
        )
        for workload, lun, filesystem, preparation, machine, mean, count in rows:
            assert isinstance(mean, timedelta)
            one = (mean.total_seconds(), count)
            for place, slug in ((lun, filesystem), (lun, None), (None, filesystem), (None, None)):
                how = _text(preparation, machine)
                self._seen[workload, place, slug, how].append(one)

    def of(
        self,
        kind: Kind,
        preparation: Mapping[str, Any] | None = None,
        machine: Mapping[str, Any] | None = None,
    ) -> Estimate | None:
        """The estimate of one run; None where no run of its workload was ever finished.

        ``preparation`` and ``machine`` are those of its series, empty for a plain new file system
        and for the worker's own executor.
        """
        workload, lun, filesystem = kind
        for place, slug, basis in (
            (lun, filesystem, f"with {filesystem} on this LUN"),
            (lun, None, "on this LUN"),
            (None, filesystem, f"with {filesystem} on other LUNs"),
            (None, None, "on other LUNs"),
        ):
            seen = self._seen.get((workload, place, slug, _text(preparation or {}, machine or {})))
            if seen:
                runs = sum(count for _, count in seen)
                mean_s = sum(mean * count for mean, count in seen) / runs
                return Estimate(mean_s, runs, basis)
        return None


def _text(preparation: Mapping[str, Any], machine: Mapping[str, Any]) -> str:
    kind = [machine.get("executor", ""), machine.get("accelerator", "")]
    return json.dumps([preparation, kind], sort_keys=True)


def total(estimates: Iterable[Estimate | None]) -> Total:
    """What several runs take together."""
    found = list(estimates)
    known = [one.duration_s for one in found if one is not None]
    return Total(sum(known), len(known), len(found) - len(known))


def of_planned(runs: Sequence[PlannedRun]) -> list[Estimate | None]:
    """The estimate of each run that a job would make, in the same order."""
    rows = {run.workload: known_workload(*run.workload) for run in runs}
    seen = Experience(row.pk for row in rows.values() if row is not None)
    found: dict[Kind, Estimate | None] = {}
    estimates = []
    for run in runs:
        row = rows[run.workload]
        kind = (row.pk, run.lun.pk, run.filesystem) if row is not None else None
        if kind is not None and kind not in found:
            found[kind] = seen.of(kind, run.preparation.stored(), run.machine.stored())
        estimates.append(found[kind] if kind is not None else None)
    return estimates


@dataclass(frozen=True)
class Product:
    """The runs of one workload as repeats × configurations × the time of one.

    ``each_s`` is the mean of theirs, None where that of some is not known. ``is_asked``: of some of
    them no run was finished, and what their parameters ask for counts: they take longer.
    """

    workload: str
    repeats: int
    configurations: int
    each_s: float | None
    is_asked: bool

    @property
    def total_s(self) -> float | None:
        return None if self.each_s is None else self.repeats * self.configurations * self.each_s


def products(runs: Sequence[PlannedRun], found: Sequence[Estimate | None]) -> list[Product]:
    """By workload, without the runs of a reference; ``found`` are the estimates of the runs."""
    by_workload: dict[str, list[tuple[PlannedRun, Estimate | None]]] = defaultdict(list)
    for run, estimate in zip(runs, found, strict=True):
        if not run.is_reference:
            by_workload[run.workload_title].append((run, estimate))
    return [_product(title, some) for title, some in by_workload.items()]


def _product(title: str, some: Sequence[tuple[PlannedRun, Estimate | None]]) -> Product:
    repeats = len({run.repeat for run, _ in some})
    asked = some[0][0].workload[1].estimated_s()
    each = [asked if estimate is None else estimate.duration_s for _, estimate in some]
    known = [one for one in each if one is not None]
    mean_s = sum(known) / len(known) if len(known) == len(each) else None
    is_asked = any(estimate is None for _, estimate in some)
    return Product(title, repeats, len(some) // repeats, mean_s, is_asked)
