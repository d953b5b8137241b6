"""Whether intervals of work profiles hold what they say: `python -m benchmarks.work_profiles`.

A contender's cells have known speeds, with a fixed seed. Each run drifts as a whole and each cell
has noise, in percent. The interval has to hold the mean of a repeat. For comparison, another takes
cells as independent, which a drift makes far too narrow. Exits with 1 where a promise is broken.
"""

import sys
from math import exp, sqrt

import numpy as np
from scipy.special import stdtrit

from fsbench_web.core.scoring.profiles.combining import Combined, combined
from fsbench_web.core.scoring.profiles.definition import Profile
from fsbench_web.core.scoring.profiles.presets import LATEST
from fsbench_web.core.stats.intervals import mean
from fsbench_web.core.stats.verdicts import SIGNIFICANT, Repeats, compared

SEED = 20_261_122
TRIALS = 2000
RUNS = (3, 5, 10)
CHANCE = 1.5
"""Percent by which a share of TRIALS may miss its promise by chance: three deviations."""


def draw_speeds(
    draw: np.random.Generator,
    cells: int,
    runs: int,
    drift: float,
    noise: float,
    *,
    skewed: bool,
    jobs: int = 1,
) -> np.ndarray:
    """Speeds, cells by runs; the truth of each cell is its place, from 100 on. Cells of several
    jobs, in turn, have a drift of their own: their runs have nothing in common but their place.
    """
    scatter = (
        1 - draw.exponential(size=(cells, runs)) if skewed else draw.normal(size=(cells, runs))
    )
    drifts = draw.normal(size=(jobs, runs))[np.arange(cells) % jobs]
    logarithms = drifts * drift / 100 + scatter * noise / 100
    truth = 100.0 * (1 + np.arange(cells))[:, None]
    speeds: np.ndarray = truth * np.exp(logarithms)
    return speeds


def score_repeats(profile: Profile, speeds: np.ndarray) -> Combined:
    values = {
        demand: {str(run): float(value) for run, value in enumerate(row)}
        for demand, row in zip(profile.demands, speeds, strict=True)
    }
    return combined(profile, values, dict.fromkeys(profile.tests, False))


def expected_score(
    profile: Profile, drift: float, noise: float, *, skewed: bool, jobs: int = 1
) -> float:
    """What a repeat comes to in the mean, from very many."""
    draw = np.random.default_rng(SEED + 1)
    speeds = draw_speeds(
        draw, len(profile.demands), 200_000, drift, noise, skewed=skewed, jobs=jobs
    )
    shares = np.array(list(profile.shares.values()))[:, None]
    if profile.together == "ratio":
        return float(np.mean(np.exp((shares * np.log(speeds)).sum(axis=0))))
    return float(np.mean(1 / (shares / speeds).sum(axis=0)))


def of_cells(profile: Profile, speeds: np.ndarray) -> tuple[float, float]:
    """The interval of a ratio that takes the cells for independent of each other."""
    runs = speeds.shape[1]
    shares = np.array(list(profile.shares.values()))
    logarithms = np.log(speeds)
    error = sqrt(float((shares**2 * logarithms.var(axis=1, ddof=1) / runs).sum()))
    centre = float((shares * logarithms.mean(axis=1)).sum())
    half = float(stdtrit(runs - 1, 0.975)) * error
    return exp(centre - half), exp(centre + half)


def coverage(
    slug: str, drift: float, noise: float, runs: int, *, skewed: bool, jobs: int = 1
) -> float:
    """In how many of 100 simulations the interval holds what it has to."""
    profile, draw = LATEST[slug], np.random.default_rng(SEED)
    goal = expected_score(profile, drift, noise, skewed=skewed, jobs=jobs)
    held = 0
    for _ in range(TRIALS):
        speeds = draw_speeds(
            draw, len(profile.demands), runs, drift, noise, skewed=skewed, jobs=jobs
        )
        interval = score_repeats(profile, speeds).interval
        assert interval is not None
        held += interval.low <= goal <= interval.high
    return 100 * held / TRIALS


def coverage_of_cells(slug: str, drift: float, noise: float, runs: int) -> float:
    """The same of the interval that takes cells for independent."""
    profile, draw = LATEST[slug], np.random.default_rng(SEED)
    goal = expected_score(profile, drift, noise, skewed=False)
    held = 0
    for _ in range(TRIALS):
        speeds = draw_speeds(draw, len(profile.demands), runs, drift, noise, skewed=False)
        low, high = of_cells(profile, speeds)
        held += low <= goal <= high
    return 100 * held / TRIALS


def false_alarms(slug: str, drift: float, noise: float, blocks: int) -> float:
    """How many of 100 verdicts of two equal contenders in shared blocks say one is faster."""
    profile, draw = LATEST[slug], np.random.default_rng(SEED)
    alarms = 0
    for _ in range(TRIALS):
        common = draw.normal(size=(1, blocks)) * drift / 100
        both = [
            score_repeats(
                profile,
                draw_speeds(draw, len(profile.demands), blocks, 0, noise, skewed=False)
                * np.exp(common),
            ).of_repeats
            for _ in range(2)
        ]
        first, second = (Repeats(mean(list(of.values())), tuple(of.items())) for of in both)
        verdict = compared(first, second, lower_is_better=False, margin_percent=0)
        assert verdict is not None
        alarms += verdict.status == SIGNIFICANT
    return 100 * alarms / TRIALS


def main() -> int:
    """Print what was found; 1 where a promise is not kept."""
    broken = 0
    print("95% intervals of the score, percent of simulations that they hold")
    print(f"{'profile':20} {'drift':>6} {'noise':>6}  " + " ".join(f"n={n:<5}" for n in RUNS))
    for slug in ("oltp", "backup"):
        for drift, noise in ((0.0, 5.0), (8.0, 5.0), (3.0, 20.0)):
            held = [coverage(slug, drift, noise, runs, skewed=False) for runs in RUNS]
            broken += any(abs(percent - 95) > CHANCE for percent in held)
            print(
                f"{slug:20} {drift:6} {noise:6}  "
                + " ".join(f"{percent:<7.1f}" for percent in held)
            )
    together = [coverage("oltp", 8.0, 5.0, runs, skewed=False, jobs=2) for runs in RUNS]
    broken += any(abs(percent - 95) > CHANCE for percent in together)
    print(
        f"{'oltp, of two jobs':20} {8.0:6} {5.0:6}  "
        + " ".join(f"{percent:<7.1f}" for percent in together)
    )
    skewed = [coverage("oltp", 0.0, 20.0, runs, skewed=True) for runs in RUNS]
    print(
        f"{'oltp, skewed noise':20} {0.0:6} {20.0:6}  "
        + " ".join(f"{percent:<7.1f}" for percent in skewed)
    )
    naive = [coverage_of_cells("oltp", 8.0, 5.0, runs) for runs in RUNS]
    print(
        f"{'oltp, by its cells':20} {8.0:6} {5.0:6}  "
        + " ".join(f"{percent:<7.1f}" for percent in naive)
    )
    broken += max(naive) > 90  # else repeats need not be scored by themselves
    alarms = [false_alarms("oltp", 8.0, 5.0, blocks) for blocks in RUNS]
    broken += max(alarms) > 5 + CHANCE
    print("false alarms of paired verdicts: " + " ".join(f"{percent:.1f}%" for percent in alarms))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
