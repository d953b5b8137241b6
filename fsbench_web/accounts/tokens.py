"""API tokens: made once, shown once, recognised by their digest."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from fsbench_web.accounts.models import ApiToken

PREFIX = "fsb_"
_HINT_LENGTH = 10
# A sweep posts many requests in a second; its token need not write a row for each.
_NOTE_USE_EVERY = timedelta(minutes=1)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def create(user: User, name: str = "") -> tuple[ApiToken, str]:
    """Make a token. Returns its row and the token itself, which cannot be had again.

    Without a name it is called after its first characters. Raises IntegrityError where the user
    has a token of that name.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    hint = token[:_HINT_LENGTH]
    row = ApiToken.objects.create(
        user=user, name=name or f"command line {hint}", hint=hint, digest=_digest(token)
    )
    return row, token


def user_of(token: str) -> User | None:
    """The active user whose token this is, or None. Notes the use."""
    row = ApiToken.objects.select_related("user").filter(digest=_digest(token)).first()
    if row is None or not row.user.is_active:
        return None
    now = timezone.now()
    ApiToken.objects.filter(
        Q(last_used_at=None) | Q(last_used_at__lt=now - _NOTE_USE_EVERY), pk=row.pk
    ).update(last_used_at=now)
    return row.user
