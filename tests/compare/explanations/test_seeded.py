"""Causes that were seeded in real runs come first: recorded runs of a loop device, kept small.

Made by ``benchmarks.simulations.explanations seeded --keep``: one try of each cause, five blocks,
with the samples at the ends of the benchmark's commands alone.
"""

from pathlib import Path

import pytest

from benchmarks.simulations.seeded_causes import SEEDS, Try
from fsbench_web.compare.explanations import words
from fsbench_web.core.explanation import RunCosts, explained
from fsbench_web.core.setup_effects import SetupDifference

TRIES = [
    Try.of(line)
    for line in Path(__file__).with_name("seeded.jsonl").read_text(encoding="ascii").splitlines()
]
SIX = {"sync", "barrier off", "compression", "small journal", "scheduler", "throttled reads"}


def test_each_cause_has_a_recording() -> None:
    assert {attempt.cause for attempt in TRIES} == SIX
    assert {len(attempt.blocks) for attempt in TRIES} == {5}


@pytest.mark.parametrize("is_set_up", [True, False], ids=["recorded set-up", "counts alone"])
@pytest.mark.parametrize("attempt", TRIES, ids=lambda attempt: attempt.cause)
def test_what_a_cause_must_change_is_first(attempt: Try, is_set_up: bool) -> None:
    seed = SEEDS[attempt.cause]
    explanation = explained(*attempt.sides(), seed.setups if is_set_up else ())
    assert explanation.first is not None
    assert explanation.first.cost.test in seed.expected
    if is_set_up and seed.setups:
        assert explanation.first.fits == (seed.setups[0].label,)
        assert "Set up differently: " in words.sentence("a", "b", 40.0, explanation)


@pytest.mark.parametrize("attempt", TRIES, ids=lambda attempt: attempt.cause)
def test_a_contender_against_itself_has_no_cause(attempt: Try) -> None:
    """Whatever its set-up is said to be: the same runs in the same blocks."""
    for side in attempt.sides():
        assert explained(side, side, SEEDS[attempt.cause].setups).differing == []


def test_what_nobody_recorded_is_told_by_its_counts() -> None:
    """A limit that something outside of fsbench set: the device idles while the run waits."""
    (attempt,) = (attempt for attempt in TRIES if attempt.cause == "throttled reads")
    sentence = words.sentence("a", "b", 60.0, explained(*attempt.sides()))
    assert sentence.startswith("a is 60% slower than b: it waited for I/O with an idle device ")
    assert "% of the time (the other 0%)" in sentence
    assert "Set up differently" not in sentence


def test_a_recorded_difference_that_changed_nothing_is_no_cause() -> None:
    values = {"merged_share": 20.0, "process_cpu_seconds_per_gib": 2.0}
    runs = [RunCosts(str(n), {k: v * (1 + 0.01 * n) for k, v in values.items()}) for n in range(5)]
    setup = SetupDifference("scheduler", "I/O scheduler", "bfq", "none")
    explanation = explained(runs, runs, [setup])
    assert explanation.differing == []
    assert words.setup_sentence(explanation) == ""
