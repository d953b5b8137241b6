"""Causes that were seeded in real runs come first: recorded runs of a loop device, kept small.

Made by ``benchmarks.simulations.explanations seeded --keep``: one try of each cause, five blocks,
with the samples at the ends of the benchmark's commands alone.
"""

from pathlib import Path

import pytest

from benchmarks.simulations.seeded_causes import SEEDS, Try
from fsbench_web.core.explanation import explained

TRIES = [
    Try.of(line)
    for line in Path(__file__).with_name("seeded.jsonl").read_text(encoding="ascii").splitlines()
]
SIX = {"sync", "barrier off", "compression", "small journal", "scheduler", "throttled reads"}


def test_each_cause_has_a_recording() -> None:
    assert {attempt.cause for attempt in TRIES} == SIX
    assert {len(attempt.blocks) for attempt in TRIES} == {5}


@pytest.mark.parametrize("attempt", TRIES, ids=lambda attempt: attempt.cause)
def test_what_a_cause_must_change_is_first(attempt: Try) -> None:
    first = explained(*attempt.sides()).differing[0]
    assert first.cost.test in SEEDS[attempt.cause].expected


@pytest.mark.parametrize("attempt", TRIES, ids=lambda attempt: attempt.cause)
def test_a_contender_against_itself_has_no_cause(attempt: Try) -> None:
    for side in attempt.sides():
        assert explained(side, side).differing == []
