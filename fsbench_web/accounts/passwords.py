"""Passwords that an administrator set: their users must choose another one first.

``GivenPassword`` marks the account, and a mark in the session makes ``accounts.gate`` ask at every
request.
"""

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from fsbench_web.accounts import audit, command_line
from fsbench_web.accounts.models import GivenPassword

SENTENCE = (
    "An administrator set the password that this session was opened with: choose one of your own "
    "at /account/password/ first. Nothing else is open until then."
)
_MARK = "password_was_given"
# The page that ends it. Ways in and out are open to everybody (rights.Action.OPEN).
ROUTE = "account/password/"


def note_given(user: User) -> None:
    """Somebody else has set this account's password. The caller holds the transaction."""
    GivenPassword.objects.update_or_create(user=user, defaults={"given_at": timezone.now()})


def signed_in(request: HttpRequest, user: User) -> bool:
    """Mark the session that a password has just opened. True where the password was given."""
    was_given = GivenPassword.objects.filter(user=user).exists()
    if was_given:
        request.session[_MARK] = True
    return was_given


def must_be_chosen(request: HttpRequest) -> bool:
    """Whether the user must choose a password first. Asks nothing of the database."""
    return request.user.is_authenticated and _MARK in request.session


def choose(user: User, before: str) -> bool:
    """Store the password that ``user.set_password`` holds, if the account still has ``before``.

    ``before`` is the digest that the old password was checked against. Writes one column, so an
    administrator's change at this moment stays.
    """
    with transaction.atomic():
        rows = User.objects.filter(pk=user.pk, password=before, is_active=True)
        if not rows.update(password=user.password):
            return False
        was_given, _ = GivenPassword.objects.filter(user=user).delete()
        detail = {"instead_of": "one that an administrator set"} if was_given else {}
        audit.note(user, "password changed", f"account {user}", **detail)
    return True


@transaction.atomic
def set_on_host(user: User, password: str) -> None:
    """Set it from the command line of a host; the account's sessions end."""
    user.set_password(password)
    User.objects.filter(pk=user.pk).update(password=user.password)
    GivenPassword.objects.filter(user=user).delete()
    facts = command_line.facts()
    audit.note(command_line.actor(), "password set", f"account {user}", **facts)


def open_up(request: HttpRequest) -> None:
    """This session is as any other from here on: it shows something that its owner alone has."""
    request.session.pop(_MARK, None)
