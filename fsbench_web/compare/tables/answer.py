"""Who is fastest over all tests of a study or comparison, by how much, and on what it rests. Pure.

A test is one number a contender: the mean of its repeats, or of a matrix the mean of all its data
points (the paper's categories are other questions). Each contender is set against a baseline by the
geometric mean of its ratios of speed, which alone gives the same order whatever the baseline is
(P. J. Fleming and J. J. Wallace, Commun. ACM 29, 1986). Only tests that every contender has count,
or a missing one would be a gift; mkfs and mount, costs, further percentiles and the slowest of all
operations do not, because they are no speed of the work, say the same twice, or are one operation.
How sure it is stays with the tests: their verdicts are counted, and no interval of the mean is made
up. Where the tables are by a work profile or by a range, that alone is the answer.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum, isfinite, log
from statistics import median

from fsbench_web.compare.selection.folds import folded_tests
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.verdicts.uncertainty import blocks_wanted, names_in_words
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.blocks.paired import ratio_of
from fsbench_web.core.scoring.significance import EQUIVALENT, SIGNIFICANT

NO_CLEAR_WINNER = "No clear winner"
PREFERRED = (categories.MEAN, "total_average", "overall")


@dataclass(frozen=True)
class ContenderStanding:
    """A contender against the baseline: ``ratios`` of speed are (test, ratio), in their order."""

    contender: str
    mean: float
    ratios: tuple[tuple[str, float], ...]

    @property
    def lowest(self) -> float:
        return min(ratio for _, ratio in self.ratios)

    @property
    def highest(self) -> float:
        return max(ratio for _, ratio in self.ratios)


@dataclass(frozen=True)
class DominantWorkload:
    """The workload that more than half of the tests in the mean are of, and how many of these are
    latencies."""

    workload: str
    tests: int
    total: int
    latencies: int

    @property
    def sentence(self) -> str:
        """So that nobody takes a mean of one workload for one of all."""
        kind = f" ({self.latencies} of them latencies)" if self.latencies else ""
        return (
            f"{self.tests} of the {self.total} tests in the mean{kind} are of one workload, "
            f"{self.workload}: it weighs more than all others together."
        )


@dataclass(frozen=True)
class Answer:
    """``standings`` fastest first. ``tests`` are those counted, ``uncounted_tests`` the others.

    Of the first: in how many tests it is ``sure`` (faster than every other by more than chance),
    ``few_blocks`` of these in few blocks for so many contenders; ``equivalent`` to another,
    ``open`` (best score alone, undecided), ``shared`` (the best score is another's too, undecided),
    and ``slower_tests`` (tests in which another has the better score).
    ``more_blocks`` would decide what is undecided; None where nobody knows. ``runs`` stand behind
    all, ``repeats`` is of a row, least and most. ``by`` is the work profile or range that is ranked
    by, "" for none; ``dominant_workload`` the workload that most tests are of. ``not_of_the_disk``
    of the ``scores`` in the mean are more than their LUN does by itself.
    """

    baseline: str
    standings: tuple[ContenderStanding, ...]
    tests: tuple[str, ...]
    uncounted_tests: tuple[str, ...]
    sure: int
    equivalent: int
    open: int
    slower_tests: tuple[str, ...]
    more_blocks: int | None
    runs: int
    repeats: tuple[int, int] | None
    by: str = ""
    dominant_workload: DominantWorkload | None = None
    scores: int = 0
    not_of_the_disk: int = 0
    shared: int = 0
    few_blocks: int = 0

    @property
    def has_winner(self) -> bool:
        """Whether any test says with significance that the first is the fastest."""
        return self.sure > 0

    @property
    def subject(self) -> str:
        """Who wins, or that nobody does: what every headline begins with (``predicate``)."""
        return self.first.contender if self.has_winner else NO_CLEAR_WINNER

    @property
    def predicate(self) -> str:
        """What a headline says behind ``subject``, without a full stop."""
        second = (
            f", {numbers.number(self.lead)} times that of {self.others[0].contender}, the next"
            if self.has_third
            else ""
        )
        ratio = f"{numbers.number(self.compared.mean)} times the speed of {self.against}{second}"
        if not self.has_winner:
            return f": no test is significant. {self.first.contender} has {ratio}"
        place = f"is level with {self.level_with}" if self.is_level else "comes first"
        return f" {place}: {ratio}"

    @property
    def headline(self) -> str:
        """The whole of it as one text."""
        return f"{self.subject}{self.predicate} ({self.rests_on})."

    @property
    def rests_on(self) -> str:
        """What the mean is of, in words: ``geometric mean of 3 tests, 0.98 to 2.10 by test``."""
        if self.by:
            return f"by {self.by}"
        if len(self.tests) == 1:
            return "in one test"
        return (
            f"geometric mean of {len(self.tests)} tests, {numbers.ratio(self.compared.lowest)} "
            f"to {numbers.ratio(self.compared.highest)} by test"
        )

    @property
    def of_a_cache(self) -> str:
        """How many scores in it are more than their LUN does by itself; "" for none."""
        count = self.not_of_the_disk
        if not count:
            return ""
        verb, they_are = ("are", "they are") if count > 1 else ("is", "it is")
        return (
            f"{count} of the {self.scores} scores in it {verb} not of the disk: {they_are} more "
            "than the LUN does by itself, so that a cache answered."
        )

    @property
    def of_few_blocks(self) -> str:
        """Of how many tests in which it is sure the blocks are few; "" for none."""
        count = self.few_blocks
        if not count:
            return ""
        rest = "1 of these rests" if count == 1 else f"{count} of these rest"
        return f"{rest} on few blocks for so many contenders: the verdicts say how many would tell."

    @property
    def first(self) -> ContenderStanding:
        return self.standings[0]

    @property
    def others(self) -> tuple[ContenderStanding, ...]:
        return self.standings[1:]

    @property
    def lead(self) -> float:
        """How many times as fast the first is as the second."""
        return self.standings[0].mean / self.standings[1].mean

    @property
    def against(self) -> str:
        """What the first is said to be faster than: the baseline, of which it may be none."""
        is_baseline = self.first.contender == self.baseline and len(self.standings) > 1
        return self.standings[1].contender if is_baseline else self.baseline

    @property
    def compared(self) -> ContenderStanding:
        """The first against that."""
        if self.against == self.baseline:
            return self.first
        second = self.standings[1]
        ratios = tuple((test, 1 / ratio) for test, ratio in second.ratios)
        return ContenderStanding(self.first.contender, 1 / second.mean, ratios)

    @property
    def has_third(self) -> bool:
        """Whether the lead over the second is another number, and worth saying."""
        return len(self.standings) > 2 and self.against == self.baseline and not self.is_level

    @property
    def is_level(self) -> bool:
        """Whether the second is as fast, in the two decimals in which the lead is said."""
        return bool(self.level_with)

    @property
    def level_with(self) -> str:
        """Those that are as fast as the first in these decimals, in words; "" for none."""
        first = self.first.mean
        return names_in_words(
            [
                standing.contender
                for standing in self.others
                if numbers.number(first / standing.mean) == "1.00"
            ]
        )


@dataclass(frozen=True)
class Caveats:
    """What a number of these tables is to be taken with.

    ``noise`` is the median half-width of the intervals, in percent; ``flagged`` rows of ``rows``
    carry a flag; ``uneven`` tests stand on different data points, ``single`` rows on one run.
    ``ceiling`` is the median share of the LUN's own speed, in percent, of the ``probed`` rows that
    have one; ``above_ceiling`` of them are more than the disk can do.
    """

    rows: int
    noise: float | None
    noisiest: float | None
    flagged: int
    flags: tuple[str, ...]
    uneven: int
    single: int
    ceiling: float | None = None
    probed: int = 0
    above_ceiling: int = 0


def headline_tables(tables: Iterable[DeltaTable]) -> list[DeltaTable]:
    """One table for each test and unit, in their order: PREFERRED first, else what comes first."""
    by_test: dict[tuple[str, str], list[DeltaTable]] = defaultdict(list)
    for table in tables:
        unit = "" if table.category in categories.CATEGORIES else table.unit
        by_test[table.test, unit].append(table)
    return [
        min(candidates, key=lambda table: _preference(table.category))
        for candidates in by_test.values()
    ]


def headlines(tables: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Of tests and categories those that can be headlines: of a matrix one category a test."""
    of_matrix: dict[str, list[str]] = defaultdict(list)
    pairs = set()
    for test, category in tables:
        if category in categories.CATEGORIES:
            of_matrix[test].append(category)
        else:
            pairs.add((test, category))
    for test, slugs in of_matrix.items():
        slugs.sort(key=categories.place)
        pairs.add((test, headline_of(slugs)))
    return pairs


def headline_of(slugs: Iterable[str], *, is_printed: bool = False) -> str:
    """The category of them that a headline is of: of a paper's figures overall, its own sum."""
    return min(slugs, key=lambda slug: (is_printed and slug != "overall", _preference(slug)))


def default_tables(tables: Sequence[DeltaTable], spec: ComparisonSpec) -> list[DeltaTable]:
    """The tables that are meant where no category is named: of a measured test its headline, of one
    with published figures all categories of its paper.
    """
    if spec.categories or spec.part_categories:
        return list(tables)
    printed = {table.test for table in tables if table.has_published_rows}
    pairs = headlines((table.test, table.category) for table in tables if table.test not in printed)
    return [
        table for table in tables if table.test in printed or (table.test, table.category) in pairs
    ]


def _preference(category: str) -> int:
    return PREFERRED.index(category) if category in PREFERRED else len(PREFERRED)


def answer(tables: Sequence[DeltaTable], baseline: str = "") -> Answer | None:
    """None where there are no two contenders with a test in common.

    Without a ``baseline`` that all tests have, the slowest is it.
    """
    work, work_tables = _by_work(tables)
    test_tables = headline_tables(work_tables)
    folded = folded_tests(table.test for table in test_tables)
    counted = [table for table in test_tables if _is_counted(table) and table.test not in folded]
    names = list(dict.fromkeys(row.contender for table in counted for row in table.rows))
    shared = [
        table for table in counted if len({row.contender for row in table.rows}) == len(names)
    ]
    if len(names) < 2 or not shared:
        return None
    speeds = {name: [_speed(table, name) for table in shared] for name in names}
    base = baseline if baseline in speeds else min(names, key=lambda name: _mean_log(speeds[name]))
    standings = [
        ContenderStanding(
            name,
            ratio_of(_mean_log(speeds[name]) - _mean_log(speeds[base])),
            tuple(
                (table.test, ratio_of(ours - theirs))
                for table, ours, theirs in zip(shared, speeds[name], speeds[base], strict=True)
            ),
        )
        for name in names
    ]
    standings.sort(key=lambda standing: (-standing.mean, standing.contender))
    first = standings[0].contender
    rows = [next(row for row in table.rows if row.contender == first) for table in shared]
    undecided = [row for row in rows if _status(row) == "open"]
    shared_scores = sum(
        row in undecided and sum(other.best for other in table.rows) > 1
        for table, row in zip(shared, rows, strict=True)
    )
    more_blocks = [row.verdict.more_blocks for row in undecided if row.verdict]
    counted_tests = {table.test for table in shared}
    everything = [row for table in shared for row in table.rows]
    repeats = [row.runs for row in everything if row.runs is not None]
    return Answer(
        base,
        tuple(standings),
        tuple(table.test for table in shared),
        tuple(
            dict.fromkeys(table.test for table in test_tables if table.test not in counted_tests)
        ),
        sum(_status(row) == "sure" for row in rows),
        sum(_status(row) == "equivalent" for row in rows),
        len(undecided) - shared_scores,
        tuple(table.test for table, row in zip(shared, rows, strict=True) if not row.best),
        None
        if not more_blocks or None in more_blocks
        else max(count for count in more_blocks if count is not None),
        len({run for row in everything for run in row.run_ids}),
        (min(repeats), max(repeats)) if repeats else None,
        work,
        _dominant_workload(shared),
        len(everything),
        sum(row.share is not None and row.share.is_not_of_the_disk for row in everything),
        shared_scores,
        sum(_status(row) == "sure" and _has_few_blocks(row) for row in rows),
    )


def why_unanswered(tables: Sequence[DeltaTable]) -> str:
    """Why nothing is ranked over all tests, where ``answer`` is None."""
    test_tables = headline_tables(_by_work(tables)[1])
    folded = folded_tests(table.test for table in test_tables)
    names = {row.contender for table in test_tables for row in table.rows}
    if len(names) < 2:
        return "there is one contender alone"
    ranked = [table for table in test_tables if _is_of_speed(table) and table.test not in folded]
    if any(len({row.contender for row in table.rows}) == len(names) for table in ranked):
        return "what all contenders have has a score of 0, of which there is no ratio"
    return "no test of the work's speed has a score above 0 of every contender"


def _by_work(tables: Sequence[DeltaTable]) -> tuple[str, Sequence[DeltaTable]]:
    """The work that is ranked by in words, and its tables: of a range of several operations that of
    all of them together. All tables where none is of any work.
    """
    of_work = [table for table in tables if table.work is not None]
    chosen = [table for table in of_work if table.test == testnames.WORK] or of_work
    if not chosen or chosen[0].work is None:
        return "", tables
    first = chosen[0].work
    return (chosen[0].category_label if first.name else first.title), chosen


def _dominant_workload(shared: Sequence[DeltaTable]) -> DominantWorkload | None:
    """None where no workload has more than half, or where there is one alone."""
    tests: dict[str, list[str]] = defaultdict(list)
    for table in shared:
        workloads = {row.workload for row in table.rows if row.workload}
        tests[workloads.pop() if len(workloads) == 1 else ""].append(table.test)
    workload, workload_tests = max(tests.items(), key=lambda pair: len(pair[1]))
    if not workload or len(tests) == 1 or 2 * len(workload_tests) <= len(shared):
        return None
    latencies = sum(bool(testnames.latency_of(test)) for test in workload_tests)
    return DominantWorkload(workload, len(workload_tests), len(shared), latencies)


def _is_counted(table: DeltaTable) -> bool:
    """Whether a table is of the work's speed, and every score in it has a logarithm."""
    return _is_of_speed(table) and all(isfinite(row.score) and row.score > 0 for row in table.rows)


def _is_of_speed(table: DeltaTable) -> bool:
    return (
        any(row.best for row in table.rows)
        and table.test not in testnames.CREATION_TESTS
        and not testnames.is_cost(table.test)
        and not testnames.is_slowest(table.test)
    )


def _speed(table: DeltaTable, name: str) -> float:
    """The logarithm of its speed."""
    score = next(row.score for row in table.rows if row.contender == name)
    return -log(score) if table.lower_is_better else log(score)


def _mean_log(logs: Sequence[float]) -> float:
    return fsum(logs) / len(logs)


def _status(row: DeltaRow) -> str:
    if not row.best:
        return "behind"
    verdict = row.verdict
    if verdict is None or verdict.status not in (SIGNIFICANT, EQUIVALENT):
        return "open"
    return "sure" if verdict.status == SIGNIFICANT else "equivalent"


def _has_few_blocks(row: DeltaRow) -> bool:
    return row.verdict is not None and blocks_wanted(row.verdict) > 0


def caveats_of(tables: Sequence[DeltaTable]) -> Caveats:
    """Of the headline tables of ``tables``."""
    test_tables = headline_tables(tables)
    rows = [row for table in test_tables for row in table.rows]
    widths = [row.half_width_percent for row in rows if row.half_width_percent is not None]
    flagged = [row for row in rows if row.flags]
    shares = [row.share for row in rows if row.share is not None]
    return Caveats(
        len(rows),
        median(widths) if widths else None,
        max(widths) if widths else None,
        len(flagged),
        tuple(sorted({flag for row in flagged for flag in row.flags})),
        sum(table.has_different_cells for table in test_tables),
        sum(row.runs == 1 for row in rows),
        median(share.percent for share in shares) if shares else None,
        len(shares),
        sum(share.is_not_of_the_disk for share in shares),
    )
