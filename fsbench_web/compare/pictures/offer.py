"""What there is to draw of a comparison: tests by what they have, and contenders by name."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from fsbench_web.compare.pictures.kinds import (
    LOADS,
    MATRIX,
    PAIR,
    PAIRS,
    PHASES,
    RUNS,
    SCORES,
    PictureSpec,
)
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.bounds import Bounded, by_rows
from fsbench_web.compare.tables.delta_tables import Comparison, comparison
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.scoring import categories, phases, testnames
from fsbench_web.studies.scores import cells
from fsbench_web.studies.scores.cells import ScoredTest

PUBLISHED = "published"


@dataclass(frozen=True)
class Contender:
    """A configuration of the comparison that was measured; ``key`` is that of its series."""

    key: int
    name: str
    filesystem: str
    study: str
    score: float
    unit: str


@dataclass(frozen=True)
class Offer:
    """The tests of a comparison, by what a picture needs of them, in the order of all pages."""

    tests: dict[str, list[str]] = field(default_factory=dict)
    categories: dict[str, list[str]] = field(default_factory=dict)

    def of(self, need: str) -> list[str]:
        return self.tests.get(need, [])


def offer(spec: ComparisonSpec) -> Offer:
    """What can be drawn of ``spec``. One query."""
    found = cells.scored_tests(spec.score_filter.of_all_cells)
    by_test: dict[str, list[ScoredTest]] = defaultdict(list)
    for one in found:
        by_test[one.test].append(one)
    tests: dict[str, list[str]] = defaultdict(list)
    for test, kinds in sorted(by_test.items(), key=lambda item: testnames.place(item[0])):
        tests[SCORES].append(test)
        measured = {one.category for one in kinds if one.origin != PUBLISHED}
        if measured:
            tests[RUNS].append(test)
        if measured - {categories.MEAN}:
            tests[MATRIX].append(test)
        name, load = testnames.parts(test)
        if measured and load and name not in tests[LOADS]:
            tests[LOADS].append(name)
    # Each work once for each load, called by the first of its phases.
    for work in {tuple(phases.tests_of(test)) for test in by_test} - {()}:
        measured_phases = [test for test in work if test in by_test]
        if len(measured_phases) > 1:
            tests[PHASES].append(measured_phases[0])
    tests[PHASES].sort(key=phases.place)
    tests[PAIR] = [write for write, read in PAIRS.items() if write in by_test and read in by_test]
    return Offer(
        dict(tests),
        {
            test: sorted({one.category for one in kinds}, key=categories.place)
            for test, kinds in by_test.items()
        },
    )


def category_of(spec: PictureSpec, known: Iterable[str]) -> str:
    """The category that is asked for, else overall, else the last there is."""
    listed = list(known)
    if spec.category in listed:
        return spec.category
    return "overall" if "overall" in listed else (listed[-1] if listed else "")


def contenders(spec: ComparisonSpec, tests: Iterable[str]) -> tuple[list[Contender], str]:
    """The measured configurations of ``spec`` that have any of ``tests``, best first.

    Beside them what to say of emulated results, "" where there is nothing to say. Ranked by the
    total average, or the mean of a test that gives one value. Five queries.
    """
    shown = of_tests(spec, tests, ("total_average", categories.MEAN), by="configuration")
    found: dict[int, Contender] = {}
    for each in (each for table in shown.shown for each in table):
        row = each.row
        if row.origin != PUBLISHED:
            found[row.series_id] = Contender(
                row.series_id, each.name, row.filesystem, row.study, row.value, row.unit
            )
    lower = {table.unit for table in shown.tables if table.lower_is_better}
    ranked = sorted(
        found.values(), key=lambda one: (one.score if one.unit in lower else -one.score, one.name)
    )
    return ranked, _of_emulated(shown)


def _of_emulated(shown: Comparison) -> str:
    return shown.emulated.sentence if shown.emulated else ""


def of_tests(
    spec: ComparisonSpec, tests: Iterable[str], slugs: Iterable[str], by: str = ""
) -> Comparison:
    """The comparison of some tests and categories; of every cell, without a baseline."""
    wanted = replace(
        spec.whole,
        tests=tuple(tests),
        categories=tuple(slugs),
        by=by or spec.by,
        baseline="",
        cells="" if by else spec.cells,
        sort="",
    )
    # Of more contenders than a page has room for the best: no picture shows more.
    return comparison(by_rows(Bounded(wanted)).spec)


def tables(spec: PictureSpec, tests: Iterable[str], category: str) -> tuple[list[DeltaTable], str]:
    """The delta tables of some tests in one category, by what the comparison ranks.

    Beside them what to say of emulated results.
    """
    shown = of_tests(spec.comparison, tests, (category,))
    return shown.tables, _of_emulated(shown)
