"""Which runs began while their machine was busy: ``Run.conditions["busy"]``, missing otherwise.

{"load": 3.79, "of_others": 2.1, "processors": 2}
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.scoring.busy import FORGOTTEN_S, is_busy, load_of_others
from fsbench_web.studies.models import Run, RunState


def judged_conditions(run: Run) -> dict[str, Any]:
    """The conditions of a run with ``busy`` where that is so. At most two queries."""
    noted: dict[str, Any] = {
        key: value for key, value in (run.conditions or {}).items() if key != "busy"
    }
    before = noted.get("before") or {}
    load, processors = (before.get("load") or [None])[0], _processors(run, before)
    if load is None or not processors or not is_busy(load, processors):
        return noted
    others = load_of_others(load, _earlier_runs(run))
    if others is None or not is_busy(others, processors):
        return noted
    return noted | {"busy": {"load": load, "of_others": others, "processors": processors}}


def judge_series(series_id: int) -> None:
    """Judge the finished runs of a series that were measured here, and write what changes."""
    runs = Run.objects.filter(
        series=series_id, state=RunState.DONE, started_at__isnull=False
    ).select_related("environment", "series__lun")
    for run in runs.order_by("id").iterator(chunk_size=100):
        if (conditions := judged_conditions(run)) != run.conditions:
            Run.objects.filter(pk=run.pk).update(conditions=conditions)


def _processors(run: Run, before: Mapping[str, Any]) -> int | None:
    """Of the host, as the run noted it; older runs did in their environment, but of a guest's."""
    if processors := before.get("processors"):
        return int(processors)
    if run.environment is None or run.series.runs_on.is_guest:
        return None
    values = dict(map(tuple, run.environment.facts.get("Machine") or ()))
    online = str(values.get("Processors online", ""))
    return int(online) if online.isdecimal() else None


def _earlier_runs(run: Run) -> list[tuple[str, float]]:
    """(tool, seconds from its end) of the host's last runs; no tool if tasks are unknown."""
    lun, start = run.series.lun, run.started_at
    if lun is None or start is None:
        return []
    runs = Run.objects.filter(
        series__lun__worker=lun.worker_id,
        started_at__isnull=False,
        ended_at__gt=start - timedelta(seconds=FORGOTTEN_S),
        ended_at__lte=start,
    ).values_list("series__workload__tool", "series__machine", "is_contended", "ended_at")
    return [
        (
            "" if is_contended or Machine.of(machine).is_guest else tool or "",
            (start - ended).total_seconds(),
        )
        for tool, machine, is_contended, ended in runs
        if ended is not None
    ]
