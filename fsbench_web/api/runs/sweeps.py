"""Sweeps: order one from a document, see how far it is, steer it."""

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Router, Status

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol import idempotency
from fsbench_web.api.protocol.auth import WRITER, user_of
from fsbench_web.api.protocol.errors import Error, Refused
from fsbench_web.api.protocol.pages import page
from fsbench_web.api.results.studies import study_or_404
from fsbench_web.api.runs.routes import listed_runs, not_retried, run_summary
from fsbench_web.api.runs.sweep_schemas import (
    CancelledOut,
    DocumentIn,
    PreviewOut,
    PriorityIn,
    Retried,
    RetryIn,
    SweepFilters,
    SweepIn,
    SweepOrdered,
    SweepOut,
    SweepsOut,
    SweepSummary,
)
from fsbench_web.studies.models import RunState, Submission
from fsbench_web.studies.orders import estimates, lookup, sweeps
from fsbench_web.studies.orders.documents import text as sweep_document
from fsbench_web.studies.orders.documents.text import UnreadableDocument
from fsbench_web.studies.orders.planned_runs import time_limit_s
from fsbench_web.studies.orders.submission import (
    RunRequest,
    SubmissionRefused,
    confirmation_text,
    planned,
    submit,
)
from fsbench_web.studies.runs import authority, control
from fsbench_web.studies.runs.control import ControlRefused
from fsbench_web.studies.runs.queue import IN_TURN
from fsbench_web.studies.scores.drift import Drift, drift_of

router = Router()
_WRITES = {401: Error, 403: Error, 404: Error, 422: Error}


@router.get(
    "/sweeps",
    response={200: SweepsOut, 404: Error, 422: Error},
    summary="Sweeps",
    url_name="sweeps",
)
@requires(Action.READ)
def list_sweeps(
    request: HttpRequest, response: HttpResponse, filters: Query[SweepFilters]
) -> dict[str, Any]:
    """All orders, by form, document or call, the newest first."""
    found = sweeps.listed_sweeps().defer("document")
    if filters.study:
        found = found.filter(study=study_or_404(filters.study))
    rows, about = page(request, response, found, filters)
    return {**about, "sweeps": [_summary(order) for order in rows]}


@router.post(
    "/sweeps",
    response={201: SweepOrdered, 401: Error, 403: Error, 422: Error},
    auth=WRITER,
    summary="Order a sweep",
    url_name="order_sweep",
)
@requires(Action.RUN)
def order_sweep(
    request: HttpRequest,
    order: SweepIn,
    idempotency_key: idempotency.Key = "",
) -> Status[dict[str, Any]]:
    """Queues the runs that the document stands for. Their LUNs are erased: `confirm` names them.

    All problems are told at once, each with its place in the document, and then nothing is
    queued. A call that is sent again with the same `Idempotency-Key` makes nothing new; with that
    key and another body it is refused.
    """
    user = user_of(request)
    token = idempotency.token("sweep", user, idempotency_key)
    digest = idempotency.digest(order)
    try:
        made = submit(_order(order.document), order.confirm, user, token, digest)
    except SubmissionRefused as refused:
        raise _refused(refused) from None
    found = _sweep_or_404(made[0].submission_id or 0)
    return Status(201, {**_summary(found), "planned": _planned(found)})


