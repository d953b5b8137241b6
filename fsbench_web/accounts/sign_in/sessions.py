"""Sessions that are over."""

from django.contrib.sessions.models import Session

from fsbench_web.platform import clock

_AT_ONCE = 10_000


def remove_ended() -> int:
    """Delete some of the sessions whose time is over. Returns how many.

    Each sign-in leaves one, and nothing else takes it away from whoever does not sign out.
    """
    ended = Session.objects.filter(expire_date__lt=clock.now()).order_by("expire_date")
    deleted, _ = Session.objects.filter(
        pk__in=list(ended.values_list("pk", flat=True)[:_AT_ONCE])
    ).delete()
    return deleted
