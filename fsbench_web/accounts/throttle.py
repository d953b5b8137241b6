"""A limit on failed sign-ins, by user name and address together.

Together, so that a stranger who knows a name cannot lock its owner out from another machine. In
the database rather than a cache, so that it holds over several web processes and restarts.
"""

import hashlib
from datetime import timedelta

from django.utils import timezone

from fsbench_web.accounts.models import SignInAttempt

LIMIT = 10
WINDOW = timedelta(minutes=15)


def _key(username: str, address: str) -> str:
    text = f"{username.casefold()}\n{address}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def admit(username: str, address: str, limit: int = LIMIT) -> bool:
    """Count an attempt before its password is checked. False: too many, do not check it.

    The attempt is written first and counted then, so that many at once cannot slip through; one
    that is refused is not kept, so that the wait ends ``WINDOW`` after the last real attempt.
    """
    now = timezone.now()
    SignInAttempt.objects.filter(at__lt=now - WINDOW).delete()
    attempt = SignInAttempt.objects.create(key=_key(username, address), at=now)
    if SignInAttempt.objects.filter(key=attempt.key).count() > limit:
        attempt.delete()
        return False
    return True


def forget(username: str, address: str) -> None:
    """Forget the failures after a successful sign-in."""
    SignInAttempt.objects.filter(key=_key(username, address)).delete()
