"""What a call does not describe it does not take: one look before every call of the API.

A parameter that is ignored makes a typo an answer (all runs for ``?stduy=lab``), and a condition
that is ignored makes a refusal a change. So what a call may be sent is what its description says:
the parameters that its function declares, and nothing beside them.
"""

import json
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja.operation import Operation

from fsbench_web.api.protocol.errors import Refused, nearest

Run = Callable[..., HttpResponseBase]
MOST_TOLD = 3
_READS = ("GET", "HEAD")
_CONDITIONS = ("If-Match", "If-None-Match")
_KEY = "Idempotency-Key"

_KEEPS_NO_KEY = (
    f"This call keeps no {_KEY}: sent again it would make another one, and nothing was made. Send "
    "it without."
)


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
    for name in _CONDITIONS:
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
