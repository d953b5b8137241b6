"""One shape for every error of the API: {"detail": sentence, "errors": [...]} (docs/api.md)."""

import logging
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError

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


class Problem(Schema):
    """One thing that is wrong: where (a parameter, a part of the body), and what to do."""

    field: str | None
    message: str


class Error(Schema):
    """The body of every answer from 400 upwards."""

    detail: str
    errors: list[Problem]


class Refused(Exception):
    """Answers with ``status`` and a sentence for each problem."""

    def __init__(self, status: int, problems: list[tuple[str | None, str]]) -> None:
        self.status = status
        self.problems = problems
        super().__init__(status, problems)


def body(problems: list[tuple[str | None, str]]) -> dict[str, Any]:
    """The error body for (field, sentence) pairs."""
    return {
        "detail": " ".join(sentence for _, sentence in problems),
        "errors": [{"field": field, "message": sentence} for field, sentence in problems],
    }


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _validation_problem(error: dict[str, Any]) -> tuple[str | None, str]:
    """pydantic's location and text: ("body", "order", "repeats") -> "repeats"."""
    source, *path = (str(part) for part in error["loc"])
    # The first name is often that of an argument, which is ours and not the caller's.
    if path[:1] in (["order"], ["filters"]):
        path = path[1:]
    field = ".".join(path) or source
    text = error["msg"].removeprefix("Value error, ")
    return field, _sentence(f"{field}: {text[:1].lower()}{text[1:]}")


def answer_in_one_shape(api: NinjaAPI) -> None:
    """Register the handlers that turn every exception into the one error body."""

    def answer(request: HttpRequest, status: int, problems: list[tuple[str | None, str]]) -> Any:
        return api.create_response(request, body(problems), status=status)

    @api.exception_handler(ValidationError)
    def invalid(request: HttpRequest, exc: ValidationError) -> HttpResponse:
        return answer(request, 422, [_validation_problem(error) for error in exc.errors])

    @api.exception_handler(Refused)
    def refused(request: HttpRequest, exc: Refused) -> HttpResponse:
        return answer(request, exc.status, exc.problems)

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
        return answer(request, exc.status_code, [(None, _sentence(str(exc)))])

    @api.exception_handler(RequestDataTooBig)
    def too_big(request: HttpRequest, exc: RequestDataTooBig) -> HttpResponse:
        limit_kb = (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) // 1024
        return answer(request, 413, [(None, f"The body is larger than {limit_kb} KB.")])

    @api.exception_handler(OperationalError)
    def busy(request: HttpRequest, exc: OperationalError) -> HttpResponse:
        logger.error("%s %s: the database: %s", request.method, request.path, exc)
        response = answer(request, 503, [(None, BUSY)])
        response["Retry-After"] = "30"
        return response
