"""The compare page with its picker, its tests and charts. Pages leave papers out unless asked."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, Exists, OuterRef, Q, Subquery, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.answers import charts_answer, plain_refusal, refused_form
from fsbench_web.compare.choices import Choice, form, work_choice
from fsbench_web.compare.exports.formats import FORMATS
from fsbench_web.compare.permalinks.sharing import SharingForm
from fsbench_web.compare.selection.fields import CONTENDERS
from fsbench_web.compare.selection.properties import PROPERTIES
from fsbench_web.compare.selection.spec import (
    EVERYTHING,
    WITH_PAPERS,
    ComparisonSpec,
    SpecError,
    set_aside,
)
from fsbench_web.compare.selection.table_view import FORM
from fsbench_web.compare.selection.wording import FILTERS, in_words
from fsbench_web.compare.tables.bounds import BoundedComparison, by_rows
from fsbench_web.compare.tables.delta_tables import (
    comparison,
    delta_tables,
    in_units_of,
    refuse_unknown_parts,
    relaxed_filters,
)
from fsbench_web.compare.tables.query import field_of
from fsbench_web.compare.views.shown import (
    TESTS,
    ShownComparison,
    of_tests,
    page_context,
    read,
    rows_of,
    test_context,
    with_tests,
)
from fsbench_web.core.comparison.delta_tables import coverage
from fsbench_web.core.scoring import testnames
from fsbench_web.studies.models import UNTRACED, Run, RunState, Score, Series, Study
from fsbench_web.studies.scores.cells import CellsByTest, TooManyValues, cells_of_runs
from fsbench_web.studies.scores.queries import NO_PAPERS, ONLY_PAPERS
from fsbench_web.studies.views.study import study_or_404


@gzip_page
@require_safe
@requires(Action.READ)
def page(request: HttpRequest) -> HttpResponse:
    """The comparison that the address says, with the form that changes it; of none the picker."""
    if not request.GET:
        return render(request, "compare/picker.html", {"picker": picker()})
    try:
        shown = read(request.GET)
    except SpecError as error:
        return refused_form(request, error)
    spec, compared = shown.limited.spec, shown.compared
    context = {
        **page_context(shown),
        **share_context(request.user, shown),
        "table_form": "filters",
        "all_studies": shown.limited.studies,
        "form": form(shown.spec, compared.choices, compared.tables),
        "description": in_words(spec, compared.choices),
        "runs": compared.run_count,
        "papers_left_out": papers_left_out(spec),
        "with_papers": replace(shown.spec, papers=WITH_PAPERS).to_query(),
        "work_choice": work_choice(spec),
    }
    context |= {} if compared.tables or compared.work else _why_nothing(spec)
    response = render(request, "compare/page.html", context)
    # The form sends every field it has; the address says only what is asked for.
    response["HX-Push-Url"] = shown.address.page(shown.spec, shown.tab)
    return response


def share_context(user: User | AnonymousUser, shown: ShownComparison) -> dict[str, Any]:
    """What ``compare/share_menu.html`` offers: the same numbers for others and for programs."""
    return {
        "share_form": SharingForm() if rights.may(user, rights.Action.SHARE) else None,
        "file_formats": [(each.suffix, each.label) for each in FORMATS.values()],
        "json_query": in_units_of(shown.spec, shown.tables).to_query(),
    }


@gzip_page
@require_safe
@requires(Action.READ)
def tables_of_tests(request: HttpRequest, slug: str = "") -> HttpResponse:
    """Tables and charts of the tests in ``?of=``, or all; of a study if ``slug`` names one."""
    study = study_or_404(slug) if slug else None
    names = tuple(request.GET.getlist("of"))
    try:
        shown = read(request.GET, study, names)
    except SpecError as error:
        return plain_refusal(error)
    spec = shown.address.spec_of(request.GET) if names and not shown.problems else shown.spec
    rows = of_tests(rows_of(shown.sections, shown.address.tests(spec)), names)
    if not rows:
        name = f'no test "{testnames.label(names[0])[:200]}"' if names else "no table"
        where = reverse("studies:study", args=[slug]) if study else reverse("compare:page")
        raise Http404(f"This comparison shows {name}. Its page, {where}, says what it has.")
    is_part = request.headers.get("HX-Request") == "true" and "HX-Target" not in request.headers
    test_sections = [section for row in rows for section in row.groups]
    context = (
        test_context(spec)
        | shown.part_context
        | {
            "study": study,
            "table_view": shown.address.view,
            "set_aside": set_aside(spec),
            "emulated": shown.compared.emulated,
            "unknown_parts": shown.problems,
            "spec": spec,
            "query": spec.to_query(),
            "rows": rows,
            "sections": test_sections,
            "whole_at": shown.address.page(spec, TESTS),
            "heading": " and ".join(section.label for section in test_sections)
            if names
            else "All tables",
        }
    )
    context |= {"part": None} if names else {}
    context |= {"table_form": "filters"} if is_part and study is None else {"table_form": FORM}
    name = "compare/test_parts" if is_part else "compare/tests_page"
    return render(request, f"{name}.html", context)


def _why_nothing(spec: ComparisonSpec) -> dict[str, Any]:
    """What a page without tables says: studies without scores, or filters that hide all."""
    unscored = without_scores(spec.studies)
    relaxed = [] if unscored and len(unscored) == len(spec.studies) else relaxed_filters(spec)
    return {
        "unscored": unscored,
        "is_one_filter": sum(getattr(spec, name) != getattr(EVERYTHING, name) for name in FILTERS)
        == 1,
        "relaxed_filters": [
            {"words": FILTERS[name], "query": looser.on_page.to_query()} for name, looser in relaxed
        ],
    }


@gzip_page
@require_safe
@requires(Action.READ)
def charts(request: HttpRequest, test: str) -> HttpResponse:
    """The bar charts of one test, fetched when its section comes into view."""
    try:
        spec = ComparisonSpec.of_address(request.GET)
        limited = with_tests(spec, (test,))
        tables = delta_tables(spec if limited.part is None and test else limited.spec)
        among = {value.slug for value in field_of(spec).values.values()}
    except SpecError as error:
        return plain_refusal(error)
    return charts_answer(request, tables, test, among)


@require_safe
@requires(Action.READ)
def cells(request: HttpRequest, test: str) -> HttpResponse:
    """Which data points the contenders of one test were measured on, fetched when asked for."""
    try:
        spec = ComparisonSpec.of_address(request.GET)
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


MOST_STUDIES = 30
"""Of each kind, the newest: all others are on the page of the studies."""
_USUAL = ("filesystem", "configuration", "kernel", "scheduler", "hardware", "lun", "study")


def picker() -> dict[str, Any]:
    """Studies that have scores, and what contenders can be. Six queries, and no score is read.

    ``more_studies`` and ``more_papers`` are how many studies with scores are not listed.
    """
    scored = Study.objects.filter(Exists(Score.objects.filter(series__study=OuterRef("pk"))))
    newest = scored.filter(is_published=False).order_by("-created_at", "-pk")
    papers = scored.filter(is_published=True).order_by("-published_on", "title")
    listed = [*newest[:MOST_STUDIES], *papers[:MOST_STUDIES]]
    choices = _study_choices(listed)
    own = [choice for choice in choices if not choice["is_published"]]
    printed = [choice for choice in choices if choice["is_published"]]
    counts = scored.order_by().aggregate(
        own=Count("pk", filter=Q(is_published=False)), all=Count("pk")
    )
    return {
        "measured": own,
        "papers": printed,
        "more_studies": counts["own"] - len(own),
        "more_papers": counts["all"] - counts["own"] - len(printed),
        "contenders": [
            Choice(slug, CONTENDERS[slug], slug == EVERYTHING.by)
            for slug in _USUAL
            if slug in PROPERTIES
        ],
        "filesystems": sorted({name for choice in choices for name in choice["filesystems"]}),
    }


def _study_choices(studies: Sequence[Study]) -> list[dict[str, Any]]:
    """Each study with the number of its finished runs and what it compares."""
    compared: dict[int, set[tuple[int, str]]] = {study.pk: set() for study in studies}
    columns = ("study", "configuration", "configuration__filesystem")
    series = Series.objects.filter(study__in=compared).order_by()
    for study, configuration, filesystem in series.values_list(*columns).distinct():
        compared[study].add((configuration, filesystem))
    # Series by series, through their index: together PostgreSQL goes through all runs there are.
    done = Run.objects.filter(
        series=OuterRef("pk"), state=RunState.DONE, tracing=UNTRACED
    ).order_by()
    counted = Subquery(done.values("series").annotate(count=Count("pk")).values("count"))
    runs = dict(series.values_list("study").annotate(count=Sum(counted)))
    return [
        {
            "slug": study.slug,
            "title": study.title,
            "is_published": study.is_published,
            "published_on": study.published_on,
            "runs": runs.get(study.pk) or 0,
            "configurations": len(compared[study.pk]),
            "filesystems": sorted({filesystem for _, filesystem in compared[study.pk]}),
        }
        for study in studies
    ]


def without_scores(slugs: Iterable[str]) -> list[Study]:
    """Those of the studies that hold no score at all. One query, and none for no study."""
    if not (chosen := list(slugs)):
        return []
    studies = Study.objects.filter(slug__in=chosen).order_by("title")
    return list(studies.exclude(Exists(Score.objects.filter(series__study=OuterRef("pk")))))


def papers_left_out(spec: ComparisonSpec) -> int:
    """How many tables of papers ``spec`` leaves out that pass its filters. At most two queries."""
    if spec.papers != NO_PAPERS or spec.is_of_work:
        return 0
    # Which tables there are does not depend on who competes: configurations are read fastest.
    papers = replace(spec.whole, papers=ONLY_PAPERS, by=EVERYTHING.by)
    considered = field_of(papers).considered
    return considered.order_by().values("test", "category").distinct().count()
