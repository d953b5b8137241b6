"""Leases: what a run alone may use while it runs, and the tokens that prove it.

A run needs its LUNs (journal, stack and other clients too), their controllers, and their disks by
worldwide name, because several hosts may list one disk. It takes all in one transaction, or none.
Rows are locked in the order of their keys, and leases before runs.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import CombinedExpression

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.shared_disks import disk_of
from fsbench_web.platform import clock
from fsbench_web.platform.clock import AT_DATABASE
from fsbench_web.studies.models import Lease, Run, Series

Resource = tuple[str, int, str]
"""("lun", its key, ""), ("controller", the key of its worker, its name) or ("disk", 0, its name)"""

Stamp = tuple[int, datetime | None]
"""Token and end of a lease: every heartbeat and every claim writes another one."""

HANDOVER = timedelta(seconds=5)
"""How long no other worker gets the disk of a lost run: the last worker may be ending its tools
(runner.executors.stream.STOP_GRACE_S), where leases are too short to have left time for that."""

MOST_LEASE_S = 3600.0
"""What FSBENCH_WORKER_SILENT_AFTER_S is at most, on whichever host."""


class LeaseLost(Exception):
    """A lease went to another run or expired: stop at once and write nothing."""


@dataclass(frozen=True)
class LeaseHandle:
    """What a worker shows with every write. ``token`` is the data LUN's; ``others`` are (lease,
    token).
    """

    run_id: int
    lun_id: int
    token: int
    others: tuple[tuple[int, int], ...] = ()


def lease_duration() -> timedelta:
    """How long a lease lives without a heartbeat."""
    return timedelta(seconds=settings.WORKER_SILENT_AFTER_S)


def resources(series: Series) -> list[Resource]:
    """What a run of the series alone may use, in a fixed order."""
    luns = series.leased
    return [
        *sorted(of_lun(lun) for lun in luns),
        *sorted({("controller", lun.worker_id, lun.controller) for lun in luns if lun.controller}),
        *sorted({("disk", 0, disk) for lun in luns if (disk := disk_of(lun))}),
    ]


def of_lun(lun: Lun) -> Resource:
    """The LUN itself."""
    return ("lun", lun.pk, "")


def _resource(lease: Lease) -> Resource:
    if lease.lun_id is not None:
        return ("lun", lease.lun_id, "")
    if lease.disk:
        return ("disk", 0, lease.disk)
    assert lease.host_id is not None
    return ("controller", lease.host_id, lease.controller)


def in_use(worker: Worker) -> set[Resource]:
    """All that is leased now, or handed over, for this worker. One query."""
    rows = Lease.objects.exclude(run=None, expires_at=None)
    return {_resource(lease) for lease in rows if _is_taken(lease, worker)}


def held_luns(worker: Worker) -> set[str]:
    """The names of this worker's own LUNs that runs of it hold. One query."""
    rows = Lease.objects.filter(worker=worker, lun__worker=worker).exclude(run=None)
    return set(rows.values_list("lun__name", flat=True))


def _is_taken(lease: Lease, worker: Worker) -> bool:
    """Whether this worker cannot have it now."""
    if lease.run_id is not None:
        return True
    if lease.expires_at is None or lease.worker_id == worker.pk:
        return False
    # What is further away was written before the clock was set back.
    return timedelta() < lease.expires_at - clock.now() <= 2 * HANDOVER


def shared_in_use(series: Series) -> list[tuple[str, int]]:
    """(other LUN, controller or disk in words, the run that uses it), where a run of this series
    would have to wait for another LUN's run. One query.
    """
    others = {lun.pk: lun for lun in series.leased if lun.pk != series.lun_id}
    wanted = Q(controller__in=[lun.controller for lun in series.luns], lun=None)
    wanted &= Q(host=series.lun.worker_id if series.lun else None)
    wanted |= Q(disk__in=[name for kind, _, name in resources(series) if kind == "disk"])
    if others:
        wanted |= Q(lun__in=others)
    rows = Lease.objects.filter(wanted).exclude(run=None).exclude(run__series__lun=series.lun_id)
    return [(_in_words(lease, others), lease.run_id or 0) for lease in rows.order_by("pk")]


def _in_words(lease: Lease, luns: Mapping[int, Lun]) -> str:
    if lease.lun_id is not None:
        return str(luns[lease.lun_id])
    if lease.disk:
        return f"its disk ({lease.disk}, which another LUN is on too)"
    return f"the controller {lease.controller}"


def is_shared(series: Series) -> bool:
    """Whether runs of other LUNs may wait for one of this series. Those that wait for its disk ask
    again with their next heartbeat.
    """
    return sum(kind != "disk" for kind, *_ in resources(series)) > 1


def take(run: Run, worker: Worker) -> LeaseHandle | None:
    """Lease all that the run needs, or nothing. Call it in a transaction."""
    needed = resources(run.series)
    # Made here on first use, in the order of ``resources``: who waits for a row that somebody else
    # is making holds nothing yet but rows that come before it.
    keys = [_row(resource).pk for resource in needed]
    rows = Lease.objects.filter(pk__in=keys)
    free_ones = _locked(rows)
    if any(_is_taken(lease, worker) for lease in free_ones):
        return None
    rows.update(run=run, worker=worker, token=F("token") + 1, expires_at=_expiry())
    lun_id, token, others = 0, 0, []
    for lease in free_ones:
        # As it was, and locked since.
        if lease.lun_id is not None and lease.lun_id == run.series.lun_id:
            lun_id, token = lease.lun_id, lease.token + 1
        else:
            others.append((lease.pk, lease.token + 1))
    return LeaseHandle(run.pk, lun_id, token, tuple(others))


