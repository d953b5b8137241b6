"""Which of many kernels in order changed the speed: which of them the next block measures. Pure.

Method: docs/method.md#the-kernel-at-which-speed-changed. ``benchmarks/simulations/bisecting.py``
simulates how often the right one is found, and what it takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, fsum, inf, log, log1p, log2, sqrt

from fsbench_web.core.stats.racing import (
    ENDED,
    LEAST_LOOK,
    Block,
    begun,
    more_blocks,
    ratio_within,
    status_of,
)
from fsbench_web.core.stats.verdicts import (
    EQUIVALENCE_PERCENT,
    EQUIVALENT,
    FALSE_ALARM,
    FASTER,
    INCONCLUSIVE,
)

ENDS, HALVING, CONFIRMING = "ends", "halving", "confirming"
BEFORE, AFTER, FAILED = "before", "after", "failed"
LEAST_COMPARED, MOST_COMPARED = 2, 8
"""Blocks with a contender in the middle, before it is of an end."""


@dataclass(frozen=True)
class Bisection:
    """Where a bisection stands. ``measure`` is the next block, empty when it has ``ended``.

    ``sides``: contenders with the speed *before* or *after*, or who *failed*. The change lies
    between ``before`` and ``after``. ``status`` and ``ratio`` (after to before) are of these two in
    fresh blocks; ``low`` and ``high`` hold at every look. ``last_to_first``: (ratio, low, high).
    ``spent``: of the budget.
    """

    phase: str
    sides: Mapping[str, str]
    before: str
    after: str
    measure: tuple[str, ...]
    spent: float
    last_to_first: tuple[float, float, float] | None = None
    is_neighbours: bool = False
    """Whether nobody who could be measured is between the two."""
    status: str = INCONCLUSIVE
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    fresh: int = 0
    more_blocks: int | None = None


def least_runs(contenders: int) -> int:
    """How many runs a bisection of so many takes, with the least blocks of each step."""
    halvings = ceil(log2(max(contenders - 1, 1)))
    return 2 * LEAST_LOOK + (2 * LEAST_LOOK + 3 * LEAST_COMPARED * halvings if halvings else 0)


def bisection(
    contenders: Sequence[str],
    blocks: Sequence[Block],
    budget: float,
    *,
    costs: Sequence[Block] | None = None,
    failed: Mapping[str, int] | None = None,
    most_runs: float = inf,
    margin_percent: float = EQUIVALENCE_PERCENT,
) -> Bisection:
    """Where the bisection of ``contenders``, in order, stands; arguments as of ``racing.race``."""
    least = least_runs(len(contenders))
    logs, costs = begun("a bisection", contenders, blocks, budget, costs, least)
    margin = log(1 + margin_percent / 100)
    return _Search(list(contenders), logs, costs, budget, failed or {}, most_runs, margin).run()


@dataclass
class _Search:
    """A bisection on its way through its blocks: ``block_count`` of them were looked at."""

    contenders: list[str]
    logs: Sequence[Block]
    costs: Sequence[Block]
    budget: float
    failed: Mapping[str, int]
    most_runs: float
    margin: float
    sides: dict[str, str] = field(default_factory=dict)
    end_logs: list[float] = field(default_factory=list)
    """The end after the change relative to that before it, in each block so far."""
    block_count: int = 0
    spent: float = 0.0

    def run(self) -> Bisection:
        self.before, self.after = self.contenders[0], self.contenders[-1]
        if (standing := self._ends()) is not None:
            return standing
        self.sides |= {self.before: BEFORE, self.after: AFTER}
        while middle := self._middle():
            if (standing := self._halve(middle)) is not None:
                return standing
        return self._confirm()

    def _ends(self) -> Bisection | None:
        """The first and the last, until it is known whether they differ; None: they do."""
        while self._next(self.before, self.after):
            status = status_of(self.end_logs, self.margin)
            if status == EQUIVALENT or (status == FASTER and len(self.contenders) == 2):
                return self._ended(self.end_logs)
            if status == FASTER:
                return None
        return self._paused(ENDS, self.before, self.after, seen=self.end_logs)

    def _middle(self) -> str:
        """Who is halfway between the two, of those that did not fail; "" where nobody is."""
        first, last = self.contenders.index(self.before), self.contenders.index(self.after)
        names = [
            name for name in self.contenders[first + 1 : last] if self.sides.get(name) != FAILED
        ]
        return names[len(names) // 2] if names else ""

    def _halve(self, middle: str) -> Bisection | None:
        """One comparison; where the bisection stands if it does not get to its end."""
        compared: list[float] = []
        while self._next(self.before, middle, self.after):
            if middle not in self.logs[self.block_count - 1]:
                self.sides[middle] = FAILED
                return None
            block = self.logs[self.block_count - 1]
            compared.append(block[middle] - (block[self.before] + block[self.after]) / 2)
            odds = self._log_odds(compared)
            halvings = ceil(log2(max(len(self.contenders) - 1, 2)))
            is_sure = abs(odds) >= log(halvings / FALSE_ALARM)
            if len(compared) >= LEAST_COMPARED and (is_sure or len(compared) >= MOST_COMPARED):
                self.sides[middle] = AFTER if odds > 0 else BEFORE
                if odds > 0:
                    self.after = middle
                else:
                    self.before = middle
                return None
        return self._paused(HALVING, self.before, middle, self.after)

    def _confirm(self) -> Bisection:
        """The two neighbours in fresh blocks, until it is known or the budget is spent."""
        begun = len(self.end_logs)
        while self._next(self.before, self.after):
            fresh = self.end_logs[begun:]
            if status_of(fresh, self.margin) != INCONCLUSIVE:
                return self._ended(fresh)
        return self._paused(CONFIRMING, self.before, self.after, seen=self.end_logs[begun:])

    def _log_odds(self, compared: Sequence[float]) -> float:
        """Of *after* to *before*, for the middle's distance from halfway between both ends.

        Variances: of the ends' distance two of one, of the middle's distance one and a half.
        """
        freedom = len(self.end_logs) - 1
        whole = fsum(self.end_logs) / len(self.end_logs)
        variance = fsum((distance - whole) ** 2 for distance in self.end_logs) / freedom / 2
        error = sqrt(variance * 1.5 / len(compared))
        centre = fsum(compared) / len(compared)
        if error == 0:
            return inf if centre * whole > 0 else -inf
        off_after, off_before = (centre - whole / 2) / error, (centre + whole / 2) / error
        likelihoods = [log1p(offset**2 / freedom) for offset in (off_before, off_after)]
        return (freedom + 1) / 2 * (likelihoods[0] - likelihoods[1])

    def _next(self, *names: str) -> bool:
        """Go through the next block, once there is one. False: there is none, or is to be none."""
        if self.block_count == len(self.logs) or self._is_over(names):
            return False
        block = self.logs[self.block_count]
        missing = {name for name in names if self.failed.get(name, -1) == self.block_count}
        if set(block) != set(names) - missing:
            raise ValueError("a round is not of those that were to be measured")
        self.spent += fsum(self.costs[self.block_count].values())
        self.block_count += 1
        if missing & {self.before, self.after}:
            self.sides |= dict.fromkeys(missing, FAILED)
            return False
        self.end_logs.append(block[self.after] - block[self.before])
        return True

    def _is_over(self, names: Sequence[str]) -> bool:
        """Whether the budget does not hold another block of these, or an end of it failed."""
        if FAILED in (self.sides.get(self.before), self.sides.get(self.after)):
            return True
        runs = sum(map(len, self.costs[: self.block_count])) + len(names)
        if runs > self.most_runs:
            return True
        if not self.block_count:
            return False
        a_run = self.spent / sum(map(len, self.costs[: self.block_count]))
        return self.spent + a_run * len(names) > self.budget

    def _paused(self, phase: str, *names: str, seen: Sequence[float] = ()) -> Bisection:
        """Another block is needed, or would be if there were budget for it."""
        if self._is_over(names):
            return self._ended(seen)
        return replace(self._standing(seen), phase=phase, measure=names)

    def _ended(self, seen: Sequence[float]) -> Bisection:
        standing = self._standing(seen)
        if standing.status == INCONCLUSIVE and seen:
            standing = replace(standing, more_blocks=more_blocks(seen, self.margin))
        return standing

    def _standing(self, seen: Sequence[float]) -> Bisection:
        """``seen`` are the blocks that tell of the two."""
        ends = [
            block[self.contenders[-1]] - block[self.contenders[0]]
            for block in self.logs[: self.block_count]
            if {self.contenders[0], self.contenders[-1]} <= set(block)
        ]
        first, last = self.contenders.index(self.before), self.contenders.index(self.after)
        between = self.contenders[first + 1 : last]
        standing = Bisection(
            ENDED,
            dict(self.sides),
            self.before,
            self.after,
            (),
            self.spent,
            ratio_within(ends) if ends else None,
            is_neighbours=all(self.sides.get(name) == FAILED for name in between),
            fresh=len(seen),
        )
        if not seen:
            return standing
        ratio, low, high = ratio_within(seen)
        status = status_of(seen, self.margin)
        return replace(standing, status=status, ratio=ratio, low=low, high=high)
