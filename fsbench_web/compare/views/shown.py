"""What a comparison's page shows. A study page is the same with a head and no study parameter."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote

from django.http import QueryDict
from django.urls import reverse

from fsbench_web.compare.pictures.base import SHOWS
from fsbench_web.compare.pictures.latencies import Latencies
from fsbench_web.compare.pictures.sections import Section, sections
from fsbench_web.compare.selection import folds
from fsbench_web.compare.selection.fields import CONTENDERS, unknown
from fsbench_web.compare.selection.properties import PROPERTIES
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError, set_aside
from fsbench_web.compare.selection.table_view import FORM, TableView, joined, without_view
from fsbench_web.compare.tables.bounds import BoundedComparison, bounded_page, by_rows, part_links
from fsbench_web.compare.tables.delta_tables import (
    Comparison,
    answer_of,
    comparison,
    default_tables,
    refuse_unknown_parts,
)
from fsbench_web.compare.tables.differences import differences, order_over_time
from fsbench_web.core.comparison.answer import matrix_of
from fsbench_web.core.comparison.answer_shown import answer_context
from fsbench_web.core.comparison.headlines import caveats_of, headline_tables
from fsbench_web.core.comparison.rows import DeltaTable, shown_names
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.studies.models import Study
from fsbench_web.studies.runs.listing import address_of
from fsbench_web.studies.scores.source_runs import environments_of, spans_of

SUMMARY, TESTS, CHARTS, LATENCY, SETUP, RUNS = (
    *("summary", "tests", "charts", "latency", "setup", "runs"),
)
LABELS = {
    SUMMARY: "Summary",
    TESTS: "Tests",
    CHARTS: "Charts",
    LATENCY: "Latency",
    SETUP: "Setup differences",
    RUNS: "Runs",
}
UNISYS, OFF = "unisys", "off"
MOST_ROWS_HERE = 60
"""Rows of tables that stand in the page: 30 KB. Of more each test is fetched when it is opened."""
MOST_CONTENDERS = 200
MOST_BASELINES = 12
_PLACE = ("tab", "of", "categories", "configurations", "seen", "empty")


@dataclass(frozen=True)
class Address:
    """Where and how a comparison is shown. ``categories``: "unisys" or "off" if chosen, else ""."""

    tab: str
    view: TableView
    categories: str
    study: Study | None = None

    @classmethod
    def from_query(cls, query: QueryDict, study: Study | None = None) -> "Address":
        choice = query.get("categories", "")
        choice = UNISYS if choice == "on" else choice
        tab = query.get("tab") or (RUNS if query.get("configurations") else SUMMARY)
        view = TableView.from_query(query)
        return cls(tab, view, choice if choice in (UNISYS, OFF) else "", study)

    @property
    def usual_by(self) -> str:
        """What contenders are where nothing is said: a paper may rank configurations."""
        tables = _section_of_tables(self.study)
        by = tables.get("by", "")
        return by if by in CONTENDERS else "filesystem"

    def spec_of(self, query: QueryDict) -> ComparisonSpec:
        rest = without_view(query)
        for name in _PLACE:
            rest.pop(name, None)
        if self.study is None:
            return ComparisonSpec.of_address(rest)
        rest["study"] = self.study.slug
        rest["by"] = rest.get("by") or self.usual_by
        return ComparisonSpec.of_address(rest)

    def query(self, spec: ComparisonSpec, tab: str = "", categories: str | None = None) -> str:
        """All that the address says: of the page as it is, or with another tab or choice."""
        tab = tab or self.tab
        choice = self.categories if categories is None else categories
        place = joined(
            f"tab={tab}" if tab != SUMMARY else "", f"categories={choice}" if choice else ""
        )
        by = ""
        if self.study is not None:
            by = "" if spec.by == self.usual_by else f"by={spec.by}"
            spec = replace(spec, studies=(), by="filesystem")
        return joined(place, by, spec.to_query(), self.view.to_query())

    def page(self, spec: ComparisonSpec, tab: str = "", categories: str | None = None) -> str:
        path = (
            reverse("studies:study", args=[self.study.slug])
            if self.study
            else reverse("compare:page")
        )
        query = self.query(spec, tab, categories)
        return f"{path}?{query}" if query else path

    def tests(self, spec: ComparisonSpec) -> str:
        """Where the tables of the tests are: ``of=`` is to be added for those of one."""
        path = (
            reverse("studies:study_test", args=[self.study.slug])
            if self.study
            else reverse("compare:tests")
        )
        query = self.query(spec, SUMMARY)
        return f"{path}?{query}{'&' if query else ''}"


@dataclass(frozen=True)
class ShownComparison:
    """A comparison as its page shows it; ``problems``: what of a study's address was ignored."""

    address: Address
    limited: BoundedComparison
    compared: Comparison
    problems: tuple[str, ...] = ()

    @cached_property
    def tables(self) -> list[DeltaTable]:
        """Those that are shown: all categories of a paper, one of a measured test, or a choice."""
        tables = self.compared.tables
        if not self.address.categories:
            return default_tables(tables, self.limited.spec)
        return list(tables) if self.address.categories == UNISYS else headline_tables(tables)

    @cached_property
    def sections(self) -> list[Section]:
        """The tables by test; a paper has an order and names of its own."""
        labels = _section_of_tables(self.address.study).get("tests", {})
        return sections(self.tables, labels if self.address.study else None)

    @cached_property
    def spec(self) -> ComparisonSpec:
        """What the address of the page says of it."""
        return self.limited.address

    @cached_property
    def tab(self) -> str:
        """The tab that is shown; nonsense is the first."""
        slugs = self.tab_slugs
        return self.address.tab if self.address.tab in slugs else slugs[0]

    @property
    def tab_slugs(self) -> list[str]:
        """The tabs that there is something for."""
        slugs = [SUMMARY]
        if self.tables:
            slugs += [TESTS, CHARTS]
            slugs += [LATENCY] if any(is_latency(table.test) for table in self.tables) else []
            slugs += [SETUP]
        study = self.address.study
        has_runs = self.is_measured or (study is not None and not study.is_published)
        return [*slugs, RUNS] if has_runs else slugs

    @cached_property
    def is_measured(self) -> bool:
        return any(row.run_ids for table in self.tables for row in table.rows)

    @property
    def part_context(self) -> dict[str, Any]:
        part = self.limited.part
        names_study = self.address.study is None
        links = part_links(self.limited.spec, part, names_study=names_study) if part else None
        return {"part": part, "part_links": links}


