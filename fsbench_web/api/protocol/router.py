"""The router of all calls, who may write, and the OpenAPI description.

A call takes the parameters that its function declares, and refuses all others: a typo must not
become the answer to something else (all runs for ``?stduy=lab``).
"""

import inspect
import json
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import ninja
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja.constants import NOT_SET
from ninja.errors import AuthenticationError, HttpError
from ninja.operation import Operation
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from fsbench_web.accounts import tokens
from fsbench_web.accounts.requirements import Action, action_of
from fsbench_web.api.protocol.errors import Error, Refused, nearest
from fsbench_web.platform.http import problems

Run = Callable[..., HttpResponseBase]
MOST_TOLD = 3
_FOR_ANYBODY = (Action.OPEN, Action.READ)
_OF_NINJA = {"request", "response"}
_READS = ("GET", "HEAD")
_KEY = "Idempotency-Key"
_KEEPS_NO_KEY = (
    f"This call keeps no {_KEY}: sent again it would make another one, and nothing was made. Send "
    "it without."
)


class TokenAuth(HttpBearer):
    """``Authorization: Bearer ...``. A token that opens nothing is refused, never ignored."""

    def authenticate(self, request: HttpRequest, token: str) -> User:
        # accounts.gate has looked it up already, and refused one that opens nothing.
        api_token = getattr(request, "api_token", None)
        user = api_token.user if api_token is not None else tokens.user_of(token.strip())
        if user is None:
            raise AuthenticationError
        return user


class SessionAuth(APIKeyCookie):
    """The cookie of a signed-in browser.

    CSRF is checked only once there is a session: a program without a token learns that it needs
    one, not that its CSRF check failed.
    """

    param_name = settings.SESSION_COOKIE_NAME

    def __init__(self) -> None:
        super().__init__(csrf=False)

    def authenticate(self, request: HttpRequest, key: str | None) -> User | None:
        user = request.user
        if not isinstance(user, User):
            return None
        if check_csrf(request):
            raise HttpError(
                403,
                "The CSRF check failed: send the csrftoken cookie's value as X-CSRFToken, "
                "or use a token.",
            )
        return user


WRITER = [TokenAuth(), SessionAuth()]


def user_of(request: HttpRequest) -> User:
    """The user whom ``WRITER`` let in."""
    user = getattr(request, "auth", None)
    assert isinstance(user, User)
    return user


