"""How long the runs of a job that is planned will take (``runs.windows.durations``)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fsbench_web.catalog.workloads.stored import known_workload
from fsbench_web.studies.jobs.planned_runs import PlannedRun
from fsbench_web.studies.runs.windows.durations import Estimate as Estimate
from fsbench_web.studies.runs.windows.durations import Experience as Experience
from fsbench_web.studies.runs.windows.durations import Kind
from fsbench_web.studies.runs.windows.durations import Total as Total
from fsbench_web.studies.runs.windows.durations import total as total


def of_planned(runs: Sequence[PlannedRun]) -> list[Estimate | None]:
    """The estimate of each run that a job would make, in the same order."""
    rows = {run.workload: known_workload(*run.workload) for run in runs}
    seen = Experience(row.pk for row in rows.values() if row is not None)
    by_kind: dict[Kind, Estimate | None] = {}
    estimates = []
    for run in runs:
        row = rows[run.workload]
        kind = (row.pk, run.lun.pk, run.filesystem) if row is not None else None
        if kind is not None and kind not in by_kind:
            by_kind[kind] = seen.of(kind, run.preparation.stored(), run.machine.stored())
        estimates.append(by_kind[kind] if kind is not None else None)
    return estimates


def at_least_s(runs: Sequence[PlannedRun], estimates: Sequence[Estimate | None]) -> float | None:
    """Seconds that all runs take at least; None where nothing is known of any."""
    known_s = [
        run.least_s if estimate is None else estimate.duration_s
        for run, estimate in zip(runs, estimates, strict=True)
    ]
    return sum(seconds or 0.0 for seconds in known_s) or None


@dataclass(frozen=True)
class Product:
    """The runs of one workload as repeats × configurations × seconds of one.

    ``is_asked``: some have no finished run, so ``PlannedRun.least_s`` counts: they take longer.
    """

    workload: str
    repeats: int
    configurations: int
    each_s: float | None
    is_asked: bool

    @property
    def total_s(self) -> float | None:
        return None if self.each_s is None else self.repeats * self.configurations * self.each_s


def products(runs: Sequence[PlannedRun], estimates: Sequence[Estimate | None]) -> list[Product]:
    """By workload, of the runs that count; ``estimates`` are those of all."""
    by_workload: dict[str, list[tuple[PlannedRun, Estimate | None]]] = defaultdict(list)
    for run, estimate in zip(runs, estimates, strict=True):
        if run.is_counted:
            by_workload[run.workload_title].append((run, estimate))
    return [_product(title, estimated) for title, estimated in by_workload.items()]


def _product(title: str, estimated: Sequence[tuple[PlannedRun, Estimate | None]]) -> Product:
    repeats = len({run.repeat for run, _ in estimated})
    durations_s = [
        run.least_s if estimate is None else estimate.duration_s for run, estimate in estimated
    ]
    known_s = [seconds for seconds in durations_s if seconds is not None]
    mean_s = sum(known_s) / len(known_s) if len(known_s) == len(durations_s) else None
    is_asked = any(estimate is None for _, estimate in estimated)
    return Product(title, repeats, len(estimated) // repeats, mean_s, is_asked)
