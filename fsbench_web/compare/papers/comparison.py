"""A study next to a published one. Pure. It compares orders and distances, never scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.deltas import is_same
from fsbench_web.studies.jobs import reproductions

SHORT_TITLES = {
    "unisys-2005": "Unisys 2005",
    "galli-2001": "Galli 2001",
    "hilzinger-2006": "Hilzinger 2006",
}
TESTS = {
    "unisys-2005": frozenset(reproductions.TESTS),
    "galli-2001": frozenset(
        f"{step}_{time}"
        for step in ("copy", "make_bzimage", "make_clean", "remove", "random_io")
        for time in ("cpu", "real")
    ),
    "hilzinger-2006": frozenset({"kernel_source_copy"}),
}
"""What each paper printed scores of, in the names of today's workloads."""


@dataclass(frozen=True)
class PaperRow:
    """One contender, in the paper and here; None where one of them has not got it."""

    contender: str
    paper: DeltaRow | None
    study: DeltaRow | None


@dataclass(frozen=True)
class PaperTable:
    """One test and category; ``study`` is None where not measured.

    ``same_pairs`` of ``pairs`` stand in the same order; ``is_same_best``: None where unknown.
    """

    paper: DeltaTable
    study: DeltaTable | None
    rows: list[PaperRow]
    pairs: int
    same_pairs: int
    is_same_best: bool | None

    @property
    def flags(self) -> tuple[str, ...]:
        return self.study.common_flags if self.study else ()

    @property
    def coverage_words(self) -> str:
        """What all rows of its table have alike, in words: cells and runs; "" for nothing."""
        if self.study is None:
            return ""
        cells, runs = self.study.coverage_of_each, self.study.runs_of_each
        parts = [f"{cells} each"] if cells else []
        return ", ".join([*parts, f"{runs} run{'' if runs == 1 else 's'}"] if runs else parts)


@dataclass(frozen=True)
class Agreement:
    """How often paper and study agree, over all tables that both have."""

    tables: int
    same_best: int
    of_best: int
    pairs: int
    same_pairs: int


def paper_tables(
    paper: Sequence[DeltaTable], study_tables: Iterable[DeltaTable]
) -> list[PaperTable]:
    """Every table of the paper, in its order, with that of the same test, category and unit."""
    by_key = {(table.test, table.category, table.unit): table for table in study_tables}
    return [_table(table, by_key.get((table.test, table.category, table.unit))) for table in paper]


def _table(paper: DeltaTable, study_table: DeltaTable | None) -> PaperTable:
    here = {row.contender: row for row in study_table.rows} if study_table else {}
    there = {row.contender: row for row in paper.rows}
    names = [*there, *(name for name in here if name not in there)]
    common = [name for name in there if name in here]
    pairs = same = 0
    best: bool | None = None
    if study_table is not None and study_table.is_ranked and paper.is_ranked:
        for first, second in combinations(common, 2):
            pairs += 1
            same += _order(there[first], there[second]) == _order(here[first], here[second])
        # Who is best among all is asked only where both had the same to choose from.
        if set(there) <= set(here) and len(common) > 1:
            best = _best(there.values()) == _best(here[name] for name in common)
    return PaperTable(
        paper,
        study_table,
        [PaperRow(name, there.get(name), here.get(name)) for name in names],
        pairs,
        same,
        best,
    )


def _order(first: DeltaRow, second: DeltaRow) -> int:
    if is_same(first.score, second.score):
        return 0
    return 1 if first.score > second.score else -1


def _best(rows: Iterable[DeltaRow]) -> set[str]:
    listed = list(rows)
    # A delta 1 is 0 of the best of its table, and grows with the distance: less is better.
    deltas = [row.delta1_percent for row in listed if row.delta1_percent is not None]
    return {row.contender for row in listed if deltas and row.delta1_percent == min(deltas)}


def agreement(tables: Iterable[PaperTable]) -> Agreement:
    shared = [table for table in tables if table.study is not None]
    judged = [table.is_same_best for table in shared if table.is_same_best is not None]
    return Agreement(
        len(shared),
        sum(judged),
        len(judged),
        sum(table.pairs for table in shared),
        sum(table.same_pairs for table in shared),
    )


@dataclass(frozen=True)
class TestTables:
    __test__ = False  # not a test of pytest's

    test: str
    label: str
    tables: list[PaperTable]


def by_test(tables: Iterable[PaperTable]) -> list[TestTables]:
    entries: dict[str, TestTables] = {}
    for table in tables:
        test = table.paper.test
        entries.setdefault(test, TestTables(test, testnames.label(test), [])).tables.append(table)
    return list(entries.values())


def papers_of(tables: Iterable[DeltaTable]) -> list[tuple[str, str]]:
    """(slug, short title) of the papers that a study with these tables compares with."""
    tests = {table.test for table in tables}
    return [(slug, SHORT_TITLES[slug]) for slug, printed in TESTS.items() if tests & printed]
