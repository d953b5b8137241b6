"""One shape for every error of the API: a problem document
(fsbench_web.platform.http.problems, docs/api.md).
"""

import difflib
import json
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError

from fsbench_web.api.protocol import text
from fsbench_web.platform.database_problems import is_disk_full
from fsbench_web.platform.http import error_pages
from fsbench_web.platform.http import problems as problem_documents

logger = logging.getLogger("fsbench.api")
BUSY = (
    "The database does not answer, or is busy for too long; nothing was stored. "
    "Send the call again in a while."
)
WITHOUT = (
    "This call writes and needs a token: send the header "
    '"Authorization: Bearer TOKEN". Tokens are made on the account page, or with '
    "`manage.py create_token USERNAME`."
)
REFUSED = (
    "This token opens nothing: it was mistyped or revoked, or its user is not active. "
    "The account page makes a new one."
)

NOT_READ = "The body holds a number that is far too large."


class Problem(Schema):
    """One thing that is wrong: where (a parameter, a part of the body), and what to do."""

    field: str | None
    message: str


class ProblemDocument(Schema):
    """What RFC 9457 says of a problem, besides its ``detail``. ``title`` is the status in words."""

    detail: str
    type: str
    title: str
    status: int


class Error(ProblemDocument):
    """The body of every answer from 400 upwards; only ``/health`` says it in its own words."""

    errors: list[Problem]


class Refused(Exception):
    """Answers with ``status`` and a sentence for each problem; ``wait_s``: with ``Retry-After``."""

    def __init__(
        self, status: int, problems: list[tuple[str | None, str]], wait_s: int | None = None
    ) -> None:
        self.status = status
        self.problems = problems
        self.wait_s = wait_s
        super().__init__(status, problems)


class RefusedAt(Exception):
    """The same with errors that have places of their own: ``errors`` are their rows."""

    def __init__(self, status: int, detail: str, errors: Sequence[Any]) -> None:
        self.status, self.detail, self.errors = status, detail, errors
        super().__init__(status, detail)


def body(status: int, problems: list[tuple[str | None, str]]) -> dict[str, Any]:
    """The error body for (field, sentence) pairs."""
    return problem_documents.document(
        status,
        " ".join(sentence for _, sentence in problems),
        [{"field": field, "message": sentence} for field, sentence in problems],
    )


def nearest(name: str, names: Iterable[str]) -> str:
    """How a sentence about a name that there is not ends: with the nearest, and all there are."""
    names = list(names)
    matches = difflib.get_close_matches(name[:60].lower(), names, n=1)
    guess = f': did you mean "{matches[0]}"?' if matches else "."
    return f"{guess} There is {', '.join(names) or 'none'}."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _validation_problem(error: dict[str, Any]) -> tuple[str | None, str]:
    """pydantic's location and text: ("body", "job", "repeats") -> "repeats"."""
    source, *path = (str(part) for part in error["loc"])
    # The first name is often that of an argument, which is ours and not the caller's.
    if source == "body" or path[:1] == ["filters"]:
        path = path[1:]
    field = ".".join(path) or source
    text = error["msg"].removeprefix("Value error, ")
    return field, _sentence(f"{field}: {text[:1].lower()}{text[1:]}")


def _unread_body(error: HttpError) -> str:
    """What is wrong with a body that was not read; nothing of other errors."""
    match error.__cause__:
        case json.JSONDecodeError() as cause:
            place = f"line {cause.lineno}, column {cause.colno}"
            return _sentence(f"The body is not JSON: {place}: {cause.msg}")
        case UnicodeDecodeError():
            return "The body is not UTF-8 text."
        case RecursionError():
            return text.TOO_DEEP
        case ValueError() as cause:  # too deep, or a number of thousands of digits
            return text.TOO_DEEP if str(cause) == text.TOO_DEEP else NOT_READ
    return ""


def answer_in_one_shape(api: NinjaAPI) -> None:
    """Register the handlers that turn every exception into the one error body."""

    def answer(request: HttpRequest, status: int, problems: list[tuple[str | None, str]]) -> Any:
        return sent(request, body(status, problems))

    def sent(request: HttpRequest, document: dict[str, Any]) -> HttpResponse:
        response = api.create_response(request, document, status=document["status"])
        response["Content-Type"] = problem_documents.MEDIA_TYPE
        return response

    @api.exception_handler(ValidationError)
    def invalid(request: HttpRequest, exc: ValidationError) -> HttpResponse:
        return answer(request, 422, [_validation_problem(error) for error in exc.errors])

    @api.exception_handler(Refused)
    def refused(request: HttpRequest, exc: Refused) -> HttpResponse:
        response: HttpResponse = answer(request, exc.status, exc.problems)
        if exc.wait_s is not None:
            response["Retry-After"] = str(exc.wait_s)
        return response

    @api.exception_handler(RefusedAt)
    def refused_at(request: HttpRequest, exc: RefusedAt) -> HttpResponse:
        return sent(request, problem_documents.document(exc.status, exc.detail, exc.errors))

    @api.exception_handler(AuthenticationError)
    def unauthorised(request: HttpRequest, exc: AuthenticationError) -> HttpResponse:
        sentence = REFUSED if request.headers.get("Authorization") else WITHOUT
        response = answer(request, 401, [(None, sentence)])
        response["WWW-Authenticate"] = 'Bearer realm="fsbench"'
        return response

    @api.exception_handler(Http404)
    def missing(request: HttpRequest, exc: Http404) -> HttpResponse:
        sentence = str(exc) or f"There is no {request.path}; /api/v1/docs lists what there is."
        return answer(request, 404, [(None, sentence)])

    @api.exception_handler(HttpError)
    def other(request: HttpRequest, exc: HttpError) -> HttpResponse:
        return answer(request, exc.status_code, [(None, _unread_body(exc) or _sentence(str(exc)))])

    @api.exception_handler(RequestDataTooBig)
    def too_big(request: HttpRequest, exc: RequestDataTooBig) -> HttpResponse:
        limit_kb = (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) // 1024
        return answer(request, 413, [(None, f"The body is larger than {limit_kb} KiB.")])

    @api.exception_handler(OperationalError)
    def busy(request: HttpRequest, exc: OperationalError) -> HttpResponse:
        logger.error("%s %s: the database: %s", request.method, request.path, exc)
        full = error_pages.DISK_FULL.format(where="the database")
        sentence = full if is_disk_full(exc) else BUSY
        response = answer(request, 503, [(None, sentence)])
        response["Retry-After"] = "30"
        return response
