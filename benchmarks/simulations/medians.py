"""Whether medians of repeats hold what they promise.

    .venv/bin/python -m benchmarks.simulations.medians

Repeats are normal, log-normal or bimodal (one of five a quarter slower), with a fixed seed. The
interval of order statistics must hold the median in 95% of trials, less two standard errors.
Student's interval of the mean is printed for comparison.
"""

import sys
from collections.abc import Callable, Mapping

import numpy as np

from fsbench_web.core.stats.intervals import interval, median_interval

SEED = 20_261_123
TRIALS = 4000
LEVEL_PERCENT = 95.0
CHANCE_PERCENT = 2 * 100 * (0.05 * 0.95 / TRIALS) ** 0.5
COUNTS = (6, 8, 10, 15, 20, 30, 50)

Draw = Callable[[np.random.Generator, int], np.ndarray]


def _normal(draw: np.random.Generator, count: int) -> np.ndarray:
    return 100 * (1 + 0.1 * draw.normal(size=count))


def _lognormal(draw: np.random.Generator, count: int) -> np.ndarray:
    return 100 * np.exp(0.5 * draw.normal(size=count))


def _bimodal(draw: np.random.Generator, count: int) -> np.ndarray:
    slower = np.where(draw.random(count) < 0.2, 75.0, 100.0)
    return slower * (1 + 0.03 * draw.normal(size=count))


KINDS: Mapping[str, Draw] = {"normal": _normal, "lognormal": _lognormal, "bimodal": _bimodal}


def coverage(draw: np.random.Generator, kind: Draw, count: int) -> tuple[float, float]:
    """In how many percent of trials (median's, mean's) interval holds the truth."""
    sample = kind(np.random.default_rng(SEED), 2_000_000)
    middle, mean = float(np.median(sample)), float(np.mean(sample))
    of_median = of_mean = 0
    for _ in range(TRIALS):
        values = kind(draw, count).tolist()
        ranks, student = median_interval(values), interval(values)
        assert ranks is not None
        assert student is not None
        of_median += ranks.low <= middle <= ranks.high
        of_mean += student.low <= mean <= student.high
    return 100 * of_median / TRIALS, 100 * of_mean / TRIALS


def main() -> int:
    draw, is_kept = np.random.default_rng(SEED), True
    print(f"{TRIALS} trials each; in percent of them the interval holds the truth")
    for name, kind in KINDS.items():
        for count in COUNTS:
            of_median, of_mean = coverage(draw, kind, count)
            is_kept = is_kept and of_median >= LEVEL_PERCENT - CHANCE_PERCENT
            print(
                f"{name}, {count} repeats: median {of_median:.1f}, mean {of_mean:.1f}", flush=True
            )
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
