"""Long lists, a page at a time: ``limit`` and ``offset``, and where to go on in the headers."""

from typing import Any
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Schema
from pydantic import Field

LARGEST_ID = 2**63 - 1
DEFAULT_LIMIT, MOST = 100, 500


class Page(Schema):
    """Which part of a list."""

    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MOST)
    offset: int = Field(0, ge=0, le=LARGEST_ID)


class PageOut(Schema):
    """``total`` counts all that match, on whatever page."""

    total: int
    limit: int
    offset: int


def page(
    request: HttpRequest, response: HttpResponse, rows: QuerySet[Any], part: Page
) -> tuple[list[Any], dict[str, int]]:
    """The rows of this page, and what its answer says of the list; sets ``Link``.

    ``rows`` are in an order that does not change while somebody pages.
    """
    total = rows.count()
    link(request, response, total, part.limit, part.offset)
    page_rows: list[Model] = list(rows[part.offset : part.offset + part.limit])
    return page_rows, {"total": total, "limit": part.limit, "offset": part.offset}


def link(request: HttpRequest, response: HttpResponse, total: int, limit: int, offset: int) -> None:
    """``Link`` to the first, previous, next and last page (RFC 8288), and ``X-Total-Count``."""
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
