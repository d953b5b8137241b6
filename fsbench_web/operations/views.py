"""The page of operations, and what Prometheus reads."""

import hmac

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.exposition import choose_encoder

from fsbench_web.accounts import passwords
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.operations.installation import Installation
from fsbench_web.operations.metrics import exposed_registry


def is_administrator(request: HttpRequest) -> bool:
    user = request.user
    is_one = user.is_authenticated and user.is_active and (user.is_superuser or user.is_staff)
    # The gate lets everybody through to the metrics, so that a session which must choose a password
    # first (accounts.passwords) is asked about here.
    return is_one and not passwords.must_be_chosen(request)


def has_metrics_token(request: HttpRequest) -> bool:
    """Whether the request shows FSBENCH_METRICS_TOKEN; where that is unset nobody can."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    expected = settings.METRICS_TOKEN
    return (
        bool(expected)
        and scheme.lower() == "bearer"
        and hmac.compare_digest(token.strip().encode(), expected.encode())
    )


@login_required
@never_cache
@require_safe
@requires(Action.ADMINISTER)
def operations(request: HttpRequest) -> HttpResponse:
    """Everything that an administrator looks at, and first of all what is wrong."""
    if not is_administrator(request):
        raise PermissionDenied("The operations page is for administrators of this site.")
    return render(request, "operations/operations.html", {"there": Installation()})


@never_cache
@require_safe
@requires(Action.OPEN)
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus' text format (or OpenMetrics, where it is asked for)."""
    if not (has_metrics_token(request) or is_administrator(request)):
        # Not login_required: a scraper cannot follow to a form.
        return HttpResponse(
            "The metrics are for administrators, and for programs that send "
            "FSBENCH_METRICS_TOKEN as `Authorization: Bearer ...`.\n",
            status=401,
            content_type="text/plain; charset=utf-8",
            headers={"WWW-Authenticate": 'Bearer realm="metrics"'},
        )
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(exposed_registry()), content_type=content_type)
