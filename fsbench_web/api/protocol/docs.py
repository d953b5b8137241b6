"""The page that shows the OpenAPI description, drawn from it on the server.

Own rather than Swagger UI: that is two megabytes of script which know nothing of dark mode, and
this page needs none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.text import slugify
from ninja import NinjaAPI
from ninja.openapi.docs import DocsBase

from fsbench_web.api.protocol.description import CONDITIONS

_REFERENCE = "#/components/schemas/"


@dataclass(frozen=True)
class Field:
    """A parameter, or a key of a body. ``model`` names the model that it holds, if any."""

    name: str
    type: str
    model: str
    is_required: bool
    description: SafeString
    default: str = ""
    place: str = ""


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    anchor: str
    summary: str
    description: SafeString
    needs_token: bool
    area: str = ""
    parameters: list[Field] = field(default_factory=list)
    media_type: str = ""
    body: list[Field] = field(default_factory=list)
    answers: list[Field] = field(default_factory=list)


@dataclass(frozen=True)
class Area:
    """The calls of one tag, in their order."""

    title: str
    operations: list[Operation]

    @property
    def anchor(self) -> str:
        return slugify(self.title)


@dataclass(frozen=True)
class Model:
    name: str
    description: SafeString
    fields: list[Field]


class DocsPage(DocsBase):
    """Swagger's place in django-ninja, with our own page."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        schema = api.get_openapi_schema()
        context = {
            "title": api.title,
            "description": docstring_html(api.description),
            "areas": areas(operations(schema)),
            "models": models(schema),
            "openapi_url": self.get_openapi_url(api, kwargs),
        }
        return render(request, "api/docs.html", context)


def docstring_html(text: str | None) -> SafeString:
    """A docstring for HTML: what stands between backticks becomes code."""
    pieces = " ".join((text or "").split()).replace("``", "`").split("`")
    tags = (("code" if place % 2 else "span", piece) for place, piece in enumerate(pieces) if piece)
    return format_html_join("", "<{0}>{1}</{0}>", tags)


def operations(schema: Mapping[str, Any]) -> list[Operation]:
    """Every call of the description, in its order."""
    return [
        _operation(schema, path, method, call)
        for path, calls in schema["paths"].items()
        for method, call in calls.items()
    ]


def areas(operations: Iterable[Operation]) -> list[Area]:
    """The calls by what they are about, in the order in which areas come first."""
    by_area: dict[str, list[Operation]] = {}
    for operation in operations:
        by_area.setdefault(operation.area, []).append(operation)
    return [Area(area.capitalize(), calls) for area, calls in by_area.items()]


def models(schema: Mapping[str, Any]) -> list[Model]:
    """The objects that bodies and answers are made of, by name."""
    schemas: dict[str, Any] = schema["components"]["schemas"]
    return [
        Model(name, docstring_html(model.get("description")), _properties(model))
        for name, model in sorted(schemas.items())
        if model.get("properties")
    ]


def _operation(
    schema: Mapping[str, Any], path: str, method: str, call: Mapping[str, Any]
) -> Operation:
    media_type, body = _content(call.get("requestBody", {}))
    return Operation(
        method=method.upper(),
        path=path,
        anchor=call["operationId"],
        summary=call["summary"],
        description=docstring_html(call.get("description")),
        needs_token=bool(call.get("security")),
        area=next(iter(call.get("tags", [])), "other"),
        parameters=[
            _field(
                parameter["name"], parameter["schema"], parameter.get("required", False), parameter
            )
            for parameter in call.get("parameters", [])
            if method != "get" or parameter["name"] not in CONDITIONS  # said once, for all of them
        ],
        media_type=media_type,
        body=_properties(_resolve(schema, body)) if body else [],
        answers=[_answer(status, answer) for status, answer in call["responses"].items()],
    )


def _answer(status: object, answer: Mapping[str, Any]) -> Field:
    media_type, content = _content(answer)
    text, model = _type(content or {})
    return Field(
        str(status), text or media_type, model, True, docstring_html(answer.get("description"))
    )


def _content(holder: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    for media_type, content in holder.get("content", {}).items():
        return media_type, content.get("schema", {})
    return "", None


def _resolve(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in part:
        return part
    model: Mapping[str, Any] = schema["components"]["schemas"][part["$ref"].split("/")[-1]]
    return model


def _properties(model: Mapping[str, Any]) -> list[Field]:
    required = model.get("required", [])
    return [
        _field(name, part, name in required, {})
        for name, part in model.get("properties", {}).items()
    ]


def _field(
    name: str, part: Mapping[str, Any], is_required: bool, outer: Mapping[str, Any]
) -> Field:
    text, model = _type(part)
    description = part.get("description") or outer.get("description")
    default = part.get("default")
    return Field(
        name=name,
        type=text,
        model=model,
        is_required=is_required,
        description=docstring_html(description),
        default="" if default in (None, "", [], {}) else str(default),
        place=outer.get("in", ""),
    )


def _type(part: Mapping[str, Any]) -> tuple[str, str]:
    """A JSON type in words, and the model it is or holds."""
    if "$ref" in part:
        name = part["$ref"].removeprefix(_REFERENCE)
        return name, name
    if part.get("type") == "array":
        text, model = _type(part.get("items", {}))
        return f"list of {text}", model
    variants = part.get("anyOf") or part.get("allOf")
    if variants:
        types = [_type(variant) for variant in variants]
        return _alternatives(types), next((model for _, model in types if model), "")
    if part.get("enum"):
        return " | ".join(str(value) for value in part["enum"]), ""
    text = str(part.get("type", ""))
    return {"date-time": "time (ISO 8601)", "binary": "file"}.get(
        part.get("format", ""), text
    ) or "any", ""


def _alternatives(types: Iterable[tuple[str, str]]) -> str:
    return " or ".join(dict.fromkeys(text for text, _ in types))