@router.post(
    "/sweeps/preview",
    response={200: PreviewOut, 401: Error, 403: Error, 422: Error},
    auth=WRITER,
    summary="See what a sweep would do",
    url_name="preview_sweep",
)
@requires(Action.RUN)
def preview_sweep(request: HttpRequest, order: DocumentIn) -> dict[str, Any]:
    """Every run in turn, with how long it will take as far as that is known. Orders nothing."""
    wanted = _order(order.document)
    try:
        plan = planned(wanted)
    except SubmissionRefused as refused:
        raise _refused(refused) from None
    runs = plan.runs
    found = estimates.of_planned(runs)
    total = estimates.total(found)
    return {
        "runs": [
            {
                "position": position,
                "repeat": run.repeat,
                "reference": run.is_reference,
                "configuration": run.configuration,
                "filesystem": run.filesystem,
                "options": dict(run.options),
                "scheduler": run.scheduler,
                "journal": run.journal.name if run.journal else None,
                "workload": run.workload_title,
                "machine": run.machine.stored(),
                "kernel": run.kernel,
                "boot_s": run.boot_s[0] if run.boot_s else None,
                "estimated_s": one.duration_s if one else None,
                "basis": one.basis if one else "",
            }
            for position, (run, one) in enumerate(zip(runs, found, strict=True), start=1)
        ],
        "erasures": sum(run.erases for run in runs),
        "most_runs": plan.most_runs,
        "estimated_s": total.duration_s,
        "estimated_known_s": total.known_s,
        "runs_not_known": total.unknown,
        "time_limit_s": time_limit_s(wanted, runs),
        "confirm": confirmation_text(wanted) or "",
        "left_out": _left_out(plan.left_out),
        "notes": list(wanted.notes),
        "document": wanted.document,
    }


@router.get(
    "/sweeps/{int:sweep_id}",
    response={200: SweepOut, 404: Error},
    summary="Follow a sweep",
    url_name="sweep",
)
@requires(Action.READ)
def get_sweep(request: HttpRequest, sweep_id: int) -> dict[str, Any]:
    """How far it is, its document, its runs in turn, and the scores of its reference."""
    order = _sweep_or_404(sweep_id)
    progress = sweeps.progress_of(order)
    drift = drift_of(order)
    return {
        **_summary(order),
        "time_limit_s": order.time_limit_s,
        "run_again": order.run_again,
        "refusals": authority.refusals(order.runs.filter(state=RunState.QUEUED)),
        "share_ended": progress.share,
        "remaining_s": progress.remaining.duration_s,
        "ends_at": progress.ends_at,
        "confirm": control.order_confirmation(order),
        "document": order.document,
        "left_out": _left_out(order.left_out),
        "drift": _drift(drift) if drift else [],
        "planned": _planned(order),
    }


@router.post(
    "/sweeps/{int:sweep_id}/pause",
    response={200: SweepSummary, **_WRITES},
    auth=WRITER,
    summary="Pause a sweep",
    url_name="pause_sweep",
)
@requires(Action.STEER)
def pause_sweep(request: HttpRequest, sweep_id: int) -> dict[str, Any]:
    """No further run of it starts; what runs goes on. Pausing a paused one changes nothing."""
    control.pause(_sweep_or_404(sweep_id).pk)
    return _summary(_sweep_or_404(sweep_id))


@router.post(
    "/sweeps/{int:sweep_id}/resume",
    response={200: SweepSummary, **_WRITES},
    auth=WRITER,
    summary="Resume a sweep",
    url_name="resume_sweep",
)
@requires(Action.STEER)
def resume_sweep(request: HttpRequest, sweep_id: int) -> dict[str, Any]:
    """Its runs start again."""
    order_id = _sweep_or_404(sweep_id).pk
    try:
        control.resume(order_id)
    except ControlRefused as refused:
        raise Refused(422, [("sweep", said) for said in refused.problems]) from None
    return _summary(_sweep_or_404(sweep_id))


@router.post(
    "/sweeps/{int:sweep_id}/cancel",
    response={200: CancelledOut, **_WRITES},
    auth=WRITER,
    summary="Cancel a sweep",
    url_name="cancel_sweep",
)
@requires(Action.STEER)
def cancel_sweep(request: HttpRequest, sweep_id: int) -> dict[str, Any]:
    """What waits is cancelled at once, what runs is asked to stop; what has ended stays."""
    found = control.cancel(_sweep_or_404(sweep_id).pk, by=user_of(request).get_username())
    return {
        **_summary(_sweep_or_404(sweep_id)),
        "cancelled_now": found.at_once,
        "asked_to_stop": found.asked,
    }


