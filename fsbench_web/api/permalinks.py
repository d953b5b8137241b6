"""Permalinks: a comparison as it is now, kept under a short address."""

from datetime import date, datetime
from typing import Any, Literal

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from ninja import Query, Status
from pydantic import Field

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.accounts.rights import require
from fsbench_web.api.protocol.answers import IfMatch, require_match
from fsbench_web.api.protocol.errors import Error, Refused
from fsbench_web.api.protocol.router import Router, binary, user_of
from fsbench_web.api.protocol.schemas import (
    Answer,
    Derived,
    Page,
    Strict,
    With,
    cleaned,
    found,
    given_fields,
    page,
    page_of,
    value_at,
)
from fsbench_web.api.results.comparison import ComparedTable, refused_as_json, table_of
from fsbench_web.compare.exports import views
from fsbench_web.compare.exports.formats import FORMATS
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import records as permalinks
from fsbench_web.compare.permalinks import sharing
from fsbench_web.compare.permalinks import views as permalink_views
from fsbench_web.compare.permalinks.sharing import SharingForm
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.selection.table_view import TableView, unknown_names
from fsbench_web.compare.tables.bounds import bounded_answer
from fsbench_web.compare.tables.delta_tables import delta_tables, refuse_missing_baseline
from fsbench_web.platform import limits

router = Router()
_FIELDS = ("title", "note", "visibility", "expires_on")


class PermalinkSummary(Answer):
    """``heading`` is its title, or where it has none the day of its numbers. ``sha256`` is of the
    snapshot, which ``links.snapshot`` gives byte by byte.
    """

    key: str
    title: str
    heading: str
    note: str
    visibility: str
    expires_on: date | None
    is_over: bool
    created_by: str | None = value_at("created_by.username", None)
    created_at: datetime
    query: str
    view: str
    sha256: str
    links: dict[str, str]

    @staticmethod
    def resolve_heading(link: Permalink) -> str:
        return permalinks.title_of(link)

    @staticmethod
    def resolve_is_over(link: Permalink) -> bool:
        return sharing.is_over(link)

    @staticmethod
    def resolve_links(link: Permalink) -> dict[str, str]:
        address = f"/api/v1/permalinks/{link.key}"
        return {
            "self": address,
            "page": f"/p/{link.key}/",
            "snapshot": f"{address}/snapshot",
            **{suffix: f"{address}/deltas.{suffix}" for suffix in FORMATS},
        }


class ChangesOut(Derived, of=permalinks.Changes):
    """What the same comparison has now and the pinned one has not."""


class PermalinkOut(PermalinkSummary):
    """``tables`` are the numbers as they were kept, ``is_intact`` says that they still are."""

    description: str
    is_intact: bool
    run_ids: list[int]
    tables: list[ComparedTable]
    changes: ChangesOut | None


class PermalinkFilters(Page):
    created_by: str = Field("", max_length=150, description="an account; yours where it is empty")


class _Sharing(Strict):
    title: str = Field("", max_length=400)
    note: str = Field("", max_length=8000)
    visibility: Literal["public", "team", "private"] = "public"
    expires_on: date | None = Field(None, description="the last day on which it opens")


class PermalinkIn(_Sharing):
    query: str = Field(
        max_length=20_000,
        description="the query string of the comparison, as for `/deltas`",
        examples=["study=unisys-2005&test=write"],
    )
    view: str = Field(
        "",
        max_length=4000,
        description="how its page shows the tables, as in the address of a comparison",
        examples=["important=1&numbers=exact"],
    )


class PermalinkChange(_Sharing):
    """What is left out stays as it is. The numbers are never changed."""


@router.get(
    "/permalinks",
    response=page_of("PermalinksOut", permalinks=PermalinkSummary),
    summary="Your permalinks",
)
@requires(Action.ACCOUNT)
def list_permalinks(
    request: HttpRequest, response: HttpResponse, filters: Query[PermalinkFilters]
) -> dict[str, Any]:
    """What you have shared, newest first; for administrators, with `created_by`, what an account
    has, also a closed one.
    """
    author = user_of(request)
    if filters.created_by and filters.created_by != author.get_username():
        if not rights.is_administrator(author):
            raise Refused(403, [("created_by", "Only administrators list those of others.")])
        account = User.objects.filter(username=filters.created_by).first()
        if account is None:
            raise Refused(422, [("created_by", "There is no such account; see /people.")])
        author = account
    links = Permalink.objects.filter(created_by=author).select_related("created_by")
    return page(request, response, links.defer("snapshot").order_by("-id"), filters, "permalinks")


@router.post("/permalinks", response={201: PermalinkSummary}, summary="Keep a comparison")
@requires(Action.SHARE)
def create_permalink(request: HttpRequest, permalink: PermalinkIn) -> Status[Permalink]:
    """Keeps the numbers as they are now. Sharing the very same once more gives the same key."""
    user = user_of(request)
    values = cleaned(SharingForm(permalink.model_dump(include={*_FIELDS})))
    try:
        spec = ComparisonSpec.of_address(permalink.query).for_programs
        view = TableView.from_query(QueryDict(permalink.view))
        if problems := [*unknown_names(permalink.view), *view.problems]:
            raise Refused(422, [("view", problem) for problem in problems])
        if spec.baseline:
            limited = bounded_answer(spec, limits.PINNED)
            refuse_missing_baseline(limited.spec, delta_tables(limited.spec))
        link = permalinks.pin(spec, user, view=view.to_query(), **values)
    except SpecError as error:
        raise Refused(422, [("query", problem) for problem in error.problems]) from None
    return Status(201, link)


