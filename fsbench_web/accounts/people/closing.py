"""Ends what a closed account has: sessions, tokens, watches, triggers, and shared permalinks."""

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import models
from django.db.models import QuerySet

from fsbench_web.accounts import audit, rights, tokens
from fsbench_web.accounts.models import ApiToken
from fsbench_web.platform import clock

CLOSED = "the account was closed"
OPENED = "the account was opened again"
# A value of compare.models.LinkVisibility, which knows accounts, and not the other way round.
_PRIVATE = "private"


class PermalinkDisposition(models.TextChoices):
    """What becomes of the permalinks of an account that is closed."""

    WITHDRAW = "withdraw", "Withdraw them: only administrators see them then"
    HAND_OVER = "hand_over", "Hand them over to the account below"
    KEEP = "keep", "Keep them as they are"


@dataclass(frozen=True)
class Permalinks:
    """What happens to permalinks of a closed account. ``heir``: of HAND_OVER alone."""

    fate: PermalinkDisposition
    heir: User | None = None


class DispositionError(ValueError):
    """What becomes of the permalinks must be said, or cannot be so; a sentence."""


def end_all(user: User, by: User | str | None, because: str) -> None:
    """End the account's tokens and sessions. The caller holds the transaction.

    Opening it again ends them too: somebody may have made one while it was being closed.
    """
    for row in ApiToken.objects.filter(user=user):
        tokens.revoke(row, by, because=because)
    end_sessions(user)
    _pause("compare", "Watch", user, by, because)
    _pause("studies", "Trigger", user, by, because)


def end_sessions(user: User) -> None:
    """Every browser in which this account is signed in is signed out."""
    # Whose a session is stands in its data alone.
    live = Session.objects.filter(expire_date__gt=clock.now()).iterator()
    keys = [row.pk for row in live if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=keys).delete()


def permalinks_of(user: User) -> QuerySet[Any]:
    """Those of the account that others than its owner and administrators may open."""
    rows: QuerySet[Any] = apps.get_model("compare", "Permalink").objects.filter(created_by=user)
    return rows.exclude(visibility=_PRIVATE).defer("snapshot")


def apply_to_permalinks(
    user: User, by: User | str | None, permalinks: Permalinks | None, *, is_asked: bool
) -> None:
    """Withdraw, hand over or keep the account's permalinks. The caller holds the transaction.

    ``is_asked``: the choice is required where there are any. Raises DispositionError.
    """
    rows = permalinks_of(user).select_for_update(of=("self",))
    count = rows.count()
    if not count:
        return
    if permalinks is None:
        if is_asked:
            raise DispositionError(
                f"{user} shared {count} permalink{'s' if count > 1 else ''} that others can open: "
                f"say what becomes of {'them' if count > 1 else 'it'} – withdrawn, handed over to "
                "another account, or kept."
            )
        return
    if permalinks.fate is PermalinkDisposition.KEEP:
        audit.note(by, "account changed", f"account {user}", permalinks="kept", count=count)
        return
    heir = (
        _checked_heir(user, permalinks.heir)
        if permalinks.fate is PermalinkDisposition.HAND_OVER
        else None
    )
    for link in rows.order_by("pk"):
        if heir is None:
            audit.note(
                by,
                "permalink withdrawn",
                f"permalink {link.key}",
                before=link.visibility,
                because=CLOSED,
            )
            rows.filter(pk=link.pk).update(visibility=_PRIVATE)
        else:
            audit.note(
                by,
                "permalink handed over",
                f"permalink {link.key}",
                before=user.get_username(),
                after=heir.get_username(),
            )
            rows.filter(pk=link.pk).update(created_by=heir)


def _checked_heir(user: User, heir: User | None) -> User:
    if heir is None:
        raise DispositionError("Say which account the permalinks are handed over to.")
    if heir.pk == user.pk:
        raise DispositionError("The permalinks are this account's already: name another one.")
    if not rights.may(heir, rights.Action.SHARE):
        raise DispositionError(
            f"{heir} could not keep them: an open account that is a contributor or more can."
        )
    return heir


def _pause(app: str, model: str, user: User, by: User | str | None, because: str) -> None:
    """Pause watches, or triggers. Their owner looks at them first, and resumes what is wanted."""
    rows = apps.get_model(app, model).objects.filter(user=user, is_active=True)
    for key in rows.order_by("pk").values_list("pk", flat=True):
        noun = model.lower()
        audit.note(by, f"{noun} paused", f"{noun} {key}", because=because)
    rows.update(is_active=False)
