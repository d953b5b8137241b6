"""How many calls of the API somebody may make in a minute, and of what is drawn up anywhere.

Counted by account, whichever of its tokens or sessions calls, and by address where there is none.
Tokens that open nothing are counted apart, and lower: guessing is stopped early. The address
is that of the connection; what a proxy says of it counts only where the server trusts the proxy.

The counts are in the cache that all web processes share (FSBENCH_CACHE_URL). When it is away
nothing is counted: calls are answered rather than refused, and the log says so.
"""

import logging
import math
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from fsbench_web.accounts import tokens
from fsbench_web.accounts.networks import network_of
from fsbench_web.core import numbers
from fsbench_web.platform.http import error_pages
from fsbench_web.renderings.addresses import is_rendered

logger = logging.getLogger("fsbench.api")

WINDOW_S = 60
COME_AGAIN_S = 5
TOO_MANY_AT_ONCE = (
    f"Too many reports, workbooks and pictures wait already. Ask again in {COME_AGAIN_S} seconds."
)
REFUSED_TOKENS = 60
"""Tokens that open nothing, from one address in a window."""
_REST_S = 10.0
_away_until = 0.0


def limit_calls(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware before accounts.gate: whom it refuses nothing else is asked for."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        return get_response(request)

    answer.process_view = _before_view  # type: ignore[attr-defined]
    return answer


def _before_view(
    request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
) -> HttpResponse | None:
    if getattr(request, "is_one_too_many", False):  # fsbench_web.serving.turns
        return error_pages.too_many(request, TOO_MANY_AT_ONCE, COME_AGAIN_S)
    # Health checks are asked for by machines that would take a refusal for death.
    route = request.resolver_match.route if request.resolver_match else ""
    is_call = request.path_info.startswith("/api/") and not route.startswith("api/v1/health")
    is_drawn_up = settings.RENDERED_CALLS_A_MINUTE and is_rendered(request.path_info)
    if not is_call and not is_drawn_up:
        return None
    caller, limit = _caller(request)
    response = _refusal(request, caller, limit, "calls") if is_call else None
    if response is None and is_drawn_up:
        limit = settings.RENDERED_CALLS_A_MINUTE
        response = _refusal(request, f"rendered:{caller}", limit, "reports, workbooks and pictures")
    return response


def _refusal(request: HttpRequest, caller: str, limit: int, noun: str) -> HttpResponse | None:
    """429 where this is one more than the limit; 0: any number."""
    now = time.time()
    count = _count_call(caller, now) if limit else None
    if count is None or count <= limit:
        return None
    wait_s = max(1, math.ceil(WINDOW_S - now % WINDOW_S))
    sentence = (
        f"More than {limit} {noun} in a minute: wait {numbers.counted(wait_s, 'second')}, then go "
        "on more slowly. The operator of this site sets the limit."
    )
    return error_pages.too_many(request, sentence, wait_s)


def _caller(request: HttpRequest) -> tuple[str, int]:
    """Under which name the call is counted, and how many there may be (0: not counted)."""
    token = tokens.bearer_token(request)
    if token is not None:
        api_token = tokens.of_request(request)
        if api_token is None:
            limit = min(REFUSED_TOKENS, settings.API_ANONYMOUS_CALLS_A_MINUTE)
            return f"refused:{_network(request)}", limit
        return f"account:{api_token.user_id}", settings.API_CALLS_A_MINUTE
    if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
        return f"account:{request.user.pk}", settings.API_CALLS_A_MINUTE
    return f"address:{_network(request)}", settings.API_ANONYMOUS_CALLS_A_MINUTE


def _network(request: HttpRequest) -> str:
    return network_of(request.META.get("REMOTE_ADDR", ""))


def _count_call(caller: str, now: float) -> int | None:
    """How many calls this is in the window; None while nobody can count."""
    global _away_until
    if now < _away_until:
        return None
    cache = caches["shared"]
    key = f"calls:{caller}:{int(now // WINDOW_S)}"
    try:
        cache.add(key, 0, timeout=2 * WINDOW_S)
        return int(cache.incr(key))
    except ValueError:  # it ran out in between
        return 1
    except Exception as error:
        _away_until = now + _REST_S
        logger.warning("calls are not counted for %s seconds: %s", _REST_S, type(error).__name__)
        return None
