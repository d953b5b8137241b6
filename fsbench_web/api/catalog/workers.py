"""Workers: what they announced, draining one for maintenance, and the ledgers of their LUNs."""

from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from ninja import Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import Derived, With, found, list_of, value_at
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers import maintenance
from fsbench_web.catalog.workers.machines import Fetching, GuestAbility, GuestKernel
from fsbench_web.catalog.workers.states import (
    WorkerState,
    lun_use,
    luns_with_use,
    worker_state,
    worker_states,
)
from fsbench_web.studies.runs import ledger
from fsbench_web.studies.runs.ledger import Totals

router = Router()


class WorkerLun(Schema):
    """``run`` is the number of the run that uses it, and ``used_by`` the worker of that run. It may
    be another worker that lists the same disk; ``run`` is null if you must not see it. ``problem``
    is empty when it can be used. ``device`` is empty, and ``problem`` says nothing of the host,
    where you may not run on it.

    ``state``: free, in use, not usable, for journals, or not known (its worker is silent);
    ``silent_since`` is when such a worker was last heard, else null.
    """

    name: str
    role: str
    kind: str
    device: str = value_at("shown_device")
    size_bytes: int | None
    schedulers: list[str]
    problem: str
    state: str
    silent_since: datetime | None
    run: int | None
    used_by: str | None
    waiting: int


class GuestKernelOut(Derived, of=GuestKernel, without=("layers",)):
    """``filesystems`` as for the worker itself; ``problem`` says why it cannot be booted."""

    filesystems: dict[str, Any]


class FetchingOut(Derived, of=Fetching):
    """A kernel's package on its way: ``state`` is waiting, running, done or failed; ``share`` 0 to
    1 of ``phase``, null where it is not known.
    """


class GuestOut(Derived, of=GuestAbility, without=("is_usable", "kernels", "fetching")):
    """``accelerator`` is kvm or emulated (in software: for function, not for speed).

    ``why_not_fetch`` says why the worker fetches no kernel when it is asked to.
    """

    usable: bool = value_at("is_usable")
    kernels: list[GuestKernelOut]
    fetching: FetchingOut | None


class WorkerOut(Schema):
    """``state``: silent, draining, drained, not usable, busy or idle.

    ``filesystems`` and ``tools`` are as announced: {name: {"usable", "reason", ...}}; ``guest`` is
    what can be booted as a guest, null where the worker says nothing of that.
    """

    name: str = value_at("worker.name")
    state: str
    alive: bool = value_at("is_alive")
    problems: list[str]
    executor: str = value_at("worker.executor")
    kernel: str
    distribution: str
    versions: dict[str, str]
    filesystems: dict[str, Any]
    tools: dict[str, Any]
    guest: GuestOut | None
    started_at: datetime = value_at("worker.started_at")
    seen_at: datetime = value_at("worker.seen_at")
    silent_for_s: int
    drained_at: datetime | None = value_at("worker.drained_at")
    drained_by: str = value_at("worker.drained_by")
    running: list[int]
    waiting: int
    luns: list[WorkerLun]
    links: dict[str, str]

    @staticmethod
    def resolve_versions(state: WorkerState) -> dict[str, str]:
        return {str(program): str(version) for program, version in state.versions}

    @staticmethod
    def resolve_filesystems(state: WorkerState) -> dict[str, Any]:
        return dict(state.worker.capabilities.get("filesystems", {}))

    @staticmethod
    def resolve_tools(state: WorkerState) -> dict[str, Any]:
        return dict(state.worker.capabilities.get("tools", {}))

    @staticmethod
    def resolve_luns(state: WorkerState) -> list[With]:
        return [lun_row(state, lun) for lun in state.luns if lun.is_listed]

    @staticmethod
    def resolve_links(state: WorkerState) -> dict[str, str]:
        name = state.worker.name
        actions = {action: f"/api/v1/workers/{name}/{action}" for action in ("drain", "resume")}
        return {"page": f"/workers/{name}/", **actions}


@router.get("/workers", response=list_of("WorkersOut", workers=WorkerOut), summary="All workers")
@requires(Action.READ)
def list_workers(request: HttpRequest) -> dict[str, Any]:
    """Whether each worker lives, what it has and can do, what it runs and how many runs wait."""
    return {"workers": worker_states(luns_with_use())}


@router.get("/workers/{slug:name}", response=WorkerOut, summary="One worker")
@requires(Action.READ)
def get_worker(request: HttpRequest, name: str) -> WorkerState:
    """As in the list of all."""
    state = worker_state(name)
    if state is None:
        raise Http404(_no_worker(name))
    return state


