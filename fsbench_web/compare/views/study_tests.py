"""The tables and charts of the tests of a study: of one, fetched when its row is opened, or of all.

Both are parts of the study's page (``HX-Request``) and pages of their own, for whoever has no
script, and for paper.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.selection.table_view import TableView
from fsbench_web.compare.tables.parts import part_links
from fsbench_web.compare.views import study_tables, study_tabs
from fsbench_web.compare.views.rows_of_tests import of_tests, rows_of, test_context
from fsbench_web.core.scoring import testnames
from fsbench_web.studies.models import Study


@require_safe
@requires(Action.READ)
def tests(request: HttpRequest, slug: str) -> HttpResponse:
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
    address = study_tables.address(study, request.GET)
    rows = of_tests(rows_of(page_tables.sections, address), tests)
    if not rows:
        raise Http404(
            f'The study "{study.title}" has no table of "{testnames.label(tests[0])[:200]}". '
            f"Its page, /studies/{study.slug}/, shows what it has."
            if tests
            else f'The study "{study.title}" has no tables yet: they come with its first scores.'
        )
    sections = [section for row in rows for section in row.groups]
    context = {
        "study": study,
        "by": page_tables.by,
        "rows": rows,
        "sections": sections,
        "spec": page_tables.limited.spec,
        "query": page_tables.limited.spec.to_query(),
        **test_context(page_tables.limited.spec),
        "heading": " and ".join(section.label for section in sections) if tests else "All tables",
        "study_at": reverse("studies:study", args=[slug])
        + study_tabs.address(request.GET, tab=study_tabs.TESTS),
        "tables_at": address,
        "emulated": page_tables.emulated,
        "unknown_parts": page_tables.problems,
        "part": None if tests else page_tables.limited.part,
        "part_links": part_links(
            page_tables.limited.spec, page_tables.limited.part, names_study=False
        )
        if page_tables.limited.part and not tests
        else None,
        "table_view": TableView.from_query(request.GET),
    }
    is_part = request.headers.get("HX-Request") == "true"
    name = "study_test_parts" if is_part else "study_tests_page"
    return render(request, f"studies/{name}.html", context)
