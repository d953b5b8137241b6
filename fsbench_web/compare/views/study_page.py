"""The page of one study: its delta tables next to what a paper printed, its charts, its facts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import plotly.graph_objects as go
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.choices import work_choice
from fsbench_web.compare.papers import comparison
from fsbench_web.compare.pictures.latencies import OverTime, Percentiles, Tails
from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.pictures.sections import sections as sections_of
from fsbench_web.compare.selection import folds, profiles
from fsbench_web.compare.selection.properties import PROPERTIES
from fsbench_web.compare.selection.spec import (
    ComparisonSpec,
    SpecError,
)
from fsbench_web.compare.selection.table_view import TableView
from fsbench_web.compare.selection.wording import work_words
from fsbench_web.compare.tables import bounds
from fsbench_web.compare.tables.confounding import order_over_time
from fsbench_web.compare.tables.delta_tables import comparison as comparison_of
from fsbench_web.compare.tables.differences import differences
from fsbench_web.compare.tables.parts import part_links
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.views import rows_of_tests, shown_series, study_tables, study_tabs
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures import palette, stacked, stated_values
from fsbench_web.studies.jobs import reproductions
from fsbench_web.studies.models import Study
from fsbench_web.studies.scores.source_runs import environments_of, spans_of
from fsbench_web.studies.views.study_progress import progress_of

IMPORTS_SHOWN = 50
LATENCY_CHARTS = (OverTime, Tails, Percentiles)


@dataclass(frozen=True)
class Disagreement:
    """A printed delta that does not follow from the paper's own scores. Deltas in percent."""

    anchor: str
    table: str
    contender: str
    delta: int
    printed: object
    expected: float | None


@require_safe
@requires(Action.READ)
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """A study, published or measured. ``?by=`` says what its tables rank, ``units=`` in what
    (compare.selection.spec).
    """
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise Http404(
            f'There is no study "{slug}". The list of studies, /studies/, has all that there are.'
        )
    page_tables = study_tables.of_query(study, request.GET)
    if "seen" in request.GET and request.headers.get("HX-Request") == "true":
        context = {"study": study, "by": page_tables.by, "progress": progress_of(study, request)}
        return render(request, "studies/study_progress.html", context)
    tables, sections, limited = page_tables.tables, page_tables.sections, page_tables.limited
    tabs, tab = study_tabs.tabs_of(request.GET, tables, is_published=study.is_published)
    work = profile_context(limited.spec, request.GET)
    answered = work["answered"] or tables
    first = study_tabs.first_of_page(
        answered,
        request.GET.get("baseline", ""),
        lambda name: study_tabs.address(request.GET, baseline=name),
    )
    context = {
        "tabs": tabs,
        "tab": tab,
        "tab_label": study_tabs.LABELS[tab],
        "shows_tests": tab in (study_tabs.TESTS, study_tabs.LATENCY)
        or (tab == study_tabs.SUMMARY and page_tables.all_categories),
        "category_ends": study_tabs.category_ends(tables),
        "all_categories": page_tables.all_categories,
        "switch": study_tabs.address(
            request.GET, tab=tab, categories="off" if page_tables.all_categories else "on"
        )
        if study_tabs.has_switch(page_tables.tables)
        else "",
        "tests_at": study_tabs.address(request.GET, tab=study_tabs.TESTS),
        "baseline": first["answer"].baseline,
        "study": study,
        "systems": study.systems.order_by("id") if study.is_published else (),
        "by": page_tables.by,
        "can_reproduce": study.slug in reproductions.PAPERS,
        "emulated": page_tables.emulated,
        "unknown_parts": page_tables.problems,
        "table_view": TableView.from_query(request.GET),
        "sections": sections,
        "spec": limited.spec,
        "overviews": overviews(sections),
        "has_published_values": any(row.published for table in tables for row in table.rows),
        "printed_count": _printed_count(tables),
        "disagreements": disagreements(sections),
        "lower_is_better": bool(tables) and all(table.lower_is_better for table in tables),
    }
    context |= first | _paper_sections(study, tables) | work
    context |= study_tabs.links_of_study(
        request.GET, slug, page_tables.by, tab, is_published=study.is_published
    )
    context["compare_query"] = work["work_query"] or _comparison_query(slug, page_tables.by)
    context["map_at"] = study_tabs.map_at(answered, str(context["compare_query"]))
    if work["work_query"]:
        context["work_at"] = ""
    if tab == study_tabs.LATENCY:
        sections = [section for section in sections if study_tabs.is_latency(section.test)]
        context["latency_charts"] = [(kind.slug, kind.label.lower()) for kind in LATENCY_CHARTS]
    tests_context = rows_of_tests.rows_context(sections, study_tables.address(study, request.GET))
    context |= tests_context | rows_of_tests.test_context(limited.spec)
    context["charted"] = rows_of_tests.charted_sections(tests_context["placed"])
    context["query"] = limited.spec.to_query()
    context["has_tables_here"] = page_tables.has_tables_here
    context["tests_folded"] = (
        tab == study_tabs.SUMMARY
        and page_tables.all_categories
        and not (study.is_published and not context["work"] and not context["work_problems"])
    )
    if not study.is_published:
        context |= _measured_context(request, study, limited, tables)
        if tab == study_tabs.RUNS or not page_tables.sections:
            context |= _series(request, study)
        order = order_over_time(tables, spans_of)
        context |= {"in_turn": order.turns, "order_is_known": order.is_known}
        if tab == study_tabs.SETUP:
            context |= _setup_context(limited.spec)
    return render(request, "studies/study.html", context)


