"""A router that derives account and errors of a call from what it requires and takes."""

import inspect
from collections.abc import Callable
from typing import Any

import ninja
from ninja.constants import NOT_SET

from fsbench_web.accounts.requirements import Action, action_of
from fsbench_web.api.protocol.auth import WRITER
from fsbench_web.api.protocol.errors import Error

_FOR_ANYBODY = (Action.OPEN, Action.READ)
_OF_NINJA = {"request", "response"}


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