@router.post(
    "/sweeps/{int:sweep_id}/retry",
    response={200: Retried, **_WRITES},
    auth=WRITER,
    summary="Order failed runs again",
    url_name="retry_sweep",
)
@requires(Action.STEER)
def retry_sweep(request: HttpRequest, sweep_id: int, order: RetryIn) -> dict[str, Any]:
    """New runs for those that ended in `states` and were not ordered again since.

    Each run is ordered again once, however often this is called. `runs` are the new ones.
    """
    order_id = _sweep_or_404(sweep_id).pk
    try:
        made = control.retry(order_id, order.confirm, user_of(request), order.states)
    except ControlRefused as refused:
        raise not_retried(refused) from None
    rows = listed_runs().filter(pk__in=[run.pk for run in made]).order_by("id")
    return {"runs": [run_summary(run) for run in rows]}


@router.post(
    "/sweeps/{int:sweep_id}/priority",
    response={200: SweepSummary, **_WRITES},
    auth=WRITER,
    summary="Change a sweep's priority",
    url_name="sweep_priority",
)
@requires(Action.STEER)
def set_sweep_priority(request: HttpRequest, sweep_id: int, order: PriorityIn) -> dict[str, Any]:
    """Runs of a higher priority start first on the same LUN."""
    order_id = _sweep_or_404(sweep_id).pk
    try:
        control.set_priority(order_id, order.priority)
    except ControlRefused as refused:
        raise Refused(422, [("priority", said) for said in refused.problems]) from None
    return _summary(_sweep_or_404(sweep_id))


def _order(document: dict[str, Any] | str) -> RunRequest:
    """The order of a document, checked as any other text: its size, its depth, its characters."""
    text = document if isinstance(document, str) else json.dumps(document)
    try:
        return lookup.order_of(sweep_document.read(text))
    except UnreadableDocument as error:
        raise Refused(422, [("document", str(error))]) from None


def _refused(refused: SubmissionRefused) -> Refused:
    return Refused(
        403 if refused.is_forbidden else 422,
        [
            ("confirm" if place == "confirmation" else place, sentence)
            for place, sentences in refused.by_part.items()
            for sentence in sentences
        ],
    )


def _sweep_or_404(sweep_id: int) -> Any:
    order = sweeps.listed_sweeps().filter(pk=sweep_id).first()
    if order is None:
        raise Http404(f"There is no sweep {sweep_id}; /api/v1/sweeps lists them.")
    return order


def _summary(order: Any) -> dict[str, Any]:
    """``order`` comes from ``sweeps.listed_sweeps``."""
    address = f"/api/v1/sweeps/{order.pk}"
    return {
        "id": order.pk,
        "study": order.study.slug,
        "lun": order.lun.name if order.lun else None,
        "worker": order.lun.worker.name if order.lun else None,
        "state": sweeps.state_of(order),
        "priority": order.priority,
        "paused_at": order.paused_at,
        "created_by": order.created_by.get_username() if order.created_by else None,
        "created_at": order.created_at,
        "runs": {
            "total": order.run_count,
            "waiting": order.queued_count,
            "running": order.active_count,
            "done": order.done_count,
            "failed": order.bad_count,
            "cancelled": order.cancelled_count,
        },
        "links": {
            "self": address,
            **{act: f"{address}/{act}" for act in _ACTIONS},
            "study": f"/api/v1/studies/{order.study.slug}",
            "document": f"/sweeps/{order.pk}/document.yaml",
            "page": f"/sweeps/{order.pk}/",
        },
    }


_ACTIONS = ("pause", "resume", "cancel", "retry", "priority")


def _planned(order: Submission) -> list[dict[str, Any]]:
    rows = order.runs.order_by(*IN_TURN).values_list(
        *("id", "series__configuration__label", "repeat", "is_reference", "state"),
        *("retry_of", "rerun"),
    )
    keys = ("id", "configuration", "repeat", "reference", "state", "retry_of", "rerun")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _left_out(rows: Any) -> list[dict[str, str]]:
    return [dict(zip(("place", "configuration", "reason"), row, strict=True)) for row in rows]


def _drift(drift: Drift) -> list[dict[str, Any]]:
    return [
        {
            "run": point.run_id,
            "at": point.at,
            "test": test,
            "category": drift.category,
            "value": value,
            "change_percent": change,
        }
        for point in drift.points
        for test, (value, change) in zip(drift.tests, point.pairs, strict=True)
    ]
