"""The page of one study: its delta tables next to what a paper printed, its charts, its facts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.choices import work_choice
from fsbench_web.compare.papers import comparison
from fsbench_web.compare.pictures.distributions.over_time import OverTime
from fsbench_web.compare.pictures.distributions.percentiles import Percentiles
from fsbench_web.compare.pictures.distributions.tails import Tails
from fsbench_web.compare.pictures.parts import bars_of
from fsbench_web.compare.selection import folds, profiles
from fsbench_web.compare.selection.properties import PROPERTIES
from fsbench_web.compare.selection.settings import CONTENDERS
from fsbench_web.compare.selection.spec import (
    ComparisonSpec,
    SpecError,
    units_of,
)
from fsbench_web.compare.selection.table_view import TableView
from fsbench_web.compare.tables import bounds, uncertainty
from fsbench_web.compare.tables.confounding import in_turn
from fsbench_web.compare.tables.delta_tables import comparison as comparison_of
from fsbench_web.compare.tables.delta_tables import tables_and_notice
from fsbench_web.compare.tables.differences import differences
from fsbench_web.compare.tables.parts import part_links
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.views import shown_series, study_tabs
from fsbench_web.compare.views.study_map import study_map
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures import bars, palette, stacked
from fsbench_web.figures.frame import Plain
from fsbench_web.studies.jobs import reproductions
from fsbench_web.studies.models import Study
from fsbench_web.studies.runs.listing import address_of
from fsbench_web.studies.scores.source_runs import environments_of, spans_of
from fsbench_web.studies.views.study_progress import progress_of

IMPORTS_SHOWN = 50
LATENCY_CHARTS = (OverTime, Tails, Percentiles)


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
class Disagreement:
    """A printed delta that does not follow from the paper's own scores. Deltas in percent."""

    anchor: str
    table: str
    contender: str
    delta: int
    printed: object
    expected: float | None


@dataclass(frozen=True)
class ShownTable:
    """A delta table with its place on the page; ``flags`` are those that all its rows have."""

    anchor: str
    category: str
    table: DeltaTable
    flags: tuple[str, ...]


@dataclass(frozen=True)
class WorkTable:
    """A table by a work profile, under the label of what it ranks."""

    label: str
    table: DeltaTable


@dataclass(frozen=True)
class TestGroup:
    """All tables of one test, a chart for each category, and its line of the overview."""

    __test__ = False  # not a test of pytest's

    test: str
    slug: str
    label: str
    tables: list[ShownTable] = field(default_factory=list)
    charts: dict[str, Plain] = field(default_factory=dict)
    winners: dict[str, Winner] = field(default_factory=dict)

    @property
    def is_single(self) -> bool:
        """Whether the test gives one value a run and has no other category than the mean."""
        return set(self.winners) <= {categories.MEAN}

    @property
    def has_matrix(self) -> bool:
        """Whether runs of the test fill a matrix of record and file sizes."""
        return any(
            row.run_ids
            for shown in self.tables
            if shown.table.category != categories.MEAN
            for row in shown.table.rows
        )


@require_safe
@requires(Action.READ)
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """A study, published or measured. ``?by=`` says what its tables rank, ``units=`` in what
    (compare.selection.spec).
    """
    found = Study.objects.filter(slug=slug).first()
    if found is None:
        raise Http404(
            f'There is no study "{slug}". The list of studies, /studies/, has all that there are.'
        )
    shown: Mapping[str, Any] = next((s for s in found.sections if s["kind"] == "tables"), {})
    by = request.GET.get("by") or shown.get("by")
    by = by if by in CONTENDERS else "filesystem"
    if request.headers.get("HX-Request") == "true" and not found.is_published:
        context = {"study": found, "by": by, "progress": progress_of(found, request)}
        return render(request, "studies/study_progress.html", context)
    limited = bounds.Bounded(ComparisonSpec(studies=(slug,), by=by, units=units_of(request.GET)))
    if not found.is_published:
        limited = _limited(limited.spec, request.GET)
    every_table, emulated = tables_and_notice(limited.spec)
    all_categories = study_tabs.shows_categories(request.GET, is_published=found.is_published)
    tables = study_tabs.shown_of(every_table, all_categories=all_categories)
    groups = test_groups(tables, shown.get("tests", {}))
    tabs, tab = study_tabs.tabs_of(request.GET, tables, is_published=found.is_published)
    first = study_tabs.first_of_page(every_table, request.GET)
    placed = folds.placed(groups, lambda group: group.test)
    is_mapped = first["answer"] is not None and tab == study_tabs.SUMMARY
    context = {
        "map": study_map(every_table, first["answer"], slug, by)
        if is_mapped and not found.is_published
        else None,
        "tabs": tabs,
        "tab": tab,
        "all_categories": all_categories,
        "switch": study_tabs.address(
            request.GET, tab=tab, categories="off" if all_categories else "on"
        )
        if study_tabs.has_switch(every_table)
        else "",
        "tests_at": study_tabs.address(request.GET, tab=study_tabs.TESTS),
        "baseline": first["answer"].baseline if first["answer"] else "",
        "study": found,
        "systems": found.systems.order_by("id"),
        "by": by,
        "can_reproduce": found.slug in reproductions.PAPERS,
        "emulated": emulated,
        "table_view": TableView.from_query(request.GET),
        "groups": groups,
        "overviews": _overviews(groups),
        "has_published_values": any(row.published for table in tables for row in table.rows),
        "printed_count": _printed_count(tables),
        "disagreements": disagreements(groups),
        "lower_is_better": bool(tables) and all(table.lower_is_better for table in tables),
    }
    context |= first | _sections(found, tables) | of_work(limited.spec, request.GET)
    if tab == study_tabs.LATENCY:
        kept = [group for group in groups if study_tabs.is_latency(group.test)]
        placed = folds.placed(kept, lambda group: group.test)
        context["latency_charts"] = [(kind.slug, kind.label.lower()) for kind in LATENCY_CHARTS]
    in_sight, further = study_tabs.in_sight(placed)
    context |= {"placed": placed, "in_sight": in_sight, "further": further}
    if not found.is_published:
        context |= _of_measured(request, found, limited, tables)
        rows = [row for table in tables for row in table.rows]
        series = {row.series_id for row in rows if row.series_id is not None}
        context["in_turn"] = in_turn(tables, spans_of(series))
        if tab == study_tabs.SETUP:
            context |= _setup(limited.spec)
    return render(request, "studies/study.html", context)


