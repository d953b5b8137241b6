"""Whether a worker takes runs: what a person decides, apart from what the worker says of itself.

A drained worker finishes what it runs and claims nothing new (studies.runs.lifecycle.claim); its
queued runs wait. Its announcements change nothing of that, and neither does a restart.
"""

from django.db import transaction

from fsbench_web.accounts import audit
from fsbench_web.catalog.models import Worker
from fsbench_web.platform import clock


@transaction.atomic
def set_drained(worker: Worker, is_drained: bool, *, by: str) -> bool:
    """Drain the worker or let it take runs again; the only writer of these columns.

    False when it was so already: then it stays as it was, with who drained it first and when.
    """
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


def hold_all(*, by: str) -> list[str]:
    """Drain every worker at once; returns the names of those that were not.

    Asks for these columns alone: the tables may be of an earlier version, which the audit log
    cannot be written in. Whoever calls notes it there.
    """
    waiting = Worker.objects.filter(drained_at__isnull=True)
    with transaction.atomic():
        names = list(waiting.order_by("name").values_list("name", flat=True))
        waiting.filter(name__in=names).update(drained_at=clock.now(), drained_by=by)
    return names


def note_held(names: list[str], *, by: str) -> None:
    """What ``hold_all`` did, in the audit log."""
    for name in names:
        audit.note_here("worker drained", f"worker {name}", by=by)
