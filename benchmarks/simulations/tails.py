"""Whether intervals of percentiles hold what they promise.

    .venv/bin/python -m benchmarks.simulations.tails

Latencies have a long tail (log-normal, one of 200 stalled twenty times as long), with a fixed seed.
For independent requests order statistics must hold the true percentile in 95%, less two. Printed
for comparison: stalls in runs of requests, and Student's interval of five repeats.
"""

import sys

import numpy as np

from fsbench_web.core.latency import Distribution, distribution
from fsbench_web.core.stats.intervals import interval

SEED = 20_261_122
TRIALS = 600
LEVEL_PERCENT = 93.0
REQUESTS = 20_000
PERCENTS = ("50", "90", "99", "99.9")
STALLS, STALLED = 0.005, 20.0


def draw_latencies(draw: np.random.Generator, run_length: int) -> np.ndarray:
    """Nanoseconds; stalls hit ``run_length`` requests in a row."""
    latencies = 100_000 * np.exp(0.3 * draw.normal(size=REQUESTS))
    starts = draw.random(REQUESTS) < STALLS / run_length
    stalled = np.convolve(starts, np.ones(run_length), mode="full")[:REQUESTS] > 0
    return np.where(stalled, latencies * STALLED, latencies).astype(np.int64)


def histogram_of(values: np.ndarray) -> Distribution:
    numbers, counts = np.unique(values, return_counts=True)
    histogram = distribution("clat", "", "ns", zip(numbers.tolist(), counts.tolist(), strict=True))
    assert histogram is not None
    return histogram


def main() -> int:
    draw, is_kept = np.random.default_rng(SEED), True
    for run_length, words in ((1, "independent requests"), (200, "stalls of 200 requests")):
        # The truth is that of 300 other runs as one.
        sample = np.concatenate([draw_latencies(draw, run_length) for _ in range(300)])
        truth = {percent: float(np.quantile(sample, float(percent) / 100)) for percent in PERCENTS}
        held = dict.fromkeys(PERCENTS, 0)
        of_repeats = dict.fromkeys(PERCENTS, 0)
        for trial in range(TRIALS):
            run = histogram_of(draw_latencies(draw, run_length))
            for percent in PERCENTS:
                ends = run.interval(percent)
                held[percent] += ends is not None and ends[0] <= truth[percent] <= ends[1]
            if trial % 5 == 0:
                runs = [histogram_of(draw_latencies(draw, run_length)) for _ in range(5)]
                for percent in PERCENTS:
                    sure = interval([float(run.percentile(percent)) for run in runs])
                    assert sure is not None
                    of_repeats[percent] += abs(sure.mean - truth[percent]) <= sure.half_width
        for percent in PERCENTS:
            rate, repeats = 100 * held[percent] / TRIALS, 100 * of_repeats[percent] / (TRIALS / 5)
            if run_length == 1:
                is_kept = is_kept and rate >= LEVEL_PERCENT
            print(
                f"{words}, p{percent}: order statistics hold the truth in {rate:.1f}%, five "
                f"repeats in {repeats:.1f}%",
                flush=True,
            )
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