def _section_of_tables(study: Study | None) -> dict[str, Any]:
    listed = study.sections if study else []
    return next((section for section in listed if section["kind"] == "tables"), {})


def read(
    query: QueryDict, study: Study | None = None, tests: tuple[str, ...] = ()
) -> ShownComparison:
    """The comparison of an address; of ``tests`` alone if any. Raises SpecError, not of a study."""
    address = Address.from_query(query, study)
    if study is None:
        spec = address.spec_of(query)
        if address.view.problems:
            raise SpecError(address.view.problems)
        return _read(address, spec, tests)
    by = query.get("by", "")
    whole = ComparisonSpec(studies=(study.slug,), by=by if by in CONTENDERS else address.usual_by)
    try:
        spec = address.spec_of(query)
        found = _read(address, spec, tests)
    except SpecError as error:
        return replace(_read(address, whole), problems=tuple(error.problems))
    problems = _missing(spec, found)
    if not problems or tests:
        return found
    return replace(_read(address, whole), problems=problems)


def _read(address: Address, spec: ComparisonSpec, tests: tuple[str, ...] = ()) -> ShownComparison:
    if tests:
        refuse_unknown_parts(replace(spec, part_tests=tests))
    limited = bounded_page(spec.without_papers)
    if tests and limited.part:
        limited = with_tests(spec, tests)
    # Verdicts are of all tests that the page shows: one test alone has other q-values.
    compared = comparison(limited.spec, known_facts=limited.known_facts)
    return ShownComparison(address, limited, compared)


def with_tests(spec: ComparisonSpec, tests: tuple[str, ...]) -> BoundedComparison:
    """These tests of the comparison, as much of them as a page shows."""
    if spec.from_row:
        return BoundedComparison(spec)
    return by_rows(BoundedComparison(replace(spec, part_tests=tests, from_test=0)))


