"""Which other runs were active on the same host or controller while a run was."""

from datetime import datetime
from typing import Any

from django.db.models import Q

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import ACTIVE_STATES, Run, RunClient


def overlapping_runs(run: Run, until: datetime) -> list[dict[str, Any]]:
    """The runs that overlap ``run``: [{run, lun, same}], ``same`` is host or controller. Two
    queries.
    """
    lun = run.series.lun
    if lun is None or run.started_at is None:
        return []
    names = [lun.worker.name, *(name for name, _ in run.series.runs_on.clients)]
    as_client = RunClient._base_manager.filter(worker__in=names).values("run")
    overlapping = (
        Run.objects.filter(Q(series__lun__worker__name__in=names) | Q(pk__in=as_client))
        .filter(Q(state__in=ACTIVE_STATES) | Q(ended_at__gt=run.started_at), started_at__lt=until)
        .exclude(pk=run.pk)
        .select_related("series__lun")
        .order_by("id")
    )
    return [
        {
            "run": other.pk,
            "lun": other.series.lun.name if other.series.lun else "",
            "same": "controller" if _shares_controller(lun, other.series.lun) else "host",
        }
        for other in overlapping
    ]


def _shares_controller(lun: Lun, other: Lun | None) -> bool:
    if other is None or not lun.controller:
        return False
    return (lun.worker_id, lun.controller) == (other.worker_id, other.controller)
