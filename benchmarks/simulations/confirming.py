"""How often rounds that confirm a change of a watch are wrong, and how often they decide.

    python -m benchmarks.simulations.confirming

Simulated with a fixed seed: rounds of one old and one new run each, or new runs against nine
earlier ones. Rounds drift by 3% and runs scatter around them. The rule is
``compare.watches.reportable.outcome_of``. Exits with 1 where a promise is not kept.
"""

import sys
from collections import Counter
from math import exp, log

import numpy as np

from fsbench_web.compare.watches.reportable import CONFIRMED, INCONCLUSIVE, LESS, outcome_of
from fsbench_web.core.stats.intervals import mean
from fsbench_web.core.stats.verdicts import Repeats, compared

SEED = 20_261_129
TRIALS = 4000
DRIFT = 0.03
MARGIN = 5
EARLIER = 9


def _repeats(logs: np.ndarray, is_paired: bool) -> Repeats:
    values = [exp(value) for value in logs]
    names = [str(place) if is_paired else "" for place in range(len(values))]
    return Repeats(mean(values), tuple(zip(names, values, strict=True)))


def outcomes(
    draw: np.random.Generator,
    fall_percent: float,
    rounds: int,
    noise: float,
    *,
    is_paired: bool,
    is_of_one_evening: bool = False,
) -> dict[str, float]:
    """The percentage of each outcome. ``is_of_one_evening``: all new runs drift alike."""
    counts: Counter[str] = Counter()
    for _ in range(TRIALS):
        drift = draw.normal(size=1 if is_of_one_evening else rounds) * DRIFT
        new = log(1 - fall_percent / 100) + drift + draw.normal(size=rounds) * noise
        old = drift + draw.normal(size=rounds) * noise
        if not is_paired:
            scatter = np.hypot(DRIFT, noise)
            old = draw.normal(size=EARLIER) * scatter
        sides = (_repeats(new, is_paired), _repeats(old, is_paired))
        verdict = compared(*sides, lower_is_better=False, margin_percent=MARGIN)
        assert verdict is not None
        counts[outcome_of(verdict, MARGIN, lower_is_better=False)] += 1
    return {name: 100 * counts[name] / TRIALS for name in (CONFIRMED, LESS, INCONCLUSIVE)}


def main() -> int:
    draw = np.random.default_rng(SEED)
    is_kept = True
    print(f"Margin {MARGIN}%, {TRIALS} trials: confirmed, not reproduced, neither (percent)")
    for is_paired in (True, False):
        print("paired rounds" if is_paired else f"new rounds against {EARLIER} earlier runs")
        for noise in (0.01, 0.03):
            for rounds in (3, 5, 10):
                for fall in (0, 2.5, 5, 10):
                    shares = outcomes(draw, fall, rounds, noise, is_paired=is_paired)
                    # Each is a tail of 2.5%; Welch's test is not exact.
                    most = 3.2 if is_paired else 4.0
                    is_wrong = (fall == 0 and shares[CONFIRMED] > most) or (
                        fall >= MARGIN and shares[LESS] > most
                    )
                    is_wrong |= (is_paired and (fall, rounds, noise) == (10, 5, 0.01)) and shares[
                        CONFIRMED
                    ] < 95
                    is_kept &= not is_wrong
                    numbers = "  ".join(f"{share:5.1f}" for share in shares.values())
                    print(
                        f"scatter {noise:.0%}, {rounds:2} rounds, fall {fall:4g}%:  {numbers}"
                        f"{'  NOT KEPT' if is_wrong else ''}",
                        flush=True,
                    )
    print(f"new rounds of one evening against {EARLIER} earlier runs, not promised")
    for rounds in (5, 10):
        shares = outcomes(draw, 0, rounds, 0.01, is_paired=False, is_of_one_evening=True)
        print(f"scatter 1%, {rounds:2} rounds, fall 0%: confirmed {shares[CONFIRMED]:.1f}")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
