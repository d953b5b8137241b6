"""/api/v1: its parts, how it reads and writes JSON, and its addresses."""

from itertools import chain
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver
from django.utils.datastructures import MultiValueDict
from ninja import NinjaAPI, Swagger
from ninja.operation import Operation
from ninja.parser import Parser
from ninja.renderers import JSONRenderer

from fsbench_web.accounts.requirements import Action, action_of, requires, requires_by_method
from fsbench_web.api import health, permalinks, profiles, search, watches
from fsbench_web.api.accounts import audit, me, people, teams
from fsbench_web.api.catalog import hardware, workers, workloads
from fsbench_web.api.imports import steps
from fsbench_web.api.protocol import errors, schemas
from fsbench_web.api.protocol.answers import with_common_answers
from fsbench_web.api.protocol.router import complete_schema, only_described
from fsbench_web.api.results import (
    comparison,
    deltas,
    explanations,
    history,
    sealed,
    studies,
    tables,
)
from fsbench_web.api.runs import activity, jobs, routes, series, triggers


class _StrictJSON(JSONRenderer):
    """Numbers as they are (shortest text that gives the same float), and never NaN."""

    json_dumps_params = {"allow_nan": False, "ensure_ascii": False}


class _Docs(Swagger):
    """Swagger UI inside our page, its files from the package."""

    template_cdn = str(settings.BASE_DIR / "templates" / "api" / "docs.html")


class _API(NinjaAPI):
    """Calls are named as their functions are: generated clients get ``client.get_study(...)``."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__

    _schemas: dict[str, Any] = {}

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> Any:
        """Made once for each prefix: it takes a second, and only new code changes it."""
        prefix = self.get_root_path(path_params or {}) if path_prefix is None else path_prefix
        if prefix not in self._schemas:
            self._schemas[prefix] = complete_schema(super().get_openapi_schema(path_prefix=prefix))
        return self._schemas[prefix]


class _Parser(Parser):
    """Refuses query and form values that no database could hold, and bodies without end."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Raises ValueError, which ``errors`` puts into words."""
        data = super().parse_body(request)
        if schemas.is_too_deep(data):
            raise ValueError(errors.TOO_DEEP)
        return data

    def parse_querydict(
        self, data: MultiValueDict[str, str], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        for name, values in data.lists():
            if not all(isinstance(value, str) and schemas.is_storable(value) for value in values):
                raise errors.Refused(422, [(name, f"{name} {schemas.UNSTORABLE}.")])
        return super().parse_querydict(data, list_fields, request)


api = _API(
    title="fsbench",
    version="1",
    description=(
        "File system benchmarks: studies, delta tables, imports and runs. Reading is open; "
        "writing needs a token (account page, or `manage.py create_token USERNAME`). Sizes are "
        "KB of 1024 bytes, rates KB/s, unless `unit` says otherwise; numbers are not rounded. "
        "A parameter or key that a call does not describe is refused. Every read has an `ETag` and "
        "takes `If-None-Match`."
    ),
    urls_namespace="api",
    docs=_Docs({"docExpansion": "list", "defaultModelsExpandDepth": 0}),
    docs_decorator=requires(Action.READ),
    renderer=_StrictJSON(),
    parser=_Parser(),
)
_AREAS = {
    "health": (health.router,),
    "you": (me.router,),
    "studies": (studies.router, series.router, sealed.router, tables.router),
    "deltas": (deltas.router,),
    "explanations": (explanations.router,),
    "comparisons": (comparison.router, history.router),
    "permalinks": (permalinks.router,),
    "work profiles": (profiles.router,),
    "watches": (watches.router,),
    "imports": (steps.router,),
    "runs": (routes.router, activity.router),
    "jobs": (jobs.router, jobs.sweeps),
    "triggers": (triggers.router,),
    "workers": (workers.router,),
    "search": (search.router,),
    "workloads": (workloads.router,),
    "hardware": (hardware.router,),
    "administration": (people.router, teams.router, audit.router),
}

for kind, handler in errors.HANDLERS.items():
    api.add_exception_handler(kind, handler)
api.add_decorator(only_described, mode="view")
for tag, routers in _AREAS.items():
    for router in routers:
        api.add_router("", router, tags=[tag])


@requires(Action.OPEN)
def _root(request: HttpRequest) -> HttpResponse:
    """django-ninja's own answer here is a 404 that no reader understands."""
    return redirect("api:openapi-view")


def _actions() -> dict[str, dict[str, Action | None]]:
    """By address and method, what each call requires."""
    data: dict[str, dict[str, Action | None]] = {}
    for router in chain.from_iterable(_AREAS.values()):
        for path, view in router.path_operations.items():
            route = path.strip("/").replace("{", "<").replace("}", ">")
            if route in data:
                raise ValueError(f"{route} is in two routers, and Django asks the first alone.")
            data[route] = {
                method: action_of(call.view_func, method)
                for call in reversed(view.operations)  # of two, django-ninja calls the first
                for method in call.methods
            }
    return data


def _addresses() -> tuple[list[URLPattern | URLResolver], str, str]:
    patterns, app_name, namespace = api.urls
    actions = _actions()
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            if pattern.name == "api-root":
                pattern.callback = _root
            elif str(pattern.pattern) in actions:
                requires_by_method(actions[str(pattern.pattern)])(pattern.callback)
            pattern.callback = with_common_answers(pattern.callback)
    return patterns, app_name, namespace


urls = _addresses()
