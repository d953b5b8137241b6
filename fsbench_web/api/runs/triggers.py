"""Triggers: your saved jobs that are ordered again, and the call that fires one."""

import json
import secrets
from datetime import datetime, timedelta
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Schema, Status
from pydantic import BeforeValidator, Field

from fsbench_web.accounts import tokens
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol import idempotency
from fsbench_web.api.protocol.errors import Error, Refused
from fsbench_web.api.protocol.router import Router, TokenAuth, user_of
from fsbench_web.api.protocol.schemas import (
    IsThere,
    Strict,
    With,
    cleaned,
    found,
    list_of,
    value_at,
)
from fsbench_web.platform import clock
from fsbench_web.studies.models import Trigger, TriggerOrder
from fsbench_web.studies.triggers import ordering, records
from fsbench_web.studies.triggers.form import TriggerForm, schedule_times

router = Router()
SHOWN_ORDERS = 50
MOST_FIRED, FIRED_WITHIN = 10, timedelta(hours=1)
Cause, Problem = TriggerOrder.Cause, TriggerOrder.Problem
_STATUS = {Problem.RUNNING: 409, Problem.VOID: 409, Problem.FORBIDDEN: 403, Problem.REFUSED: 422}
_ClockOut = Annotated[str | None, BeforeValidator(lambda time: time and f"{time:%H:%M}")]
_Clock = Annotated[str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class OrderOut(Schema):
    """``cause``: schedule, kernel, webhook or person. ``job`` is null where nothing was ordered.

    ``problem`` says why: running, void, forbidden or refused.
    """

    id: int
    cause: str
    detail: str
    job: int | None = value_at("job_id")
    problem: str
    reasons: list[str]
    created_at: datetime


class TriggerOut(Schema):
    """``confirmed`` is false once the job or a LUN has changed: it then orders nothing.

    ``coming`` are the next times of the schedule. ``opens`` and ``closes`` are in ``zone``.
    """

    id: int
    title: str
    is_active: bool
    confirmed: bool
    document: dict[str, Any]
    schedule: str
    zone: str
    coming: list[datetime]
    on_kernel: bool
    opens: _ClockOut
    closes: _ClockOut
    has_token: IsThere = value_at("token")
    created_at: datetime
    links: dict[str, str]

    @staticmethod
    def resolve_confirmed(trigger: Trigger) -> bool:
        return bool(trigger.confirmed)

    @staticmethod
    def resolve_coming(trigger: Trigger) -> list[datetime]:
        return schedule_times(trigger.schedule, trigger.zone) if trigger.is_active else []

    @staticmethod
    def resolve_links(trigger: Trigger) -> dict[str, str]:
        address = f"/api/v1/triggers/{trigger.pk}"
        actions = {action: f"{address}/{action}" for action in ("pause", "resume", "fire")}
        return {"self": address, **actions, "page": f"/triggers/{trigger.pk}/"}


class TriggerWithOrders(TriggerOut):
    """The latest orders, newest first."""

    orders: list[OrderOut]


class TriggerIn(Strict):
    """A job without times, when it is ordered, and the names of the LUNs that it erases."""

    title: str = Field(max_length=120)
    document: dict[str, Any] | str
    confirm: str = Field(max_length=2000)
    schedule: str = Field("", max_length=100, description="cron syntax, five fields")
    zone: str = Field("", max_length=64, description="IANA time zone; empty: the site's")
    on_kernel: bool = False
    opens: _Clock | None = Field(None, description="HH:MM: runs start from then on, each day")
    closes: _Clock | None = Field(None, description="HH:MM: and end before")


class FireIn(Strict):
    why: str = Field("", max_length=200, description="as a commit: its history has it")


@router.get(
    "/triggers", response=list_of("TriggersOut", triggers=TriggerOut), summary="Your triggers"
)
@requires(Action.ACCOUNT)
def list_triggers(request: HttpRequest) -> dict[str, Any]:
    """50 at most, newest first."""
    return {"triggers": _own(request)}


@router.post("/triggers", response={201: TriggerOut}, summary="Make a trigger")
@requires(Action.RUN)
def create_trigger(request: HttpRequest, trigger: TriggerIn) -> Status[Trigger]:
    """It orders the job in your name from now on. `confirm` names the LUNs that are erased.

    Its page makes the token of its webhook.
    """
    return Status(201, _saved(request, trigger, None))


@router.get("/triggers/{int:trigger_id}", response=TriggerWithOrders, summary="One trigger")
@requires(Action.ACCOUNT)
def get_trigger(request: HttpRequest, trigger_id: int) -> With:
    """When it orders, and its latest orders with their causes."""
    trigger = _own_trigger(request, trigger_id)
    return With(trigger, orders=trigger.orders.all()[:SHOWN_ORDERS])


@router.put("/triggers/{int:trigger_id}", response=TriggerOut, summary="Change a trigger")
@requires(Action.RUN)
def change_trigger(request: HttpRequest, trigger_id: int, trigger: TriggerIn) -> Trigger:
    """All of it, confirmed again. Its token and its orders stay."""
    return _saved(request, trigger, _own_trigger(request, trigger_id))


@router.delete("/triggers/{int:trigger_id}", response={204: None}, summary="Delete a trigger")
@requires(Action.RUN)
def delete_trigger(request: HttpRequest, trigger_id: int) -> Status[None]:
    """For good, with its token. Its jobs stay."""
    records.delete(_own_trigger(request, trigger_id))
    return Status(204, None)


@router.post("/triggers/{int:trigger_id}/pause", response=TriggerOut, summary="Pause a trigger")
@requires(Action.RUN)
def pause_trigger(request: HttpRequest, trigger_id: int) -> Trigger:
    """It orders nothing. Jobs that it ordered go on."""
    records.pause(_own_trigger(request, trigger_id))
    return _own_trigger(request, trigger_id)


@router.post(
    "/triggers/{int:trigger_id}/resume",
    response={200: TriggerOut, 409: Error},
    summary="Resume a trigger",
)
@requires(Action.RUN)
def resume_trigger(request: HttpRequest, trigger_id: int) -> Trigger:
    """From now on. 409 if the job or a LUN has changed: then `PUT` it, with `confirm`."""
    try:
        records.resume(_own_trigger(request, trigger_id))
    except records.NotConfirmed:
        raise Refused(409, [("confirm", "Confirm it again: the job or a LUN changed.")]) from None
    return _own_trigger(request, trigger_id)


@router.post(
    "/triggers/{int:trigger_id}/fire",
    response={201: OrderOut, 409: Error, 429: Error},
    auth=[TokenAuth()],
    summary="Fire a trigger",
)
@requires(Action.FIRE)
def fire_trigger(
    request: HttpRequest,
    trigger_id: int,
    call: FireIn | None = None,
    idempotency_key: idempotency.Key = "",
) -> Status[TriggerOrder]:
    """Orders the job in the name of its owner. It takes the token of the trigger, and no other.

    409 while its last job runs, or if it is paused or must be confirmed again. 429 after ten
    calls within an hour. The same `Idempotency-Key` gives the same order.
    """
    shown = tokens.of_request(request)
    trigger = Trigger.objects.select_related("token").filter(pk=trigger_id).first()
    digest = trigger.token.digest if trigger is not None and trigger.token is not None else ""
    if shown is None or trigger is None or not secrets.compare_digest(shown.digest, digest):
        raise Http404(f"This token is not that of trigger {trigger_id}.")
    key = f"webhook {idempotency_key or secrets.token_hex(16)}"
    if not trigger.orders.filter(key=key).exists():
        _refuse_too_many(trigger)
    order = ordering.order(trigger.pk, Cause.WEBHOOK, key, detail=call.why if call else "")
    if order is None:
        raise Refused(409, [("trigger", "It is paused. Its owner can resume it.")])
    if order.problem:
        raise Refused(
            _STATUS[Problem(order.problem)], [(order.problem, reason) for reason in order.reasons]
        )
    return Status(201, order)


def _refuse_too_many(trigger: Trigger) -> None:
    since = clock.now() - FIRED_WITHIN
    recent = trigger.orders.filter(cause=Cause.WEBHOOK, created_at__gt=since)
    if recent.count() >= MOST_FIRED:
        sentence = f"It was fired {MOST_FIRED} times within an hour. Call again later."
        raise Refused(429, [("trigger", sentence)], FIRED_WITHIN.seconds)


def _saved(request: HttpRequest, body: TriggerIn, trigger: Trigger | None) -> Trigger:
    user, values = user_of(request), body.model_dump()
    values["confirmation"] = values.pop("confirm")
    if not isinstance(body.document, str):
        values["document"] = json.dumps(body.document)
    form = TriggerForm(values, user=user, trigger=trigger)
    try:
        fields = cleaned(form)
    except Refused as refused:
        names = [("confirm" if name == "confirmation" else name, s) for name, s in refused.problems]
        raise Refused(403 if form.is_forbidden else 422, names) from None
    assert form.plan is not None
    saved = records.save(user, fields, form.plan, trigger)
    return _own_trigger(request, saved.pk)


def _own(request: HttpRequest) -> QuerySet[Trigger]:
    return Trigger.objects.filter(user=user_of(request)).select_related("token", "user")


def _own_trigger(request: HttpRequest, trigger_id: int) -> Trigger:
    rows = _own(request).filter(pk=trigger_id)
    return found(rows, f"You have no trigger {trigger_id}; /api/v1/triggers lists yours.")
