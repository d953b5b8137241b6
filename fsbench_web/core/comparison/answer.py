"""The answer of a comparison: one object that every page, file, image and the API show.

Different workloads are not averaged: each has an answer of its own, unless the tables are by a work
profile, which combines them. Percentiles, duplicates and costs do not count.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from fsbench_web.core.comparison.delta_tables import MIXED_WORKLOADS
from fsbench_web.core.comparison.headlines import counted_tables, headline_tables, work_tables
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable, shown_names
from fsbench_web.core.comparison.significance import family_of, repeats_of, verdict_of_pair
from fsbench_web.core.identity import of_fio_name
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.profiles.coverage import WorkAnswer
from fsbench_web.core.scoring.quality import ABOVE_DEVICE, BUSY, CLOCK, CONTENDED
from fsbench_web.core.stats.answers import (
    FASTER,
    Answer,
    ComparedTest,
    Repeats,
    Standing,
    answer,
    together,
)
from fsbench_web.core.stats.verdicts import EMULATED, EQUIVALENCE_PERCENT, SIGNIFICANT, Family

PAGE_CACHE = "page_cache"
CEILING_UNRELIABLE = "ceiling_unreliable"
TIMER_RESOLUTION = "timer_resolution"
BUSY_MACHINE = "busy_machine"
ONE_BLOCK = "one_block"
CONDITIONS_DIFFER = "conditions_differ"
PROMISES_DIFFER = "promises_differ"
ONE_ENTRY = "one_entry"
NO_COMMON_TEST = "no_common_test"


@dataclass(frozen=True)
class WorkloadAnswer:
    """The answer of one workload. ``workload``: its title, "" where nobody named it."""

    workload: str
    answer: Answer


@dataclass(frozen=True)
class ComparisonAnswer:
    """What a comparison says of its entries, and how sure that is.

    ``workloads``: most tests first; () where ``missing`` says why. ``secondary``: tests that do not
    count. ``coverage``: (measured, total) cells of a work profile. ``runs``: behind all scores.
    """

    workloads: tuple[WorkloadAnswer, ...]
    secondary: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    coverage: tuple[int, int] | None = None
    profile: str = ""
    runs: int = 0
    is_published: bool = False
    missing: str = ""

    @cached_property
    def status(self) -> str:
        """One of core.stats.answers: FASTER, EQUIVALENT, MIXED, INCONCLUSIVE, NONE."""
        return together([work.answer for work in self.workloads])

    @cached_property
    def deciding(self) -> Answer | None:
        """The answer with the numbers to state: of several workloads, the smallest lead."""
        answers = [work.answer for work in self.workloads]
        if self.status == FASTER:
            return min(answers, key=lambda one: one.ratio_low or 0.0)
        return answers[0] if len(answers) == 1 else None

    @property
    def is_decidable(self) -> bool:
        """Whether a reasonable number of further repeats would decide it."""
        return any(work.answer.more_blocks for work in self.workloads)

    @property
    def baseline(self) -> str:
        """The entry that others are relative to: the runner-up unless one is chosen; "" of none."""
        return self.workloads[0].answer.baseline if self.workloads else ""

    @property
    def leader(self) -> str | None:
        """The fastest entry of every workload, where the evidence names one."""
        deciding = self.deciding
        return deciding.leader if deciding is not None else None

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(test for work in self.workloads for test in work.answer.tests)

    @property
    def significant(self) -> tuple[str, ...]:
        return tuple(test for work in self.workloads for test in work.answer.significant)

    @property
    def slower(self) -> tuple[str, ...]:
        return tuple(test for work in self.workloads for test in work.answer.slower)

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Of the one workload; () of several, which have one list each."""
        return self.workloads[0].answer.standings if len(self.workloads) == 1 else ()

    def as_dict(self) -> dict[str, Any]:
        return _numbers_of(self.status, self.deciding) | {
            "tests": len(self.tests),
            "significant": len(self.significant),
            "slower": len(self.slower),
            "slower_tests": list(self.slower),
            "caveats": list(self.caveats),
            "coverage": self.coverage and {"measured": self.coverage[0], "total": self.coverage[1]},
            "workloads": [
                {"workload": work.workload, "entries": list(work.answer.entries)}
                | _numbers_of(work.answer.status, work.answer)
                | {
                    "tests": len(work.answer.tests),
                    "significant": len(work.answer.significant),
                    "slower": len(work.answer.slower),
                    "more_repeats": work.answer.more_blocks,
                    "outlook": work.answer.outlook,
                }
                for work in self.workloads
            ],
        }


def _numbers_of(status: str, found: Answer | None) -> dict[str, Any]:
    names = ("leader", "runner_up", "ratio", "ratio_low", "ratio_high")
    return {"status": status} | {name: getattr(found, name, None) for name in names}