def _comparison_query(slug: str, by: str) -> str:
    """The query of the comparison of all that the study has."""
    return urlencode({"study": slug} | ({"by": by} if by != "filesystem" else {}))


def _setup_context(spec: ComparisonSpec) -> dict[str, Any]:
    """In what the contenders differ: read for its tab alone."""
    compared = comparison_of(spec)
    facts = environments_of(compared.shown_series)
    return {
        "differences": differences(compared.shown_contenders, spec.by, facts),
        "compared": PROPERTIES[spec.by],
    }


def profile_context(spec: ComparisonSpec, query: QueryDict) -> dict[str, Any]:
    """The answer to ``?profile=`` or a range of sizes: what ``compare/study_work.html`` shows.

    A comparison of the study by that alone; what is wrong with it is said in its place.
    """
    work_spec: ComparisonSpec = spec.whole
    problems: list[str] = []
    try:
        work_spec = profiles.of_query(spec, query)
        compared = comparison_of(work_spec) if work_spec.is_of_work else None
    except SpecError as error:
        compared, problems = None, error.problems
    return {
        "work": compared.work if compared else (),
        "unmeasured": [answer for answer in compared.work if not answer.is_complete]
        if compared
        else [],
        "work_measured": any(answer.measured for answer in compared.work) if compared else False,
        "answered": compared.tables if compared else [],
        "work_sections": sections_of(compared.tables) if compared else [],
        "work_spec": work_spec,
        "work_query": work_spec.to_query() if work_spec.is_of_work and not problems else "",
        "work_words": work_words(work_spec) if work_spec.is_of_work and not problems else "",
        "work_here": study_tabs.address(query, tab=study_tabs.SUMMARY) + "#work",
        "work_off": study_tabs.without_work(query),
        "work_choice": work_choice(work_spec),
        "work_problems": problems,
    }


def _paper_sections(study: Study, tables: Sequence[DeltaTable]) -> dict[str, Any]:
    """What a paper says besides its tables, with its figures."""
    sections = [_with_figure(section, tables) for section in study.sections]
    return {
        "combined": [section for section in sections if _is_combined(section)],
        "paper_sections": [
            section
            for section in sections
            if section["kind"] not in {"tables", "statements"} and not _is_combined(section)
        ],
        "stated": next(
            (section["items"] for section in study.sections if section["kind"] == "statements"), []
        ),
    }


def _measured_context(
    request: HttpRequest,
    study: Study,
    limited: bounds.BoundedComparison,
    tables: Sequence[DeltaTable],
) -> dict[str, Any]:
    """What the page of a study has that was measured and not published: runs stand behind it."""
    part = limited.part
    return {
        "may_own": rights.may(request.user, rights.Action.OWN, study),
        "progress": progress_of(study, request, not tables),
        "part": part,
        "part_links": part_links(limited.spec, part, names_study=False) if part else None,
        "papers": comparison.papers_of(tables),
    }


def _series(request: HttpRequest, study: Study) -> dict[str, Any]:
    """The configurations and imports of a measured study: read where they are shown alone."""
    page = shown_series.page_of(study, request.GET)
    imports = study.imports.filter(state="done").select_related("created_by")
    return {
        "series": shown_series.shown_rows(page),
        "series_page": page,
        "imports": imports.annotate(run_count=Count("runs"))[:IMPORTS_SHOWN],
    }


def disagreements(sections: Iterable[Section]) -> list[Disagreement]:
    """Every printed delta that does not follow from its own table, in the order of the page."""
    return [
        Disagreement(
            anchor,
            f"{section.label}, {table.category_label}",
            row.contender,
            delta,
            printed,
            expected,
        )
        for section in sections
        for table, anchor in zip(section.tables, section.anchors, strict=True)
        for row in table.rows
        if row.published is not None
        for delta, printed, expected in (
            (1, row.published.delta1_percent, row.published.expected1),
            (2, row.published.delta2_percent, row.published.expected2),
        )
        if f"delta{delta}_percent" in row.published.differs
    ]


