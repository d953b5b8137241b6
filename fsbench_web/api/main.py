"""/api/v1: its parts, how it reads and writes JSON, and its addresses."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver
from django.utils.datastructures import MultiValueDict
from ninja import NinjaAPI
from ninja.operation import Operation
from ninja.parser import Parser
from ninja.renderers import JSONRenderer

from fsbench_web.api.catalog.hardware import router as hardware
from fsbench_web.api.catalog.own_workloads import router as own_workloads
from fsbench_web.api.catalog.workers import router as workers
from fsbench_web.api.catalog.workloads import router as workloads
from fsbench_web.api.health import router as health
from fsbench_web.api.imports.rereads import router as rereads
from fsbench_web.api.imports.steps import router as import_steps
from fsbench_web.api.me import router as me
from fsbench_web.api.people import router as people
from fsbench_web.api.permalinks import router as permalinks
from fsbench_web.api.protocol import errors, text
from fsbench_web.api.protocol.answers import in_common
from fsbench_web.api.protocol.described import only_described
from fsbench_web.api.protocol.description import finished
from fsbench_web.api.protocol.docs import DocsPage
from fsbench_web.api.results.comparison import router as comparison
from fsbench_web.api.results.deltas import router as deltas
from fsbench_web.api.results.history import router as history
from fsbench_web.api.results.study_writes import router as study_writes
from fsbench_web.api.runs.outputs import router as run_outputs
from fsbench_web.api.runs.routes import router as runs
from fsbench_web.api.runs.series import router as series
from fsbench_web.api.runs.sweeps import router as sweeps
from fsbench_web.api.search import router as search
from fsbench_web.api.watches import router as watches


class _StrictJSON(JSONRenderer):
    """Numbers as they are (shortest text that gives the same float), and never NaN."""

    json_dumps_params = {"allow_nan": False, "ensure_ascii": False}


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
            self._schemas[prefix] = finished(super().get_openapi_schema(path_prefix=prefix))
        return self._schemas[prefix]


class _StorableQuery(Parser):
    """Refuses query and form values that no database could hold."""

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
    docs=DocsPage(),
    renderer=_StrictJSON(),
    parser=_StorableQuery(),
)
errors.answer_in_one_shape(api)
api.add_decorator(only_described, mode="view")
api.add_router("", health, tags=["health"])
api.add_router("", me, tags=["you"])
api.add_router("", study_writes, tags=["studies"])
api.add_router("", series, tags=["studies"])
api.add_router("", deltas, tags=["deltas"])
api.add_router("", comparison, tags=["comparisons"])
api.add_router("", history, tags=["comparisons"])
api.add_router("", permalinks, tags=["permalinks"])
api.add_router("", watches, tags=["watches"])
api.add_router("", import_steps, tags=["imports"])
api.add_router("", rereads, tags=["imports"])
api.add_router("", runs, tags=["runs"])
api.add_router("", run_outputs, tags=["runs"])
api.add_router("", sweeps, tags=["sweeps"])
api.add_router("", workers, tags=["workers"])
api.add_router("", search, tags=["search"])
api.add_router("", workloads, tags=["workloads"])
api.add_router("", own_workloads, tags=["workloads"])
api.add_router("", hardware, tags=["hardware"])
api.add_router("", people, tags=["administration"])


def _root(request: HttpRequest) -> HttpResponse:
    """django-ninja's own answer here is a 404 that no reader understands."""
    return redirect("api:openapi-view")


def _addresses() -> tuple[list[URLPattern | URLResolver], str, str]:
    patterns, app_name, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            if pattern.name == "api-root":
                pattern.callback = _root
            pattern.callback = in_common(pattern.callback)
    return patterns, app_name, namespace


urls = _addresses()
