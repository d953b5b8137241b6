"""The compare page has the shape of a study: its answer, its tabs, its rows of tests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from fsbench_web.compare.pictures.sections import sections
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.selection.table_view import TableView, joined
from fsbench_web.compare.tables.headlines import default_tables
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.compare.views import rows_of_tests, study_tables, study_tabs
from fsbench_web.compare.views.study_tabs import CHARTS, LATENCY, RUNS, SETUP, SUMMARY, TESTS
from fsbench_web.studies.runs.listing import address_of

MOST_CONTENDERS = 200
_PLACE = ("tab", "of", "categories")


def without_place(query: QueryDict) -> QueryDict:
    """The query without what says where on its pages somebody is."""
    rest = query.copy()
    for name in _PLACE:
        rest.pop(name, None)
    return rest


def categories_of(query: QueryDict) -> str:
    """Whether all categories of a matrix are asked for: "on" or "off", "" where nobody says."""
    choice = query.get("categories", "")
    return choice if choice in ("on", "off") else ""


def shown_tables(
    tables: Sequence[DeltaTable], spec: ComparisonSpec, categories: str
) -> list[DeltaTable]:
    """Those of ``tables`` that the page shows."""
    if not categories:
        return default_tables(tables, spec)
    return study_tabs.shown_tables(tables, all_categories=categories == "on")


def address(
    spec: ComparisonSpec, view: TableView, tab: str = SUMMARY, *, categories: str = ""
) -> str:
    """The compare page, at one of its tabs."""
    return f"{reverse('compare:page')}?{query_of(spec, view, tab, categories=categories)}"


def query_of(
    spec: ComparisonSpec, view: TableView, tab: str = SUMMARY, *, categories: str = ""
) -> str:
    """All that an address of the compare page says."""
    place = joined(
        f"tab={tab}" if tab != SUMMARY else "", f"categories={categories}" if categories else ""
    )
    return joined(place, spec.to_query(), view.to_query())


def tables_at(spec: ComparisonSpec, view: TableView, *, categories: str = "") -> str:
    """Where the tables of the tests are: ``of=`` is to be added for those of one."""
    query = query_of(spec, view, categories=categories)
    return f"{reverse('compare:tests')}?{query}{'&' if query else ''}"


def tab_of(query: QueryDict, tables: Sequence[DeltaTable]) -> str:
    """The tab that is shown; nonsense is the summary."""
    slug = query.get("tab", "")
    return slug if slug in _slugs(tables) else SUMMARY


def _slugs(tables: Sequence[DeltaTable]) -> list[str]:
    slugs = [SUMMARY, TESTS, CHARTS, SETUP]
    if any(study_tabs.is_latency(table.test) for table in tables):
        slugs.insert(3, LATENCY)
    return [*slugs, RUNS] if any(row.run_ids for table in tables for row in table.rows) else slugs


@dataclass(frozen=True)
class MeasuredRuns:
    """The runs behind the scores of a contender, and the page that lists them."""

    contender: str
    configuration: str
    runs: int
    address: str


def measured_runs(tables: Sequence[DeltaTable]) -> list[MeasuredRuns]:
    """Of every contender and configuration that the tables show, by name."""
    by_configuration: dict[tuple[str, str], dict[int, None]] = {}
    for table in tables:
        for row in table.rows:
            run_ids = by_configuration.setdefault((row.contender, row.configuration or ""), {})
            run_ids |= dict.fromkeys(row.run_ids)
    return [
        MeasuredRuns(contender, configuration, len(runs), address_of(tuple(runs)))
        for (contender, configuration), runs in sorted(by_configuration.items())
        if runs
    ]


def _shared_spec(
    spec: ComparisonSpec, shown: Sequence[DeltaTable], categories: str
) -> ComparisonSpec:
    """What a permalink of the page is of: categories that were switched on are named."""
    if categories != "on" or spec.is_of_work or spec.categories or spec.part_categories:
        return spec
    return replace(spec, categories=tuple({table.category for table in shown}))


def page_context(
    spec: ComparisonSpec,
    view: TableView,
    tab: str,
    every_table: Sequence[DeltaTable],
    chosen: Sequence[str] = (),
    *,
    categories: str = "",
) -> dict[str, Any]:
    """What the page shows of its tables: answer, tabs, and the rows of the tests.

    ``spec`` and ``categories`` are what its address says; tests ``chosen`` by name are in no fold.
    """
    page_address = partial(address, categories=categories)
    shown = shown_tables(every_table, spec, categories)
    all_categories = len(shown) == len(every_table) and categories != "off"
    test_sections = sections(shown)
    tables = [table for section in test_sections for table in section.tables]
    first = study_tabs.first_of_page(
        tables, spec.baseline, lambda name: page_address(replace(spec, baseline=name), view, tab)
    )
    rows = [
        section
        for section in test_sections
        if tab != LATENCY or study_tabs.is_latency(section.test)
    ]
    tests_context = rows_of_tests.rows_context(
        rows, tables_at(spec, view, categories=categories), chosen
    )
    row_count = sum(len(table.rows) for table in tables)
    is_open = rows_of_tests.opens_by_default(tests_context["placed"])
    of_runs = measured_runs(tables) if tab == RUNS else []
    # The one test of a large comparison stands in its page, but in no fold of the summary.
    is_alone = len(tests_context["placed"]) == 1 and tab != SUMMARY
    has_tables_here = row_count <= study_tables.MOST_ROWS_HERE or is_alone
    return {
        **first,
        **tests_context,
        "map_at": study_tabs.map_at(tables, spec.to_query()),
        "tab": tab,
        "tabs": [
            study_tabs.Tab(
                slug, study_tabs.LABELS[slug], page_address(spec, view, slug), slug == tab
            )
            for slug in _slugs(tables)
        ],
        "tables": len(tables),
        "all_categories": all_categories,
        "categories_choice": categories,
        "share_query": _shared_spec(spec, shown, categories).to_query(),
        "switch": address(spec, view, tab, categories="off" if all_categories else "on")
        if study_tabs.has_switch(every_table)
        else "",
        "shows_tests": tab in (SUMMARY, TESTS, LATENCY),
        "tab_label": study_tabs.LABELS[tab],
        "category_ends": study_tabs.category_ends(tables),
        "sections": test_sections,
        "charted": rows_of_tests.charted_sections(tests_context["placed"]),
        "measured": of_runs[:MOST_CONTENDERS],
        "measured_of": len(of_runs),
        **rows_of_tests.test_context(spec) | {"table_form": "filters"},
        "has_tables_here": has_tables_here,
        "rows_open": is_open,
        "tests_folded": tab == SUMMARY and not is_open,
        "tests_at": page_address(spec, view, TESTS),
        "findings_at": "#findings" if tab == SUMMARY else f"{page_address(spec, view)}#findings",
        "work_at": ""
        if spec.is_of_work
        else page_address(replace(spec, profile="oltp"), view) + "#work",
        "history_at": reverse("compare:history"),
        "is_measured": any(row.run_ids for table in tables for row in table.rows),
    }
