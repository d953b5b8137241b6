"""Watches: lines over time that report to their owner when they get slower."""

from datetime import datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest
from ninja import Schema, Status
from pydantic import Field, StrictInt

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Error, Refused
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import (
    LARGEST_ID,
    Answer,
    Strict,
    With,
    cleaned,
    found,
    list_of,
    value_at,
)
from fsbench_web.compare.history import choices as offered_lines
from fsbench_web.compare.models import Watch, WatchMessage
from fsbench_web.compare.watches import confirming, deliveries, rights, triage, watching
from fsbench_web.compare.watches.confirming import MOST_HOURS, MOST_ROUNDS
from fsbench_web.compare.watches.form import MOST_MARGIN, BudgetForm, TriageForm, WatchForm

router = Router()
SHOWN_MESSAGES = 50
_NOTHING = {
    "series_id": None,
    "study": None,
    "team": None,
    "test": "",
    "category": "",
    "problem": "",
    "confirm_against_id": None,
}


class WatchOut(Answer):
    """``is_there`` is false where the line is gone, or hidden from you, and what it is of is then
    empty; ``problem`` says why the last look could not judge. The line is of one ``study`` (slug),
    or of all studies of a ``team``.
    """

    id: int
    title: str
    is_there: bool
    is_active: bool
    series: int | None = value_at("series_id")
    study: str | None = value_at("study.slug", None)
    team: str | None = value_at("team.name", None)
    test: str
    category: str
    along: str
    margin_percent: int
    email: str
    webhook_url: str
    created_at: datetime
    checked_at: datetime | None
    problem: str
    confirm_rounds: int
    confirm_hours: int
    confirm_against: int | None = value_at("confirm_against_id", None)
    links: dict[str, str]

    @staticmethod
    def resolve_links(watch: Any) -> dict[str, str]:
        address = f"/api/v1/watches/{watch.pk}"
        actions = {action: f"{address}/{action}" for action in ("pause", "resume", "test")}
        return {"self": address, **actions, "page": f"/watches/{watch.pk}/"}


class WatchMade(WatchOut):
    """``secret`` signs the webhook's messages. Only this answer has it; null without a webhook."""

    secret: str | None


class WatchResumed(WatchOut):
    """``not_sent``: how many messages had waited since before the pause, and are not sent now."""

    not_sent: int


class DeliveryOut(Schema):
    channel: str
    state: str
    tries: int
    last_error: str
    delivered_at: datetime | None


class MessageOut(Schema):
    """``kind``: slower, test, or known (it was so before anybody watched). For slower, ``state``
    is new, confirmed, not_reproduced, expected or fixed; ``note`` is by the person who set it.
    ``confirmation`` is a code, empty if nobody wanted one. ``job`` measures its rounds.
    """

    id: int
    kind: str
    point: str
    sentence: str
    created_at: datetime
    payload: dict[str, Any]
    state: str
    note: str
    confirmation: str
    job: int | None = value_at("job_id")
    deliveries: list[DeliveryOut]


class WatchWithMessages(WatchOut):
    """The latest messages, newest first."""

    messages: list[MessageOut]


class WatchIn(Strict):
    """Which line (any series of it), which score, and where to write to; neither: nowhere."""

    series: StrictInt = Field(ge=1, le=LARGEST_ID)
    test: str = Field(max_length=190)
    category: str = Field(max_length=100)
    along: Literal["kernel", "date"] = "date"
    margin: StrictInt = Field(10, ge=1, le=MOST_MARGIN, description="percent")
    email: str = Field("", max_length=254)
    webhook_url: str = Field("", max_length=500)


class BudgetIn(Strict):
    """What the watch may measure to confirm a change. ``confirm`` names the LUNs it erases."""

    rounds: StrictInt = Field(ge=0, le=MOST_ROUNDS, description="0: never")
    hours: StrictInt = Field(0, ge=0, le=MOST_HOURS)
    against: StrictInt | None = Field(
        None,
        ge=1,
        le=LARGEST_ID,
        description="a series of another configuration with the same LUN and workload: each round "
        "measures both. None: the earlier state",
    )
    confirm: str = Field("", max_length=2000)


class TriageIn(Strict):
    """``new`` takes back what was said. ``expected`` needs a ``note``."""

    state: Literal["expected", "fixed", "new"]
    note: str = Field("", max_length=500)


@router.get("/watches", response=list_of("WatchesOut", watches=WatchOut), summary="Your watches")
@requires(Action.ACCOUNT)
def list_watches(request: HttpRequest) -> dict[str, Any]:
    """100 at most, newest first."""
    return {"watches": [_watch(watch) for watch in watching.watches_of(user_of(request))]}


