"""What ends for good when an account is closed.

A closed account opens nothing. But who opens it again means a person with a password or an
identity, not a token in a script of last year, nor a browser that was never signed out.
"""

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken
from fsbench_web.catalog import clock

CLOSED = "the account was closed"
OPENED = "the account was opened again"


def end_all(user: User, by: User, because: str) -> None:
    """The account's tokens and sessions end. The caller holds the transaction.

    Also when it is opened again: what an earlier version left, or somebody made in the very moment
    in which it was closed, would come back to life then.
    """
    for row in ApiToken.objects.filter(user=user):
        tokens.revoke(row, by, because=because)
    # Whose a session is stands in its data alone.
    live = Session.objects.filter(expire_date__gt=clock.now()).iterator()
    keys = [row.pk for row in live if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=keys).delete()
