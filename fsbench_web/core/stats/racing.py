"""The best of many within a budget: which contenders the next block measures. Pure.

Method: docs/method.md#races. Everything follows from the blocks, so a killed race continues.
Intervals are confidence sequences of the t-statistic (A. Hendriksen, R. de Heide and P. Grünwald,
Bayesian Analysis 16, 2021; closed form: Gönen et al., The American Statistician 59, 2005).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil, exp, fsum, inf, log, log2, sqrt

import numpy as np

from fsbench_web.core.distributions import ndtr
from fsbench_web.core.stats.verdicts import (
    EQUIVALENCE_PERCENT,
    EQUIVALENT,
    FALSE_ALARM,
    FASTER,
    INCONCLUSIVE,
    MOST_ADVISED,
    POWER,
)

HALVING, CONFIRMING, ENDED = "halving", "confirming", "ended"
BEHIND, SLOWER_HALF, FAILED = "behind", "slower_half", "failed"
FINALISTS = 2
CONFIRMING_SHARE = 0.25
"""Of the budget, for the blocks of the finalists; what halving does not use comes to it."""
LEAST_LOOK = 3
EFFECT_VARIANCE = 1.0
"""Of the prior on the difference, in squared deviations of the log-ratio between blocks."""
DRAWS, SEED = 4000, 2005

Block = Mapping[str, float]
"""What each contender of a block measured, or cost."""


@dataclass(frozen=True)
class Elimination:
    """Why a contender left after ``blocks``: ``behind``, of the ``slower_half``, or ``failed``."""

    why: str
    blocks: int
    ratio: float | None
    """Its speed in that of the leader of that moment; None where it failed."""


@dataclass(frozen=True)
class RacePlace:
    """A contender relative to the leader, in all shared ``blocks``; bounds hold at every look."""

    blocks: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Race:
    """Where a race stands. ``measure`` is the next block, empty when it has ``ended``.

    ``leader``: the fastest ``remaining`` by all blocks, "" for none. At the end ``status`` is
    *faster*, *equivalent* or *inconclusive*, and ``ratio`` of the finalists, with ``low`` and
    ``high`` valid at every look, from ``fresh`` blocks. ``more_blocks`` would decide an
    inconclusive one. ``spent``: of the budget.
    """

    phase: str
    remaining: tuple[str, ...]
    eliminated: Mapping[str, Elimination]
    leader: str
    spent: float
    status: str = INCONCLUSIVE
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    fresh: int = 0
    more_blocks: int | None = None

    @property
    def measure(self) -> tuple[str, ...]:
        return () if self.phase == ENDED else self.remaining


def least_runs(contenders: int) -> int:
    """How many runs a race of so many takes: a block of all, and three of the finalists."""
    return contenders + LEAST_LOOK * FINALISTS


def race(
    contenders: Sequence[str],
    blocks: Sequence[Block],
    budget: float,
    *,
    costs: Sequence[Block] | None = None,
    failed: Mapping[str, int] | None = None,
    most_runs: float = inf,
    margin_percent: float = EQUIVALENCE_PERCENT,
) -> Race:
    """Where the race of ``contenders`` stands after ``blocks``, of speeds above 0.

    ``failed``: after so many blocks. ``costs``: of each run, in the budget's unit; None: one each.
    Raises ValueError for fewer than two contenders, a small budget, or a block of another race.
    """
    logs, costs = begun("a race", contenders, blocks, budget, costs, least_runs(len(contenders)))
    margin = log(1 + margin_percent / 100)
    return _RaceProgress(
        list(contenders), logs, costs, budget, failed or {}, most_runs, margin
    ).run()


def begun(
    what: str,
    contenders: Sequence[str],
    blocks: Sequence[Block],
    budget: float,
    costs: Sequence[Block] | None,
    least: int,
) -> tuple[list[dict[str, float]], Sequence[Block]]:
    """Logarithms of the speeds of each block, and what its runs cost. Raises ValueError."""
    if len(set(contenders)) < 2 or len(set(contenders)) != len(contenders):
        raise ValueError(f"{what} is of two contenders or more, each once")
    if costs is None:
        if budget < least:
            raise ValueError(f"{what} is of {least} runs at least")
        costs = [dict.fromkeys(block, 1.0) for block in blocks]
    return [{name: log(speed) for name, speed in block.items()} for block in blocks], costs


def places(leader: str, contenders: Sequence[str], blocks: Sequence[Block]) -> dict[str, RacePlace]:
    """How each contender stands against the leader, in all blocks that it shares with it."""
    standings = {}
    for name in contenders:
        ratios = [
            log(block[name] / block[leader])
            for block in blocks
            if name in block and leader in block
        ]
        has_ratio = bool(ratios) and name != leader
        standings[name] = RacePlace(len(ratios), *(ratio_within(ratios) if has_ratio else ()))
    return standings


def ratio_within(logarithms: Sequence[float]) -> tuple[float, float, float]:
    """(ratio, low, high) of log-ratios, at least one, with their ``interval``."""
    low, high = interval(logarithms)
    return exp(fsum(logarithms) / len(logarithms)), exp(low), exp(high)


def status_of(logarithms: Sequence[float], margin: float) -> str:
    """FASTER (or slower), EQUIVALENT or INCONCLUSIVE, by the ``interval`` of log-ratios."""
    low, high = interval(logarithms)
    if -margin < low and high < margin:
        return EQUIVALENT
    return FASTER if low > 0 or high < 0 else INCONCLUSIVE


def probability(leader: str, left: Sequence[str], blocks: Sequence[Block]) -> float:
    """The probability that the leader is the best of those left, by the scatter within blocks."""
    if len(blocks) < 2 or len(left) < 2:
        return 1 / len(left) if left else 0.0
    values = np.log([[block[name] for name in left] for block in blocks])
    distances = values - values.mean(axis=1, keepdims=True)
    freedom = (len(blocks) - 1) * (len(left) - 1)
    means = distances.mean(axis=0)
    deviation = sqrt(float(((distances - means) ** 2).sum()) / freedom)
    draw = np.random.default_rng(SEED)
    shape = (DRAWS, len(left))
    scale = deviation / sqrt(len(blocks)) * np.sqrt(freedom / draw.chisquare(freedom, (DRAWS, 1)))
    best = (means + draw.normal(size=shape) * scale).argmax(axis=1)
    return float((best == list(left).index(leader)).mean())


def interval(logarithms: Sequence[float], level: float = FALSE_ALARM) -> tuple[float, float]:
    """The interval of the mean log-ratio that holds at every look; infinite if unknown."""
    if len(logarithms) < LEAST_LOOK or (errors := _errors_within(len(logarithms), level)) == inf:
        return -inf, inf
    centre, deviation = _centre(logarithms)
    reach = errors * deviation / sqrt(len(logarithms))
    return centre - reach, centre + reach


def more_blocks(logarithms: Sequence[float], margin: float) -> int | None:
    """How many further blocks decide log-ratios, one a block, with a power of 0.8.

    None for fewer than three, or above ``MOST_ADVISED``.
    """
    seen = len(logarithms)
    if seen < LEAST_LOOK:
        return None
    centre, deviation = _centre(logarithms)

    def decides(count: int) -> bool:
        error, reach = deviation / sqrt(count), _errors_within(count, FALSE_ALARM)
        if error == 0 or reach == inf:
            return reach != inf
        apart = ndtr(abs(centre) / error - reach)
        inside = ndtr((margin - centre) / error - reach) + ndtr((margin + centre) / error - reach)
        return bool(apart >= POWER or inside - 1 >= POWER)

    return next((more for more in range(1, MOST_ADVISED + 1) if decides(seen + more)), None)


def _centre(logarithms: Sequence[float]) -> tuple[float, float]:
    """(mean, standard deviation between blocks)."""
    count = len(logarithms)
    centre = fsum(logarithms) / count
    return centre, sqrt(fsum((logarithm - centre) ** 2 for logarithm in logarithms) / (count - 1))


def _errors_within(count: int, level: float) -> float:
    """How many standard errors the interval of so many blocks reaches; infinite for too few."""
    weight = 1 + count * EFFECT_VARIANCE
    bound = (sqrt(weight) / level) ** (2 / count)
    return inf if bound >= weight else sqrt((bound - 1) / (1 - bound / weight) * (count - 1))


@cache
def least_for_interval() -> int:
    """From how many blocks on there is an ``interval`` at its usual level."""
    counts = range(LEAST_LOOK, MOST_ADVISED)
    return next(blocks for blocks in counts if _errors_within(blocks, FALSE_ALARM) < inf)


@dataclass
class _RaceProgress:
    """A race on its way through its blocks: ``block_count`` of them were looked at."""

    remaining: list[str]
    logs: Sequence[Block]
    costs: Sequence[Block]
    budget: float
    failed: Mapping[str, int]
    most_runs: float
    margin: float
    eliminated: dict[str, Elimination] = field(default_factory=dict)
    block_count: int = 0
    spent: float = 0.0
    entered: int = field(init=False)

    def __post_init__(self) -> None:
        self.entered = len(self.remaining)

    def run(self) -> Race:
        for remaining in range(ceil(log2(self.entered / FINALISTS)), 0, -1):
            standing = self._round(remaining)
            if standing is not None:
                return standing
        return self._confirmed()

    def _round(self, remaining: int) -> Race | None:
        """A round of halving; where the race stands if it does not get to its end."""
        begun, planned = self.block_count, 1
        while len(self.remaining) > FINALISTS and self.block_count - begun < planned:
            if not self._next():
                return self._standing(HALVING)
            if self.block_count == begun + 1:
                # What earlier rounds could not use is this round's as well.
                of_round = self.budget * (1 - CONFIRMING_SHARE) - self.spent + self._last_cost()
                planned = max(1, round(of_round / remaining / self._last_cost()))
            self._drop_behind()
        self._drop_half()
        return None

    def _confirmed(self) -> Race:
        """The finalists in fresh blocks, until it is known or the budget is spent."""
        begun = self.block_count
        while self._next():
            verdict = self._verdict(self.logs[begun : self.block_count])
            if verdict[1] != INCONCLUSIVE:
                return self._ended(*verdict, fresh=self.block_count - begun)
        if self.block_count > begun and len(self.remaining) == FINALISTS and self._is_over():
            fresh = self.logs[begun : self.block_count]
            first, second = self.remaining
            more = more_blocks([block[first] - block[second] for block in fresh], self.margin)
            verdict = self._verdict(fresh)
            return replace(self._ended(*verdict, fresh=len(fresh)), more_blocks=more)
        return self._standing(CONFIRMING)

    def _next(self) -> bool:
        """Go through the next block, once there is one. False: there is none, or is to be none."""
        for name in [
            name for name in self.remaining if self.failed.get(name, -1) == self.block_count
        ]:
            self.eliminated[name] = Elimination(FAILED, self.block_count, None)
            self.remaining.remove(name)
        if self.block_count == len(self.logs) or self._is_over():
            return False
        if set(self.logs[self.block_count]) != set(self.remaining):
            raise ValueError("a round is not of those that were left")
        self.spent += fsum(self.costs[self.block_count].values())
        self.block_count += 1
        return True

    def _is_over(self) -> bool:
        """Whether the budget does not hold another block, or nobody is left to compare."""
        runs = sum(map(len, self.logs[: self.block_count])) + len(self.remaining)
        if len(self.remaining) < 2 or runs > self.most_runs:
            return True
        return self.block_count > 0 and self.spent + self._cost() > self.budget

    def _last_cost(self) -> float:
        return fsum(self.costs[self.block_count - 1].values())

    def _cost(self) -> float:
        """What the next block will cost, from what each cost so far."""
        return fsum(
            fsum(block[name] for block in self.costs[: self.block_count]) / self.block_count
            for name in self.remaining
        )

    def _drop_behind(self) -> None:
        """Drop who is surely behind the leader, the slowest first. The best goes in at most 5%."""
        logs, leader = self.logs[: self.block_count], self._leader()
        for name in sorted((name for name in self.remaining if name != leader), key=self._mean):
            low, _ = interval(
                [block[leader] - block[name] for block in logs], FALSE_ALARM / (self.entered - 1)
            )
            if low > self.margin and len(self.remaining) > FINALISTS:
                self._drop(name, BEHIND, leader)

    def _drop_half(self) -> None:
        by_speed = sorted(self.remaining, key=lambda name: -self._mean(name))
        for name in by_speed[max(FINALISTS, ceil(len(self.remaining) / 2)) :]:
            self._drop(name, SLOWER_HALF, by_speed[0])

    def _drop(self, name: str, reason: str, leader: str) -> None:
        self.eliminated[name] = Elimination(
            reason, self.block_count, exp(self._mean(name) - self._mean(leader))
        )
        self.remaining.remove(name)

    def _verdict(self, fresh: Sequence[Block]) -> tuple[str, str, float, float, float]:
        """(leader, status, ratio, low, high) of the finalists by these blocks alone."""
        leader = max(self.remaining, key=lambda name: fsum(block[name] for block in fresh))
        other = next(name for name in self.remaining if name != leader)
        ratios = [block[leader] - block[other] for block in fresh]
        status = status_of(ratios, self.margin)
        if status != FASTER and leader != self._leader():
            # All blocks together say which of two that are alike to take.
            return other, status, *ratio_within([-ratio for ratio in ratios])
        return leader, status, *ratio_within(ratios)

    def _ended(
        self, leader: str, status: str, ratio: float, low: float, high: float, *, fresh: int
    ) -> Race:
        standing = self._standing(ENDED)
        return replace(
            standing,
            phase=ENDED,
            leader=leader,
            status=status,
            ratio=ratio,
            low=low,
            high=high,
            fresh=fresh,
        )

    def _standing(self, phase: str) -> Race:
        leader = self._leader() if self.remaining else ""
        return Race(
            ENDED if self._is_over() else phase,
            tuple(self.remaining),
            dict(self.eliminated),
            leader,
            self.spent,
        )

    def _leader(self) -> str:
        return max(self.remaining, key=self._mean)

    def _mean(self, name: str) -> float:
        logs = self.logs[: self.block_count]
        return fsum(block[name] for block in logs) / len(logs) if logs else 0.0