def answer_from(
    tables: Sequence[DeltaTable],
    baseline: str = "",
    page_cached: Collection[int] = (),
    works: Sequence[WorkAnswer] = (),
    without: Iterable[tuple[str, Collection[int]]] = (),
) -> ComparisonAnswer:
    """The same where somebody knows which series measured the page cache, and which
    were checked for a flag and do not carry it.
    """
    profile, ranked = work_tables(tables)
    headlines = headline_tables(ranked)
    counted = counted_tables(tables)
    workloads = _workloads(counted, baseline)
    named = {test for work in workloads for test in work.answer.tests}
    rows = [row for table in counted if table.test in named for row in table.rows]
    names = {row.contender for table in headlines for row in table.rows}
    work = next((table.work for table in ranked if table.work is not None), None)
    work = next(iter(works), None) if work is None else work
    return ComparisonAnswer(
        workloads=tuple(workloads),
        secondary=tuple(
            dict.fromkeys(table.test for table in headlines if table.test not in named)
        ),
        caveats=(*_caveats(rows, workloads, page_cached, without), *(work.notes if work else ())),
        coverage=None if work is None else (work.measured, work.of),
        profile=profile,
        runs=len({run for row in rows for run in row.run_ids}),
        is_published=bool(rows) and all(row.origin == "published" for row in rows),
        missing="" if workloads or not names else ONE_ENTRY if len(names) < 2 else NO_COMMON_TEST,
    )


def _workloads(counted: Sequence[DeltaTable], baseline: str) -> list[WorkloadAnswer]:
    """An answer for each workload: what has one identity is one, whichever rows measured it."""
    by_workload: dict[frozenset[str], list[DeltaTable]] = defaultdict(list)
    for table in counted:
        by_workload[_done_in(table) or _titles_of(table)].append(table)
    titles = {
        key: frozenset().union(*map(_titles_of, tables)) for key, tables in by_workload.items()
    }
    found = []
    for key, tables in by_workload.items():
        one = _answer_of_one(tables, baseline)
        if one is not None:
            found.append(WorkloadAnswer(_title(key, titles), one))
            continue
        # No test of it was measured of all entries: each set of workloads for itself.
        by_rows: dict[frozenset[str], list[DeltaTable]] = defaultdict(list)
        for table in tables:
            by_rows[_titles_of(table)].append(table)
        for of_rows, some in by_rows.items():
            if (part := _answer_of_one(some, baseline)) is not None:
                found.append(WorkloadAnswer(_title(of_rows, {of_rows: of_rows}), part))
    return sorted(found, key=lambda work: -len(work.answer.tests))


def _answer_of_one(tables: Iterable[DeltaTable], baseline: str) -> Answer | None:
    margin = EQUIVALENCE_PERCENT
    for table in tables:
        margins = [
            row.verdict.equivalence_percent
            for row in table.rows
            if row.verdict is not None and row.verdict.equivalence_percent is not None
        ]
        margin = margins[0] if margins else margin
    return answer([compared_test(table) for table in tables], baseline, margin)


def _titles_of(table: DeltaTable) -> frozenset[str]:
    return frozenset(row.workload or "" for row in table.rows)


def _done_in(table: DeltaTable) -> frozenset[str]:
    """What was done, where the test's name says it: blocks, access, engine. Empty otherwise."""
    found = of_fio_name(testnames.parts(table.test)[0])
    return frozenset() if found is None else frozenset({found[0].stem})


def _title(key: frozenset[str], titles: Mapping[frozenset[str], frozenset[str]]) -> str:
    """The one title of all rows, unless other workloads have it too; else what was done."""
    [first, *others] = sorted(titles[key])
    if not others and sum(first in of_key for of_key in titles.values()) == 1:
        return first
    return "" if key == titles[key] else testnames.label(next(iter(key)))


def compared_test(table: DeltaTable) -> ComparedTest:
    """One test as the statistics take it, with who is significantly slower than the best."""
    best = [row.contender for row in table.rows if row.best]
    # Seconds of an emulated processor and of a real one have no interval between them.
    is_mixed = len({EMULATED in row.flags for row in table.rows}) > 1
    return ComparedTest(
        table.test,
        table.lower_is_better,
        {
            row.contender: Repeats(row.score, study=row.study)
            if is_mixed
            else repeats_of(row, with_trials=False)
            for row in table.rows
        },
        best[0] if len(best) == 1 else "",
        {
            row.contender
            for row in table.rows
            if not row.best and row.verdict is not None and row.verdict.status == SIGNIFICANT
        },
    )


