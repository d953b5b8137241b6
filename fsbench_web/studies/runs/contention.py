"""Which other runs were active on the same host or controller while a run was."""

from datetime import datetime
from typing import Any

from django.db.models import Q

from fsbench_web.studies.models import ACTIVE_STATES, Run


def others_meanwhile(run: Run, until: datetime) -> list[dict[str, Any]]:
    """The runs whose time overlaps that of ``run``: [{run, lun, same}], ``same`` what they share.

    A host is one worker with all its LUNs; a controller is named by the host's own list of LUNs.
    Each of two overlapping runs finds the other when it ends. One query.
    """
    lun = run.series.lun
    if lun is None or run.started_at is None:
        return []
    overlapping = (
        Run.objects.filter(series__lun__worker=lun.worker_id, started_at__lt=until)
        .filter(Q(state__in=ACTIVE_STATES) | Q(ended_at__gt=run.started_at))
        .exclude(pk=run.pk)
        .select_related("series__lun")
        .order_by("id")
    )
    found = []
    for other in overlapping:
        assert other.series.lun is not None
        shares = bool(lun.controller) and lun.controller == other.series.lun.controller
        found.append(
            {
                "run": other.pk,
                "lun": other.series.lun.name,
                "same": "controller" if shares else "host",
            }
        )
    return found
