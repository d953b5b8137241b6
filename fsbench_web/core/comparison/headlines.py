"""Which table stands for a test, the test in one line, and its caveats. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite, log
from statistics import median
from typing import NamedTuple

from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.stats.verdicts import SAME_SCORE, SIGNIFICANT, TIE, Verdict, ratio_of

# Which metric of a measurement counts: rates, latencies and percentiles are one.

RATES = ("iops", "ops", "tps", "rate")
THROUGHPUTS = ("bw", "throughput")
LATENCIES = ("io_latency", "entry_latency", "clat_hist", "latency", "clat", "slat", "lat")
TIMES = ("total_time", "access_time", "time", "real")
COSTS = ("cpu_load", "cpu", "parent")
_METRICS = (*TIMES, *LATENCIES, *RATES, *THROUGHPUTS, *COSTS)
_CENTRAL, _EXTREMES = ("mean", "avg"), ("max", "min")
_LESS_COMMON = ("clat", "slat", "clat_hist")


class Metric(NamedTuple):
    """A measurement with its load; the least ``order`` is primary. ``is_speed``: central."""

    measurement: str
    order: tuple[int, int, str]
    is_speed: bool


@lru_cache(maxsize=4096)
def metric_of(test: str) -> Metric:
    """The metric of a test: ``randread_read_iops`` is the primary one of ``randread_read``."""
    name, load = testnames.parts(test)
    stem, which = _cut(name, ("first", "last") if name.startswith("elbencho_") else ())
    stem, late = _cut(stem, ("log",))
    stem, statistic = _statistic(stem)
    if not statistic:  # ior_read_mean_ops
        stem, ops = _cut(stem, ("ops",))
        before, statistic = _statistic(stem) if ops else (stem, "")
        stem = before if statistic else f"{stem}_ops" if ops else stem
        late = late or (ops if statistic else "")
    stem, metric = _cut(stem, _METRICS)
    kinds = [(), THROUGHPUTS, RATES, LATENCIES, TIMES, COSTS]
    if "rand" in stem:
        kinds[1:3] = [RATES, THROUGHPUTS]
    kind = next((place for place, of_kind in enumerate(kinds) if metric in of_kind), 0)
    is_central = statistic in ("", *_CENTRAL)
    is_second = which == "first" or metric in _LESS_COMMON
    order = (kind + bool(late), 2 * (not is_central) + is_second, name)
    return Metric(testnames.at_load(stem, load), order, is_central and metric not in COSTS)


def _cut(name: str, endings: Iterable[str]) -> tuple[str, str]:
    """The name without the first of these endings that it has, and the ending; "" for none."""
    for ending in endings:
        if name.endswith(f"_{ending}") and len(name) > len(ending) + 1:
            return name[: -len(ending) - 1], ending
    return name, ""


def _statistic(name: str) -> tuple[str, str]:
    """The same of a mean, an extreme or a percentile: ``p99.9``."""
    stem, _, last = name.rpartition("_")
    is_percentile = last[:1] == "p" and last[1:].replace(".", "", 1).isdecimal()
    known = last in (*_CENTRAL, *_EXTREMES) or is_percentile
    return (stem, last) if stem and known else (name, "")


def primary_tests(tests: Collection[str]) -> set[str]:
    """The primary metric of each measurement; percentiles, extremes and costs only if alone."""
    speeds = [test for test in tests if metric_of(test).is_speed] or list(tests)
    primary: dict[str, str] = {}
    for test in speeds:
        metric = metric_of(test)
        first = primary.setdefault(metric.measurement, test)
        if metric.order < metric_of(first).order:
            primary[metric.measurement] = test
    return set(primary.values())


PREFERRED = (categories.MEAN, "total_average", "overall")


@dataclass(frozen=True)
class Caveats:
    """What to know before trusting these tables; widths and shares in percent.

    ``uneven`` tests have different data points, ``single`` rows one run. ``ceiling``: median share
    of the LUN's speed of ``probed`` rows; ``unreliable`` rows have none to state.
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
    unreliable: int = 0


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


def headline_of(slugs: Iterable[str], *, is_printed: bool = False) -> str:
    """The category of them that a headline is of: of a paper's figures overall, its own sum."""
    return min(slugs, key=lambda slug: (is_printed and slug != "overall", _preference(slug)))


def default_tables(tables: Sequence[DeltaTable]) -> list[DeltaTable]:
    """Of a measured test its headline, of one with published figures all categories."""
    printed = {table.test for table in tables if table.has_published_rows}
    of_matrix: dict[str, list[str]] = defaultdict(list)
    for table in tables:
        if table.category in categories.CATEGORIES:
            of_matrix[table.test].append(table.category)
    headlines = {
        test: headline_of(sorted(slugs, key=categories.place)) for test, slugs in of_matrix.items()
    }
    return [
        table
        for table in tables
        if table.test in printed
        or table.category not in categories.CATEGORIES
        or table.category == headlines[table.test]
    ]


