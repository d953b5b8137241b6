"""Which run is next: the one place that answers, for claims, for messages and for the worker.

A run waits while it is queued and its order is not paused. Of those that wait on a LUN the one of
the highest priority is next, and among equals the one that was ordered first.
"""

from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Run, RunState

# Every order has one; a run whose order was deleted counts as usual.
USUAL_PRIORITY = 0


def waiting() -> QuerySet[Run]:
    """All runs that may be claimed, the next one first."""
    return (
        Run.objects.filter(state=RunState.QUEUED, submission__paused_at=None)
        # A run without an order has no row to join, and nothing that could be paused.
        .order_by(Coalesce(F("submission__priority"), USUAL_PRIORITY).desc(), "id")
    )


def next_run(lun: Lun | int) -> Run | None:
    """The run that this LUN's worker is to take now, or None."""
    return waiting().filter(series__lun=lun).select_related("series__lun__worker").first()


def before(run: Run) -> int:
    """How many runs of the same LUN come before a run that waits: active, or earlier in turn."""
    ids = list(waiting().filter(series__lun=run.series.lun_id).values_list("id", flat=True))
    active = Run.objects.filter(series__lun=run.series.lun_id, lease__isnull=False).count()
    return active + (ids.index(run.pk) if run.pk in ids else len(ids))