def _caveats(
    rows: Sequence[DeltaRow],
    workloads: Sequence[WorkloadAnswer],
    page_cached: Collection[int],
    without: Iterable[tuple[str, Collection[int]]],
) -> Iterable[str]:
    """Codes of what a reader has to know before believing the answer."""
    flags = {flag for row in rows for flag in row.flags}
    if ABOVE_DEVICE in flags or any(row.series_id in page_cached for row in rows):
        yield PAGE_CACHE
    if any(row.share is not None and row.share.is_unreliable for row in rows):
        yield CEILING_UNRELIABLE
    if CLOCK in flags:
        yield TIMER_RESOLUTION
    if flags & {BUSY, CONTENDED}:
        yield BUSY_MACHINE
    if MIXED_WORKLOADS in flags:
        yield CONDITIONS_DIFFER
    for flag, kept in without:
        if flag in flags and any(flag not in row.flags and row.series_id in kept for row in rows):
            yield PROMISES_DIFFER
            break
    if workloads and rows and max(work.answer.repeats[1] for work in workloads) < 2:
        yield ONE_BLOCK


# The matrix of a comparison: tests by entries, speed relative to the baseline.

MOST_ROWS, MOST_ENTRIES = 40, 12
CLEAR = 1.1
"""From this ratio on a cell has the stronger colour."""


class Cell(NamedTuple):
    """One score. ``ratio``: its speed relative to the baseline's, None for the baseline itself."""

    score: str
    unit: str
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    is_significant: bool = False
    is_baseline: bool = False

    @property
    def change(self) -> str:
        """``+8%``, ``−12%``, ``≈ +0.6%`` where it is not significant."""
        if self.ratio is None:
            return ""
        percent = 100 * (self.ratio - 1)
        size = abs(percent)
        digits = 0 if size >= 3 else 1
        sign = "+" if percent >= 0 else "−"
        text = f"{self.ratio:,.1f}×" if self.ratio >= 3 else f"{sign}{size:.{digits}f}%"
        return text if self.is_significant else f"≈ {text}"

    @property
    def shade(self) -> str:
        """The colour: u1 and u2 for faster, d1 and d2 for slower, "" where nothing is proven."""
        if self.ratio is None or not self.is_significant:
            return ""
        size = max(self.ratio, 1 / self.ratio)
        return ("u" if self.ratio > 1 else "d") + ("2" if size >= CLEAR else "1")


class MatrixRow(NamedTuple):
    """A test; a cell is None where an entry has no score."""

    test: str
    label: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Matrix:
    """``entries``: as people read them. ``groups``: (workload, its rows).

    ``hidden_rows``, ``hidden_entries``: beyond the limits.
    """

    entries: tuple[str, ...]
    baseline: str
    groups: tuple[tuple[str, tuple[MatrixRow, ...]], ...]
    hidden_rows: int = 0
    hidden_entries: int = 0


def matrix_of(tables: Sequence[DeltaTable], found: ComparisonAnswer) -> Matrix | None:
    """The matrix of the tests that count, baseline first; None for fewer than two entries."""
    if not found.workloads:
        return None
    order = dict.fromkeys(
        [found.baseline, *(name for work in found.workloads for name in work.answer.entries)]
    )
    entries = tuple(order)[:MOST_ENTRIES]
    counted = counted_tables(tables)
    shown = counted[:MOST_ROWS]
    family = family_of(counted)
    groups: dict[str, list[MatrixRow]] = {}
    for table in shown:
        rows = {row.contender: row for row in table.rows}
        workloads = {row.workload or "" for row in table.rows}
        base = rows.get(found.baseline)
        cells = tuple(_cell(table, rows.get(name), base, family) for name in entries)
        workload = workloads.pop() if len(workloads) == 1 else ""
        groups.setdefault(workload, []).append(
            MatrixRow(table.test, testnames.label(table.test), cells)
        )
    names = shown_names(order)
    return Matrix(
        tuple(names[entry] for entry in entries),
        names[found.baseline],
        tuple((workload, tuple(group)) for workload, group in groups.items()),
        max(0, len(counted) - MOST_ROWS),
        max(0, len(order) - MOST_ENTRIES),
    )


def _cell(
    table: DeltaTable, row: DeltaRow | None, base: DeltaRow | None, family: Family
) -> Cell | None:
    if row is None:
        return None
    score = table.amount(row.score, row.shown_half_width)
    unit = table.scale.unit
    if row is base:
        return Cell(score, unit, is_baseline=True)
    if base is None or min(row.score, base.score) <= 0:
        return Cell(score, unit)
    verdict = verdict_of_pair(table, row, base, family)
    if verdict is not None and verdict.ratio is not None:
        is_significant = verdict.status == SIGNIFICANT
        ends = verdict.ratio_low, verdict.ratio_high
        return Cell(score, unit, verdict.ratio, *ends, is_significant=is_significant)
    ratio = row.score / base.score
    return Cell(score, unit, 1 / ratio if table.lower_is_better else ratio)