def _row(resource: Resource) -> Lease:
    kind, key, name = resource
    if kind == "lun":
        lease, _ = Lease.objects.get_or_create(lun_id=key)
    elif kind == "disk":
        lease, _ = Lease.objects.get_or_create(disk=name)
    else:
        lease, _ = Lease.objects.get_or_create(host_id=key, controller=name)
    return lease


def _locked(rows: QuerySet[Lease]) -> list[Lease]:
    return list(rows.select_for_update().order_by("pk"))


def hold(handle: LeaseHandle) -> Run:
    """Lock all leases of the handle for the running transaction. Raises LeaseLost."""
    lock(handle)
    return Run._base_manager.get(pk=handle.run_id)


def lock(handle: LeaseHandle) -> list[int]:
    """``hold`` for what needs nothing of the run. Returns the leases' keys. Raises LeaseLost."""
    assert connection.in_atomic_block
    held = Q(lun_id=handle.lun_id, token=handle.token)
    for pk, token in handle.others:
        held |= Q(pk=pk, token=token)
    keys = [lease.pk for lease in _locked(Lease.objects.filter(held, run_id=handle.run_id))]
    if len(keys) != 1 + len(handle.others):
        raise LeaseLost(f"run {handle.run_id} no longer holds what it runs on")
    return keys


def prolong(keys: Collection[int]) -> None:
    """Let leases live on that are locked (``lock``)."""
    Lease.objects.filter(pk__in=keys).update(expires_at=_expiry())


def _expiry() -> CombinedExpression:
    """By the database's clock, in the statement that writes it: no worker's clock has a say."""
    return AT_DATABASE + lease_duration()


@dataclass(frozen=True)
class _Sighting:
    """A lease as it was seen first, and when it is over unless somebody prolongs it."""

    stamp: Stamp
    over_at: float


class LeaseWatch:
    """What one process has seen of all leases, by a clock that nobody can set.

    A lease is over when its row stood unchanged for as long as a lease lives, and as long as it
    said. One look says nothing, because the database's clock may have been set forward.
    """

    def __init__(self, ticks: Callable[[], float] = time.monotonic) -> None:
        self._ticks = ticks
        self._seen: dict[int, _Sighting] = {}

    def over(self) -> dict[int, Stamp]:
        """{lease: what its row said all the time} of those that are over. One query."""
        asked_at = self._ticks()
        rows = list(
            Lease.objects.exclude(run=None)
            .annotate(at=AT_DATABASE)
            .values_list("pk", "token", "expires_at", "at")
        )
        answered_at = self._ticks()
        seen = {}
        for key, token, expires_at, at in rows:
            sighting = self._seen.get(key)
            if sighting is None or sighting.stamp != (token, expires_at):
                left_s = (expires_at - at).total_seconds() if expires_at else 0.0
                over_at = answered_at + _unprolonged_s(left_s)
                sighting = _Sighting((token, expires_at), over_at)
            seen[key] = sighting
        self._seen = seen
        return {key: one.stamp for key, one in seen.items() if one.over_at < asked_at}

    def forget(self) -> None:
        """Begin again: the database took nothing from anybody, or did not answer."""
        self._seen = {}


def _unprolonged_s(left_s: float) -> float:
    """For how long a lease must be seen unchanged that had ``left_s`` by the database's clock."""
    return max(float(settings.WORKER_SILENT_AFTER_S), min(left_s, MOST_LEASE_S))


def free(run: Run, *, is_handed_over: bool = False) -> None:
    """Give back all that the run holds; with ``is_handed_over`` its disks to other workers later
    (``HANDOVER``).
    """
    if is_handed_over:
        disks = Lease.objects.filter(run=run).exclude(disk="")
        disks.update(run=None, expires_at=AT_DATABASE + HANDOVER)
    Lease.objects.filter(run=run).update(run=None, worker=None, expires_at=None)


def runs_of(worker: Worker) -> list[Run]:
    """The runs that hold leases of this worker, each once and locked with them."""
    rows = _locked(Lease.objects.filter(worker=worker).exclude(run=None))
    return _runs(rows)


def runs_without_heartbeat(stamps: Mapping[int, Stamp]) -> list[Run]:
    """The runs that hold a lease with an unchanged stamp, locked; none that is locked elsewhere."""
    held = Lease.objects.filter(run__in=Lease.objects.filter(pk__in=stamps).values("run"))
    rows = list(held.select_for_update(of=("self",), skip_locked=True).order_by("pk"))
    unlocked = set(held.values_list("pk", "run")) - {(row.pk, row.run_id) for row in rows}
    in_use = {run_id for _, run_id in unlocked}
    # Others were prolonged, or went to another run, since they were looked at.
    over = [row for row in rows if stamps.get(row.pk) == (row.token, row.expires_at)]
    return _runs(row for row in over if row.run_id not in in_use)


def _runs(rows: Iterable[Lease]) -> list[Run]:
    keys = dict.fromkeys(row.run_id for row in rows if row.run_id is not None)
    return [Run.objects.get(pk=key) for key in keys]