@dataclass(frozen=True)
class Winner:
    """One cell of the overview: who is best, and by how much percent faster than the next.

    ``series`` is the number of the winner's colour in the charts; None for a tie. ``standing``
    says in words whether the margin is more than chance, empty where nobody can know.
    """

    anchor: str
    names: tuple[str, ...]
    margin_percent: float | None
    series: int | None = None
    standing: str = ""


@dataclass(frozen=True)
class Overview:
    """Who is best: a line a test, a column a category (slug, label); ``folded_lines`` are
    folded away.
    """

    columns: list[tuple[str, str]]
    lines: list[tuple[Section, list[Winner | None]]]
    folded_lines: list[tuple[Section, list[Winner | None]]] = field(default_factory=list)


def overviews(sections: Sequence[Section]) -> list[Overview]:
    """One of the tests with a matrix, one of those with a single value; none that is empty.

    Nobody is the best at what work costs.
    """
    listed = []
    looks = palette.assigned(
        row.contender for section in sections for table in section.tables for row in table.rows
    )
    winners = {
        section.test: {
            table.category: _winner(anchor, table, looks)
            for table, anchor in zip(section.tables, section.anchors, strict=True)
        }
        for section in sections
        if not testnames.is_cost(section.test)
    }
    folded = folds.folded_tests(winners)
    for is_single in (False, True):
        of_kind = [
            section
            for section in sections
            if section.test in winners
            and (set(winners[section.test]) <= {categories.MEAN}) == is_single
        ]
        slugs = {slug for section in of_kind for slug in winners[section.test]}
        if of_kind:
            ordered = sorted(slugs, key=categories.place)
            lines = [
                (section, [winners[section.test].get(slug) for slug in ordered])
                for section in of_kind
            ]
            unfolded = [line for line in lines if line[0].test not in folded]
            more = [line for line in lines if line[0].test in folded] if unfolded else []
            columns = [(slug, categories.label(slug)) for slug in ordered]
            listed.append(Overview(columns, unfolded or lines, more))
    return listed


def _winner(anchor: str, table: DeltaTable, looks: Mapping[str, palette.Style]) -> Winner:
    names = tuple(row.contender for row in table.rows if row.best)
    # Worst first: the last row that is not best is the runner-up.
    second = next((row for row in reversed(table.rows) if not row.best), None)
    is_leading = any(table.mark_of(row) in ("leading", "tied") for row in table.rows)
    # A difference that may be chance is none to be told.
    is_open = second is None or len(names) > 1 or is_leading
    margin = None if second is None or is_open else second.delta2_percent
    series = looks[names[0]].series if len(names) == 1 else None
    standing = next((uncertainty.verdict_words(row) for row in table.rows if row.best), "")
    if names and len(table.rows) == 1:
        return Winner(anchor, names, None, series, "the only one")
    return Winner(
        anchor,
        names,
        None if margin is None else -margin,
        series,
        standing if len(names) == 1 and (is_leading or uncertainty.has_standing(table)) else "",
    )


def _printed_count(tables: Iterable[DeltaTable]) -> int:
    return sum(
        delta is not None
        for table in tables
        for row in table.rows
        if row.published is not None
        for delta in (row.published.delta1_percent, row.published.delta2_percent)
    )


def _with_figure(section: Mapping[str, Any], tables: Sequence[DeltaTable]) -> dict[str, Any]:
    """The section with the figure it asks for (studies.published has the vocabulary)."""
    if section["kind"] == "chart":
        rows = section["rows"]
        figure = _stated_values(
            tuple(label for label, _, _ in rows),
            tuple(None if value is None else float(value) for _, value, _ in rows),
            tuple(bound == "more than" for _, _, bound in rows),
            section["unit"],
            section["title"],
        )
        return {**section, "figure": figure}
    if section["kind"] == "combined":
        return {**section, "figure": _combined_figure(section, tables)}
    return dict(section)


def _is_combined(section: Mapping[str, Any]) -> bool:
    return section["kind"] == "combined" or section.get("group") == "combined"


def _combined_figure(section: Mapping[str, Any], tables: Sequence[DeltaTable]) -> go.Figure | None:
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    unit = ""
    for table in tables:
        if table.category == section["category"] and table.test in {"write", "read"}:
            unit = table.unit
            for row in table.rows:
                scores[row.contender][table.test] = row.score
    if not scores:
        return None
    names = sorted(scores)
    return _read_write(
        tuple(names),
        tuple(scores[name].get("write") for name in names),
        tuple(scores[name].get("read") for name in names),
        unit,
        section["title"],
    )


_stated_values = lru_cache(maxsize=64)(stated_values.stated_values)
_read_write = lru_cache(maxsize=64)(stacked.read_write)
