"""Messages of watches on their way: by e-mail and to webhooks, five tries at most.

A sender first claims a delivery by a conditional update, which counts the try. If it dies, another
one tries some minutes later: a receiver may get one message twice, with the same number.
"""

import json
import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.core import mail
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from fsbench_web.accounts import rights
from fsbench_web.compare.models import Watch, WatchDelivery, WatchMessage
from fsbench_web.compare.watches import rights as watch_rights
from fsbench_web.compare.watches import webhook

logger = logging.getLogger("fsbench.watches")

BACK_OFF = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
)
MOST_TRIES = len(BACK_OFF) + 1
CLAIM_LASTS = timedelta(minutes=2)
"""Longer than any try takes."""
SENT_AT_ONCE = 50
NOT_TO_SEE = "Its owner may no longer see this line."
EXPECTED = "You marked it as expected."
PAUSED = "The watch was paused before it was sent, and it was not sent when the watch was resumed."
_SUBJECTS: dict[str, str] = {
    WatchMessage.State.CONFIRMED: "confirmed slower",
    WatchMessage.State.NOT_REPRODUCED: "not confirmed",
}
Channel, State = WatchDelivery.Channel, WatchDelivery.State


class DeliveryError(Exception):
    """The text says why."""


def wait_after(tries: int) -> timedelta | None:
    """How long to wait behind that many failed tries; None: give up."""
    return BACK_OFF[tries - 1] if tries < MOST_TRIES else None


def secret_of(watch: Watch) -> str:
    """The secret that signs the messages of a watch. No copy of the database has it alone."""
    return salted_hmac("fsbench.watch", watch.secret_salt, algorithm="sha256").hexdigest()


def enqueue(message: WatchMessage, now: datetime) -> None:
    """Let the message be sent to whatever addresses its watch has."""
    watch = message.watch
    addresses = [(Channel.EMAIL, watch.email), (Channel.WEBHOOK, watch.webhook_url)]
    WatchDelivery.objects.bulk_create(
        WatchDelivery(message=message, channel=channel, next_try_at=now)
        for channel, address in addresses
        if address
    )


def send_again(message: WatchMessage, now: datetime) -> None:
    """Let a message that says more now be sent once more, with its number."""
    message.deliveries.all().delete()
    enqueue(message, now)


def send_due(now: datetime | None = None) -> int:
    """Send what waits and is due. Returns how many were tried."""
    now = now or timezone.now()
    # The clock was ahead when this was written: nothing waits for longer than the last wait.
    too_late = WatchDelivery.objects.filter(next_try_at__gt=now + BACK_OFF[-1] + CLAIM_LASTS)
    too_late.filter(state=State.WAITING).update(next_try_at=now)
    due = WatchDelivery.objects.filter(
        state=State.WAITING,
        next_try_at__lte=now,
        message__watch__is_active=True,
        message__watch__user__is_active=True,
    ).order_by("next_try_at", "id")
    tried = 0
    for key in list(due.values_list("pk", flat=True)[:SENT_AT_ONCE]):
        # Read when its turn comes: those before it may have taken minutes, in which its watch was
        # paused, or its owner lost what allowed to be told.
        for delivery in _with_rows(due.filter(pk=key)):
            tried += _send(delivery, now)
    return tried


def send_now(message: WatchMessage) -> None:
    """Send one message at once, in its turn or not."""
    for delivery in _with_rows(message.deliveries.filter(state=State.WAITING)):
        _send(delivery, timezone.now())


def drop_waiting(deliveries: QuerySet[WatchDelivery], why: str) -> int:
    """Send nothing of these that still waits. Returns of how many messages that is."""
    waiting = deliveries.filter(state=State.WAITING)
    messages = waiting.values("message").distinct().count()
    waiting.update(state=State.FAILED, last_error=why)
    return messages


def _with_rows(deliveries: QuerySet[WatchDelivery]) -> QuerySet[WatchDelivery]:
    return deliveries.select_related(
        "message__watch__user__person", "message__watch__configuration"
    )


