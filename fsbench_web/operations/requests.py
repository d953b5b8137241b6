"""Gives every request an id, counts it, and writes one line of the log.

The id is in ``X-Request-ID`` and in every log line of the request, also those of a worker. A proxy
may give it.
"""

import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from fsbench_web.operations import metrics
from fsbench_web.platform import log_lines

logger = logging.getLogger("fsbench.access")

HEADER = "X-Request-ID"
_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{8,64}")


def log_requests(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware, the outermost: what the others refuse is counted too."""

    def answer(request: HttpRequest) -> HttpResponse:
        with log_lines.log_context(request=_request_id(request)):
            began = time.perf_counter()
            return _count_and_log(request, get_response(request), time.perf_counter() - began)

    answer.process_view = _name_the_run  # type: ignore[attr-defined]
    return answer


def _request_id(request: HttpRequest) -> str:
    request_id = request.headers.get(HEADER, "")
    return request_id if _ACCEPTED.fullmatch(request_id) else uuid.uuid4().hex


def _name_the_run(
    request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: dict[str, Any]
) -> None:
    """The lines of a request for a run are about that run (process_view: its address is known)."""
    if "run_id" in kwargs:
        log_lines.add_context(run=kwargs["run_id"])


def route_of(request: HttpRequest) -> str:
    """The name of the address in urls.py; "none" where none fits."""
    match = request.resolver_match
    if match is None:
        return "none"
    return match.view_name or match.route or "none"


def _count_and_log(request: HttpRequest, response: HttpResponse, duration_s: float) -> HttpResponse:
    route, method = route_of(request), request.method or ""
    metrics.count_request(route, method, response.status_code, duration_s)
    response.headers.setdefault(HEADER, log_lines.current("request"))
    logger.info(
        "%s %s %s",
        method,
        request.path,
        response.status_code,
        extra={
            "method": method,
            "route": route,
            "status": response.status_code,
            "duration_ms": round(duration_s * 1000, 1),
        },
    )
    return response
