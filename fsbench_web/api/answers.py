"""What every call of the API has in common: HEAD, 405, and answers that need not be sent twice.

An ETag is made of the answer itself, after everything that whoever asks must not see was left out.
So it tells nobody anything that their own answer would not, and two people with the same answer may
have the same one. Caches in between keep nothing (``private``): the next one may see less.
"""

import hashlib
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags

from fsbench_web import problems
from fsbench_web.api import errors

View = Callable[..., HttpResponseBase]
_READS = ("GET", "HEAD")
CHANGED = (
    "What you want to change was changed by somebody else since you read it (If-Match): read it "
    "again, then decide."
)


def in_common(view: View) -> View:
    """HEAD is answered as GET (the server drops the body), 405 in the API's error body, and what
    the caller has already with 304.
    """

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        method = request.method
        request.method = "GET" if method == "HEAD" else method
        response = view(request, *args, **kwargs)
        request.method = method
        if response.status_code == 405:
            return _not_taken(request, response)
        patch_vary_headers(response, ["Authorization", "Cookie"])
        response.headers.setdefault("Cache-Control", "private, no-cache")
        if method in _READS and response.status_code == 200 and isinstance(response, HttpResponse):
            return _unless_known(request, response)
        return response

    return wrapper


def _not_taken(request: HttpRequest, response: HttpResponseBase) -> HttpResponse:
    allowed = response["Allow"]
    sentence = f"{request.path} answers {allowed}, not {request.method}."
    return JsonResponse(
        errors.body(405, [(None, sentence)]),
        status=405,
        headers={"Allow": allowed},
        content_type=problems.MEDIA_TYPE,
    )


def _unless_known(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if "no-store" in response.headers["Cache-Control"]:
        return response
    digest = hashlib.sha256(response.headers.get("Content-Type", "").encode() + b"\n")
    digest.update(response.content)
    response["ETag"] = tag = f'"{digest.hexdigest()[:32]}"'
    wanted = parse_etags(request.headers.get("If-None-Match", ""))
    if "*" not in wanted and tag not in [one.removeprefix("W/") for one in wanted]:
        return response
    known = HttpResponse(status=304)
    del known["Content-Type"]
    for name in ("ETag", "Cache-Control", "Vary", "Link", "X-Total-Count"):
        if name in response:
            known[name] = response[name]
    return known


def require_match(request: HttpRequest) -> None:
    """Refuse a change of what is not any more as the caller read it (412).

    Without ``If-Match`` everything goes. The caller holds the lock of the row, and so nothing comes
    between this look and the change. Raises Refused.
    """
    wanted = parse_etags(request.headers.get("If-Match", ""))
    if not wanted or wanted == ["*"]:
        return
    asked = copy(request)
    asked.method = "GET"
    match = resolve(request.path_info)
    answer = match.func(asked, *match.args, **match.kwargs)
    if answer.headers.get("ETag") not in wanted:
        raise errors.Refused(412, [("If-Match", CHANGED)])
