"""The best of many: who is measured next, who is out and what may be said at the end."""

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from fsbench_web.core.scoring import racing
from fsbench_web.core.scoring.paired import EQUIVALENT, FASTER, INCONCLUSIVE
from fsbench_web.core.scoring.racing import CONFIRMING, ENDED, HALVING, Race, race

Block = Mapping[str, float]
SIX = {"a": 100.0, "b": 90.0, "c": 80.0, "d": 99.0, "e": 70.0, "f": 60.0}


def steady(truth: Mapping[str, float], noise: float, seed: int) -> Callable[[Race], Block]:
    """Measures a block of a race: its own drift of 8%, and noise for each run."""
    draw = np.random.default_rng(seed)

    def measure(standing: Race) -> Block:
        drift = draw.normal() * 0.08
        return {
            name: truth[name] * math.exp(drift + draw.normal() * noise) for name in standing.measure
        }

    return measure


def run_to_its_end(
    truth: Mapping[str, float], runs: int, noise: float, seed: int = 1, margin_percent: float = 2
) -> tuple[list[Block], Race]:
    measure = steady(truth, noise, seed)
    blocks: list[Block] = []
    while (standing := race(list(truth), blocks, runs, margin_percent=margin_percent)).measure:
        blocks.append(measure(standing))
    return blocks, standing


def test_it_halves_and_then_measures_two_in_fresh_blocks() -> None:
    blocks, ended = run_to_its_end(SIX, 80, noise=0.03)
    sizes = [len(block) for block in blocks]
    assert sizes[0] == 6
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 2
    assert ended.phase == ENDED
    assert set(ended.out) | {"a", "d"} == set(SIX)
    assert {one.why for one in ended.out.values()} <= {racing.BEHIND, racing.SLOWER_HALF}
    assert all(0 < one.ratio < 1 for one in ended.out.values())
    assert sum(sizes) == ended.spent <= 80


def test_after_each_block_it_is_told_the_same_by_whoever_asks_anew() -> None:
    """A worker that was killed and started again knows nothing but the blocks."""
    blocks, ended = run_to_its_end(SIX, 80, noise=0.03)
    for count, block in enumerate(blocks):
        assert set(race(list(SIX), blocks[:count], 80).measure) == set(block)
    assert race(list(SIX), blocks, 80) == ended


def test_what_is_clear_ends_early_and_says_what_it_saved() -> None:
    _, ended = run_to_its_end({"ext4": 100.0, "journal": 50.0}, 60, noise=0.02)
    assert ended.status == FASTER
    assert ended.leader == "ext4"
    assert ended.ratio == pytest.approx(2, rel=0.05)
    assert ended.low is not None
    assert ended.low > 1.8
    assert ended.probability > 0.99
    assert ended.spent < 20


def test_two_that_are_alike_are_equivalent_within_the_margin() -> None:
    _, ended = run_to_its_end({"a": 100.0, "b": 100.0}, 60, noise=0.005)
    assert ended.status == EQUIVALENT
    assert ended.low is not None
    assert ended.high is not None
    assert 1 / 1.02 < ended.low < 1 < ended.high < 1.02
    assert ended.spent < 60


def test_what_is_not_known_when_the_runs_are_over_is_called_so() -> None:
    _, ended = run_to_its_end({"a": 100.0, "b": 98.0}, 20, noise=0.1)
    assert ended.status == INCONCLUSIVE
    assert ended.spent == 20
    assert 0.5 <= ended.probability < 1


def test_who_is_far_behind_is_out_before_the_round_ends() -> None:
    truth = {f"c{number}": 100.0 for number in range(8)} | {"slow": 20.0}
    _, ended = run_to_its_end(truth, 400, noise=0.02)
    assert ended.out["slow"].why == racing.BEHIND
    assert ended.out["slow"].blocks < 12
    assert ended.out["slow"].ratio == pytest.approx(0.2, rel=0.1)


def test_a_race_of_two_has_no_rounds() -> None:
    assert race(["a", "b"], [], 20).phase == CONFIRMING
    assert race(["a", "b", "c"], [], 20).phase == HALVING


@pytest.mark.parametrize(
    ("contenders", "runs"), [([], 50), (["a"], 50), (["a", "a"], 50), (["a", "b", "c"], 8)]
)
def test_what_is_no_race_is_refused(contenders: list[str], runs: int) -> None:
    with pytest.raises(ValueError, match="a race is of"):
        race(contenders, [], runs)


def test_a_block_of_others_is_refused() -> None:
    with pytest.raises(ValueError, match="not of those"):
        race(["a", "b", "c"], [{"a": 1.0, "b": 1.0}], 40)


def test_nothing_is_said_of_fewer_than_three_blocks() -> None:
    assert racing.interval([0.1, 0.1]) == (-math.inf, math.inf)
    low, high = racing.interval([0.1, 0.11, 0.09, 0.1, 0.1, 0.1])
    assert low < 0.1 < high
