"""Search over studies, configurations and runs."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Schema

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.protocol.schemas import value_at
from fsbench_web.studies.views import search_query

router = Router()


class FoundStudy(Schema):
    slug: str
    title: str
    is_published: bool


class FoundConfiguration(Schema):
    label: str
    filesystem: str
    scheduler: str
    options: dict[str, Any]
    is_known: bool


class FoundRun(Schema):
    id: int
    state: str
    study: str = value_at("series.study.slug")
    configuration: str = value_at("series.configuration.label")
    kernel: str = value_at("series.kernel")


class SearchAnswer(Schema):
    """``counts`` by kind; they stop at 1,000."""

    query: str
    counts: dict[str, int]
    studies: list[FoundStudy]
    configurations: list[FoundConfiguration]
    runs: list[FoundRun]


@router.get("/search", response=SearchAnswer, summary="Search studies, configurations and runs")
@requires(Action.READ)
def search_everything(
    request: HttpRequest,
    q: str = Query("", max_length=search_query.LONGEST, description="Words; each must match"),
    limit: int = Query(20, ge=1, le=100, description="Of each kind"),
) -> dict[str, Any]:
    """Words as on the search page: parts of names in any case. Each must be found."""
    query = search_query.Query.of(q)
    by_kind = {kind: search_query.find(query, kind) for kind in search_query.KINDS}
    return {
        "query": query.text,
        "counts": {kind: len(rows) for kind, rows in by_kind.items()},
        **{kind: rows[:limit] for kind, rows in by_kind.items()},
    }