def counted_tables(tables: Sequence[DeltaTable]) -> list[DeltaTable]:
    """The tables that count: of every test of speed one, and each measurement once."""
    speeds = [table for table in headline_tables(work_tables(tables)[1]) if _is_of_speed(table)]
    primary = primary_tests([table.test for table in speeds])
    return [table for table in speeds if table.test in primary]


def work_tables(tables: Sequence[DeltaTable]) -> tuple[str, Sequence[DeltaTable]]:
    """The title of the ranked work and its tables; ("", all tables) without one."""
    of_work = [table for table in tables if table.work is not None]
    chosen = [table for table in of_work if table.test == testnames.WORK] or of_work
    if not chosen or chosen[0].work is None:
        return "", tables
    first = chosen[0].work
    return (chosen[0].category_label if first.name else first.title), chosen


def _is_of_speed(table: DeltaTable) -> bool:
    """Whether a table is of how fast the work was, and everything in it can be ranked."""
    return (
        table.is_ranked
        and table.test not in testnames.CREATION_TESTS
        and not testnames.is_cost(table.test)
    )


def _preference(category: str) -> int:
    return PREFERRED.index(category) if category in PREFERRED else len(PREFERRED)


def caveats_of(tables: Sequence[DeltaTable]) -> Caveats:
    """Of the headline tables of ``tables``."""
    test_tables = headline_tables(tables)
    rows = [row for table in test_tables for row in table.rows]
    widths = [row.half_width_percent for row in rows if row.half_width_percent is not None]
    flagged = [row for row in rows if row.flags]
    shares = [row.share for row in rows if row.share is not None]
    percents = [share.percent for share in shares if not share.is_unreliable]
    return Caveats(
        len(rows),
        median(widths) if widths else None,
        max(widths) if widths else None,
        len(flagged),
        tuple(sorted({flag for row in flagged for flag in row.flags})),
        sum(table.has_different_cells for table in test_tables),
        sum(row.runs == 1 for row in rows),
        median(percents) if percents else None,
        len(percents),
        sum(share.is_not_of_the_disk for share in shares),
        len(shares) - len(percents),
    )


@dataclass(frozen=True)
class TestLine:
    """One row a test: the ``best`` against an ``other``, the baseline or the runner-up."""

    __test__ = False  # not a test of pytest's

    table: DeltaTable
    best: DeltaRow | None
    other: DeltaRow | None
    verdict: Verdict | None = None

    @property
    def best_names(self) -> list[str]:
        """The best, and entries with exactly its score, in the order of names."""
        return [row.contender for row in self.table.best_first if row.best]

    @property
    def ratio(self) -> float | None:
        """How many times as fast the best is: as it was tested, else of the two scores."""
        if self.verdict is not None and self.verdict.ratio is not None:
            return self.verdict.ratio
        if self.best is None or self.other is None:
            return None
        if self.best.score <= 0 or self.other.score <= 0:
            return None
        faster, slower = self.best.score, self.other.score
        if self.table.lower_is_better:
            faster, slower = slower, faster
        ratio = faster / slower
        return ratio if isfinite(ratio) else ratio_of(log(faster) - log(slower))

    @property
    def is_undecided_elsewhere(self) -> bool:
        """Whether the best has another verdict, against others, than against this one."""
        lead = self.best.verdict if self.best else None
        if lead is None or self.verdict is None or lead.status == self.verdict.status:
            return False
        return lead.status != SIGNIFICANT


def line_against(table: DeltaTable, baseline: str) -> TestLine:
    order = table.best_first
    base = next((row for row in order if row.contender == baseline), None)
    best = (
        base if base is not None and base.best else next((row for row in order if row.best), None)
    )
    if best is None:
        return TestLine(table, None, base)
    other = base if base is not None and base is not best else None
    other = other or next((row for row in order if row is not best), None)
    return TestLine(table, best, other, _pair_verdict(best, other))


def _pair_verdict(best: DeltaRow, other: DeltaRow | None) -> Verdict | None:
    """The verdict of the best against the other row, which may tie with it."""
    if other is None:
        return None
    if not other.best:
        return other.verdict.turned() if other.verdict else None
    if best.verdict is None or other.contender in best.verdict.against:
        return best.verdict
    return Verdict(TIE, (SAME_SCORE,), 0.0, against=(other.contender,), method=best.verdict.method)
