"""The audit log."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts import audit
from fsbench_web.accounts.models import AuditEntry
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.pages import LARGEST_ID, Page, PageOut, page
from fsbench_web.api.protocol.router import Router

router = Router()


class AuditFilters(Page):
    who: str = Field("", max_length=200, description="an account, or worker:NAME")
    what: str = Field("", max_length=200, description=", ".join(audit.WORDS))
    thing: str = Field("", max_length=200, description="a part of it: study lab, LUN host/disk1")
    before: int | None = Field(
        None, ge=1, le=LARGEST_ID, description="only entries older than this one: pages stay"
    )


class AuditOut(Schema):
    id: int
    at: datetime
    who: str
    what: str
    thing: str
    detail: Any


class AuditLog(PageOut):
    entries: list[AuditOut]


@router.get("/audit", response=AuditLog, summary="The audit log")
@requires(Action.ADMINISTER)
def list_audit(
    request: HttpRequest, response: HttpResponse, filters: Query[AuditFilters]
) -> dict[str, Any]:
    """What was done by whom, newest first. With `before` the pages stay while entries are added."""
    entries = AuditEntry.objects.order_by("-id")
    if filters.who:
        entries = entries.filter(who=filters.who)
    if filters.what:
        entries = entries.filter(what=filters.what)
    if filters.thing:
        entries = entries.filter(thing__icontains=filters.thing)
    if filters.before is not None:
        entries = entries.filter(pk__lt=filters.before)
    rows, paging = page(request, response, entries, filters)
    return {**paging, "entries": rows}
