"""Which run is next: the one answer for claims, messages and the worker.

A run waits while it is queued, its job is not paused and may start. Of a LUN's runs the one of the
highest priority is next, then the first submitted; a replacement has the turn of the run it
replaces. A LUN keeps its order: a run that waits for a journal or controller lets no later one
past, and holds up no other LUN. A run of several clients has its turn on all their LUNs, and waits
while one of the workers is drained or silent.
"""

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.platform import clock
from fsbench_web.studies.models import Run, RunState, Series
from fsbench_web.studies.runs import leases

# A run that replaces an interrupted one has the turn of that, and so stays in its block.
IN_TURN = (Coalesce(F("place"), F("id")), "id")
# Every job has one; a run whose job was deleted counts as usual.
USUAL_PRIORITY = 0
_RELATED = ("job", "series__lun__worker", "series__journal_lun")
# So many waiting runs of several clients are looked at: the first of each LUN is among the first.
_MOST_OTHERS = 200


def waiting() -> QuerySet[Run]:
    """All runs that may be claimed, the next one first."""
    return (
        Run.objects.filter(
            Q(job__start_at=None) | Q(job__start_at__lte=clock.now()),
            state=RunState.QUEUED,
            job__paused_at=None,
        )
        # A run without a job has no row to join, and nothing that could be paused.
        .order_by(Coalesce(F("job__priority"), USUAL_PRIORITY).desc(), *IN_TURN)
    )


def next_run(lun: Lun | int) -> Run | None:
    """The run that this LUN's worker takes now; None also if it waits for what others use."""
    run = _first(lun)
    if run is None or run.series.lun is None:
        return run
    if not leases.is_shared(run.series) and not _of_several_clients().exists():
        return run
    return next(
        (candidate for candidate in startable(run.series.lun.worker) if candidate.pk == run.pk),
        None,
    )


def startable(worker: Worker) -> list[Run]:
    """The runs of this worker that can be claimed now together, in turn, one for each LUN."""
    # Every worker asks with every heartbeat, and mostly nothing waits anywhere.
    if not Run.objects.filter(state=RunState.QUEUED).exists():
        return []
    if Worker.objects.filter(pk=worker.pk).exclude(drained_at=None).exists():
        return []
    taken = leases.in_use(worker)
    # A LUN that is no longer listed is asked too: its runs end with the reason.
    luns = [lun for lun in worker.luns.all() if leases.of_lun(lun) not in taken]
    firsts = [run for lun in luns if (run := _first(lun)) is not None]
    if not firsts:
        return []  # as of nearly all heartbeats of a worker that measures
    firsts += _first_of_others(worker)
    chosen = []
    for run in sorted(firsts, key=_turn):
        needed = set(leases.resources(run.series))
        if not needed & taken and not absent_clients(run.series):
            taken |= needed
            # One of another worker is that one's to claim, and has the LUN that it needs here.
            if run.series.lun is not None and run.series.lun.worker_id == worker.pk:
                chosen.append(run)
    return chosen


def absent_clients(series: Series) -> list[str]:
    """The other workers of its runs that take none now: drained, or without a heartbeat. No
    query where it has no others.
    """
    since = clock.now() - leases.lease_duration()
    workers = [lun.worker for lun in series.clients]
    return [worker.name for worker in workers if worker.is_drained or worker.seen_at < since]


def _of_several_clients() -> QuerySet[Run]:
    return waiting().filter(series__machine__has_key="clients")


def _first_of_others(worker: Worker) -> list[Run]:
    """The next runs of other, present workers' LUNs that measure with this worker too."""
    by_lun: dict[int, Run] = {}
    rows = _of_several_clients().filter(
        series__lun__worker__drained_at=None,
        series__lun__worker__seen_at__gte=clock.now() - leases.lease_duration(),
    )
    for run in rows.exclude(series__lun__worker=worker).select_related(*_RELATED)[:_MOST_OTHERS]:
        lun, clients = run.series.lun_id, [name for name, _ in run.series.runs_on.clients]
        if lun is None or lun in by_lun or worker.name not in clients:
            continue
        if not absent_clients(run.series):
            by_lun[lun] = run
    # What comes before it on its own LUN comes before it here.
    return [run for lun, run in by_lun.items() if _first(lun) == run]


def _first(lun: Lun | int) -> Run | None:
    return waiting().filter(series__lun=lun).select_related(*_RELATED).first()


def _turn(run: Run) -> tuple[int, int, int]:
    priority = run.job.priority if run.job else USUAL_PRIORITY
    return -priority, run.pk if run.place is None else run.place, run.pk


def runs_ahead(run: Run) -> int:
    """How many runs of the same LUN come before a run that waits: active, or earlier in turn."""
    ids = list(waiting().filter(series__lun=run.series.lun_id).values_list("id", flat=True))
    active = Run.objects.filter(leases__lun=run.series.lun_id).count()
    return active + (ids.index(run.pk) if run.pk in ids else len(ids))
