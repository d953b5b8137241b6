"""What differs most between two contenders in costs and waits: associations, never a proof. Pure.

Method: docs/method.md#what-differs-most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, log

from fsbench_web.core.activity.costs import COSTS, PRICE_TESTS, WAITS, Cost
from fsbench_web.core.stats.intervals import mean
from fsbench_web.core.stats.verdicts import EQUAL, PAIRED, TIE, Repeats, Verdict, compared, family

ALIKE_PERCENT = 10.0
DIFFERS, UNSURE, ALIKE = "differs", "unsure", "alike"
WORK, WAIT = "work", "wait"
_CONSEQUENCES = frozenset({"io_pressure", "cpu_pressure", "memory_pressure"})
"""They say that something waited, and stand with the waits."""


_OWN = frozenset(
    {
        *("write_amplification", "read_amplification", "flushes_per_1000_operations"),
        *("process_cpu_seconds_per_gib", "space_amplification"),
        *("wait_outside_device", "merged_share"),
    }
)
"""Of the run's own work alone: what others do meanwhile is in none of them."""
_SHAPES = frozenset({"mean_write_request", "mean_read_request"})


@dataclass(frozen=True)
class RunCosts:
    """What one run is known for; ``block`` is "" where it was in none."""

    block: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Difference:
    """How one contender stands to the other in one cost: ``ratio`` is of it over the other, with
    its 95% interval, each value with the cost's floor added. Without repeats there is no interval,
    and it is UNSURE. ``value`` and ``other`` are means, in the cost's unit.
    """

    cost: Cost
    kind: str
    status: str
    value: float
    other: float
    ratio: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    blocks: int = 0

    @property
    def is_next_to_nothing(self) -> bool:
        """Whether one of the two has so little that a ratio says little."""
        return min(self.value, self.other) < self.cost.floor

    @property
    def sure_distance(self) -> float:
        """How far from no difference the nearer end of the interval is; 0 where it is within."""
        if self.low is None or self.high is None or self.low <= 1 <= self.high:
            return 0.0
        return min(abs(log(self.low)), abs(log(self.high)))


@dataclass(frozen=True)
class Explanation:
    """``differences`` are ranked: costs of the work, then waits. ``missing``: of one of the two.

    ``tested``: how many costs were compared.
    """

    differences: Sequence[Difference] = ()
    missing: Sequence[Cost] = ()
    tested: int = 0

    @property
    def differing(self) -> list[Difference]:
        """What differs for certain, of work and waits, in the order of all."""
        differences = [each for each in self.differences if each.status == DIFFERS]
        return sorted(differences, key=_place)


def explained(first_runs: Sequence[RunCosts], second_runs: Sequence[RunCosts]) -> Explanation:
    """How ``first_runs`` differ from ``second_runs``."""
    differences: list[Difference] = []
    verdicts: list[Verdict] = []
    missing = []
    for cost in (*COSTS.values(), *WAITS.values()):
        if cost.test in PRICE_TESTS:
            continue  # it is the time and the operations themselves, and explains neither
        first_values, second_values = (
            _floored_values(first_runs, cost),
            _floored_values(second_runs, cost),
        )
        if not first_values or not second_values:
            if any(cost.test in run.values for run in (*first_runs, *second_runs)):
                missing.append(cost)
            continue
        verdict = _verdict(first_values, second_values)
        # Without the floor that was added: nothing stays nothing, whatever binary rounding leaves.
        values = (_mean(first_runs, cost), _mean(second_runs, cost))
        floored = (first_values, second_values)
        differences.append(_difference(cost, values, floored, verdict))
        if verdict is not None:
            verdicts.append(verdict)
    judged = iter(family(verdicts))
    listed = [
        _judged(difference, next(judged)) if difference.low is not None else difference
        for difference in differences
    ]
    ranked = sorted(listed, key=lambda difference: (difference.kind == WAIT, _place(difference)))
    return Explanation(ranked, missing, len(verdicts))


def _floored_values(runs: Sequence[RunCosts], cost: Cost) -> list[tuple[str, float]]:
    """(block, value with the floor) of the runs that have it."""
    return [
        (run.block, run.values[cost.test] + cost.floor) for run in runs if cost.test in run.values
    ]


def _mean(runs: Sequence[RunCosts], cost: Cost) -> float:
    values = [run.values[cost.test] for run in runs if cost.test in run.values]
    return fsum(values) / len(values)


def _verdict(
    first_values: Sequence[tuple[str, float]], second_values: Sequence[tuple[str, float]]
) -> Verdict | None:
    first, second = (
        Repeats(mean([value for _, value in values]), tuple(values))
        for values in (first_values, second_values)
    )
    return compared(first, second, lower_is_better=False, margin_percent=ALIKE_PERCENT)


def _difference(
    cost: Cost,
    values: tuple[float, float],
    floored: tuple[Sequence[tuple[str, float]], Sequence[tuple[str, float]]],
    verdict: Verdict | None,
) -> Difference:
    means = [sum(value for _, value in side) / len(side) for side in floored]
    return Difference(
        cost,
        WAIT if cost.test in WAITS or cost.test in _CONSEQUENCES else WORK,
        UNSURE,
        *values,
        means[0] / means[1],
        verdict.ratio_low if verdict else None,
        verdict.ratio_high if verdict else None,
        verdict.p_value if verdict else None,
        (verdict.blocks or 0) if verdict and verdict.method == PAIRED else 0,
    )


def _judged(difference: Difference, verdict: Verdict) -> Difference:
    status = {EQUAL: ALIKE, TIE: UNSURE}.get(verdict.status, DIFFERS)
    return replace(difference, status=status, p_value=verdict.q_value)


def _place(difference: Difference) -> tuple[int, int, float, float]:
    order = {DIFFERS: 0, UNSURE: 1, ALIKE: 2}
    test = difference.cost.test
    return (
        order[difference.status],
        0 if test in _OWN else 1 if test in _SHAPES else 2,
        -difference.sure_distance,
        -abs(log(difference.ratio)),
    )