def _missing(spec: ComparisonSpec, found: ShownComparison) -> tuple[str, ...]:
    """Which tests and categories are asked for and the study has not, in words."""
    asked_tests = spec.part_tests or spec.tests
    asked_categories = spec.part_categories or spec.categories
    if not (asked_tests or asked_categories):
        return ()
    part, tables = found.limited.part, found.compared.tables
    if not tables:
        tables = comparison(replace(spec.whole, tests=(), categories=())).tables
    tests = part.tests if part else [table.test for table in tables]
    slugs = (part.categories if part else ()) or [table.category for table in tables]
    return (
        *unknown("test", asked_tests, tests),
        *unknown("category", asked_categories, slugs),
    )


def is_latency(test: str) -> bool:
    return bool(testnames.latency_of(test)) or "latency" in testnames.label(test).lower()


def measured_runs(tables: Sequence[DeltaTable]) -> list[tuple[str, str, int, str]]:
    """Contenders and configurations by name, with how many runs they have and where these are."""
    by_configuration: dict[tuple[str, str], dict[int, None]] = {}
    for table in tables:
        for row in table.rows:
            run_ids = by_configuration.setdefault((row.contender, row.configuration or ""), {})
            run_ids |= dict.fromkeys(row.run_ids)
    return [
        (contender, configuration, len(runs), address_of(tuple(runs)))
        for (contender, configuration), runs in sorted(by_configuration.items())
        if runs
    ]


def page_context(shown: ShownComparison) -> dict[str, Any]:
    spec, address, tab = shown.spec, shown.address, shown.tab
    tables = [table for section in shown.sections for table in section.tables]
    of_runs = measured_runs(tables) if tab == RUNS and address.study is None else []
    order = order_over_time(tables, spans_of)
    whole_tests = shown.limited.part.whole.tests if shown.limited.part else spec.tests
    return {
        "spec": spec,
        "query": spec.to_query(),
        "table_view": address.view,
        "view": address.view.with_sort,
        "unknown_parts": shown.problems,
        "sections": shown.sections,
        "tables": len(tables),
        "work": shown.compared.work,
        "work_off": address.page(spec.without_work) if spec.is_of_work else "",
        "set_aside": set_aside(spec),
        "emulated": shown.compared.emulated,
        "baseline_missing": bool(tables and spec.baseline)
        and not any(table.baseline for table in tables),
        "in_turn": order.turns,
        "order_is_known": order.is_known,
        "measured": of_runs[:MOST_CONTENDERS],
        "measured_of": len(of_runs),
        **shown.part_context,
        **_answer_context(shown, tables),
        **_tab_context(shown, tables),
        **_tests_context(shown, whole_tests),
        **(_differences_context(shown) if tab in (SUMMARY, SETUP) else {}),
    }


def _answer_context(shown: ShownComparison, tables: Sequence[DeltaTable]) -> dict[str, Any]:
    """The answer, its chart, what to trust it by, and where it leads (compare/answer.html)."""
    spec, address = shown.spec, shown.address
    answer = answer_of(tables, spec.baseline)
    entries = shown_names(answer.workloads[0].answer.entries if answer.workloads else ())
    findings_page = "" if shown.tab == SUMMARY else address.page(spec, SUMMARY)
    is_ranked = address.study is not None and not address.study.is_published
    history = f"?study={address.study.slug}" if address.study else ""
    return answer_context(answer) | {
        "matrix": matrix_of(tables, answer),
        "baseline_name": entries.get(answer.baseline, answer.baseline),
        "trust": caveats_of(tables) if tables else None,
        "bases": [
            (
                name,
                address.page(replace(spec, baseline=entry), shown.tab),
                entry == answer.baseline,
            )
            for entry, name in entries.items()
        ]
        if len(entries) <= MOST_BASELINES
        else [],
        "ranks": [
            (name, address.page(replace(spec, by=by, baseline=""), shown.tab), by == spec.by)
            for by, name in (("filesystem", "file systems"), ("configuration", "configurations"))
        ]
        if is_ranked
        else [],
        "map_at": _map_at(tables, spec.to_query()),
        "findings_at": f"{findings_page}#findings",
        "work_at": ""
        if spec.is_of_work
        else address.page(replace(spec, profile="oltp"), SUMMARY) + "#work",
        "history_at": f"{reverse('compare:history')}{history}",
        "is_measured": shown.is_measured,
    }


