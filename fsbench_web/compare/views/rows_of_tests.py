"""The list of tests: a row each, of the elapsed and the CPU time of the same work one together."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any
from urllib.parse import quote

from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.selection import folds
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.compare.views import study_tabs
from fsbench_web.compare.views.groups_of_tests import TestGroup
from fsbench_web.core.scoring import testnames

MOST_OPEN = 3
CHART_MOST_PX = 640
"""What is higher scrolls (``static/css/study.css``)."""
CHARTS_PX = 4000
"""High so many charts are together, one below the other: 13 of three contenders each."""
OPEN_PX = 1500
"""Rows of tests that are no higher all together stand open."""
_AROUND_PX, _TABLE_PX, _TABLE_MOST_PX, _TABLE_ROW_PX = 66, 110, 700, 44


@dataclass(frozen=True)
class TestRow:
    """``first`` is the test that the row is of, ``cpu`` the CPU time of the same work beside it.

    ``address`` has the tables and charts of both.
    """

    __test__ = False  # not a test of pytest's

    first: TestGroup | Section
    cpu: TestGroup | Section | None
    address: str

    @property
    def shown(self) -> list[TestGroup | Section]:
        """What it opens to."""
        return [self.first] if self.cpu is None else [self.first, self.cpu]

    @property
    def slugs(self) -> str:
        """Those that links into it begin with (``#test-write``, ``#write-maximum``)."""
        return " ".join(one.slug for one in self.shown)

    @property
    def words(self) -> str:
        """What a search among the tests finds it by."""
        return " ".join(f"{one.label} {one.test}" for one in self.shown)

    @property
    def charts_px(self) -> int:
        """How high its charts are, one below the other."""
        return sum(min(one.chart_px + _AROUND_PX, CHART_MOST_PX) for one in self.shown)

    @property
    def opened_px(self) -> int:
        """How high it is when it is open, with two tables beside each other: about."""
        tables = [table for one in self.shown for table in tables_of(one)]
        most = max((len(table.rows) for table in tables), default=0)
        each = min(_TABLE_PX + _TABLE_ROW_PX * most, _TABLE_MOST_PX)
        return self.charts_px + each * ceil(len(tables) / 2)


def charted(places: Sequence[folds.FoldedEntry[TestRow]]) -> list[folds.FoldedEntry[TestRow]]:
    """The first tests whose charts are CHARTS_PX high together: at least one."""
    room, shown = CHARTS_PX, list[folds.FoldedEntry[TestRow]]()
    for each in places:
        room -= each.entry.charts_px
        if shown and room < 0:
            break
        shown.append(each)
    return shown


def opens_by_default(places: Sequence[folds.FoldedEntry[TestRow]]) -> bool:
    """Whether so few tests, and none of them large, leave nothing to choose from."""
    return len(places) <= MOST_OPEN and sum(one.entry.opened_px for one in places) <= OPEN_PX


def tables_of(one: TestGroup | Section) -> list[DeltaTable]:
    """Of a test of a study, or of a comparison."""
    return one.tables if isinstance(one, Section) else [shown.table for shown in one.tables]


def rows_of(found: Sequence[TestGroup | Section], address: str) -> list[TestRow]:
    """The rows of tests, in their order; ``address`` ends so that ``of=`` can follow."""
    by_test = {one.test: one for one in found}
    pairs = {
        test: by_test[cpu] for test in by_test if (cpu := testnames.cpu_time_of(test)) in by_test
    }
    beside = {one.test for one in pairs.values()}
    return [_row(one, pairs.get(one.test), address) for one in found if one.test not in beside]


def _row(first: TestGroup | Section, cpu: TestGroup | Section | None, address: str) -> TestRow:
    tests = [first.test] if cpu is None else [first.test, cpu.test]
    return TestRow(first, cpu, address + "&".join(f"of={quote(test, safe='')}" for test in tests))


def of_tests(rows: Sequence[TestRow], tests: Collection[str]) -> list[TestRow]:
    """The rows that have one of ``tests``; all where there are none."""
    return [row for row in rows if not tests or any(one.test in tests for one in row.shown)]


def rows_context(
    found: Sequence[TestGroup | Section], address: str, chosen: Sequence[str] = ()
) -> dict[str, Any]:
    """What ``studies/study_tests.html`` shows: rows in sight, and those behind folds.

    Tests ``chosen`` by name are in no fold.
    """
    rows = rows_of(found, address)
    placed = folds.placed(rows, lambda row: row.first.test, chosen)
    in_sight, further = study_tabs.in_sight(placed)
    return {
        "placed": placed,
        "in_sight": in_sight,
        "further": further,
        "has_cpu": any(row.cpu for row in rows),
        "tables_at": address,
    }
