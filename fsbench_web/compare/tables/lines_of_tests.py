"""A test in one line: its best, and one beside it. Pure."""

from dataclasses import dataclass
from math import isfinite, log

from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.stats.significance import EQUAL, SIGNIFICANT, TIE, Verdict
from fsbench_web.core.stats.verdicts import ratio_of


@dataclass(frozen=True)
class TestLine:
    """One row a test: the ``best`` of it against an ``other``, both rows of ``table``.

    The other is the baseline; where that is the best, or has no score, the next one. ``verdict`` is
    of these two and said of the best. Either is None where there is none.
    """

    __test__ = False  # not a test of pytest's

    table: DeltaTable
    best: DeltaRow | None
    other: DeltaRow | None
    verdict: Verdict | None = None

    @property
    def best_names(self) -> list[str]:
        """The best, and whoever has just its score, in the order of names."""
        order = [self.table.rows[place] for place in self.table.nearest_first]
        return [row.contender for row in order if row.best]

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
    """The line of a test's headline table."""
    order = [table.rows[place] for place in table.nearest_first]
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
    """A row that is not the best has the verdict of the best and itself; of two best ones the first
    may have that of the other. So much is known of any two of them: they have the same score.
    """
    if other is None:
        return None
    if not other.best:
        return other.verdict.turned() if other.verdict else None
    if best.verdict is None or other.contender in best.verdict.against:
        return best.verdict
    return Verdict(TIE, (EQUAL,), 0.0, against=(other.contender,), method=best.verdict.method)