def _map_at(tables: Iterable[DeltaTable], query: str) -> str:
    """The speed-up map of a comparison; "" where no two entries have a matrix of one test."""
    has_matrix = any(
        sum(bool(row.run_ids) and (row.cells or 0) > 1 for row in table.rows) > 1
        for table in tables
    )
    return f"{reverse('compare:pictures')}?{query}&picture=ratio" if has_matrix else ""


def _tab_context(shown: ShownComparison, tables: Sequence[DeltaTable]) -> dict[str, Any]:
    spec, address, tab = shown.spec, shown.address, shown.tab
    every_table = shown.compared.tables
    all_categories = len(shown.tables) == len(every_table) and address.categories != OFF
    has_switch = any(table.category in categories.CATEGORIES for table in every_table)
    is_own = address.study is not None and not address.study.is_published
    is_whole = has_switch and all_categories
    ends = {testnames.slug(table.category) for table in tables}
    return {
        "tab": tab,
        "tab_label": LABELS[tab],
        "tabs": [(LABELS[slug], address.page(spec, slug), slug == tab) for slug in shown.tab_slugs],
        "tests_at": address.page(spec, TESTS),
        # The matrix of a summary lists the tests; a paper's has all its categories too.
        "shows_tests": bool(tables)
        and (tab in (TESTS, LATENCY) or (tab == SUMMARY and (is_whole or not is_own))),
        "category_ends": " ".join(sorted(ends)),
        "categories_choice": address.categories,
        "all_categories": all_categories,
        "switch": address.page(spec, tab, OFF if all_categories else UNISYS)
        if has_switch and tab not in (SETUP, RUNS)
        else "",
        "share_query": _shared_spec(shown).to_query(),
        "compare_at": replace(address, study=None).page(spec, SUMMARY),
        "latency_charts": [
            (f"{Latencies.slug}&show={show}", label.lower()) for show, label in SHOWS.items()
        ],
    }


def _shared_spec(shown: ShownComparison) -> ComparisonSpec:
    """What a permalink of the page is of: categories that were switched on are named."""
    spec = shown.spec
    is_named = spec.is_of_work or spec.categories or spec.part_categories
    if shown.address.categories != UNISYS or is_named:
        return spec
    return replace(spec, categories=tuple({table.category for table in shown.tables}))


def _tests_context(shown: ShownComparison, chosen: Sequence[str]) -> dict[str, Any]:
    spec, tab, study = shown.spec, shown.tab, shown.address.study
    listed = [section for section in shown.sections if tab != LATENCY or is_latency(section.test)]
    rows = rows_context(listed, shown.address.tests(spec), spec, chosen)
    row_count = sum(len(table.rows) for section in shown.sections for table in section.tables)
    is_open = opens_by_default(rows["placed"])
    # The one test of a large comparison stands in its page, but in no fold of the summary.
    is_alone = len(rows["placed"]) == 1 and tab != SUMMARY
    is_paper = study is not None and study.is_published
    return rows | {
        "charted": charted_sections(rows["placed"]),
        "has_tables_here": row_count <= MOST_ROWS_HERE or is_alone or is_paper,
        "rows_open": is_open,
        "tests_folded": tab == SUMMARY and not is_open,
    }


def _differences_context(shown: ShownComparison) -> dict[str, Any]:
    by = shown.limited.spec.by
    facts = environments_of(shown.compared.shown_series)
    return {
        "differences": differences(shown.compared.shown_contenders, by, facts),
        "compared": PROPERTIES[by],
    }


# The list of tests: a row each, of the elapsed and the CPU time of the same work one together.

ROWS_SHOWN = 25
"""So many rows of two lines each are two screens."""
MOST_OPEN, MOST_OPEN_ROWS = 3, 20
"""So many tests stand open, if their tables have no more rows together."""
MOST_CHARTS, MOST_BARS = 12, 60
"""So many charts are together; the first one whatever it has."""