def _send(delivery: WatchDelivery, now: datetime) -> bool:
    tries = delivery.tries + 1
    # From this moment, and not from when the first of those before it was sent.
    claimed_until = max(now, timezone.now()) + CLAIM_LASTS
    claimed = WatchDelivery.objects.filter(
        pk=delivery.pk, state=State.WAITING, tries=delivery.tries, next_try_at__lte=now
    ).update(tries=tries, next_try_at=claimed_until)
    if claimed != 1:
        return False
    if not watch_rights.may_be_sent(delivery.message):
        _finish(delivery, tries, state=State.FAILED, last_error=NOT_TO_SEE)
        return True
    if tries > MOST_TRIES:
        _finish(delivery, tries, state=State.FAILED)
        return True
    try:
        if delivery.channel == Channel.EMAIL:
            _send_email(delivery.message)
        else:
            _send_webhook(delivery.message)
    except DeliveryError as error:
        is_test = delivery.message.kind == WatchMessage.Kind.TEST
        wait = None if is_test else wait_after(tries)
        if wait is None:
            _finish(delivery, tries, state=State.FAILED, last_error=str(error))
        else:
            _finish(delivery, tries, last_error=str(error), next_try_at=timezone.now() + wait)
        logger.warning("message %s by %s: %s", delivery.message_id, delivery.channel, error)
    else:
        _finish(delivery, tries, state=State.DELIVERED, delivered_at=timezone.now(), last_error="")
    return True


def _finish(delivery: WatchDelivery, tries: int, **columns: object) -> None:
    # Not where somebody else took it up meanwhile because this try had lasted too long. What was
    # taken while its watch was paused and resumed was delivered all the same.
    rows = WatchDelivery.objects.filter(pk=delivery.pk, tries=tries)
    if columns.get("state") != State.DELIVERED:
        rows = rows.filter(state=State.WAITING)
    rows.update(**columns)


def _send_webhook(message: WatchMessage) -> None:
    if reason := rights.decide(message.watch.user, rights.Action.CALL).why:
        raise DeliveryError(reason)
    body = json.dumps(message.payload, ensure_ascii=False).encode()
    try:
        webhook.post(message.watch.webhook_url, body, secret_of(message.watch), str(message.pk))
    except webhook.WebhookProblem as error:
        raise DeliveryError(str(error)) from None


def _send_email(message: WatchMessage) -> None:
    if not settings.SENDS_EMAIL:
        raise DeliveryError("This site sends no e-mail: FSBENCH_EMAIL_URL is not set.")
    watch = message.watch
    if watch.email.lower() != watch.user.email.lower():
        raise DeliveryError("The account has another address now: watch the line again.")
    payload = message.payload
    title = payload["watch"]["title"]
    is_test = message.kind == WatchMessage.Kind.TEST
    kind = "test of" if is_test else f"{_SUBJECTS.get(message.state, 'slower')}:"
    subject = " ".join(f"fsbench: {kind} {title}".split())
    line = payload["line"]
    facts = [
        ("Workload", line["workload"]),
        ("Hardware", line["hardware"]),
        ("LUN", line["lun"]),
        ("Margin", f"{watch.margin_percent}%"),
        ("Runs", ", ".join(map(str, payload.get("change", {}).get("runs", [])))),
    ]
    text = [
        title,
        "",
        message.sentence,
        "",
        *(f"{name}: {value}" for name, value in facts if value),
        "",
        f"The line: {line['url']}",
        f"Pause or delete this watch of {watch.user.get_username()}: {payload['watch']['url']}",
    ]
    letter = mail.EmailMessage(subject[:200], "\n".join(text) + "\n", to=[watch.email])
    try:
        letter.send()
    except (OSError, ValueError) as error:
        # SMTPException is an OSError; its text may hold what the server said, never a password.
        raise DeliveryError(f"The mail server did not take it: {error}"[:500]) from None
