"""What there is to draw of a comparison: tests by what they have, and contenders by name."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.bounds import BoundedComparison, by_rows
from fsbench_web.compare.tables.delta_tables import Comparison, comparison
from fsbench_web.core.comparison.delta_tables import tool_of
from fsbench_web.core.comparison.headlines import headline_of
from fsbench_web.core.comparison.rows import DeltaTable, shown_names
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.studies.scores import cells
from fsbench_web.studies.scores.cells import ScoredTest

PUBLISHED = "published"


@dataclass(frozen=True)
class Contender:
    """A measured configuration; ``key`` is that of its series. ``score`` is in ``unit``."""

    key: int
    name: str
    filesystem: str
    study: str
    score: float
    unit: str
    tool: str


ScoredTests = Mapping[str, Collection[ScoredTest]]
"""The scores of each test, tests in the order of all pages."""


@dataclass(frozen=True)
class Need:
    """What a test must have to be drawn, and the ``refusal`` where no test has it."""

    tests_of: Callable[[ScoredTests], list[str]]
    refusal: str


@dataclass(frozen=True)
class DrawableTests:
    """The tests of a comparison with the scores of each, and the ``categories`` of these."""

    scored: ScoredTests
    categories: Mapping[str, list[str]]

    def is_printed(self, test: str) -> bool:
        """Whether a paper states any of its scores."""
        return any(kind.origin == PUBLISHED for kind in self.scored.get(test, ()))

    def of(self, need: Need) -> list[str]:
        """The tests that can be drawn, in the order of all pages."""
        return need.tests_of(self.scored)


def is_measured(kinds: Iterable[ScoredTest]) -> bool:
    """Whether runs stand behind any score of a test, and not only a paper."""
    return any(kind.origin != PUBLISHED for kind in kinds)


def _has_cells(kinds: Iterable[ScoredTest]) -> bool:
    return is_measured(kind for kind in kinds if kind.category != categories.MEAN)


SCORES = Need(lambda scored: [*scored], "No score matches this comparison.")
RUNS = Need(
    lambda scored: [test for test, kinds in scored.items() if is_measured(kinds)],
    "No finished run matches this comparison. Scores that were published have no repeats.",
)
MATRIX = Need(
    lambda scored: [test for test, kinds in scored.items() if _has_cells(kinds)],
    "No finished run of this comparison has a matrix of record and file sizes. Scores that were "
    "published have no data points: nothing is read off a printed picture.",
)


def offer(spec: ComparisonSpec) -> DrawableTests:
    """What can be drawn of ``spec``. One query."""
    by_test: dict[str, list[ScoredTest]] = defaultdict(list)
    for scored_test in cells.scored_tests(spec.score_filter.of_all_cells):
        by_test[scored_test.test].append(scored_test)
    scored = {test: by_test[test] for test in sorted(by_test, key=testnames.place)}
    return DrawableTests(
        scored,
        {
            test: sorted({kind.category for kind in kinds}, key=categories.place)
            for test, kinds in scored.items()
        },
    )


def category_of(requested: str, slugs: Iterable[str], *, is_printed: bool) -> str:
    """The category that is ``requested``, else the one that page and report lead with."""
    listed = list(slugs)
    if requested in listed:
        return requested
    return headline_of(listed, is_printed=is_printed) if listed else ""


def contenders(compared: Comparison) -> list[Contender]:
    """The measured configurations of a comparison, best first."""
    by_series: dict[int, Contender] = {}
    for member, unit in (
        (member, table.unit)
        for table, group in zip(compared.tables, compared.shown_contenders, strict=True)
        for member in group
    ):
        row = member.row
        if row.origin != PUBLISHED:
            score = float(member.exact)
            by_series[row.series_id] = Contender(
                *(row.series_id, member.name, row.filesystem, row.study, score, unit, tool_of(row))
            )
    lower = {table.unit for table in compared.tables if table.lower_is_better}
    names = shown_names(contender.name for contender in by_series.values())
    return sorted(
        (replace(contender, name=names[contender.name]) for contender in by_series.values()),
        key=lambda contender: (
            contender.score if contender.unit in lower else -contender.score,
            contender.name,
        ),
    )


def of_tests(
    spec: ComparisonSpec, tests: Iterable[str], slugs: Iterable[str], by: str = ""
) -> Comparison:
    """The comparison of some tests and categories; of every cell, without a baseline."""
    wanted = replace(
        spec.whole.without_work,
        tests=tuple(tests),
        categories=tuple(slugs),
        by=by or spec.by,
        baseline="",
        cells="" if by else spec.cells,
        sort="",
    )
    # Of more contenders than a page has room for the best: no picture shows more.
    return comparison(by_rows(BoundedComparison(wanted)).spec)


def commonest_unit(tables: Sequence[DeltaTable]) -> tuple[str, list[DeltaTable]]:
    """The unit that most of the tables are in, and these tables."""
    [(unit, _)] = Counter(table.unit for table in tables).most_common(1)
    return unit, [table for table in tables if table.unit == unit]
