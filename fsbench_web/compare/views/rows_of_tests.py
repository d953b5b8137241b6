"""The list of tests: a row each, of the elapsed and the CPU time of the same work one together."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.urls import reverse

from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.selection import folds
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.selection.table_view import FORM
from fsbench_web.core.scoring import testnames

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
