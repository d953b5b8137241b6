"""/api/v1: its parts, how it reads and writes JSON, and its addresses."""

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
from fsbench_web.api.accounts.audit import router as audit_log
from fsbench_web.api.accounts.me import router as me
from fsbench_web.api.accounts.people import router as people
from fsbench_web.api.accounts.teams import router as teams
from fsbench_web.api.catalog.hardware import router as hardware
from fsbench_web.api.catalog.own_workloads import router as own_workloads
from fsbench_web.api.catalog.workers import router as workers
from fsbench_web.api.catalog.workloads import router as workloads
from fsbench_web.api.health import router as health
from fsbench_web.api.imports.rereads import router as rereads
from fsbench_web.api.imports.steps import router as import_steps
from fsbench_web.api.permalinks import router as permalinks
from fsbench_web.api.profiles import router as profiles
from fsbench_web.api.protocol import errors, text
from fsbench_web.api.protocol.answers import with_common_answers
from fsbench_web.api.protocol.described import only_described
from fsbench_web.api.protocol.description import complete_schema
from fsbench_web.api.results.comparison import router as comparison
from fsbench_web.api.results.deltas import router as deltas
from fsbench_web.api.results.explanations import router as explanations
from fsbench_web.api.results.history import router as history
from fsbench_web.api.results.study_writes import router as study_writes
from fsbench_web.api.runs.activity import router as run_activity
from fsbench_web.api.runs.jobs import router as jobs
from fsbench_web.api.runs.jobs import sweeps
from fsbench_web.api.runs.lun_ledgers import router as lun_ledgers
from fsbench_web.api.runs.outputs import router as run_outputs
from fsbench_web.api.runs.routes import router as runs
from fsbench_web.api.runs.series import router as series
from fsbench_web.api.runs.traces import router as run_traces
from fsbench_web.api.runs.triggers import router as triggers
from fsbench_web.api.search import router as search
from fsbench_web.api.watches import router as watches


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
        if text.is_too_deep(data):
            raise ValueError(text.TOO_DEEP)
        return data

    def parse_querydict(
        self, data: MultiValueDict[str, str], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        for name, values in data.lists():
            if not all(isinstance(value, str) and text.is_storable(value) for value in values):
                raise errors.Refused(422, [(name, f"{name} {text.UNSTORABLE}.")])
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
_AREAS = [
    ("health", health),
    ("you", me),
    ("studies", study_writes),
    ("studies", series),
    ("deltas", deltas),
    ("explanations", explanations),
    ("comparisons", comparison),
    ("comparisons", history),
    ("permalinks", permalinks),
    ("work profiles", profiles),
    ("watches", watches),
    ("imports", import_steps),
    ("imports", rereads),
    ("runs", runs),
    ("runs", run_outputs),
    ("runs", run_activity),
    ("runs", run_traces),
    ("jobs", jobs),
    ("jobs", sweeps),
    ("triggers", triggers),
    ("workers", workers),
    ("workers", lun_ledgers),
    ("search", search),
    ("workloads", workloads),
    ("workloads", own_workloads),
    ("hardware", hardware),
    ("administration", people),
    ("administration", teams),
    ("administration", audit_log),
]

errors.answer_in_one_shape(api)
api.add_decorator(only_described, mode="view")
for tag, router in _AREAS:
    api.add_router("", router, tags=[tag])


@requires(Action.OPEN)
def _root(request: HttpRequest) -> HttpResponse:
    """django-ninja's own answer here is a 404 that no reader understands."""
    return redirect("api:openapi-view")


def _actions() -> dict[str, dict[str, Action | None]]:
    """By address and method, what each call says beside its function that it requires."""
    data: dict[str, dict[str, Action | None]] = {}
    for _, router in _AREAS:
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
