"""The tables and charts of the tests of a comparison or a study: of one test, or of all.

Both are parts of a page (``HX-Request``), fetched when a row is opened, and pages of their own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.answers import plain_refusal
from fsbench_web.compare.pictures.sections import sections
from fsbench_web.compare.selection.set_aside import set_aside
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.selection.table_view import FORM, TableView, without_view
from fsbench_web.compare.tables.bounds import BoundedComparison, bounded_page, by_rows
from fsbench_web.compare.tables.delta_tables import tables_and_notice
from fsbench_web.compare.tables.parts import part_links
from fsbench_web.compare.views import compare_tabs, study_tables, study_tabs
from fsbench_web.compare.views.picker import without_papers
from fsbench_web.compare.views.rows_of_tests import TestRow, of_tests, rows_of, test_context
from fsbench_web.core.scoring import testnames
from fsbench_web.studies.models import Study


@gzip_page
@require_safe
@requires(Action.READ)
def comparison_tests(request: HttpRequest) -> HttpResponse:
    """``?of=`` says of which tests, without it of all that the compare page shows."""
    tests = tuple(request.GET.getlist("of"))
    view = TableView.from_query(request.GET)
    try:
        requested_spec = ComparisonSpec.from_query(
            compare_tabs.without_place(without_view(request.GET))
        )
        limited = (
            with_tests(requested_spec, tests)
            if tests
            else bounded_page(without_papers(requested_spec))
        )
        if view.problems:
            raise SpecError(view.problems)
        tables, emulated = tables_and_notice(limited.spec, limited.known_facts)
    except SpecError as error:
        return plain_refusal(error)
    spec = requested_spec if tests else limited.address
    categories = compare_tabs.categories_of(request.GET)
    tables = compare_tabs.shown_tables(tables, limited.spec, categories)
    address = compare_tabs.tables_at(spec, view, categories=categories)
    rows = of_tests(rows_of(sections(tables), address), tests)
    if not rows:
        name = f'no test "{testnames.label(tests[0])[:200]}"' if tests else "no table"
        raise Http404(f"This comparison shows {name}. Its page, under Compare, says what it has.")
    context = {
        "whole_at": compare_tabs.address(spec, view, compare_tabs.TESTS, categories=categories),
        "set_aside": set_aside(spec),
        "emulated": emulated,
    }
    return _answer(request, spec, limited, rows, tests, context, page_form="filters")


@require_safe
@requires(Action.READ)
def study_tests(request: HttpRequest, slug: str) -> HttpResponse:
    """``?of=`` says of which tests, without it of all that the page of the study shows.

    What else the address says is that of the study's page.
    """
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise Http404(
            f'There is no study "{slug}". The list of studies, /studies/, has all that there are.'
        )
    tests = request.GET.getlist("of")
    page_tables = study_tables.of_query(study, request.GET, tests)
    limited = page_tables.limited
    rows = rows_of(page_tables.sections, study_tables.address(study, request.GET))
    rows = of_tests(rows, tests)
    if not rows:
        raise Http404(
            f'The study "{study.title}" has no table of "{testnames.label(tests[0])[:200]}". '
            f"Its page, /studies/{study.slug}/, shows what it has."
            if tests
            else f'The study "{study.title}" has no tables yet: they come with its first scores.'
        )
    context = {
        "study": study,
        "whole_at": reverse("studies:study", args=[slug])
        + study_tabs.address(request.GET, tab=study_tabs.TESTS),
        "emulated": page_tables.emulated,
        "unknown_parts": page_tables.problems,
    }
    return _answer(request, limited.spec, limited, rows, tests, context, page_form=FORM)


def _answer(
    request: HttpRequest,
    spec: ComparisonSpec,
    limited: BoundedComparison,
    rows: Sequence[TestRow],
    tests: Sequence[str],
    context: dict[str, Any],
    *,
    page_form: str,
) -> HttpResponse:
    """The rows as a part of a page, whose form ``page_form`` sorts them, or as a page."""
    is_part = request.headers.get("HX-Request") == "true" and "HX-Target" not in request.headers
    test_sections = [section for row in rows for section in row.groups]
    part = None if tests else limited.part
    context |= {
        "spec": spec,
        "query": spec.to_query(),
        "rows": rows,
        "sections": test_sections,
        **test_context(spec),
        "table_form": page_form if is_part else FORM,
        "heading": " and ".join(section.label for section in test_sections)
        if tests
        else "All tables",
        "part": part,
        "part_links": part_links(limited.spec, part, names_study="study" not in context)
        if part
        else None,
        "table_view": TableView.from_query(request.GET),
    }
    name = "studies/study_test_parts" if is_part else "compare/tests_page"
    return render(request, f"{name}.html", context)


def with_tests(spec: ComparisonSpec, tests: tuple[str, ...]) -> BoundedComparison:
    """Of the comparison these tests, as much of them as a page shows."""
    if spec.from_row:
        return BoundedComparison(spec)
    return by_rows(BoundedComparison(replace(spec, part_tests=tests, from_test=0)))
