"""Drain workers for maintenance: a drained worker finishes its runs and claims nothing new."""

from datetime import datetime

from django.db import transaction

from fsbench_web.accounts import audit
from fsbench_web.catalog.models import Worker
from fsbench_web.platform import clock

# For a database that is being restored (serving.backup): no worker ever sees it without this. It
# asks for these columns alone: the tables may be of an earlier version.
DRAIN_ALL = "UPDATE {table} SET drained_at = {at}, drained_by = {by} WHERE drained_at IS NULL"


@transaction.atomic
def set_drained(worker: Worker, is_drained: bool, *, by: str) -> bool:
    """Drain the worker or let it take runs again. False when it was so already."""
    rows = Worker.objects.filter(pk=worker.pk, drained_at__isnull=is_drained)
    if is_drained:
        changed = rows.update(drained_at=clock.now(), drained_by=by)
    else:
        changed = rows.update(drained_at=None, drained_by="")
    if changed:
        audit.note_here(
            "worker drained" if is_drained else "worker resumed", f"worker {worker.name}", by=by
        )
    worker.refresh_from_db(fields=["drained_at", "drained_by"])
    return changed == 1


def note_drained(at: datetime, *, by: str) -> None:
    """What ``DRAIN_ALL`` did, in the audit log, once the tables are of this version."""
    for worker in Worker.objects.filter(drained_at=at, drained_by=by).order_by("name"):
        audit.note_here("worker drained", f"worker {worker.name}", by=by)
