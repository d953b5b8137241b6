"""Whether explanations keep what they promise.

    .venv/bin/python -m benchmarks.simulations.explanations

``simulate``: contenders that do not differ, or in one cost by a known factor, with log-normal noise
and drift. At most 5% of trials without a difference may find one (exact interval: Clopper and
Pearson, Biometrika 26, 1934). A one-sided exact test at 1% over all six shares decides.

``seeded [CAUSE ...]`` (root, fio, loop devices): real pairs that differ in one known thing, which
must come first in 9 of 10 ``--tries``. ``--keep FILE`` keeps them; ``again --keep FILE`` ranks them
again. Sources: docs/method.md.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are asked for

from benchmarks.simulations.seeded_causes import SEEDS, Try, run_try
from fsbench_web.core.activity.costs import COSTS, WAITS
from fsbench_web.core.explanation import RunCosts, explained
from fsbench_web.core.stats.intervals import share_interval

SEED = 20_261_122
TRIALS = 4000
OF_FACTORS = 10
"""Of so many trials one is made where something differs: nothing is promised of these."""
LEVEL = 0.05
REFUTED = 0.01
"""Over all shares together: the chance that a rule with a share of 5% is refused."""
COUNTS = (3, 5, 10)
HOW = ("blocks", "runs")


def draw_runs(
    draw: np.random.Generator, count: int, factor: Mapping[str, float], noise: float, drift: float
) -> tuple[list[RunCosts], list[RunCosts]]:
    """Runs of two contenders in blocks; the first has ``factor`` of what the second has."""
    names = [*COSTS, *WAITS]
    truth = {name: 30.0 * (COSTS | WAITS)[name].floor for name in names}
    sides: tuple[list[RunCosts], list[RunCosts]] = ([], [])
    for block in range(count):
        moved = {name: drift * draw.normal() for name in names}
        for side, times in ((0, factor), (1, {})):
            values = {
                name: truth[name]
                * times.get(name, 1.0)
                * float(np.exp(moved[name] + noise * draw.normal()))
                for name in names
            }
            sides[side].append(RunCosts(str(block), values))
    return sides


def without_blocks(runs: list[RunCosts]) -> list[RunCosts]:
    return [RunCosts("", run.values) for run in runs]


def count_hits(
    draw: np.random.Generator, count: int, design: str, factor: Mapping[str, float], trials: int
) -> tuple[int, int]:
    """In how many trials (anything differs, and what ``factor`` names is first)."""
    differing = first = 0
    for _ in range(trials):
        first_runs, second_runs = draw_runs(draw, count, factor, 0.08, 0.1)
        if design == "runs":
            first_runs, second_runs = without_blocks(first_runs), without_blocks(second_runs)
        found = explained(first_runs, second_runs).differing
        differing += bool(found)
        first += bool(found) and found[0].cost.test in factor
    return differing, first


def is_refuted(hits: int, trials: int) -> bool:
    """Whether so many would hardly come of a share of LEVEL, among all that are looked at."""
    chance = float(scipy.stats.binom.sf(hits - 1, trials, LEVEL))
    return chance < REFUTED / (len(COUNTS) * len(HOW))


def simulate(trials: int) -> bool:
    draw, is_kept = np.random.default_rng(SEED), True
    print(f"{trials} trials each; in percent of them, with the exact 95% interval of the share")
    for count in COUNTS:
        for design in HOW:
            differing, _ = count_hits(draw, count, design, {}, trials)
            is_kept = is_kept and not is_refuted(differing, trials)
            low, high = (100 * end for end in share_interval(differing, trials))
            print(
                f"{count:>3} {design}: anything differs where nothing does in "
                f"{100 * differing / trials:.2f} ({low:.2f} to {high:.2f})",
                flush=True,
            )
            few = max(1, trials // OF_FACTORS)
            for factor in (1.5, 3.0):
                _, first = count_hits(draw, count, design, {"write_amplification": factor}, few)
                print(
                    f"{count:>3} {design}: write amplification × {factor:g} is first and sure in "
                    f"{100 * first / few:.0f}",
                    flush=True,
                )
    return is_kept


def judge(attempt: Try) -> tuple[bool, list[tuple[str, float, float]]]:
    """Whether what the cause must change is first; what surely differs, as it is ranked."""
    differing = explained(*attempt.sides()).differing
    is_first = bool(differing) and differing[0].cost.test in SEEDS[attempt.cause].expected
    return is_first, [
        (e.cost.test, round(e.ratio, 2), round(e.sure_distance, 2)) for e in differing[:4]
    ]


def summarise(tries: Iterable[Try]) -> bool:
    """Print each try and the sum of each cause; whether it is first in 9 of 10 of all."""
    hits: dict[str, list[bool]] = {}
    for attempt in tries:
        is_first, causes = judge(attempt)
        hits.setdefault(attempt.cause, []).append(is_first)
        print(
            f"  {attempt.cause}: {'first' if is_first else 'NOT FIRST'} {json.dumps(causes)}",
            flush=True,
        )
    for cause, firsts in hits.items():
        print(f"{cause}: first in {sum(firsts)} of {len(firsts)}")
    return all(sum(firsts) >= 0.9 * len(firsts) for firsts in hits.values())


def run_seeded(causes: list[str], tries: int, blocks: int, keep: Path | None) -> bool:
    """Real runs now, kept in a file where that is asked for."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    import django

    django.setup()

    def carried_out() -> Iterator[Try]:
        with tempfile.TemporaryDirectory(prefix="fsbench-seeded-") as folder:
            for _ in range(tries):
                for cause in causes or SEEDS:
                    attempt = run_try(cause, Path(folder), blocks)
                    if keep is not None:
                        with keep.open("a", encoding="ascii") as file:
                            file.write(f"{attempt.as_line()}\n")
                    yield attempt

    return summarise(carried_out())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "what", choices=("simulate", "seeded", "again"), nargs="?", default="simulate"
    )
    parser.add_argument("causes", nargs="*", metavar="CAUSE")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="a file that recordings are added to, or read of")
    options: Any = parser.parse_intermixed_args()
    logging.disable(logging.INFO)
    if options.what == "simulate":
        return 0 if simulate(options.trials) else 1
    if options.what == "again":
        with options.keep.open(encoding="ascii") as file:
            return 0 if summarise(Try.of(line) for line in file) else 1
    return 0 if run_seeded(options.causes, options.tries, options.blocks, options.keep) else 1


if __name__ == "__main__":
    sys.exit(main())
