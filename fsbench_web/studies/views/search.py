"""The search page."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.studies.views import search_query

FIRST = 6
PAGE_SIZE = 30


@require_safe
@requires(Action.READ)
def page(request: HttpRequest) -> HttpResponse:
    """``?q=`` words, all of which must match; ``kind=`` one kind alone, a page at a time."""
    query = search_query.Query.of(request.GET.get("q", ""))
    kind = request.GET.get("kind", "")
    kind = kind if kind in search_query.KINDS else ""
    groups: list[dict[str, Any]] = []
    for name, label in search_query.KINDS.items():
        size = PAGE_SIZE if kind == name else FIRST
        pages = Paginator(search_query.find(query, name), size)
        # The kind that is not asked for is counted only: the words beside its name say how many.
        results = pages.get_page(request.GET.get("page") if kind == name else 1)
        groups.append({"kind": name, "label": label, "count": pages.count, "page": results})
    context = {
        "search_words": query.text,
        "is_asked": bool(query.words),
        "kind": kind,
        "found": groups,
        "shown": [entry for entry in groups if not kind or entry["kind"] == kind],
        "total": sum(entry["count"] for entry in groups),
        "most": search_query.MOST,
        "query": urlencode({"q": query.text, "kind": kind}),
    }
    return render(request, "studies/search.html", context)
