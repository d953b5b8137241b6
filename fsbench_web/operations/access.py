"""Who may look at the installation: administrators, and whoever has the token of the metrics."""

import hmac

from django.conf import settings
from django.http import HttpRequest

from fsbench_web.accounts import passwords


def is_administrator(request: HttpRequest) -> bool:
    user = request.user
    is_one = user.is_authenticated and user.is_active and (user.is_superuser or user.is_staff)
    # The gate lets everybody through to the metrics, so that a session which must choose a password
    # first (accounts.passwords) is asked about here.
    return is_one and not passwords.must_be_chosen(request)


def has_metrics_token(request: HttpRequest) -> bool:
    """Whether the request shows FSBENCH_METRICS_TOKEN; where that is unset nobody can."""
    scheme, _, shown = request.headers.get("Authorization", "").partition(" ")
    expected = settings.METRICS_TOKEN
    return (
        bool(expected)
        and scheme.lower() == "bearer"
        and hmac.compare_digest(shown.strip().encode(), expected.encode())
    )
