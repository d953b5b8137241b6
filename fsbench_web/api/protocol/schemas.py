"""What bodies, answers and lists have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_type_hints
from urllib.parse import urlencode

from django import forms
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Schema
from ninja.schema import ResolverMetaclass
from pydantic import (
    AliasPath,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from fsbench_web.api.protocol.errors import MOST_LEVELS, Refused, nearest
from fsbench_web.platform.declared_keys import UNKNOWN_KEY, keys_at

Row = TypeVar("Row", bound=Model)
UNSTORABLE = "contains a NUL or half a character, which no name in fsbench has"
LARGEST_ID = 2**63 - 1
DEFAULT_LIMIT, MOST = 100, 500


class Closed(Schema):
    """Refuses keys that mean nothing: a misspelt one must not be left out in silence."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _says_what_there_is(cls, value: Any, handler: ModelWrapValidatorHandler["Closed"]) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            raise ValidationError.from_exception_data(
                error.title, [_error_details(problem, cls) for problem in error.errors()]
            ) from None


class Strict(Closed):
    """Refuses text that no database could hold too."""

    @model_validator(mode="before")
    @classmethod
    def _is_storable(cls, value: Any) -> Any:
        place = unstorable(value)
        if place is not None:
            raise ValueError(f"{place or 'a key'} {UNSTORABLE}")
        return value


def _error_details(error: Any, model: type[Closed]) -> InitErrorDetails:
    """The same problem; that of a key which is not declared, with those that are."""
    place, text = error["loc"], error["msg"]
    if error["type"] in UNKNOWN_KEY:
        keys = keys_at(model, place[:-1])
        text = f"not permitted, there is no such field{nearest(str(place[-1]), keys)}"
    answer = PydanticCustomError("value_error", "{text}", {"text": text})
    return InitErrorDetails(type=answer, loc=place, input=error["input"])


def given_fields(body: Schema) -> dict[str, Any]:
    """What a PATCH says; what it does not say stays."""
    return body.model_dump(exclude_unset=True)


def cleaned(form: forms.BaseForm) -> dict[str, Any]:
    """What the form of the page makes of the values. Raises Refused with all of its problems."""
    if form.is_valid():
        return form.cleaned_data
    raise Refused(
        422,
        [
            (None if name == "__all__" else name, str(sentence))
            for name, sentences in form.errors.items()
            for sentence in sentences
        ],
    )


def is_storable(text: str) -> bool:
    """Whether a database can hold it: PostgreSQL refuses NUL, UTF-8 has no lone surrogates."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def unstorable(value: Any) -> str | None:
    """Where in a parsed JSON value such text is ("" at its top), or None where it is not.

    Iterative: the nesting is the caller's to choose.
    """
    waiting = [("", value)]
    while waiting:
        place, node = waiting.pop()
        if isinstance(node, str) and not is_storable(node):
            return place
        if isinstance(node, dict):
            for key, inner in node.items():
                if not is_storable(str(key)):
                    return place
                waiting.append((f"{place}.{key}".lstrip("."), inner))
        elif isinstance(node, list):
            waiting += [(f"{place}.{n}".lstrip("."), inner) for n, inner in enumerate(node)]
    return None


def is_too_deep(value: Any) -> bool:
    """Whether a parsed JSON value has more than MOST_LEVELS: more than pydantic takes."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [
            inner
            for node in level
            if isinstance(node, dict | list)
            for inner in (node.values() if isinstance(node, dict) else node)
        ]
    return bool(level)


