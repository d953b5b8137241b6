"""What blocks of four runs, A B B A or B A A B by lot, say of B / A, and when they say nothing.

**The answer** of a block is the mean logarithm of both runs of B less that of A: a drift that is
straight over the block cancels. Over blocks it is the Hodges-Lehmann estimate with its
distribution-free interval (J. L. Hodges and E. L. Lehmann, Ann. Math. Stat. 34, 1963; order
statistics of the Walsh averages): a block that something else disturbed moves it by a rank, and no
farther. Student's interval stands beside it.

**The control** asks what the answer takes for granted: that a side is the same in both runs of a
block, whatever ran before it. *A's second run beside its first* alone does not ask that: it holds
three steps of a straight drift in A B B A and one in B A A B, all of which the answer cancels. Of
four runs l1 to l4 three contrasts are left beside their mean: the straight drift, the sides (which
is the answer), and the one that is orthogonal to both,

    k = (l4 - l1) - 3 (l3 - l2)     (the cubic one of four evenly spaced points: R. A. Fisher and
                                     F. Yates, Statistical Tables, 1938, table XXIII)

In A B B A it is what A changed by, less three times what B changed by; in B A A B the same with the
sides exchanged. The control of a block is k / 2 with the sign that makes A's change positive (+ in
A B B A, - in B A A B), so that in the mean it is A's change less B's:

- A straight drift, a parabolic one, and any difference of the sides cancel in each block exactly.
- Whatever else places in a block do to both sides alike (a cold first run, a step) gets its sign by
  lot, as in the answer: the control stays symmetric around 0, and 1 is held as often as promised.
- One side that changes with state (its second run of a block slower, when the other's is not), and
  one that leaves something behind for the run after it, are not cancelled. The latter moves the
  answer by a quarter of its size and the control by five quarters, where the control of a block
  scatters 2.2 times as much as the answer: what would show in the answer shows here before.

Signed ranks ask for this symmetry and for nothing else (F. Wilcoxon, Biometrics Bulletin 1, 1945).
One job that does not hold 1 refuses the session, so the 95% are of all jobs together: each interval
is at 1 - 0.05 / jobs (Bonferroni; R. A. Fisher, The Design of Experiments, on the lot).
``benchmarks.overhead.paired_control`` shows all of this by simulation.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.overhead.signed_ranks import rank_interval
from fsbench_web.core.stats.intervals import interval

FALSE_REFUSALS = 0.05
"""Of sessions, all jobs together, where nothing was wrong."""


def least_blocks(jobs: int) -> int:
    """With fewer no control by ranks has its level: 6 for one job, 7 for two."""
    return math.ceil(1 + math.log2(jobs / FALSE_REFUSALS))


def of_block(order: str, rates: Sequence[float]) -> tuple[float, float]:
    """Logarithms of (B / A, control) of the four ``rates`` in ``order`` (ABBA or BAAB)."""
    first, second, third, last = map(math.log, rates)
    inner = (second + third) / 2 - (first + last) / 2
    change = ((last - first) - 3 * (third - second)) / 2
    return (inner, change) if order == "ABBA" else (-inner, -change)


@dataclass(frozen=True)
class RatioEstimate:
    """Ratio of speeds with its 95% interval, from logarithms of ratios, one a block.

    ``ratio``, ``low`` and ``high`` are by ranks; ``student`` is Student's (ratio, low, high);
    ``scatter_percent`` the standard deviation of a block.
    """

    ratio: float
    low: float
    high: float
    student: tuple[float, float, float]
    scatter_percent: float
    blocks: int

    @classmethod
    def of(cls, logarithms: Sequence[float]) -> "RatioEstimate":
        """Raises ValueError for too few."""
        student = interval(logarithms)
        if student is None:
            raise ValueError("fewer than two blocks")
        return cls(
            *_by_ranks(logarithms, 0.95),
            (math.exp(student.mean), math.exp(student.low), math.exp(student.high)),
            100 * statistics.stdev(logarithms),
            len(logarithms),
        )

    @property
    def half_width_percent(self) -> float:
        """The half-width."""
        return 50 * (self.high - self.low) / self.ratio

    def __str__(self) -> str:
        ratio, low, high = self.student
        return (
            f"{self.ratio:.4f} (95% {self.low:.4f} to {self.high:.4f}, "
            f"± {self.half_width_percent:.2f}%; Student {ratio:.4f}, {low:.4f} to {high:.4f}; "
            f"{self.blocks} blocks that scatter by {self.scatter_percent:.2f}%)"
        )


@dataclass(frozen=True)
class Control:
    """What one job's control found, with its interval at ``level``."""

    ratio: float
    low: float
    high: float
    level: float

    @classmethod
    def of(cls, logarithms: Sequence[float], jobs: int) -> "Control":
        """One of so many ``jobs`` together. Raises ValueError for too few."""
        level = 1 - FALSE_REFUSALS / jobs
        return cls(*_by_ranks(logarithms, level), level)

    @property
    def contains_one(self) -> bool:
        return self.low <= 1 <= self.high

    def __str__(self) -> str:
        return f"{self.ratio:.4f} ({100 * self.level:g}% {self.low:.4f} to {self.high:.4f})"