class Router(ninja.Router):
    """A router of django-ninja; ``response`` of its calls names only what is special to each."""

    def __init__(self) -> None:
        super().__init__()
        self._declared: list[tuple[str, list[str], Callable[..., Any], dict[str, Any]]] = []

    def add_api_operation(
        self,
        path: str,
        methods: list[str],
        view_func: Callable[..., Any],
        *,
        response: Any = NOT_SET,
        openapi_extra: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        declared = {**settings, "response": response, "openapi_extra": openapi_extra}
        self._declared.append((path, methods, view_func, declared))
        needs_account = action_of(view_func, methods[0]) not in _FOR_ANYBODY
        takes_anything = bool(inspect.signature(view_func).parameters.keys() - _OF_NINJA)
        if needs_account and settings.get("auth", NOT_SET) is NOT_SET:
            settings["auth"] = WRITER
        own = response if isinstance(response, dict) else {200: response}
        if response is NOT_SET:  # a file, which ``openapi_extra`` describes
            own = {}
        statuses = (
            *((401, 403) if needs_account else ()),
            *((404, 422) if takes_anything or "requestBody" in (openapi_extra or {}) else ()),
            *((412,) if methods != ["GET"] else ()),  # of a condition
        )
        super().add_api_operation(
            path,
            methods,
            view_func,
            response=dict.fromkeys(statuses, Error) | own,
            openapi_extra=openapi_extra,
            **settings,
        )

    def under_old_name(
        self, word: str, old_word: str, answers: dict[Callable[..., Any], type[ninja.Schema]]
    ) -> "Router":
        """The same calls at their old addresses; ``answers`` had other keys there."""
        alias = Router()
        for path, methods, view_func, declared in self._declared:
            own = {
                "response": answers.get(view_func, declared["response"]),
                "operation_id": view_func.__name__.replace(word, old_word),
                "deprecated": True,
            }
            old_path = path.replace(word, old_word, 1)
            alias.add_api_operation(old_path, methods, view_func, **declared | own)
        return alias


def declared_names(operation: Operation, source: str) -> list[str]:
    """The parameters that a call declares: of its ``query``, or its ``header``."""
    return [
        name
        for model in operation.models
        if model.__ninja_param_source__ == source
        for name in model.__ninja_flatten_map__
    ]


def only_described(run: Run) -> Run:
    """Decorator of an operation's ``run``: refuses what the operation does not declare."""
    operation: Operation = run.__self__  # type: ignore[attr-defined]
    parameters, headers = declared_names(operation, "query"), declared_names(operation, "header")
    has_body = any(
        model.__ninja_param_source__ in ("body", "form", "file") for model in operation.models
    ) or "requestBody" in (operation.openapi_extra or {})
    makes_more_without_a_key = 201 in operation.response_models and _KEY not in headers

    @wraps(run)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            _refuse_unknown("parameter", request.GET, parameters)
            if request.method not in _READS:
                _refuse_conditions(request, headers)
                if makes_more_without_a_key and _KEY in request.headers:
                    raise Refused(422, [(_KEY, _KEEPS_NO_KEY)])
                if not has_body:
                    _refuse_unknown("field", _keys(request), [])
        except Refused as refused:
            return operation.api.on_exception(request, refused)
        return run(request, *args, **kwargs)

    return checked


def _refuse_unknown(word: str, names: Iterable[str], known_names: list[str]) -> None:
    others = [name for name in names if name not in known_names]
    problems: list[tuple[str | None, str]] = [
        (name[:60], f'This call has no {word} "{name[:60]}"{nearest(name, known_names)}')
        for name in others[:MOST_TOLD]
    ]
    if more := len(others) - len(problems):
        problems.append((None, f"These and {more} more ({len(others)} in all) are not taken."))
    if problems:
        raise Refused(422, problems)


def _refuse_conditions(request: HttpRequest, headers: list[str]) -> None:
    """A condition that a call does not keep must not become a change without one.

    ``If-Match: *`` asks only that there is something, which every change asks anyway.
    """
    for name in ("If-Match", "If-None-Match"):
        value = request.headers.get(name)
        is_kept = name in headers or (name == "If-Match" and value == "*")
        if value is not None and not is_kept:
            sentence = f"This call keeps no {name}: nothing was changed. Send it without."
            raise Refused(412, [(name, sentence)])


def _keys(request: HttpRequest) -> list[str]:
    """The keys of a JSON object in a body that nobody asked for; what is none has no names."""
    try:
        data = json.loads(request.body)
    except (ValueError, RecursionError):
        return []
    # JSON can name half a character, which no answer can.
    keys = data if isinstance(data, dict) else {}
    return [key.encode(errors="replace").decode() for key in keys]


_READ_HEADERS = {
    "ETag": {"description": "of this very answer", "schema": {"type": "string"}},
    "Link": {"description": "other pages of a list (RFC 8288)", "schema": {"type": "string"}},
    "X-Total-Count": {"description": "all that match, in lists", "schema": {"type": "integer"}},
}
_CONDITIONS = [
    {
        "name": name,
        "in": "header",
        "required": False,
        "description": text,
        "schema": {"type": "string"},
    }
    for name, text in (
        ("If-None-Match", "an `ETag` that you have: 304 where the answer is still that"),
        ("If-Match", "412 unless the answer has this `ETag`"),
    )
]


def complete_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Errors are problem documents, any call may be refused, and reads may be answered with 304."""
    for path, calls in schema["paths"].items():
        for method, call in calls.items():
            responses = call["responses"]
            is_health = path.endswith("/health") or "/health/" in path
            for status, answer in list(responses.items()):
                if int(status) >= 400 and not is_health:
                    _as_problem(answer)
            responses["default"] = {
                "description": "Refused: no account or right (401, 403), not there (404), not as "
                "it must be (400, 409, 412, 413, 422), too often (429 with Retry-After), or the "
                "database is away or busy (503)",
                "content": {
                    problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Error"}}
                },
            }
            if method == "get" and 200 in responses and not is_health:
                responses[200]["headers"] = {
                    name: sentence
                    for name, sentence in _READ_HEADERS.items()
                    if name == "ETag" or _is_list(call)
                }
                responses[304] = {"description": "As If-None-Match has it already"}
                call["parameters"] = [*call.get("parameters", []), *_CONDITIONS]
    return schema


def _as_problem(answer: dict[str, Any]) -> None:
    content = answer.get("content", {})
    if "application/json" in content:
        content[problems.MEDIA_TYPE] = content.pop("application/json")


def _is_list(call: dict[str, Any]) -> bool:
    return any(parameter["name"] == "offset" for parameter in call.get("parameters", []))


def binary(*media_types: str, description: str = "The file") -> dict[str, Any]:
    """``openapi_extra`` of a call that answers with files."""
    content = {media_type: {"schema": _schema(media_type)} for media_type in media_types}
    return {"responses": {200: {"description": description, "content": content}}}


def _schema(media_type: str) -> dict[str, Any]:
    if media_type == "application/json":
        return {}
    is_text = media_type.startswith("text/")
    return {"type": "string"} if is_text else {"type": "string", "format": "binary"}
