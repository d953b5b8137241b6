"""What every call of the API has in common: HEAD, 405, and answers that need not be sent twice.

An ETag is made of the answer itself, without what the caller must not see. Caches in between keep
nothing (``private``): the next caller may see less.
"""

import hashlib
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import parse_etags
from ninja import Header

from fsbench_web.api.protocol import errors

View = Callable[..., HttpResponseBase]
IfMatch = Annotated[
    str,
    Header(alias="If-Match", description="the `ETag` of the read: 412 where it was changed since"),
]
"""What a call declares that keeps it by ``require_match``; all others refuse it (``described``)."""
_READS = ("GET", "HEAD")
CHANGED = "Somebody else changed this since you read it (If-Match): read it again, then decide."

NOT_IT = "If-Match no longer matches: ask without it for the current state."


def with_common_answers(view: View) -> View:
    """HEAD is answered as GET (the server drops the body), 405 in the API's error body, and what
    the caller has already with 304.
    """

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        method = request.method
        if malformed := _malformed(request):
            return errors.response(400, [malformed])
        request.method = "GET" if method == "HEAD" else method
        response = view(request, *args, **kwargs)
        request.method = method
        if response.status_code == 405:
            allowed = response["Allow"]
            sentence = f"{request.path} answers {allowed}, not {method}."
            return errors.response(405, [(None, sentence)], Allow=allowed)
        patch_vary_headers(response, ["Authorization", "Cookie"])
        response.headers.setdefault("Cache-Control", "private, no-cache")
        if method in _READS and response.status_code == 200 and isinstance(response, HttpResponse):
            return _conditional_answer(request, response)
        return response

    return wrapper


def _malformed(request: HttpRequest) -> tuple[str, str] | None:
    """Which precondition cannot be read. Django ignores it, and a change would have none."""
    for name in ("If-Match", "If-None-Match"):
        header = request.headers.get(name)
        if header is None:
            continue
        tags = parse_etags(header)
        if not tags or len(tags) != sum(bool(part.strip()) for part in header.split(",")):
            return (
                name,
                f"{name} is not a list of entity tags: send the ETag with its quotation marks "
                f"(several with commas between them), or * for any.",
            )
    return None


def _conditional_answer(request: HttpRequest, response: HttpResponse) -> HttpResponseBase:
    if "no-store" in response.headers["Cache-Control"]:
        return response
    if "ETag" not in response.headers:  # else a view knows better what makes its answer another
        kind = response.headers.get("Content-Type", "")
        response["ETag"] = f'"{hashlib.sha256(kind.encode() + response.content).hexdigest()[:32]}"'
    answer = get_conditional_response(request, etag=response["ETag"], response=response)
    assert answer is not None
    if answer.status_code == 412:
        return errors.response(412, [("If-Match", NOT_IT)])
    if answer is not response:
        for name in {"Link", "X-Total-Count"} & response.headers.keys():
            answer[name] = response[name]
    return answer


def require_match(request: HttpRequest) -> None:
    """Refuse a change of what has changed since the caller read it (412).

    Without ``If-Match`` everything goes. The caller holds the lock of the row, and so nothing comes
    between this look and the change. Raises Refused.
    """
    wanted_tags = parse_etags(request.headers.get("If-Match", ""))
    if wanted_tags in ([], ["*"]):
        return
    read_request = copy(request)
    read_request.method = "GET"
    read_request.META = {
        name: value
        for name, value in request.META.items()
        if name not in ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")
    }
    # Both were made of the headers and the address of the change.
    if "headers" in vars(read_request):
        del read_request.headers
    read_request.GET = QueryDict()
    match = resolve(request.path_info)
    answer = match.func(read_request, *match.args, **match.kwargs)
    if answer.headers.get("ETag") not in wanted_tags:
        raise errors.Refused(412, [("If-Match", CHANGED)])
