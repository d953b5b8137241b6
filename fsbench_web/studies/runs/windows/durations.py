"""How long runs will take, from how long finished runs took; never guessed.

The nearest experience counts: workload, file system and LUN; then workload and LUN; then workload
and file system; then the workload. Each is a median, so that a clock that was set does not count.
Preparation and machine must be the same.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from django.db.models import Count, ExpressionWrapper, F, Window, fields
from django.db.models.functions import RowNumber

from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.studies.models import UNTRACED, Run, RunState

Kind = tuple[int, int, str]
"""(workload, LUN, file system) by keys and slug."""

_KIND = (
    "series__workload",
    "series__lun",
    "series__configuration__filesystem",
    "series__preparation",
    "series__machine",
)


@dataclass(frozen=True)
class Estimate:
    """Seconds of one run: what ``runs`` done runs took; ``basis`` names them."""

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
        kind = [F(name) for name in _KIND]
        rows = (
            Run.objects.filter(
                state=RunState.DONE,
                tracing=UNTRACED,
                origin=Run.Origin.MEASURED,
                started_at__lt=F("ended_at"),
                series__workload__in=set(workload_ids),
            )
            .annotate(
                took=took,
                place_by_time=Window(RowNumber(), kind, order_by=["took", "id"]),
                count=Window(Count("id"), kind),
            )
            # The one in the middle of its kind, or the two.
            .filter(
                place_by_time__gte=F("count") / 2.0,
                place_by_time__lte=F("count") / 2.0 + 1,
            )
            .order_by()
            .values_list(*_KIND, "count", "took")
        )
        middle = defaultdict(list)
        for workload, lun, filesystem, preparation, machine, count, took_s in rows:
            circumstances = _text(preparation, machine)
            middle[workload, lun, filesystem, circumstances, count].append(took_s.total_seconds())
        for (workload, lun, filesystem, circumstances, count), times_s in middle.items():
            entry = (mean(times_s), count)
            for place, slug in ((lun, filesystem), (lun, None), (None, filesystem), (None, None)):
                self._seen[workload, place, slug, circumstances].append(entry)

    def of(
        self,
        kind: Kind,
        preparation: Mapping[str, Any] | None = None,
        machine: Mapping[str, Any] | None = None,
    ) -> Estimate | None:
        """The estimate of one run, with its series' preparation and machine; None without
        experience.
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
                duration_s = sum(time_s * count for time_s, count in seen) / runs
                return Estimate(duration_s, runs, basis)
        return None


def _text(preparation: Mapping[str, Any], machine: Mapping[str, Any]) -> str:
    kind = [machine.get("executor", ""), machine.get("accelerator", "")]
    return json.dumps([preparation, kind], sort_keys=True)


def total(estimates: Iterable[Estimate | None]) -> Total:
    """What several runs take together."""
    listed = list(estimates)
    known_s = [estimate.duration_s for estimate in listed if estimate is not None]
    return Total(sum(known_s), len(known_s), len(listed) - len(known_s))


def of_runs(runs: Sequence[Run]) -> list[float | None]:
    """Seconds of each run: what others took, else what its parameters ask for; None: not known.
    Runs come with ``series__configuration`` and ``series__workload``. One query.
    """
    seen = Experience(run.series.workload_id for run in runs if run.series.workload_id is not None)
    return in_seconds(runs, [estimate_of(run, seen) for run in runs])


def estimate_of(run: Run, seen: Experience) -> Estimate | None:
    """What others took that are like this run; None without experience."""
    series = run.series
    if series.workload_id is None or series.lun_id is None:
        return None
    kind = (series.workload_id, series.lun_id, series.configuration.filesystem)
    return seen.of(kind, series.preparation, series.machine)


def in_seconds(runs: Sequence[Run], estimates: Sequence[Estimate | None]) -> list[float | None]:
    """As a claim counts them: without a finished run, what the workload's parameters ask for."""
    return [
        _asked_s(run) if estimate is None else estimate.duration_s
        for run, estimate in zip(runs, estimates, strict=True)
    ]


def _asked_s(run: Run) -> float | None:
    """Seconds that the workload's parameters ask for; None where the disk decides."""
    series = run.series
    if series.workload is None:
        return None
    try:
        return workload_of(series.workload.tool, series.workload.parameters).estimated_s()
    except ParameterError:  # of a workload that is not installed any more
        return None
