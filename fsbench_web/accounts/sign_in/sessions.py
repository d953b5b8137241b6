"""How long sessions last."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from fsbench_web.platform import clock

_AT_ONCE = 10_000


def open_session(request: HttpRequest, user: User, backend: str | None = None) -> None:
    """Sign this person in, until ``FSBENCH_SESSION_HOURS`` from now, however often it is used."""
    login(request, user, backend=backend)
    end = timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE)
    request.session.set_expiry(end)


def remove_ended() -> int:
    """Delete some expired sessions. Returns how many."""
    ended = Session.objects.filter(expire_date__lt=clock.now()).order_by("expire_date")
    deleted, _ = Session.objects.filter(
        pk__in=list(ended.values_list("pk", flat=True)[:_AT_ONCE])
    ).delete()
    return deleted
