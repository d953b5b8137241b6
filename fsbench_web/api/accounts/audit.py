"""The audit log."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts import audit
from fsbench_web.accounts.models import AuditEntry
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.protocol.schemas import LARGEST_ID, Lookup, Page, page, page_of

router = Router()


class AuditFilters(Page):
    who: Annotated[str, Lookup("who")] = Field(
        "", max_length=200, description="an account, or worker:NAME"
    )
    what: Annotated[str, Lookup("what")] = Field(
        "", max_length=200, description=", ".join(audit.WORDS)
    )
    thing: Annotated[str, Lookup("thing__icontains")] = Field(
        "", max_length=200, description="a part of it: study lab, LUN host/disk1"
    )
    before: Annotated[int | None, Lookup("pk__lt")] = Field(
        None, ge=1, le=LARGEST_ID, description="only entries older than this one: pages stay"
    )


class AuditOut(Schema):
    id: int
    at: datetime
    who: str
    what: str
    thing: str
    detail: Any


@router.get("/audit", response=page_of("AuditLog", entries=AuditOut), summary="The audit log")
@requires(Action.ADMINISTER)
def list_audit(
    request: HttpRequest, response: HttpResponse, filters: Query[AuditFilters]
) -> dict[str, Any]:
    """What was done by whom, newest first. With `before` the pages stay while entries are added."""
    return page(request, response, AuditEntry.objects.order_by("-id"), filters, "entries")