def _setup(spec: ComparisonSpec) -> dict[str, Any]:
    """In what the contenders differ: read for its tab alone."""
    shown = comparison_of(spec)
    facts = environments_of(shown.shown_series)
    return {
        "differences": differences(shown.shown, spec.by, facts),
        "compared": PROPERTIES[spec.by],
    }


def of_work(spec: ComparisonSpec, query: QueryDict) -> dict[str, Any]:
    """The answer to ``?profile=`` or a range of sizes: what ``compare/study_work.html`` shows.

    A comparison of the study by that alone; what is wrong with it is said in its place.
    """
    asked: ComparisonSpec = spec.whole
    problems: list[str] = []
    try:
        asked = profiles.of_query(spec, query)
        shown = comparison_of(asked) if asked.is_of_work else None
    except SpecError as error:
        shown, problems = None, error.problems
    return {
        "work": shown.work if shown else (),
        "work_tables": [WorkTable(testnames.label(one.test), one) for one in shown.tables]
        if shown
        else [],
        "work_spec": asked,
        "work_query": asked.to_query() if asked.is_of_work else "",
        "work_choice": work_choice(asked),
        "work_problems": problems,
    }


def _limited(spec: ComparisonSpec, query: QueryDict) -> bounds.Bounded:
    """The part of a measured study that is shown."""
    wish = replace(spec, **_part(query))
    return bounds.by_rows(bounds.Bounded(wish), query.getlist("filesystem"))


def _sections(found: Study, tables: Sequence[DeltaTable]) -> dict[str, Any]:
    """What a paper says besides its tables, with its figures."""
    sections = [_with_figure(section, tables) for section in found.sections]
    return {
        "combined": [section for section in sections if _is_combined(section)],
        "sections": [
            section
            for section in sections
            if section["kind"] not in {"tables", "statements"} and not _is_combined(section)
        ],
        "stated": next((s["items"] for s in found.sections if s["kind"] == "statements"), []),
    }


def _of_measured(
    request: HttpRequest, found: Study, limited: bounds.Bounded, tables: Sequence[DeltaTable]
) -> dict[str, Any]:
    """What the page of a study has that was measured and not published: runs stand behind it."""
    part = limited.part
    series_page = shown_series.page_of(found, request.GET)
    imports = found.imports.filter(state="done").select_related("created_by")
    return {
        "may_own": rights.may(request.user, rights.Action.OWN, found),
        "progress": progress_of(found, request, not tables),
        "part": part,
        "part_links": part_links(limited.spec, part, names_study=False) if part else None,
        "papers": comparison.papers_of(tables),
        "series": shown_series.shown(series_page),
        "series_page": series_page,
        "imports": imports.annotate(run_count=Count("runs"))[:IMPORTS_SHOWN],
    }


def _part(query: QueryDict) -> dict[str, Any]:
    """Which part the address asks for; nonsense asks for nothing. Older links say it as filters."""
    return {
        f"part_{name}": tuple(query.getlist(f"part_{one}") or query.getlist(one))
        for one, name in (("test", "tests"), ("category", "categories"))
    } | {
        name: int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
        for name in ("from_test", "from_row")
        for text in (query.get(name, ""),)
    }


