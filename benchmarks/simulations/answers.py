"""Whether the answer over several tests keeps what it promises.

    .venv/bin/python -m benchmarks.simulations.answers

Simulated studies with a fixed seed. Tests of one run share a part of its noise (correlation), all
entries of a block share its drift. Exits with 1 where a promise is not kept.
"""

import sys
from collections.abc import Mapping
from math import log
from statistics import fmean

import numpy as np

from fsbench_web.core.stats.answers import (
    FASTER,
    Answer,
    ComparedTest,
    Repeats,
    answer,
    ratio_over_tests,
)
from fsbench_web.core.stats.verdicts import TIED, Family, decided, pairs_of

SEED = 20_261_128
TRIALS = 2000


def study(
    draw: np.random.Generator,
    truth: Mapping[str, list[float]],
    blocks: int,
    *,
    noise: float = 0.05,
    correlation: float = 0.7,
    drift: float = 0.1,
    is_paired: bool = True,
) -> list[ComparedTest]:
    """One study: ``truth`` are true speeds by entry and test; noise and drift are deviations of
    the logarithm.
    """
    tests = len(next(iter(truth.values())))
    common = draw.normal(size=(blocks, 1)) * drift
    measured = {}
    for entry, speeds in truth.items():
        shared = draw.normal(size=(blocks, 1)) * np.sqrt(correlation)
        own = draw.normal(size=(blocks, tests)) * np.sqrt(1 - correlation)
        if not is_paired:
            common = draw.normal(size=(blocks, 1)) * drift
        measured[entry] = 1000 * np.exp(np.log(speeds) + common + noise * (shared + own))
    return judged_together(
        [
            result_of(
                f"test{test}",
                {entry: values[:, test].tolist() for entry, values in measured.items()},
                is_paired=is_paired,
            )
            for test in range(tests)
        ]
    )


def result_of(test: str, values: Mapping[str, list[float]], *, is_paired: bool) -> ComparedTest:
    """A test as it was measured."""
    repeats = {
        entry: Repeats(
            fmean(found),
            tuple((str(place) if is_paired else "", value) for place, value in enumerate(found)),
        )
        for entry, found in values.items()
    }
    best = max(repeats, key=lambda entry: repeats[entry].score)
    return ComparedTest(test, False, repeats, best)


def judged_together(results: list[ComparedTest]) -> list[ComparedTest]:
    """The tests with whom the best beats, as the delta tables of one page have it."""
    verdicts = {
        (place, entry): verdict
        for place, result in enumerate(results)
        for entry in result.entries
        if result.best not in ("", entry)
        for verdict in [ratio_over_tests([result], result.best, entry)]
        if verdict is not None
    }
    shown = Family(
        (verdict.candidate_p for verdict in verdicts.values()),
        sum(pairs_of(len(result.entries)) for result in results),
    )
    judged = {
        key: decided(verdict, shown.q_value(verdict.p_value or 0.0))
        for key, verdict in verdicts.items()
    }
    return [
        result._replace(
            beaten={
                entry
                for (of_test, entry), verdict in judged.items()
                if of_test == place and verdict.direction == FASTER
            }
        )
        for place, result in enumerate(results)
    ]


def answers_of(
    truth: Mapping[str, list[float]], blocks: int, trials: int, seed: int = SEED, **options: object
) -> list[Answer]:
    """The answers of so many simulated studies."""
    draw = np.random.default_rng(seed)
    found = [answer(study(draw, truth, blocks, **options)) for _ in range(trials)]  # type: ignore[arg-type]
    return [one for one in found if one is not None]


def covered(answers: list[Answer], truth: Mapping[str, list[float]]) -> float:
    """In what percent of the answers the interval of "a" over "b" holds the true ratio."""
    true = float(np.mean(np.log(truth["a"])) - np.mean(np.log(truth["b"])))
    inside = 0
    for found in answers:
        assert found.verdict is not None
        sign = 1 if found.first == "a" else -1
        inside += log(found.ratio_low or 1.0) <= sign * true <= log(found.ratio_high or 1.0)
    return 100 * inside / len(answers)


def leaders(answers: list[Answer]) -> float:
    """In what percent of the answers a leader is named."""
    return 100 * sum(found.leader is not None for found in answers) / len(answers)


def tied(answers: list[Answer]) -> float:
    """In what percent of the answers the first two are called effectively tied."""
    return 100 * sum(found.outlook == TIED for found in answers) / len(answers)


def main() -> int:
    failed = False

    def check(text: str, value: float, low: float, high: float) -> None:
        nonlocal failed
        is_kept = low <= value <= high
        failed = failed or not is_kept
        print(f"{text:<78} {value:5.1f}%  {'kept' if is_kept else 'NOT KEPT'}")

    for correlation in (0.0, 0.5, 0.9):
        for tests in (1, 6, 20):
            truth = {"a": [1.1] * tests, "b": [1.0] * tests}
            for is_paired in (True, False):
                found = answers_of(truth, 5, TRIALS, correlation=correlation, is_paired=is_paired)
                kind = "paired" if is_paired else "unpaired"
                check(
                    f"coverage, {kind}, {tests} tests, correlation {correlation}",
                    covered(found, truth),
                    93.5,
                    97.5,
                )
    for noise in (0.02, 0.1, 0.2, 0.4):
        for blocks in (3, 5, 10):
            truth = {"a": [1.1] * 6, "b": [1.0] * 6}
            found = answers_of(truth, blocks, TRIALS, noise=noise)
            name = f"coverage, 6 tests, {blocks} blocks, noise {noise:.0%}"
            check(name, covered(found, truth), 93.5 if noise <= 0.2 else 92.5, 97.5)
    for entries in (2, 3, 5, 10):
        for is_paired in (True, False):
            truth = {chr(97 + place): [1.0] * 6 for place in range(entries)}
            found = answers_of(truth, 5, TRIALS, is_paired=is_paired)
            kind = "paired" if is_paired else "unpaired"
            check(f"a leader of {entries} equal entries, {kind}", leaders(found), 0.0, 5.0)
    truth = {"a": [1.05] * 6, "b": [1.0] * 6}
    found = answers_of(truth, 5, TRIALS, noise=0.01)
    check("a real 5% with noise of 1% in 5 blocks is named", leaders(found), 90.0, 100.0)
    for noise in (0.02, 0.05, 0.1, 0.4):
        for blocks in (3, 10, 40):
            found = answers_of({"a": [1.11], "b": [1.0]}, blocks, TRIALS, noise=noise)
            name = f"a real 11% is called a tie, {blocks} blocks, noise {noise:.0%}"
            check(name, tied(found), 0.0, 2.5)
    found = answers_of({"a": [1.0], "b": [1.0]}, 3, TRIALS, noise=0.4)
    check("three blocks with noise of 40% are called a tie", tied(found), 0.0, 1.0)
    mixed = {"a": [1.3, 1.3, 1.3, 0.8, 0.8], "b": [1.0] * 5}
    found = answers_of(mixed, 5, TRIALS, noise=0.02)
    wrong = 100 * sum(one.status == FASTER for one in found) / len(found)
    check("a leader is named where it depends on the test", wrong, 0.0, 1.0)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