@router.post("/watches", response={201: WatchMade, 409: Error}, summary="Watch a line")
@requires(Action.WATCH)
def create_watch(request: HttpRequest, watch: WatchIn) -> Status[With]:
    """Reports slowdowns from now on; earlier ones become known. 409 if you already watch it."""
    user = user_of(request)
    series = offered_lines.series_of(str(watch.series))
    offered = dict(offered_lines.choices(series, watch.test, category=watch.category))
    if watch.category not in offered.get(watch.test, []):
        raise Refused(422, [("test", "This line has no such test or category; see /history.")])
    form = WatchForm(watch.model_dump(), user=user)
    cleaned(form)
    try:
        row = form.watch(series, watch.test, watch.category, request)
    except watching.AlreadyWatched as error:
        raise Refused(
            409, [(None, f"You watch this line already: /api/v1/watches/{error.watch.pk}.")]
        ) from None
    secret = deliveries.secret_of(row) if row.webhook_url else None
    return Status(201, _watch(row, secret=secret))


@router.get("/watches/{int:watch_id}", response=WatchWithMessages, summary="One watch")
@requires(Action.ACCOUNT)
def get_watch(request: HttpRequest, watch_id: int) -> With:
    """What it looks at, and what became of its messages."""
    watch = _own_watch(request, watch_id)
    messages = watch.messages.prefetch_related("deliveries")[:SHOWN_MESSAGES]
    return _watch(watch, messages=rights.visible_messages(messages))


@router.delete("/watches/{int:watch_id}", response={204: None}, summary="Watch no more")
@requires(Action.WATCH)
def delete_watch(request: HttpRequest, watch_id: int) -> Status[None]:
    """For good, with its messages."""
    watching.delete(_own_watch(request, watch_id))
    return Status(204, None)


@router.post("/watches/{int:watch_id}/pause", response=WatchOut, summary="Pause a watch")
@requires(Action.WATCH)
def pause_watch(request: HttpRequest, watch_id: int) -> With:
    """Nothing is looked at and nothing is sent."""
    watching.pause(_own_watch(request, watch_id))
    return _watch(_own_watch(request, watch_id))


@router.post("/watches/{int:watch_id}/resume", response=WatchResumed, summary="Resume a watch")
@requires(Action.WATCH)
def resume_watch(request: HttpRequest, watch_id: int) -> With:
    """Reports from now on; slowdowns meanwhile become known. Drops messages that waited."""
    not_sent = watching.resume(_own_watch(request, watch_id))
    return _watch(_own_watch(request, watch_id), not_sent=not_sent)


@router.post(
    "/watches/{int:watch_id}/test",
    response={200: MessageOut, 429: Error},
    summary="Try the addresses of a watch",
)
@requires(Action.WATCH)
def test_watch(request: HttpRequest, watch_id: int) -> WatchMessage:
    """Sends a message that says of itself that it is a test; every 20 seconds at most."""
    watch = _own_watch(request, watch_id)
    if not rights.is_visible(watch):
        raise Refused(422, [(None, "You may not see this line any more: nothing was sent.")])
    if not watch.email and not watch.webhook_url:
        raise Refused(422, [(None, "This watch has no address to write to.")])
    try:
        return watching.send_test(watch)
    except watching.TestedLately as error:
        raise Refused(429, [(None, str(error))], watching.TEST_EVERY.seconds) from None


@router.put(
    "/watches/{int:watch_id}/confirmation", response=WatchOut, summary="Let a watch confirm changes"
)
@requires(Action.RUN)
def set_confirmation(request: HttpRequest, watch_id: int, budget: BudgetIn) -> With:
    """Measures old and new again before it reports a change. This erases the LUNs."""
    watch = _own_watch(request, watch_id)
    data = budget.model_dump() | {"hours": budget.hours or None}
    values = cleaned(BudgetForm(data, watch=watch))
    spent = (values["rounds"], values["hours"] or 0)
    confirming.set_budget(watch, *spent, values["confirm"], values["against"])
    return _watch(watch)


@router.patch(
    "/watches/{int:watch_id}/changes/{int:message_id}",
    response=MessageOut,
    summary="Say of a change that it is expected or fixed",
)
@requires(Action.WATCH)
def triage_change(
    request: HttpRequest, watch_id: int, message_id: int, said: TriageIn
) -> WatchMessage:
    """`message_id` is of a message that something got slower. What is expected is not sent."""
    changes = _own_watch(request, watch_id).messages.filter(
        kind=WatchMessage.Kind.SLOWER, pk=message_id
    )
    visible = rights.visible_messages(changes)
    if not visible:
        raise Http404(f"Watch {watch_id} found no change {message_id}.")
    values = cleaned(TriageForm(said.model_dump()))
    triage.set_state(user_of(request), visible, values["state"], values["note"])
    visible[0].refresh_from_db()
    return visible[0]


def _own_watch(request: HttpRequest, watch_id: int) -> Watch:
    rows = watching.watches_of(user_of(request)).filter(pk=watch_id)
    return found(rows, f"You have no watch {watch_id}; /api/v1/watches lists yours.")


def _watch(watch: Watch, **more: Any) -> With:
    is_there = rights.is_visible(watch)
    hidden = {} if is_there else _NOTHING
    return With(watch, title=watching.title_of(watch), is_there=is_there, **hidden, **more)
