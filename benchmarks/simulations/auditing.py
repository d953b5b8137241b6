"""What an audit counts on machines of known noise, and whether its smallest difference is right.

    .venv/bin/python -m benchmarks.simulations.auditing

Fixed seed. Rounds drift by 5% and runs scatter around them. Counted by ``core.stats.auditing``.
At most 5% of comparisons without a difference may be called one. A handicap of 5% in noise of 1%
must be found in 95%. The smallest difference that an audit names must be found in four of five.
Exits with 1 otherwise.
"""

import sys

import numpy as np

from fsbench_web.core.stats.auditing import HANDICAP_PERCENT, ROUNDS, Audit

SEED = 20_261_130
COMPARISONS = 2000
DRIFT = 0.05
RATE = 1_000_000.0
MOST_CALLED, LEAST_FOUND = 0.065, 0.95
"""5%, and three standard deviations of chance in COMPARISONS; of a handicap in noise of 1%."""
LEAST_POWER, MOST_POWER = 0.73, 0.85
"""Student's t stands for its noncentral distribution, which takes up to 0.05."""


def simulated(
    draw: np.random.Generator, noise: float, handicap_percent: float, comparisons: int
) -> Audit:
    """The audit of a machine; the handicapped runs scatter around their limit."""
    names = [f"round {place}" for place in range(comparisons * ROUNDS)]
    level = RATE * np.exp(DRIFT * draw.normal(size=len(names)))

    def runs(share: float) -> dict[str, float]:
        values = share * level * np.exp(noise * draw.normal(size=len(names)))
        return dict(zip(names, values.tolist(), strict=True))

    audit = Audit()
    limit = RATE * (1 - handicap_percent / 100)
    limited = {limit: runs(1 - handicap_percent / 100)}
    audit.add(runs(1.0), runs(1.0), limited, is_time=False)
    return audit


def main() -> int:
    draw, is_kept = np.random.default_rng(SEED), True
    print(f"{COMPARISONS} comparisons: called of no difference, found of 5%, smallest, found of it")
    for noise in (0.002, 0.01, 0.02, 0.03, 0.05):
        audit = simulated(draw, noise, HANDICAP_PERCENT, COMPARISONS)
        smallest = audit.smallest_percent
        assert smallest is not None
        of_smallest = simulated(draw, noise, smallest, COMPARISONS).handicaps[0]
        called = audit.equal.found / COMPARISONS
        found = audit.handicaps[0].found / COMPARISONS
        power = of_smallest.found / COMPARISONS
        is_kept &= called <= MOST_CALLED and LEAST_POWER <= power <= MOST_POWER
        is_kept &= found >= LEAST_FOUND or noise > 0.01
        print(
            f"  noise {noise:5.1%}: {called:5.1%} {found:6.1%} {smallest:5.2f}% {power:6.1%}",
            flush=True,
        )
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
