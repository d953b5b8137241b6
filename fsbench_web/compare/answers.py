"""Answers that pages of comparisons and of permalinks share: refusals, charts."""

from collections.abc import Collection, Iterable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from fsbench_web.compare.choices import form, work_choice
from fsbench_web.compare.pictures.sections import charts as charts_of
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.scoring import testnames
from fsbench_web.studies.scores.choices import score_choices


def refused_form(request: HttpRequest, error: SpecError) -> HttpResponse:
    """400: the form of a comparison with what was wrong with the one asked for."""
    spec = ComparisonSpec()
    context = {
        "spec": spec,
        "form": form(spec, score_choices()),
        "work_choice": work_choice(spec),
        "problems": error.problems,
    }
    return render(request, "compare/page.html", context, status=400)


def charts_answer(
    request: HttpRequest, tables: Iterable[DeltaTable], test: str, among: Collection[str]
) -> HttpResponse:
    """The bar charts of one test, as a part of a page of contenders ``among``. Raises Http404."""
    figures = charts_of(tables, test, among)
    if not figures:
        raise Http404(f'This comparison shows no test "{testnames.label(test)}".')
    context = {"figures": figures, "element_id": f"chart-{testnames.slug(test)}"}
    return render(request, "compare/charts.html", context)


def plain_refusal(error: SpecError) -> HttpResponse:
    """400 in plain text, for clients that fetch files."""
    text = "\n".join(["This comparison cannot be shown.", *error.problems, ""])
    return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")
