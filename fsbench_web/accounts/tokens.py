"""API tokens: made once, shown once, recognised by their digest."""

import hashlib
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from fsbench_web.accounts import audit, command_line
from fsbench_web.accounts.models import ApiToken

logger = logging.getLogger("fsbench.accounts")

PREFIX = "fsb_"
REFUSED = (
    "This token is invalid: it was mistyped or revoked, it expired, or its user is not active. "
    "The account page makes a new one."
)
NOT_BEARER = (
    'The Authorization header is not valid here: send "Authorization: Bearer TOKEN", or leave it '
    "out to read public data. A proxy with its own password must not pass it on."
)
_HINT_LENGTH = 10
# A job posts many requests in a second; its token need not write a row for each.
_NOTE_USE_EVERY = timedelta(minutes=1)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def create(
    user: User,
    name: str = "",
    *,
    can_import: bool = True,
    can_run: bool = True,
    can_administer: bool = False,
    expires_at: datetime | None = None,
    on_host: bool = False,
    is_for_trigger: bool = False,
) -> tuple[ApiToken, str]:
    """Make a token. Returns its row and the token itself, which is shown once.

    ``on_host``: somebody on the command line of a host made it, not its owner.
    Raises IntegrityError where the user has a token of that name.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    hint = token[:_HINT_LENGTH]
    with transaction.atomic():
        row = ApiToken.objects.create(
            user=user,
            name=name or f"command line {hint}",
            hint=hint,
            digest=_digest(token),
            can_import=can_import,
            can_run=can_run,
            can_administer=can_administer,
            is_for_trigger=is_for_trigger,
            expires_at=expires_at,
        )
        facts = {"account": str(user), **command_line.facts()} if on_host else {}
        who = command_line.actor() if on_host else user
        audit.note(who, "token made", f"token {hint}…", name=row.name, scopes=row.scopes, **facts)
    return row, token


def revoke(row: ApiToken, by: User | str | None, because: str = "") -> None:
    """From now on the token opens nothing."""
    detail = {"because": because} if because else {}
    with transaction.atomic():
        row.delete()
        audit.note(by, "token revoked", f"token {row.hint}…", name=row.name, **detail)


def row_of(token: str) -> ApiToken | None:
    """The row of a token that opens something, with its user, else None. Notes the use."""
    row = ApiToken.objects.select_related("user").filter(digest=_digest(token)).first()
    now = timezone.now()
    if row is None or not row.user.is_active or row.is_over(now):
        return None
    if row.last_used_at is None or row.last_used_at < now - _NOTE_USE_EVERY:
        _note_use(row, now)
    return row


def _note_use(row: ApiToken, now: datetime) -> None:
    """Write when the token was used, unless another writer is at work: the next call notes it."""
    # Asked again, so that of many calls at once one writes.
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - _NOTE_USE_EVERY)
    free = ApiToken.objects.select_for_update(skip_locked=True).filter(stale, pk=row.pk)
    try:
        with _no_wait_for_writers(), transaction.atomic():
            ApiToken.objects.filter(pk__in=free.values("pk")).update(last_used_at=now)
    except DatabaseError as error:
        logger.info("the use of token %s… cannot be noted: %s", row.hint, error)


@contextmanager
def _no_wait_for_writers() -> Iterator[None]:
    """SQLite has one lock, and no SKIP LOCKED: within this it says at once that it is taken."""
    if connection.vendor != "sqlite":
        yield
        return
    timeout_s = connection.settings_dict["OPTIONS"]["timeout"]
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {1000 * timeout_s}")


def bearer_token(request: HttpRequest) -> str | None:
    """The token in the header of a call, whatever it opens; None for none."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def is_unreadable(request: HttpRequest) -> bool:
    """Whether a call shows something that is no bearer token: another scheme, or nothing at all."""
    return "Authorization" in request.headers and bearer_token(request) is None


def of_request(request: HttpRequest) -> ApiToken | None:
    """The row of the token in the header, looked up once for each request."""
    token = bearer_token(request)
    if token is None:
        return None
    if not hasattr(request, "api_token"):
        request.api_token = row_of(token)  # type: ignore[attr-defined]
    row: ApiToken | None = request.api_token  # type: ignore[attr-defined]
    return row


def user_of(token: str) -> User | None:
    """The active user of this token, or None. Notes the use."""
    row = row_of(token)
    return row.user if row is not None else None
