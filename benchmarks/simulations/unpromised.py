"""What verdicts and races do not promise.

    .venv/bin/python -m benchmarks.simulations.unpromised

Simulated with a fixed seed: two contenders of the same speed. *What lasts*: what falls on both
alike is in no ratio, but here the scatter of each, 5%, is its own and resembles that of the block
before, as of file systems that age on LUNs of their own; blocks are then fewer than they seem to
be. *Unequal*: unpaired, with other numbers of runs and another scatter. Percentages are of
``TRIALS`` comparisons (ten times as many unpaired ones) in which a difference was called.
"""

import math
import sys

import numpy as np

from benchmarks.simulations.verdicts import share, verdict_of
from fsbench_web.core.stats import racing
from fsbench_web.core.stats.verdicts import SIGNIFICANT, Repeats, compared

SEED = 20_261_128
TRIALS = 1000
SCATTER = 0.05
LOOKS = 50


def speeds(draw: np.random.Generator, blocks: int, correlation: float) -> np.ndarray:
    """Of two, by blocks."""
    shocks = draw.normal(size=(2, blocks))
    for block in range(1, blocks):
        fresh = math.sqrt(1 - correlation**2) * shocks[:, block]
        shocks[:, block] = correlation * shocks[:, block - 1] + fresh
    measured: np.ndarray = 1000 * np.exp(SCATTER * shocks)
    return measured


def _is_called(measured: np.ndarray) -> bool:
    return verdict_of(measured).status == SIGNIFICANT


def _is_called_at_any_look(measured: np.ndarray) -> bool:
    logarithms = np.log(measured[0] / measured[1]).tolist()
    looks = (racing.interval(logarithms[:count]) for count in range(3, len(logarithms) + 1))
    return any(low > 0 or high < 0 for low, high in looks)


def _is_called_unpaired(draw: np.random.Generator, runs: list[tuple[int, float]]) -> bool:
    """``runs``: of each contender how many, and their scatter."""
    values = [1000 * (1 + scatter * draw.normal(size=count)) for count, scatter in runs]
    ahead, behind = (
        Repeats(float(side.mean()), tuple(("", float(value)) for value in side)) for side in values
    )
    verdict = compared(ahead, behind, lower_is_better=False)
    return verdict is not None and verdict.status == SIGNIFICANT


def main() -> int:
    draw = np.random.default_rng(SEED)
    for correlation in (0.0, 0.3, 0.5, 0.7):
        called = [
            f"{share([_is_called(speeds(draw, n, correlation)) for _ in range(TRIALS)]):.1f}%"
            for n in (3, 5, 10, 20)
        ]
        looked = [_is_called_at_any_look(speeds(draw, LOOKS, correlation)) for _ in range(TRIALS)]
        print(
            f"correlation {correlation}: verdicts of 3, 5, 10 and 20 blocks {', '.join(called)}; "
            f"a race that is looked at after each of {LOOKS} blocks {share(looked):.1f}%"
        )
    for runs in (
        *([(2, 0.1), (10, 0.01)], [(2, 0.01), (10, 0.1)], [(2, 0.05), (2, 0.05)]),
        *([(3, 0.1), (20, 0.01)], [(3, 0.01), (3, 0.1)], [(5, 0.2), (5, 0.2)]),
    ):
        of_each = " against ".join(f"{count} runs of {scatter:.0%}" for count, scatter in runs)
        outcomes = [_is_called_unpaired(draw, runs) for _ in range(10 * TRIALS)]
        print(f"{of_each}: {share(outcomes):.1f}%")
    return 0


if __name__ == "__main__":
    sys.exit(main())