class _Derives(ResolverMetaclass):
    """Gives a class the fields of another one (``of``)."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[Any, ...],
        namespace: dict[str, Any],
        of: Any = None,
        without: tuple[str, ...] = (),
        **more: Any,
    ) -> Any:
        if of is not None:
            fields: dict[str, Any] = {
                field: (kind, ...)
                for field, kind in get_type_hints(of).items()
                if field not in without and not any(field in base.model_fields for base in bases)
            }
            bases = (create_model(f"{name}Fields", __base__=bases, **fields),)
        return super().__new__(mcs, name, bases, namespace, **more)


class Derived(Schema, metaclass=_Derives):
    """A schema with the fields of a data class, ``of``, except ``without`` and inherited ones."""

    def __init_subclass__(cls, of: Any = None, without: tuple[str, ...] = ()) -> None: ...


class Answer(Schema):
    """A schema with all its keys in every answer, also those with a default."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


def value_at(path: str, default: Any = ..., description: str | None = None) -> Any:
    """A field with the value at ``path``; ``default`` where a part of the path is None."""
    return Field(default, validation_alias=AliasPath(*path.split(".")), description=description)


IsThere = Annotated[bool, BeforeValidator(lambda value: value is not None)]
"""A field that says whether there is a value."""


class With:
    """The object with more attributes, which its schema has besides."""

    def __init__(self, row: Any, **more: Any) -> None:
        self.__dict__.update(more)
        self._row = row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


def found(rows: QuerySet[Row], otherwise: str) -> Row:
    """The first of the rows. Raises Http404 with the sentence where there is none."""
    row = rows.first()
    if row is None:
        raise Http404(otherwise)
    return row


@dataclass(frozen=True)
class Lookup:
    """Annotates a filter of a list: the lookup that it narrows rows by; ``of`` reads its value."""

    path: str
    of: Callable[[Any], Any] | None = None


class Page(Schema):
    """Which part of a list."""

    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MOST)
    offset: int = Field(0, ge=0, le=LARGEST_ID)

    def chosen(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """The rows that match every filter that is given."""
        for name, declared in type(self).model_fields.items():
            value = getattr(self, name)
            for lookup in declared.metadata:
                if isinstance(lookup, Lookup) and value not in ("", [], None):
                    value = lookup.of(value) if lookup.of else value
                    rows = rows.filter(**{lookup.path: value})
        return rows


class PageOut(Schema):
    """``total`` counts all that match, on whatever page."""

    total: int
    limit: int
    offset: int


def list_of(name: str, base: type[Schema] = Schema, **rows: Any) -> type[Schema]:
    """The schema ``name`` of an answer that has a list under each of these keys."""
    lists: dict[str, Any] = {
        key: (list[row], ...)  # type: ignore[valid-type]
        for key, row in rows.items()
    }
    return create_model(name, __base__=base, **lists)


def page_of(name: str, **rows: Any) -> type[Schema]:
    """The same of a page of a list."""
    return list_of(name, PageOut, **rows)


def page(
    request: HttpRequest, response: HttpResponse, rows: QuerySet[Any], part: Page, name: str
) -> dict[str, Any]:
    """The answer of a list: the rows of this page as ``name``. Sets ``Link``.

    ``rows`` are in an order that does not change while somebody pages.
    """
    rows = part.chosen(rows)
    paging = link(request, response, rows.count(), part.limit, part.offset)
    return {**paging, name: list(rows[part.offset : part.offset + part.limit])}


def link(
    request: HttpRequest, response: HttpResponse, total: int, limit: int, offset: int
) -> dict[str, int]:
    """``PageOut``; sets ``Link`` to the pages around it (RFC 8288), and ``X-Total-Count``."""
    last = max(0, (total - 1) // limit * limit)
    places = {"first": 0, "last": last}
    if offset > 0:
        places["prev"] = min(max(0, offset - limit), last)
    if offset + limit < total:
        places["next"] = offset + limit
    parameters = [
        (name, value)
        for name, values in request.GET.lists()
        if name not in ("limit", "offset")
        for value in values
    ]
    response["Link"] = ", ".join(
        f"<{request.path}?{urlencode([*parameters, ('limit', limit), ('offset', place)])}>; "
        f'rel="{name}"'
        for name, place in places.items()
    )
    response["X-Total-Count"] = str(total)
    return {"total": total, "limit": limit, "offset": offset}
