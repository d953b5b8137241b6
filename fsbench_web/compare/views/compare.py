"""The compare page, its CSV and charts. Permalinks have views of their own."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.answers import charts_answer, csv_answer, plain_refusal, refused_form
from fsbench_web.compare.choices import form, work_choice
from fsbench_web.compare.permalinks.sharing import SharingForm
from fsbench_web.compare.selection.properties import PROPERTIES
from fsbench_web.compare.selection.set_aside import set_aside
from fsbench_web.compare.selection.spec import EVERYTHING, WITH_PAPERS, ComparisonSpec, SpecError
from fsbench_web.compare.selection.table_view import TableView, without_view
from fsbench_web.compare.selection.wording import FILTERS, in_words
from fsbench_web.compare.tables.bounds import (
    BoundedComparison,
    bounded_answer,
    bounded_page,
    by_rows,
)
from fsbench_web.compare.tables.confounding import order_over_time
from fsbench_web.compare.tables.contenders import coverage
from fsbench_web.compare.tables.delta_tables import (
    comparison,
    delta_tables,
    refuse_unknown_parts,
    relaxed_filters,
)
from fsbench_web.compare.tables.differences import differences
from fsbench_web.compare.tables.parts import part_links
from fsbench_web.compare.tables.query import field_of
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.compare.views import compare_tabs
from fsbench_web.compare.views.picker import papers_left_out, picker, without_papers, without_scores
from fsbench_web.core.conversion import BINARY
from fsbench_web.core.scoring import testnames
from fsbench_web.studies.scores.cells import CellsByTest, TooManyValues, cells_of_runs
from fsbench_web.studies.scores.choices import score_choices
from fsbench_web.studies.scores.source_runs import environments_of, spans_of


@gzip_page
@require_safe
@requires(Action.READ)
def page(request: HttpRequest) -> HttpResponse:
    """The comparison that the address says, with the form that changes it; of none the picker."""
    if not request.GET:
        return render(request, "compare/picker.html", {"picker": picker()})
    view = TableView.from_query(request.GET)
    try:
        parameters = compare_tabs.without_place(without_view(request.GET))
        wanted = without_papers(ComparisonSpec.from_query(parameters))
        if view.problems:
            raise SpecError(view.problems)
        choices = score_choices(wanted.studies)
        limited = bounded_page(wanted, tables=choices.tables)
        spec = limited.spec
        if spec.studies != wanted.studies:
            choices = score_choices(spec.studies)
        compared = comparison(spec, known_facts=limited.known_facts, choices=choices)
    except SpecError as error:
        return refused_form(request, error)
    tab = compare_tabs.tab_of(request.GET, compared.tables)
    categories = compare_tabs.categories_of(request.GET)
    order = order_over_time(compared.tables, spans_of)
    context = {
        "spec": limited.address,
        "table_view": view,
        "view": view.with_sort,
        "all_studies": limited.studies,
        "part": limited.part,
        "part_links": part_links(spec, limited.part) if limited.part else None,
        "query": limited.address.to_query(),
        "json_query": _for_programs(limited.address, compared.tables).to_query(),
        "form": form(limited.address, compared.choices, compared.tables),
        "description": in_words(spec, compared.choices),
        "set_aside": set_aside(limited.address),
        **compare_tabs.page_context(
            *(limited.address, view, tab, compared.tables),
            limited.part.whole.tests if limited.part else spec.tests,
            categories=categories,
        ),
        "runs": compared.run_count,
        "differences": differences(
            compared.shown_contenders, spec.by, environments_of(compared.shown_series)
        ),
        "in_turn": order.turns,
        "order_is_known": order.is_known,
        "compared": PROPERTIES[spec.by],
        "emulated": compared.emulated,
        "papers_left_out": papers_left_out(spec),
        "with_papers": replace(limited.address, papers=WITH_PAPERS).to_query(),
        "work": compared.work,
        "work_choice": work_choice(spec),
        "baseline_missing": bool(compared.tables and spec.baseline)
        and not any(table.baseline for table in compared.tables),
        "share_form": SharingForm() if rights.may(request.user, rights.Action.SHARE) else None,
    }
    context |= {} if compared.tables or compared.work else _why_nothing(spec)
    response = render(request, "compare/page.html", context)
    # The form sends every field it has; the address says only what is asked for.
    query = compare_tabs.query_of(limited.address, view, tab, categories=categories)
    response["HX-Push-Url"] = request.path + (f"?{query}" if query else "")
    return response


def _for_programs(spec: ComparisonSpec, tables: Iterable[DeltaTable]) -> ComparisonSpec:
    """The address whose answer of the API has the units of the page."""
    is_converted = not spec.units and any(table.has_printed_units for table in tables)
    return replace(spec, units=BINARY) if is_converted else spec


def _why_nothing(spec: ComparisonSpec) -> dict[str, Any]:
    """What to say in the place of tables: which studies hold no score, or which filters hide all.

    Of studies without any score no filter is in the way.
    """
    unscored = without_scores(spec.studies)
    relaxed = [] if unscored and len(unscored) == len(spec.studies) else relaxed_filters(spec)
    return {
        "unscored": unscored,
        "is_one_filter": sum(getattr(spec, name) != getattr(EVERYTHING, name) for name in FILTERS)
        == 1,
        "relaxed_filters": [
            {"words": FILTERS[entry.filter], "query": entry.spec.on_page.to_query()}
            for entry in relaxed
        ],
    }


@require_safe
@requires(Action.READ)
def csv_file(request: HttpRequest) -> HttpResponse:
    """The same comparison as CSV; a refusal is plain text."""
    try:
        limited = bounded_answer(ComparisonSpec.from_query(request.GET))
        tables = delta_tables(limited.spec)
    except SpecError as error:
        return plain_refusal(error)
    return csv_answer(tables, "fsbench-deltas.csv")


@gzip_page
@require_safe
@requires(Action.READ)
def charts(request: HttpRequest, test: str) -> HttpResponse:
    """The bar charts of one test, fetched when its section comes into view."""
    try:
        spec = ComparisonSpec.from_query(request.GET)
        tables = delta_tables(_with_test(spec, test))
        among = {value.slug for value in field_of(spec).values.values()}
    except SpecError as error:
        return plain_refusal(error)
    return charts_answer(request, tables, test, among)


def _with_test(spec: ComparisonSpec, test: str) -> ComparisonSpec:
    """Of the comparison one test, as much of it as a page shows."""
    if spec.from_row:
        return spec
    limited = by_rows(BoundedComparison(replace(spec, part_tests=(test,), from_test=0)))
    if limited.part is None and test:
        return spec
    return limited.spec


@require_safe
@requires(Action.READ)
def cells(request: HttpRequest, test: str) -> HttpResponse:
    """Which data points the contenders of one test were measured on, fetched when asked for."""
    try:
        spec = ComparisonSpec.from_query(request.GET)
        refuse_unknown_parts(spec)
        compared = comparison(
            by_rows(BoundedComparison(replace(spec.whole, tests=(test,), matched=False))).spec
        )
        contenders = [contender for table in compared.shown_contenders for contender in table]
        measured: CellsByTest | None = cells_of_runs(compared.shown_series, [test])
    except SpecError as error:
        return plain_refusal(error)
    except TooManyValues:
        measured = None
    if not contenders:
        raise Http404(f'This comparison shows no test "{testnames.label(test)}".')
    context = {
        "rows": [] if measured is None else coverage(contenders, measured.get(test, {})),
        "is_too_much": measured is None,
        "query": spec.to_query(),
        "label": testnames.label(test),
        "block_word": testnames.block_word(test),
        "matched": replace(spec, matched=True, cells="").to_query(),
    }
    is_part = "HX-Request" in request.headers
    return render(request, f"compare/{'cells' if is_part else 'cells_page'}.html", context)
