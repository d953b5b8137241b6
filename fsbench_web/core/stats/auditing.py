"""How often a machine makes a difference of nothing, and finds a known handicap. Pure.

Method and sources: docs/method.md#an-audit-of-a-machine. ``benchmarks/simulations/auditing.py``
measures the counts for machines of known noise.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import expm1, fsum, sqrt

from fsbench_web.core.stats.intervals import mean, share_interval
from fsbench_web.core.stats.verdicts import (
    FASTER,
    SLOWER,
    Repeats,
    Verdict,
    compared,
    detectable,
    rounding_of,
)

ROUNDS = 5
"""Of one comparison."""
HANDICAP_PERCENT = 5.0
NEAR_PERCENT = 1.0
"""A handicap between 4 and 6% counts as one of 5%."""

Values = Mapping[str, float]
"""What one name measured, by round."""


@dataclass
class Counted:
    """How many of ``made`` comparisons found a difference; ``percent`` is the handicap."""

    percent: float = 0.0
    found: int = 0
    made: int = 0

    def add(self, verdict: Verdict, directions: Sequence[str]) -> None:
        self.made += 1
        self.found += verdict.direction in directions

    @property
    def interval_percent(self) -> tuple[float, float]:
        low, high = share_interval(self.found, self.made)
        return 100 * low, 100 * high


@dataclass
class Audit:
    """``deviations``: of the ratio of equal names in a round, one of each comparison."""

    equal: Counted = field(default_factory=Counted)
    handicaps: list[Counted] = field(default_factory=list)
    deviations: list[float] = field(default_factory=list)

    @property
    def rows(self) -> list[Counted]:
        """The counts without a difference, then by handicap."""
        return [self.equal, *sorted(self.handicaps, key=lambda one: one.percent)]

    @property
    def known_handicap(self) -> Counted | None:
        """All comparisons with a handicap near HANDICAP_PERCENT, or None."""
        near = [
            one for one in self.handicaps if abs(one.percent - HANDICAP_PERCENT) <= NEAR_PERCENT
        ]
        made = sum(one.made for one in near)
        if not made:
            return None
        percent = fsum(one.percent * one.made for one in near) / made
        return Counted(percent, sum(one.found for one in near), made)

    @property
    def smallest_percent(self) -> float | None:
        """How much slower something is that ROUNDS rounds just find in four of five times."""
        if not self.deviations:
            return None
        pooled = sqrt(fsum(one * one for one in self.deviations) / len(self.deviations))
        return -100 * expm1(-detectable(pooled, ROUNDS))

    def add(
        self, first: Values, second: Values, limited: Mapping[float, Values], *, is_time: bool
    ) -> None:
        """Count the comparisons of two equal names, and of ``limited`` names with the first.

        ``limited`` is by the rate of the limit, in the unit of the values; one that is not below
        the mean of both names is no handicap.
        """
        for pair in _sets(first, second):
            verdict = compared(*pair, lower_is_better=is_time)
            if verdict is not None and verdict.deviation is not None:
                self.equal.add(verdict, (FASTER, SLOWER))
                self.deviations.append(verdict.deviation)
        for rate, values in limited.items():
            free = [side[name] for side in (first, second) for name in values if name in side]
            if not free:
                continue
            counted = Counted(100 * (1 - rate / mean(free)))
            for pair in _sets(values, first):
                verdict = compared(*pair, lower_is_better=is_time)
                if verdict is not None:
                    counted.add(verdict, (SLOWER,))
            if counted.made and counted.percent > 0:
                self.handicaps.append(counted)


def _sets(ours: Values, theirs: Values) -> Iterator[tuple[Repeats, Repeats]]:
    """Both sides in each ROUNDS rounds in a row that both measured; no round counts twice."""
    shared = [name for name in ours if name in theirs]
    for start in range(0, len(shared) - ROUNDS + 1, ROUNDS):
        names = shared[start : start + ROUNDS]
        yield _repeats(ours, names), _repeats(theirs, names)


def _repeats(values: Values, names: Sequence[str]) -> Repeats:
    chosen = [values[name] for name in names]
    return Repeats(
        mean(chosen), tuple(zip(names, chosen, strict=True)), rounding=rounding_of(chosen)
    )
