"""The compare page, its CSV and charts, and permalinks."""

from collections.abc import Iterable
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from fsbench_web.compare import csv, permalinks
from fsbench_web.compare.choices import filters
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.rows import DeltaTable
from fsbench_web.compare.sections import charts as charts_of
from fsbench_web.compare.sections import sections
from fsbench_web.compare.spec import CONTENDERS, ComparisonSpec, SpecError
from fsbench_web.compare.tables import comparison, delta_tables, ways_out
from fsbench_web.compare.wording import FILTERS, describe
from fsbench_web.scoring import testnames
from fsbench_web.studies.queries import score_choices


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The comparison that the address says, with the form that changes it."""
    try:
        spec = ComparisonSpec.from_query(request.GET)
        shown = comparison(spec)
    except SpecError as error:
        return _refused(request, error)
    context = {
        "spec": spec,
        "query": spec.to_query(),
        "contenders": CONTENDERS,
        "filters": filters(spec, shown.choices),
        "description": describe(spec, shown.choices),
        "sections": sections(shown.tables),
        "tables": len(shown.tables),
        "runs": len(shown.run_ids),
        "ways_out": [] if shown.tables else _ways_out(spec),
    }
    return render(request, "compare/page.html", context)


def _ways_out(spec: ComparisonSpec) -> list[dict[str, object]]:
    return [
        {"words": FILTERS[way.filter], "query": way.spec.to_query(), "tables": way.tables}
        for way in ways_out(spec)
    ]


def _refused(request: HttpRequest, error: SpecError) -> HttpResponse:
    spec = ComparisonSpec()
    context = {
        "spec": spec,
        "contenders": CONTENDERS,
        "filters": filters(spec, score_choices()),
        "problems": error.problems,
    }
    return render(request, "compare/page.html", context, status=400)


@require_safe
def csv_file(request: HttpRequest) -> HttpResponse:
    """The same comparison as CSV; a refusal is plain text."""
    try:
        tables = delta_tables(ComparisonSpec.from_query(request.GET))
    except SpecError as error:
        return _plain_refusal(error)
    return _csv(tables, "fsbench-deltas.csv")


@require_safe
def charts(request: HttpRequest, test: str) -> HttpResponse:
    """The bar charts of one test, fetched when its section comes into view."""
    try:
        tables = delta_tables(ComparisonSpec.from_query(request.GET))
    except SpecError as error:
        return _plain_refusal(error)
    return _charts(request, tables, test)


@require_POST
def pin(request: HttpRequest) -> HttpResponse:
    """Keep the comparison of the posted query under a short address."""
    query = request.POST.get("query", "")
    back = f"{reverse('compare:page')}?{query}"
    if not request.user.is_authenticated:
        # To the comparison and not to this address, which answers no GET.
        return redirect(f"{reverse('accounts:sign_in')}?{urlencode({'next': back})}")
    try:
        made = permalinks.pin(ComparisonSpec.from_query(query), request.user)
    except SpecError as error:
        return _refused(request, error)
    except permalinks.NothingToPin as error:
        messages.error(request, str(error))
        return redirect(back)
    return redirect("compare:permalink", made.key)


@require_safe
def permalink(request: HttpRequest, key: str) -> HttpResponse:
    """The pinned numbers, unchanged, and whether there are newer ones."""
    link = _permalink(key)
    pinned = permalinks.read(link)
    context = {
        "permalink": link,
        "pinned": pinned,
        "sections": sections(pinned.tables),
        "changes": permalinks.changes_since(link, pinned),
        "address": request.build_absolute_uri(),
    }
    return render(request, "compare/permalink.html", context)


@require_safe
def permalink_csv(request: HttpRequest, key: str) -> HttpResponse:
    """The pinned numbers as CSV; none when they were changed, as a file could not say so."""
    pinned = permalinks.read(_permalink(key))
    if not pinned.is_intact:
        text = (
            f"These numbers are not those that were shared: the stored row of {key} was changed. "
            "Restore it from a backup, or make the comparison anew.\n"
        )
        return HttpResponse(text, status=409, content_type="text/plain; charset=utf-8")
    return _csv(pinned.tables, f"fsbench-{key}.csv")


@require_safe
def permalink_charts(request: HttpRequest, key: str, test: str) -> HttpResponse:
    """The bar charts of one test, of the pinned numbers."""
    return _charts(request, permalinks.read(_permalink(key)).tables, test)


def _permalink(key: str) -> Permalink:
    link = Permalink.objects.select_related("created_by").filter(key=key).first()
    if link is None:
        raise Http404(
            f'There is no permalink "{key}". The address may be cut off or mistyped: '
            "ask whoever sent it for the whole of it, or make the comparison anew under Compare."
        )
    return link


def _csv(tables: Iterable[DeltaTable], name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(csv.write(tables), content_type=csv.MEDIA_TYPE, headers=headers)


def _charts(request: HttpRequest, tables: Iterable[DeltaTable], test: str) -> HttpResponse:
    figures = charts_of(tables, test)
    if not figures:
        raise Http404(f'This comparison shows no test "{testnames.label(test)}".')
    context = {"figures": figures, "element_id": f"chart-{testnames.slug(test)}"}
    return render(request, "compare/charts.html", context)


def _plain_refusal(error: SpecError) -> HttpResponse:
    text = "\n".join(["This comparison cannot be shown.", *error.problems, ""])
    return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")
