"""Whether a race finds the best and says no more than it knows.

    python -m benchmarks.simulations.racing

Speeds, blocks and runs scatter by 8% unless said otherwise, with a fixed seed. For comparison, a
fixed matrix measures all contenders in all blocks. Exits with 1 where a promise is not kept.
"""

import sys
from collections import Counter
from math import exp

import numpy as np

from fsbench_web.core.stats import racing
from fsbench_web.core.stats.verdicts import EQUIVALENT, FASTER

SEED = 20_261_122
TRIALS = 500
RACES = 2000


def run(
    draw: np.random.Generator, truth: np.ndarray, runs: int, noise: float
) -> tuple[racing.Race, int]:
    """A race to its end, and the runs that it took."""
    names = [str(place) for place in range(len(truth))]
    blocks: list[dict[str, float]] = []
    while (standing := racing.race(names, blocks, runs)).measure:
        drift = draw.normal() * 0.08
        blocks.append(
            {
                name: exp(truth[int(name)] + drift + draw.normal() * noise)
                for name in standing.measure
            }
        )
    return standing, sum(map(len, blocks))


def main() -> int:
    draw = np.random.default_rng(SEED)
    promises_kept = []

    def report(name: str, percent: float, *, at_least: float = 0, at_most: float = 100) -> None:
        promises_kept.append(at_least <= percent <= at_most)
        bound = f">= {at_least:g}" if at_least else f"<= {at_most:g}" if at_most < 100 else ""
        print(
            f"{name:78} {percent:5.1f}% {bound:8} {'' if promises_kept[-1] else 'NOT KEPT'}",
            flush=True,
        )

    print("24 contenders: the best, or one within 1% of it")
    for fixed_blocks in (10, 20):
        matrix = 24 * fixed_blocks
        raced, fixed, taken = [], [], 0
        for _ in range(RACES):
            truth = draw.normal(size=24) * 0.08
            ended, runs = run(draw, truth, matrix // 2, 0.08)
            taken += runs
            raced.append(truth[int(ended.leader)] >= truth.max() - 0.01)
            means = truth + draw.normal(size=24) * 0.08 / np.sqrt(fixed_blocks)
            fixed.append(truth[means.argmax()] >= truth.max() - 0.01)
        report(f"  all in {fixed_blocks} blocks, {matrix} runs", 100 * float(np.mean(fixed)))
        report(
            f"  race of at most {matrix // 2} runs ({taken / RACES:.0f} on average)",
            100 * float(np.mean(raced)),
            at_least=85 if fixed_blocks == 20 else 0,
        )

    print("What a race says of its finalists (looked at after every block)")
    states: Counter[str] = Counter()
    wrong = 0
    for _ in range(TRIALS):
        ended, _ = run(draw, np.zeros(2), 60, 0.04)
        states[ended.status] += 1
    report("  two that are the same: called faster", 100 * states[FASTER] / TRIALS, at_most=5)
    for _ in range(TRIALS):
        ended, _ = run(draw, np.array([0.0, np.log(1.02)]), 60, 0.01)
        wrong += ended.status == EQUIVALENT
    report("  two apart by the margin: called equivalent", 100 * wrong / TRIALS, at_most=5)
    outside = 0
    for _ in range(TRIALS):
        ratios = draw.normal(size=60) * 0.05 + 0.03
        outside += any(
            not low <= 0.03 <= high
            for low, high in (racing.interval(ratios[:n].tolist()) for n in range(3, 61))
        )
    report("  intervals that ever leave the truth out, 58 looks", 100 * outside / TRIALS, at_most=5)

    dropped = 0
    for _ in range(TRIALS):
        truth = draw.normal(size=8) * 0.02
        ended, _ = run(draw, truth, 160, 0.02)
        best = str(int(truth.argmax()))
        dropped += best in ended.eliminated and ended.eliminated[best].why == racing.BEHIND
    report(
        "  the best is dropped as surely behind (8 contenders within 2%)",
        100 * dropped / TRIALS,
        at_most=5,
    )

    for seen in (6, 12):
        draw, margin = np.random.default_rng(SEED), np.log(1.02)
        decided: list[bool] = []
        while len(decided) < TRIALS:
            ratios = (draw.normal(size=seen) * 0.05 + 0.04).tolist()
            if racing.interval(ratios)[0] <= 0 and (more := racing.more_blocks(ratios, margin)):
                further = (draw.normal(size=more) * 0.05 + 0.04).tolist()
                looks = (racing.interval(ratios + further[: n + 1]) for n in range(more))
                decided.append(any(low > 0 or -margin < low < high < margin for low, high in looks))
        report(
            f"  inconclusive after {seen} blocks, known within the blocks said",
            100 * float(np.mean(decided)),
            at_least=80,
        )
    return 0 if all(promises_kept) else 1


if __name__ == "__main__":
    sys.exit(main())