@router.get(
    "/permalinks/{slug:key}", response={200: PermalinkOut, 410: Error}, summary="One permalink"
)
@requires(Action.READ)
def get_permalink(request: HttpRequest, key: str) -> With:
    """The pinned numbers, unchanged, and whether there are newer ones. 410 after its last day."""
    link = _valid_permalink(request, key)
    pinned = permalinks.read(link)
    changes = permalinks.changes_since(link, pinned)
    return With(
        link,
        description=pinned.description,
        is_intact=pinned.is_intact,
        run_ids=pinned.sorted_run_ids,
        tables=[table_of(table) for table in pinned.tables],
        changes=changes,
    )


@router.get(
    "/permalinks/{slug:key}/snapshot",
    response={410: Error},
    summary="The kept bytes of a permalink",
    openapi_extra=binary("application/json", description="The bytes that its sha256 is of"),
)
@requires(Action.READ)
def get_permalink_snapshot(request: HttpRequest, key: str) -> HttpResponse:
    """The very bytes that the checksum is of."""
    link = _valid_permalink(request, key)
    return permalink_views.snapshot(request, key=link.key)


@router.get(
    "/permalinks/{slug:key}/deltas.{str:suffix}",
    response={409: Error, 410: Error},
    summary="A permalink as a file",
    openapi_extra=binary(*[file_format.media_type for file_format in FORMATS.values()]),
)
@requires(Action.READ)
def export_permalink(
    request: HttpRequest,
    key: str,
    suffix: str,
    test: str | None = Query(None, description="the tables of this test alone"),
    category: str | None = Query(None, description="the tables of this category alone"),
) -> HttpResponse:
    """The pinned numbers in any format of `/exports/deltas`; none when they were changed."""
    link = _valid_permalink(request, key)
    return refused_as_json(views.permalink_file(request, key=link.key, suffix=suffix))


@router.patch(
    "/permalinks/{slug:key}", response=PermalinkSummary, summary="Change who sees a permalink"
)
@requires(Action.SHARE)
def change_permalink(
    request: HttpRequest, key: str, permalink: PermalinkChange, if_match: IfMatch = ""
) -> Permalink:
    """Title, note, who may see it and until when; the numbers stay. Also one that has expired."""
    with transaction.atomic():
        link = _own_permalink(request, key)
        require_match(request)
        values = given_fields(permalink)
        form = SharingForm(
            {name: values.get(name, getattr(link, name)) for name in _FIELDS}, instance=link
        )
        cleaned(form)
        form.save(commit=False).save(update_fields=_FIELDS)
        audit.note(
            user_of(request), "permalink changed", f"permalink {key}", fields=form.changed_data
        )
    return link


@router.delete("/permalinks/{slug:key}", response={204: None}, summary="Delete a permalink")
@requires(Action.WITHDRAW)
def delete_permalink(request: HttpRequest, key: str, if_match: IfMatch = "") -> Status[None]:
    """For good: its address no longer works. Its author, also as a viewer, and
    administrators can.
    """
    with transaction.atomic():
        link = _withdrawable_permalink(request, key)
        require_match(request)
        permalinks.delete(link, user_of(request))
    return Status(204, None)


@router.post(
    "/permalinks/{slug:key}/withdraw", response=PermalinkSummary, summary="Withdraw a permalink"
)
@requires(Action.WITHDRAW)
def withdraw_permalink(request: HttpRequest, key: str) -> Permalink:
    """Only its author and administrators see it from now on; the numbers stay. Its author, also as
    a viewer, and administrators can.
    """
    with transaction.atomic():
        link = _withdrawable_permalink(request, key)
        permalinks.withdraw(key, user_of(request))
        link.refresh_from_db(fields=["visibility"])
    return link


def _valid_permalink(request: HttpRequest, key: str) -> Permalink:
    link = permalink_views.visible_permalink(request, key)
    if sharing.is_over(link):
        raise Refused(410, [(None, f"This permalink expired: {link.expires_on} was its last day.")])
    return link


def _own_permalink(request: HttpRequest, key: str) -> Permalink:
    """The row, locked. Raises Http404, PermissionDenied."""
    permalink_views.visible_permalink(request, key)
    user = user_of(request)
    require(user, Action.SHARE)
    link = _locked_permalink(key)
    if not sharing.may_change(link, user):
        raise Refused(403, [(None, "Only its author can change a permalink.")])
    return link


def _withdrawable_permalink(request: HttpRequest, key: str) -> Permalink:
    """The row, locked. Raises Http404, Refused."""
    permalink_views.visible_permalink(request, key, to_withdraw=True)
    link = _locked_permalink(key)
    if not sharing.may_withdraw(link, user_of(request)):
        raise Refused(403, [(None, sharing.NOT_YOURS)])
    return link


def _locked_permalink(key: str) -> Permalink:
    """Asked for under the lock: it may be deleted or another's by now. Raises Http404."""
    rows = Permalink.objects.select_for_update(of=("self",)).filter(key=key)
    return found(rows, f"There is no permalink {key}.")