def _by_ranks(logarithms: Sequence[float], level: float) -> tuple[float, float, float]:
    """(Hodges-Lehmann estimate, low, high) as ratios."""
    interval = rank_interval(logarithms, level)
    if interval is None:
        raise ValueError(f"{len(logarithms)} blocks have no interval of ranks at {100 * level:g}%")
    walsh = [
        (logarithm + other) / 2
        for place, logarithm in enumerate(logarithms)
        for other in logarithms[place:]
    ]
    return math.exp(statistics.median(walsh)), *interval


@dataclass
class Blocks:
    """What was found of each job: logarithms of B / A and of its control, one a block."""

    speed: dict[str, list[float]]
    control: dict[str, list[float]]
    work: dict[str, list[float]]
    others_percent: list[float]

    @classmethod
    def of_jobs(cls, jobs: Iterable[str]) -> "Blocks":
        names = list(jobs)

        def empty() -> dict[str, list[float]]:
            return {job: [] for job in names}

        return cls(empty(), empty(), empty(), [])


def report(blocks: Blocks, title: str, known_to_percent: float) -> bool:
    """Print what came out of each job; whether each is known to so many percent."""
    jobs, is_known = len(blocks.speed), True
    for job, ratios in blocks.speed.items():
        if len(ratios) < least_blocks(jobs):
            few = f"{len(ratios)} blocks are too few, {least_blocks(jobs)} are the least"
            print(f"\n{job}: {few}")
            return False
        ratio, control = RatioEstimate.of(ratios), Control.of(blocks.control[job], jobs)
        print(
            f"\n{job}\n  {title}: {ratio}\n"
            f"  {title}, for each second of a processor: {RatioEstimate.of(blocks.work[job])}\n"
            f"  control, how the first side changed within a block beside the other: {control}"
        )
        if not control.contains_one:
            print("  One side changed and the other did not: nothing is shown.")
            is_known = False
        elif ratio.half_width_percent > known_to_percent:
            need = ratio.blocks * (ratio.half_width_percent / known_to_percent) ** 2
            print(
                f"  Not known to {known_to_percent:g}%: at this scatter some {math.ceil(need)} "
                "blocks would do, or a calmer machine."
            )
            is_known = False
    print(
        f"\nControls: {jobs} at {100 * (1 - FALSE_REFUSALS / jobs):g}% each, by ranks, are 95% "
        "together. What falls on both sides alike, a drift first of all, cancels in them."
    )
    if blocks.others_percent:
        others = statistics.median(blocks.others_percent)
        print(f"Others took {others:.0f}% of a processor in the median block.")
    return is_known
