"""What the page of a study shows first, and its tabs: the address says which one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from fsbench_web.compare.answer import answer_of
from fsbench_web.compare.answer_shown import answer_context
from fsbench_web.compare.matrix import matrix_of
from fsbench_web.compare.selection.folds import Entry, FoldedEntry
from fsbench_web.compare.selection.spec import RANGES, WORK_PARAMETERS
from fsbench_web.compare.tables.headlines import caveats_of, headline_tables
from fsbench_web.compare.tables.lines_of_tests import TestLine, line_against
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.scoring import categories, testnames

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
ROWS_SHOWN = 25
"""So many rows of two lines each are two screens."""
_KEPT = ("by", "units", "baseline", "categories", "from_test", *WORK_PARAMETERS)
"""What of an address goes with one from tab to tab."""


Ways = Mapping[str, Any]


@dataclass(frozen=True)
class Tab:
    slug: str
    label: str
    address: str
    is_here: bool


def shows_categories(query: QueryDict, *, is_published: bool) -> bool:
    """Whether all categories of a matrix are shown: of papers unless somebody switched them off.

    Who asks for a category asks for them.
    """
    choice = query.get("categories")
    if choice in ("on", "off"):
        return choice == "on"
    return is_published or bool(query.getlist("part_category") or query.getlist("category"))


def shown_tables(tables: Sequence[DeltaTable], *, all_categories: bool) -> list[DeltaTable]:
    """The tables of the page: all, or of each test the one that its line is of."""
    return list(tables) if all_categories else headline_tables(tables)


def has_switch(tables: Iterable[DeltaTable]) -> bool:
    """Whether there are categories to be switched on and off."""
    return any(table.category in categories.CATEGORIES for table in tables)


def is_latency(test: str) -> bool:
    """Whether a test says how long a single operation took."""
    return bool(testnames.latency_of(test)) or "latency" in testnames.label(test).lower()


def category_ends(tables: Iterable[DeltaTable]) -> str:
    """With what the ids of tables end, by which a link to one is known (static/js/rows.js)."""
    return " ".join(sorted({testnames.slug(table.category) for table in tables}))


def tabs_of(
    query: QueryDict, tables: Sequence[DeltaTable], *, is_published: bool
) -> tuple[list[Tab], str]:
    """The tabs that there is something for, and which one is shown: nonsense is the summary."""
    slugs = [SUMMARY]
    if tables:
        slugs += [TESTS, CHARTS]
        slugs += [LATENCY] if any(is_latency(table.test) for table in tables) else []
    if not is_published:
        slugs += [SETUP, RUNS] if tables else [RUNS]
    chosen = query.get("tab") or ("runs" if query.get("configurations") else SUMMARY)
    chosen = chosen if chosen in slugs else SUMMARY
    tabs = [Tab(slug, LABELS[slug], address(query, tab=slug), slug == chosen) for slug in slugs]
    return tabs, chosen


def address(query: QueryDict, **changed: str) -> str:
    """The page's own address with something of it changed; the summary needs no word."""
    unchanged = [
        (name, value)
        for name in _KEPT
        if name not in changed
        for value in (query.getlist(name) if name in RANGES else [query.get(name)])
        if value
    ]
    added = [
        (name, value)
        for name, value in changed.items()
        if value and (name, value) != ("tab", SUMMARY)
    ]
    return f"?{urlencode([*added, *unchanged])}"


def without_work(query: QueryDict) -> str:
    """The page's own address, ranked by tests alone."""
    rest = query.copy()
    for name in WORK_PARAMETERS:
        rest.pop(name, None)
    tab = rest.get("tab", "")
    return address(rest, **({"tab": tab} if tab else {}))


def first_of_page(
    tables: Sequence[DeltaTable], baseline: str, address_of_base: Callable[[str], str]
) -> dict[str, Any]:
    """Answer, drawing and what to trust it by: what stands above the tabs (compare/answer.html).

    ``address_of_base`` is where the same page has another baseline.
    """
    answer = answer_of(tables, baseline)
    return answer_context(answer) | {
        "matrix": matrix_of(tables, answer),
        "trust": caveats_of(tables) if tables else None,
        "bases": [
            (entry, address_of_base(entry), entry == one.baseline)
            for one in [work.answer for work in answer.workloads][:1]
            for entry in sorted(one.entries)
        ]
        if answer.workloads and len(answer.workloads[0].answer.entries) <= 12
        else [],
    }


def map_at(tables: Iterable[DeltaTable], compared: str) -> str:
    """The speed-up map of a comparison; "" where no two entries have a matrix of one test."""
    has_matrix = any(
        sum(bool(row.run_ids) and (row.cells or 0) > 1 for row in table.rows) > 1
        for table in tables
    )
    return f"{reverse('compare:pictures')}?{compared}&picture=ratio" if has_matrix else ""


def links_of_study(query: QueryDict, slug: str, by: str, tab: str, *, is_published: bool) -> Ways:
    """Where the answer of a study leads."""
    ranked = "" if by == "filesystem" else f"by={by}&"
    return {
        "findings_at": f"{'' if tab == SUMMARY else address(query, tab=SUMMARY)}#findings",
        "work_at": f"?{ranked}profile=oltp#work",
        "history_at": f"{reverse('compare:history')}?{urlencode({'study': slug})}",
        "is_measured": not is_published,
        "ranks": []
        if is_published
        else [
            (name, address(query, by=kind, baseline=""), kind == by)
            for kind, name in (("filesystem", "file systems"), ("configuration", "configurations"))
        ],
    }


def line_of(tables: Sequence[DeltaTable], baseline: str) -> TestLine:
    """The line of one test, of all its tables."""
    return line_against(headline_tables(tables)[0], baseline)


def in_sight(
    places: Sequence[FoldedEntry[Entry]],
) -> tuple[list[FoldedEntry[Entry]], list[FoldedEntry[Entry]]]:
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
