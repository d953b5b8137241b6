"""Whether explanations keep what they promise: `.venv/bin/python -m benchmarks.explanations`.

``simulate`` (no root): contenders that do not differ, and ones that differ in one cost by a known
factor, with noise of each run and drift of each block, log-normal. Promised: anything is said to
differ where nothing does in at most 5% of trials, paired and unpaired; two standard errors more are
chance (1.4% of 1,000 trials). Printed too: how often the cost that differs is called so, and is
first.

``seeded [CAUSE ...]`` (root, fio, a loop device on a file): real runs of pairs that differ in one
known thing, ``--tries`` times each: in how many tries is what it must change first? Promised: 9 of
10. ``--keep FILE`` keeps them, and ``again --keep FILE`` ranks them again with today's rules.
Sources of what each must change: docs/method.md.
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

from benchmarks.seeded_causes import SEEDS, Try, tried
from fsbench_web.core.activity.costs import COSTS
from fsbench_web.core.activity.waits import WAITS
from fsbench_web.core.explanation import RunCosts, explained
from fsbench_web.core.setup_effects import SetupDifference

SEED = 20_261_122
TRIALS = 1000
LEVEL_PERCENT = 5.0
CHANCE_PERCENT = 2 * 100 * (0.05 * 0.95 / TRIALS) ** 0.5
"""Two standard errors of a share of so many trials that is 5%."""


def drawn(
    draw: np.random.Generator, count: int, factor: Mapping[str, float], noise: float, drift: float
) -> tuple[list[RunCosts], list[RunCosts]]:
    """Runs of two contenders in blocks; the first has ``factor`` of what the second has."""
    names = [*COSTS, *WAITS]
    truth = {name: 30.0 * (COSTS | WAITS)[name].floor for name in names}
    both: tuple[list[RunCosts], list[RunCosts]] = ([], [])
    for block in range(count):
        moved = {name: drift * draw.normal() for name in names}
        for side, times in ((0, factor), (1, {})):
            values = {
                name: truth[name]
                * times.get(name, 1.0)
                * float(np.exp(moved[name] + noise * draw.normal()))
                for name in names
            }
            both[side].append(RunCosts(str(block), values))
    return both


def without_blocks(runs: list[RunCosts]) -> list[RunCosts]:
    return [RunCosts("", run.values) for run in runs]


def simulate() -> bool:
    draw, is_kept = np.random.default_rng(SEED), True
    print(f"{TRIALS} trials each; in percent of them")
    journal = [SetupDifference("option.journal_mode", "journal_mode", "journal", "ordered")]
    for count in (3, 5, 10):
        for how in ("blocks", "runs", "blocks, set up differently"):
            for factor in ({}, {"write_amplification": 1.5}, {"write_amplification": 3.0}):
                said = first = 0
                for _ in range(TRIALS):
                    one, other = drawn(draw, count, factor, 0.08, 0.1)
                    if how == "runs":
                        one, other = without_blocks(one), without_blocks(other)
                    found = explained(one, other, journal if "set up" in how else ())
                    said += bool(found.differing)
                    first += found.first is not None and found.first.cost.test in factor
                if factor:
                    print(
                        f"{count:>3} {how}: write amplification × {factor['write_amplification']:g}"
                        f" is first and sure in {100 * first / TRIALS:.1f}"
                    )
                else:
                    rate = 100 * said / TRIALS
                    is_kept = is_kept and rate <= LEVEL_PERCENT + CHANCE_PERCENT
                    print(f"{count:>3} {how}: anything differs where nothing does in {rate:.1f}")
    return is_kept


def judged(one: Try, is_set_up: bool) -> tuple[bool, list[tuple[str, float, float]]]:
    """Whether what the cause must change is first; what surely differs, as it is ranked."""
    differing = explained(*one.sides(), SEEDS[one.cause].setups if is_set_up else ()).differing
    is_first = bool(differing) and differing[0].cost.test in SEEDS[one.cause].expected
    return is_first, [(e.cost.test, round(e.ratio, 2), round(e.surely, 2)) for e in differing[:4]]


def summed_up(tries: Iterable[Try]) -> bool:
    """Print each try and the sum of each cause; whether it is first in 9 of 10 of all."""
    hits: dict[str, list[bool]] = {}
    alone: dict[str, int] = {}
    for one in tries:
        is_first, said = judged(one, is_set_up=True)
        hits.setdefault(one.cause, []).append(is_first)
        alone[one.cause] = alone.get(one.cause, 0) + judged(one, is_set_up=False)[0]
        print(
            f"  {one.cause}: {'first' if is_first else 'NOT FIRST'} {json.dumps(said)}", flush=True
        )
    for cause, found in hits.items():
        print(
            f"{cause}: first in {sum(found)} of {len(found)}; by its counts alone, with nothing "
            f"known of the set-up, in {alone[cause]}"
        )
    return all(sum(found) >= 0.9 * len(found) for found in hits.values())


def seeded(causes: list[str], tries: int, blocks: int, keep: Path | None) -> bool:
    """Real runs now, kept in a file where that is asked for."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    import django

    django.setup()

    def carried_out() -> Iterator[Try]:
        with tempfile.TemporaryDirectory(prefix="fsbench-seeded-") as folder:
            for _ in range(tries):
                for cause in causes or SEEDS:
                    one = tried(cause, Path(folder), blocks)
                    if keep is not None:
                        with keep.open("a", encoding="ascii") as file:
                            file.write(f"{one.as_line()}\n")
                    yield one

    return summed_up(carried_out())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "what", choices=("simulate", "seeded", "again"), nargs="?", default="simulate"
    )
    parser.add_argument("causes", nargs="*", metavar="CAUSE")
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="a file that recordings are added to, or read of")
    given: Any = parser.parse_intermixed_args()
    logging.disable(logging.INFO)
    if given.what == "simulate":
        return 0 if simulate() else 1
    if given.what == "again":
        with given.keep.open(encoding="ascii") as file:
            return 0 if summed_up(Try.of(line) for line in file) else 1
    return 0 if seeded(given.causes, given.tries, given.blocks, given.keep) else 1


if __name__ == "__main__":
    sys.exit(main())
