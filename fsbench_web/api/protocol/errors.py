"""One shape for every error of the API: a problem document
(fsbench_web.platform.http.problems, docs/api.md).
"""

import difflib
import json
import logging
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError

from fsbench_web.accounts.people import accounts, closing
from fsbench_web.compare.permalinks.records import EmptyComparison
from fsbench_web.compare.profiles.records import TooManyNames
from fsbench_web.compare.selection.spec import SpecError
from fsbench_web.compare.watches import confirming, watching
from fsbench_web.core.workloads import ParameterError
from fsbench_web.imports.problems import ImportRefused, ProblemGroup, grouped
from fsbench_web.platform.database_problems import is_disk_full
from fsbench_web.platform.http import error_pages
from fsbench_web.platform.http import problems as problem_documents
from fsbench_web.studies.activity import pricing
from fsbench_web.studies.jobs import new_study
from fsbench_web.studies.jobs.documents.text import UnreadableDocument
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.runs.control import ControlRefused
from fsbench_web.studies.triggers import records as triggers

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
    "This token is invalid: it was mistyped or revoked, or its user is not active. "
    "The account page makes a new one."
)
MOST_LEVELS = 64
TOO_DEEP = f"The body is nested more than {MOST_LEVELS} levels deep."
NOT_READ = "The body holds a number that is far too large."


REFUSALS: dict[type[Exception], tuple[int, str | None]] = {
    accounts.LastAdministrator: (409, "role"),
    accounts.NameTaken: (422, "name"),
    accounts.PasswordNotAllowed: (409, "user_id"),
    closing.DispositionError: (422, "permalinks"),
    confirming.CannotConfirm: (422, "rounds"),
    EmptyComparison: (422, "query"),
    new_study.InvalidTitle: (422, "title"),
    new_study.StudyExists: (409, "title"),
    ParameterError: (422, None),
    pricing.TooManyRuns: (422, "amount"),
    triggers.TooManyTriggers: (422, None),
    TooManyNames: (422, "title"),
    UnreadableDocument: (422, "document"),
    watching.TooManyWatches: (422, None),
}
"""What refuses a call with one sentence: the status, and the field that it is about."""


Problems = list[tuple[str | None, str]]
"""Each with the field that it is about."""


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

    def __init__(self, status: int, problems: Problems, wait_s: int | None = None) -> None:
        self.status = status
        self.problems = problems
        self.wait_s = wait_s
        super().__init__(status, problems)


def body(status: int, problems: Problems) -> dict[str, Any]:
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
            return TOO_DEEP
        case ValueError() as cause:  # too deep, or a number of thousands of digits
            return TOO_DEEP if str(cause) == TOO_DEEP else NOT_READ
    return ""


def _with_place(group: ProblemGroup) -> str:
    problem = group.first
    place = f"line {problem.line}" if problem.line else ""
    if group.count > 1:
        place = f"{group.count:,} lines, the first is {place}"
    place = ", ".join(str(part) for part in (problem.file, place) if part)
    return f"{place}: {problem.message}" if place else problem.message


def refusal_of_job(
    refused: JobRefused, name_of: Callable[[str], str] = lambda part: part
) -> Refused:
    """Every problem of the job; ``name_of`` gives the field of a part of it."""
    return Refused(
        403 if refused.is_forbidden else 422,
        [
            ("confirm" if part == "confirmation" else name_of(part), sentence)
            for part, sentences in refused.by_part.items()
            for sentence in sentences
        ],
    )


def response(status: int, problems: Problems, **headers: str) -> HttpResponse:
    """The error answer for (field, sentence) pairs."""
    return _sent(body(status, problems), headers)


def _sent(document: dict[str, Any], headers: dict[str, str]) -> HttpResponse:
    return JsonResponse(
        document,
        status=document["status"],
        content_type=problem_documents.MEDIA_TYPE,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        json_dumps_params={"ensure_ascii": False},
    )


def _invalid(request: HttpRequest, exc: ValidationError) -> HttpResponse:
    return response(422, [_validation_problem(error) for error in exc.errors])


def _refused(request: HttpRequest, exc: Refused) -> HttpResponse:
    headers = {} if exc.wait_s is None else {"Retry_After": str(exc.wait_s)}
    return response(exc.status, exc.problems, **headers)


def _in_one_sentence(request: HttpRequest, exc: Exception) -> HttpResponse:
    status, field = next(REFUSALS[kind] for kind in type(exc).__mro__ if kind in REFUSALS)
    return response(status, [(field, str(exc))])


def _import_refused(request: HttpRequest, exc: ImportRefused) -> HttpResponse:
    detail = " ".join(["Nothing was stored.", *map(_with_place, grouped(exc.problems))])
    status = 403 if exc.is_forbidden else 422
    return _sent(problem_documents.document(status, detail, exc.errors), {})


def _control_refused(request: HttpRequest, exc: ControlRefused) -> HttpResponse:
    status = 403 if exc.is_forbidden else 422
    return response(status, [(exc.part, problem) for problem in exc.problems])


def _no_comparison(request: HttpRequest, exc: SpecError) -> HttpResponse:
    return response(422, [(exc.parameter, problem) for problem in exc.problems])


def _unauthorised(request: HttpRequest, exc: AuthenticationError) -> HttpResponse:
    sentence = REFUSED if request.headers.get("Authorization") else WITHOUT
    return response(401, [(None, sentence)], WWW_Authenticate='Bearer realm="fsbench"')


def _missing(request: HttpRequest, exc: Http404) -> HttpResponse:
    sentence = str(exc) or f"There is no {request.path}; /api/v1/docs lists what there is."
    return response(404, [(None, sentence)])


def _other(request: HttpRequest, exc: HttpError) -> HttpResponse:
    return response(exc.status_code, [(None, _unread_body(exc) or _sentence(str(exc)))])


def _too_big(request: HttpRequest, exc: RequestDataTooBig) -> HttpResponse:
    limit_kb = (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) // 1024
    return response(413, [(None, f"The body is larger than {limit_kb} KiB.")])


def _busy(request: HttpRequest, exc: OperationalError) -> HttpResponse:
    logger.error("%s %s: the database: %s", request.method, request.path, exc)
    full = error_pages.DISK_FULL.format(where="the database")
    return response(503, [(None, full if is_disk_full(exc) else BUSY)], Retry_After="30")


HANDLERS: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
    **dict.fromkeys(REFUSALS, _in_one_sentence),
    AuthenticationError: _unauthorised,
    ControlRefused: _control_refused,
    Http404: _missing,
    HttpError: _other,
    ImportRefused: _import_refused,
    JobRefused: lambda request, exc: _refused(request, refusal_of_job(exc)),
    OperationalError: _busy,
    Refused: _refused,
    RequestDataTooBig: _too_big,
    SpecError: _no_comparison,
    ValidationError: _invalid,
}
"""How the API answers each exception of a call."""
