"""What is answered when a request comes to nothing: pages for people, JSON under /api/."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from django.conf import settings
from django.core.exceptions import TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve

from fsbench_web.platform.database_problems import is_disk_full
from fsbench_web.platform.http import problems

logger = logging.getLogger("fsbench.errors")

# Of a statement that found no room, and of an upload that arrived where there was none.
DISK_FULL = (
    "The disk of {where} is full; nothing was stored. An administrator has to make room before "
    "you send it again."
)
_LAST_RESORT = (
    "<!doctype html><title>fsbench: error</title><h1>Something went wrong</h1>"
    "<p>fsbench could not answer, and could not draw its error page either. "
    "The log of the web process says why.</p>"
)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def _json(status: int, detail: str) -> HttpResponse:
    """The API's error body (docs/api.md): the same keys for every error."""
    errors = [{"field": None, "message": detail}]
    body = problems.document(status, detail, errors)
    return JsonResponse(body, status=status, content_type=problems.MEDIA_TYPE)


def _page(
    request: HttpRequest | None, status: int, template: str, context: Mapping[str, object]
) -> HttpResponse:
    return HttpResponse(render_to_string(template, dict(context), request), status=status)


def _sentence(exception: Exception, fallback: str) -> str:
    """What a view said with ``raise Http404("...")``; Django's own texts are not for people."""
    if isinstance(exception, Resolver404) or not exception.args:
        return fallback
    message = exception.args[0]
    # get_object_or_404 says "No Run matches the given query."
    from_django = " matches the given query" in str(message)
    return message if isinstance(message, str) and not from_django else fallback


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: what was looked for, why it is not there, and where to go instead."""
    assert isinstance(exception, Http404)
    if _is_api(request):
        fallback = f"There is no {request.path}; /api/v1/docs lists what there is."
        return _json(404, _sentence(exception, fallback))
    fallback = "The address may be mistyped, or what it showed may have been deleted."
    context = {"sentence": _sentence(exception, fallback), "path": request.path}
    return _page(request, 404, "404.html", context)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: somebody signed in may not do this."""
    sentence = _sentence(exception, "Your account may not do this.")
    if _is_api(request):
        return _json(403, sentence)
    return _page(request, 403, "403.html", {"sentence": sentence})


def unauthorised(request: HttpRequest, sentence: str) -> HttpResponse:
    """401 of the API: who asks must say who they are."""
    response = _json(401, sentence)
    response["WWW-Authenticate"] = 'Bearer realm="fsbench"'
    return response


def too_many(request: HttpRequest, sentence: str, wait_s: int) -> HttpResponse:
    """429: more than the site lets one account or address ask for, or than it can do at once."""
    if _is_api(request):
        response = _json(429, sentence)
    else:
        # Without the request: whose page it is would be one more question to the database.
        context = {"sentence": sentence, "address": request.get_full_path()}
        response = _page(None, 429, "429.html", context)
    response["Retry-After"] = str(wait_s)
    return response


def plain_text(status: int, text: str) -> HttpResponse:
    """A refusal in plain text, for programs that fetch files."""
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: Django refused the request before a view saw it (a host not allowed, say)."""
    sentence = ""
    if isinstance(exception, TooManyFieldsSent):
        sentence = (
            f"It has more than {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields, which is more "
            "than any page sends: choose fewer at once."
        )
    if _is_api(request):
        fallback = "The request is malformed, or names a host that is not allowed."
        return _json(400, sentence or fallback)
    # Without the request: a context processor that reads the session may be what failed.
    return _page(None, 400, "400.html", {"sentence": sentence})


def not_allowed(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: 405 as a page, where a browser showed an empty one. A user who signs in
    again while sending a form returns to the form's address.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not isinstance(response, HttpResponseNotAllowed) or _is_api(request):
            return response
        context = {"is_form": "POST" in response["Allow"], "above": _parent_address(request.path)}
        page = _page(request, 405, "405.html", context | {"path": request.path})
        page["Allow"] = response["Allow"]
        return page

    return answer


def _parent_address(path: str) -> str:
    """The nearest address above one: what a form's address changes, most often."""
    while path := path.rstrip("/").rpartition("/")[0]:
        try:
            resolve(f"{path}/")
        except Resolver404:
            continue
        return f"{path}/"
    return "/"


def database_away(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: 503 where a view could not reach the database, or waited for it too long."""

    def answer(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    answer.process_exception = service_unavailable  # type: ignore[attr-defined]
    return answer


def service_unavailable(request: HttpRequest, exception: Exception) -> HttpResponse | None:
    """503 for what the database did not answer, and for a disk that is full; None for everything
    else.
    """
    is_of_database = isinstance(exception, OperationalError | InterfaceError)
    is_full = is_disk_full(exception)
    if not (is_of_database or is_full):
        return None
    place = "the database" if is_of_database else "the data folder"
    logger.error("%s %s: %s: %s", request.method, request.path, place, exception)
    if is_full:
        _remove_arrived(request)
    if _is_api(request):
        late = "The database did not answer in time: try again in a moment."
        response = _json(503, DISK_FULL.format(where=place) if is_full else late)
    else:
        context = {"was_sent": request.method == "POST", "is_disk_full": is_full}
        response = _page(None, 503, "503.html", context)
    response["Retry-After"] = "30"
    return response


def _remove_arrived(request: HttpRequest) -> None:
    """What came of an upload until then. Django leaves it to the garbage collector, and an idle
    process, on a full disk, keeps it.
    """
    for handler in request.upload_handlers:
        with suppress(OSError):  # what is not written yet finds no room either
            if hasattr(handler, "file"):
                handler.file.close()


def server_error(request: HttpRequest) -> HttpResponse:
    """500. Touches neither database nor session: their absence is the likeliest cause."""
    if _is_api(request):
        return _json(500, "fsbench failed to answer. The log of the web process says why.")
    try:
        return _page(None, 500, "500.html", {})
    except Exception:
        logger.exception("the error page itself failed")
        return HttpResponse(_LAST_RESORT, status=500)