def test_groups(tables: Sequence[DeltaTable], labels: Mapping[str, str]) -> list[TestGroup]:
    """The tables by test, in the order of ``labels`` where it has the test, else as they come."""
    places = {test: place for place, test in enumerate(labels)}
    looks = palette.assigned(row.contender for table in tables for row in table.rows)
    groups: dict[str, TestGroup] = {}
    for table in tables:
        label = labels.get(table.test) or testnames.label(table.test)
        group = groups.get(table.test)
        if group is None:
            group = TestGroup(table.test, _free_slug(table.test, groups.values()), label)
            groups[table.test] = group
        category = categories.label(table.category)
        anchor = f"{group.slug}-{testnames.slug(table.category)}"
        if any(shown.anchor == anchor for shown in group.tables):
            # The same test in another unit: ranked apart.
            anchor, category = (
                f"{anchor}-{len(group.tables)}",
                f"{category}, {numbers.unit_name(table.unit)}",
            )
        group.tables.append(ShownTable(anchor, category, table, table.common_flags))
        group.winners[table.category] = _winner(anchor, table, looks)
        rows = table.rows[::-1]
        group.charts[category] = bars.best_case_plain(
            [_shown_name(row) for row in rows],
            title=label
            if table.category == categories.MEAN
            else f"{label}: {categories.in_sentence(category)}",
            # With several categories the chart stands beside two tables, and is as high as both.
            row_px=bars.ROW_PX if table.category == categories.MEAN else 42,
            among=looks,
            **bars_of(table) | {"links": [address_of(row.run_ids) for row in rows]},
        )
    # What the paper lists first, as it lists it; creating and mounting, which are no work, last.
    return sorted(
        groups.values(),
        key=lambda group: (
            places.get(group.test, len(places)),
            group.test in testnames.CREATION_TESTS,
        ),
    )


def _free_slug(test: str, groups: Iterable[TestGroup]) -> str:
    """An element id for the test; imports may name two tests that differ in punctuation alone."""
    slug, taken = testnames.slug(test), {group.slug for group in groups}
    return slug if slug not in taken else f"{slug}-{len(taken)}"


def disagreements(groups: Iterable[TestGroup]) -> list[Disagreement]:
    """Every printed delta that does not follow from its own table, in the order of the page."""
    return [
        Disagreement(
            shown.anchor,
            f"{group.label}, {shown.category}",
            row.contender,
            delta,
            printed,
            expected,
        )
        for group in groups
        for shown in group.tables
        for row in shown.table.rows
        if row.published is not None
        for delta, printed, expected in (
            (1, row.published.delta1_percent, row.published.expected1),
            (2, row.published.delta2_percent, row.published.expected2),
        )
        if f"delta{delta}_percent" in row.published.differs
    ]


def _winner(anchor: str, table: DeltaTable, looks: Mapping[str, palette.Style]) -> Winner:
    names = tuple(row.contender for row in table.rows if row.best)
    # Worst first: the last row that is not best is the runner-up.
    second = next((row for row in reversed(table.rows) if not row.best), None)
    is_leading = any(row.mark == "leading" for row in table.rows)
    # A difference that may be chance is none to be told.
    is_open = second is None or len(names) > 1 or is_leading
    margin = None if second is None or is_open else second.delta2_percent
    series = looks[names[0]].series if len(names) == 1 else None
    standing = next((uncertainty.standing(row) for row in table.rows if row.best), "")
    return Winner(
        anchor,
        names,
        None if margin is None else -margin,
        series,
        standing if len(names) == 1 and (is_leading or uncertainty.has_standing(table)) else "",
    )


def _shown_name(row: DeltaRow) -> str:
    if row.configuration is None or row.configuration == row.contender:
        return row.contender
    return row.configuration if row.configuration.startswith(row.contender) else row.contender


@dataclass(frozen=True)
class Overview:
    """Who is best: a line a test, a column a category (slug, label); ``more`` are folded away."""

    columns: list[tuple[str, str]]
    lines: list[tuple[TestGroup, list[Winner | None]]]
    more: list[tuple[TestGroup, list[Winner | None]]] = field(default_factory=list)


def _overviews(groups: Sequence[TestGroup]) -> list[Overview]:
    """One of the tests with a matrix, one of those with a single value; none that is empty.

    Nobody is the best at what work costs.
    """
    found = []
    groups = [group for group in groups if not testnames.is_cost(group.test)]
    folded = folds.further(group.test for group in groups)
    for is_single in (False, True):
        kept = [group for group in groups if group.is_single == is_single]
        slugs = sorted({slug for group in kept for slug in group.winners}, key=categories.place)
        if kept:
            columns = [(slug, categories.label(slug)) for slug in slugs]
            lines = [(group, [group.winners.get(slug) for slug in slugs]) for group in kept]
            shown = [line for line in lines if line[0].test not in folded]
            more = [line for line in lines if line[0].test in folded] if shown else []
            found.append(Overview(columns, shown or lines, more))
    return found


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
        figure = _stated(
            tuple(label for label, _, _ in rows),
            tuple(None if value is None else float(value) for _, value, _ in rows),
            tuple(bound == "more than" for _, _, bound in rows),
            section["unit"],
            section["title"],
        )
        return {**section, "figure": figure}
    if section["kind"] == "combined":
        return {**section, "figure": _combined(section, tables)}
    return dict(section)


def _is_combined(section: Mapping[str, Any]) -> bool:
    return section["kind"] == "combined" or section.get("group") == "combined"


def _combined(section: Mapping[str, Any], tables: Sequence[DeltaTable]) -> go.Figure | None:
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


_stated = lru_cache(maxsize=64)(bars.stated)
_read_write = lru_cache(maxsize=64)(stacked.read_write)