@router.post("/workers/{name}/drain", response=WorkerOut, summary="Drain a worker for maintenance")
@requires(Action.MAINTAIN)
def drain_worker(request: HttpRequest, name: str) -> WorkerState:
    """It finishes what it runs and claims nothing new; its queued runs wait. Asking twice is fine:

    `drained_by` and `drained_at` stay those of the first. It can be stopped when its state is
    `drained` (while something still runs it is `draining`).
    """
    return _set_drained(request, name, True)


@router.post(
    "/workers/{name}/resume", response=WorkerOut, summary="Let a drained worker take runs again"
)
@requires(Action.MAINTAIN)
def resume_worker(request: HttpRequest, name: str) -> WorkerState:
    """Its queued runs go on by themselves."""
    return _set_drained(request, name, False)


def _no_worker(name: str) -> str:
    return f"There is no worker {name[:100]}; /api/v1/workers lists them."


def _set_drained(request: HttpRequest, name: str, is_drained: bool) -> WorkerState:
    # What is no slug is no worker; PostgreSQL would refuse to look for NUL.
    rows = Worker.objects.filter(name=name) if name.isprintable() else Worker.objects.none()
    worker = found(rows, _no_worker(name))
    maintenance.set_drained(worker, is_drained, by=user_of(request).get_username())
    state = worker_state(name)
    assert state is not None
    return state


def lun_row(state: WorkerState, lun: Lun, **more: Any) -> With:
    """A LUN of the worker as ``WorkerLun`` says it."""
    # What was announced long ago is no promise: whoever picks a LUN by an empty problem must not
    # pick one of a host that is off.
    run, other = state.run_of(lun), lun.other_use
    silence = "" if state.is_alive else next(iter(state.problems), "")
    return With(
        lun,
        problem=silence or lun.shown_problem,
        state=lun_use(state, lun),
        silent_since=None if state.is_alive else state.worker.seen_at,
        run=other.run if other else run,
        used_by=other.worker if other else state.worker.name if run is not None else None,
        waiting=getattr(lun, "waiting", 0),
        **more,
    )


class TotalsOut(Derived, of=Totals):
    """Of the runs that you may see: ``known`` of them were counted by the kernel before and after,
    preparation and mkfs included.
    """

    is_cut: bool = Field(description="there are older runs, which are not added up")


class FigureOut(Schema):
    name: str
    iops: float
    kb_s: float


class LunProbeOut(Schema):
    """What the LUN did alone, at its best depth; those that were measured. ``run`` made it,
    null where it is gone or not to be seen; ``sure`` of ``points`` are known to 3% or better.
    """

    at: datetime
    run: int | None
    state: dict[str, Any] = Field(
        description="what kernel, disk and smartctl said before: write_cache, temperature_c, health"
    )
    figures: list[FigureOut]
    sure: int
    points: int


class DriftOut(Schema):
    name: str = value_at("label")
    since: datetime = value_at("at")
    change_percent: float = value_at("change.change_percent")
    p_value: float = value_at("change.p_value")


class LedgerOut(Schema):
    """``probes`` are the latest, 200 at most, the latest first."""

    id: int
    name: str
    worker: str = value_at("worker.name")
    size_bytes: int | None
    totals: TotalsOut
    times_written: float | None = Field(description="of its whole size")
    probes: list[LunProbeOut]
    drift: list[DriftOut]


@router.get("/luns/{int:lun_id}/ledger", response=LedgerOut, summary="The ledger of a LUN")
@requires(Action.READ)
def get_ledger(request: HttpRequest, lun_id: int) -> With:
    """What was written to it in all, and what it does alone over time. Its runs: `/runs`."""
    lun = Lun.objects.select_related("worker").filter(pk=lun_id).first()
    if lun is None:
        raise Refused(404, [("lun_id", f"There is no LUN {lun_id}.")])
    lun_ledger = ledger.ledger(lun)
    names = [label for label, *_ in ledger.KEY_FIGURES]
    return With(
        lun,
        totals=lun_ledger.totals,
        times_written=lun_ledger.totals.times(lun.size_bytes),
        probes=[
            With(
                row,
                figures=[
                    {"name": name, "iops": figure[0], "kb_s": figure[1]}
                    for name, figure in zip(names, row.figures, strict=True)
                    if figure is not None
                ],
            )
            for row in lun_ledger.probes
        ],
        drift=lun_ledger.drifts,
    )
