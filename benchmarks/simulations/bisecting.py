"""Whether a bisection finds the change and claims no other.

    python -m benchmarks.simulations.bisecting

Simulated with a fixed seed: kernels in order, one or more with a change of speed, blocks that drift
by 8%, runs that scatter by 2% unless said otherwise. Exits with 1 where a promise is not kept.
"""

import sys
from collections.abc import Callable, Mapping
from math import exp
from random import Random
from statistics import median

from fsbench_web.core.stats.bisecting import Bisection, bisection
from fsbench_web.core.stats.verdicts import EQUIVALENT, FASTER

SEED = 20_261_123
TRIALS = 1000
DRIFT = 0.08
Changes = Callable[[Random, int], Mapping[int, float]]
"""By how much (of a logarithm) each kernel that changes it is slower than the one before."""


def one_change(effect: float) -> Changes:
    return lambda draw, count: {draw.randrange(1, count): effect}


def two_changes(effect: float) -> Changes:
    return lambda draw, count: {
        draw.randrange(1, count // 2): effect,
        draw.randrange(count // 2, count): effect,
    }


def no_change(draw: Random, count: int) -> Mapping[int, float]:
    return {}


def search(
    draw: Random, count: int, changes: Mapping[int, float], noise: float, runs: int
) -> tuple[Bisection, int]:
    """A bisection to its end, and the runs that it took."""
    names = [str(place) for place in range(count)]
    blocks: list[dict[str, float]] = []
    while (state := bisection(names, blocks, runs)).measure:
        drift = draw.gauss(0, DRIFT)
        blocks.append(
            {
                name: exp(
                    drift - sum(size for place, size in changes.items() if int(name) >= place)
                )
                * exp(draw.gauss(0, noise))
                for name in state.measure
            }
        )
    return state, sum(map(len, blocks))


def main() -> int:
    draw, all_kept = Random(SEED), True
    scenes: list[tuple[str, int, Changes, float, int, float, float]] = [
        # Which, kernels, changes, scatter, budget, least right, most claimed wrongly (percent).
        ("16 kernels, one 10% slower, 120 runs", 16, one_change(0.10), 0.02, 120, 98, 1),
        ("50 kernels, one 10% slower, 120 runs", 50, one_change(0.10), 0.02, 120, 98, 1),
        ("16 kernels, one 5% slower, 120 runs", 16, one_change(0.05), 0.02, 120, 90, 1),
        (
            "16 kernels, one 10% slower, scatter 5%, 120 runs",
            16,
            one_change(0.10),
            0.05,
            120,
            80,
            1,
        ),
        ("16 kernels, two 5% slower, 120 runs", 16, two_changes(0.05), 0.02, 120, 90, 1),
        ("16 kernels, all alike, 120 runs", 16, no_change, 0.02, 120, 0, 5),
    ]
    print(f"{'':50} {'right':>7} {'wrong':>7} {'alike':>7} {'unknown':>8}  runs: median, 95%")
    for name, count, changes, noise, runs, least_right, most_wrong in scenes:
        right = wrong = alike = 0
        taken = []
        for _ in range(TRIALS):
            changed = changes(draw, count)
            outcome, spent = search(draw, count, changed, noise, runs)
            taken.append(spent)
            if outcome.status == FASTER:
                span = range(int(outcome.before) + 1, int(outcome.after) + 1)
                is_right = outcome.is_neighbours and any(place in span for place in changed)
                right, wrong = right + is_right, wrong + (not is_right)
            alike += outcome.status == EQUIVALENT
        shares = [100 * hits / TRIALS for hits in (right, wrong, alike)]
        is_kept = shares[0] >= least_right and shares[1] <= most_wrong
        all_kept = all_kept and is_kept
        print(
            f"{name:50} {shares[0]:6.1f}% {shares[1]:6.1f}% {shares[2]:6.1f}% "
            f"{100 - sum(shares):7.1f}%  {median(taken):.0f}, {sorted(taken)[int(0.95 * TRIALS)]}"
            f"{'' if is_kept else '  NOT KEPT'}",
            flush=True,
        )
    return 0 if all_kept else 1


if __name__ == "__main__":
    sys.exit(main())