@dataclass(frozen=True)
class TestRow:
    """A row: test ``first``, and ``cpu``, the CPU time of the same work; tables at ``address``."""

    __test__ = False  # not a test of pytest's

    first: Section
    cpu: Section | None
    address: str

    @property
    def groups(self) -> list[Section]:
        """What it opens to."""
        return [self.first] if self.cpu is None else [self.first, self.cpu]

    @property
    def slugs(self) -> str:
        """Those that links into it begin with (``#test-write``, ``#write-maximum``)."""
        return " ".join(part.slug for part in self.groups)

    @property
    def words(self) -> str:
        """What a search among the tests finds it by."""
        return " ".join(f"{part.label} {part.test}" for part in self.groups)

    @property
    def row_count(self) -> int:
        return sum(len(table.rows) for part in self.groups for table in part.tables)


def charted_sections(places: Sequence[folds.FoldedEntry[TestRow]]) -> list[Section]:
    """The first tests, one row at least, with MOST_BARS bars in all their charts."""
    bars, taken = 0, list[Section]()
    for place in places:
        sections = place.entry.groups
        bars += sum(max(len(table.rows) for table in section.tables) for section in sections)
        if taken and (bars > MOST_BARS or len(taken) >= MOST_CHARTS):
            break
        taken += sections
    return taken


def opens_by_default(places: Sequence[folds.FoldedEntry[TestRow]]) -> bool:
    """Whether so few tests, and none of them large, leave nothing to choose from."""
    rows = sum(place.entry.row_count for place in places)
    return len(places) <= MOST_OPEN and rows <= MOST_OPEN_ROWS


def rows_of(parts: Sequence[Section], address: str) -> list[TestRow]:
    """The rows of tests, in their order; ``address`` ends so that ``of=`` can follow."""
    by_test = {part.test: part for part in parts}
    pairs = {
        test: by_test[cpu] for test in by_test if (cpu := testnames.cpu_time_of(test)) in by_test
    }
    beside = {part.test for part in pairs.values()}
    return [_row(part, pairs.get(part.test), address) for part in parts if part.test not in beside]


def _row(first: Section, cpu: Section | None, address: str) -> TestRow:
    tests = [first.test] if cpu is None else [first.test, cpu.test]
    return TestRow(first, cpu, address + "&".join(f"of={quote(test, safe='')}" for test in tests))


def of_tests(rows: Sequence[TestRow], tests: Collection[str]) -> list[TestRow]:
    return [row for row in rows if not tests or any(part.test in tests for part in row.groups)]


def rows_context(
    parts: Sequence[Section], address: str, spec: ComparisonSpec, chosen: Sequence[str] = ()
) -> dict[str, Any]:
    """What ``compare/tests.html`` shows; tests ``chosen`` by name are in no fold."""
    rows = rows_of(parts, address)
    placed = folds.with_folds(rows, lambda row: row.first.test, chosen)
    in_sight, further = _in_sight(placed)
    return test_context(spec) | {
        "placed": placed,
        "in_sight": in_sight,
        "further": further,
        "has_cpu": any(row.cpu for row in rows),
        "tables_at": address,
    }


def _in_sight(
    places: Sequence[folds.FoldedEntry[TestRow]],
) -> tuple[list[folds.FoldedEntry[TestRow]], list[folds.FoldedEntry[TestRow]]]:
    """The first ROWS_SHOWN of a list of tests, and the others, which are folded; no fold is cut."""
    if len(places) <= ROWS_SHOWN + 5:
        return list(places), []
    cut, is_inside, rows = 0, False, 0
    for place, entry in enumerate(places, 1):
        is_inside = (is_inside or entry.opens is not None) and not entry.closes
        rows += entry.opens is None and not is_inside
        if not is_inside and rows <= ROWS_SHOWN:
            cut = place
    return list(places[:cut]), list(places[cut:])


def test_context(spec: ComparisonSpec) -> dict[str, Any]:
    """Which form sorts the tables of a test, and where its chart and data points come from."""
    return {
        "table_form": FORM,
        "charts_url": reverse("compare:charts", args=["TEST"]),
        "cells_url": "" if spec.is_of_work else reverse("compare:cells", args=["TEST"]),
    }
