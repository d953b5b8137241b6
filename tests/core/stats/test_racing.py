"""The best of many: who is measured next, who is out and what may be said at the end."""

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from fsbench_web.core.stats import racing
from fsbench_web.core.stats.racing import CONFIRMING, ENDED, HALVING, Race, race
from fsbench_web.core.stats.verdicts import EQUIVALENT, FASTER, INCONCLUSIVE

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
    assert set(ended.eliminated) | {"a", "d"} == set(SIX)
    assert {elimination.why for elimination in ended.eliminated.values()} <= {
        racing.BEHIND,
        racing.SLOWER_HALF,
    }
    assert all(0 < elimination.ratio < 1 for elimination in ended.eliminated.values())
    assert sum(sizes) == ended.spent <= 80


def test_after_each_block_it_is_told_the_same_by_whoever_asks_anew() -> None:
    """A worker that was killed and started again knows nothing but the blocks."""
    blocks, ended = run_to_its_end(SIX, 80, noise=0.03)
    for count, block in enumerate(blocks):
        assert set(race(list(SIX), blocks[:count], 80).measure) == set(block)
    assert race(list(SIX), blocks, 80) == ended


def test_what_is_clear_ends_early_and_says_what_it_saved() -> None:
    blocks, ended = run_to_its_end({"ext4": 100.0, "journal": 50.0}, 60, noise=0.02)
    assert ended.status == FASTER
    assert ended.leader == "ext4"
    assert ended.ratio == pytest.approx(2, rel=0.05)
    assert ended.low is not None
    assert ended.low > 1.8
    assert racing.probability(ended.leader, ended.remaining, blocks) > 0.99
    assert ended.spent < 20


def test_two_that_are_alike_are_equivalent_within_the_margin() -> None:
    _, ended = run_to_its_end({"a": 100.0, "b": 100.0}, 60, noise=0.005)
    assert ended.status == EQUIVALENT
    assert ended.low is not None
    assert ended.high is not None
    assert 1 / 1.02 < ended.low < 1 < ended.high < 1.02
    assert ended.spent < 60


def test_what_is_not_known_when_the_runs_are_over_is_called_so() -> None:
    blocks, ended = run_to_its_end({"a": 100.0, "b": 98.0}, 20, noise=0.1)
    assert ended.status == INCONCLUSIVE
    assert ended.spent == 20
    assert 0.5 <= racing.probability(ended.leader, ended.remaining, blocks) < 1


def test_who_is_far_behind_is_out_before_the_round_ends() -> None:
    truth = {f"c{number}": 100.0 for number in range(8)} | {"slow": 20.0}
    _, ended = run_to_its_end(truth, 400, noise=0.02)
    assert ended.eliminated["slow"].why == racing.BEHIND
    assert ended.eliminated["slow"].blocks < 12
    assert ended.eliminated["slow"].ratio == pytest.approx(0.2, rel=0.1)


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


def test_no_block_begins_that_the_budget_would_not_hold() -> None:
    """Seconds: a block of the three takes 60, one of the finalists 50."""
    costs = {"a": 20.0, "b": 30.0, "slow": 10.0}
    truth = {"a": 100.0, "b": 99.0, "slow": 50.0}
    measure = steady(truth, 0.05, 3)
    blocks: list[Block] = []
    block_costs: list[Block] = []
    while (standing := race(list(truth), blocks, 300, costs=block_costs)).measure:
        blocks.append(measure(standing))
        block_costs.append({name: costs[name] for name in standing.measure})
    assert [len(block) for block in blocks] == [3, 3, 3, 3, 2]
    assert standing.spent == 290
    assert standing.status == INCONCLUSIVE
    assert standing.fresh == 1


def test_who_fails_is_out_and_the_race_goes_on() -> None:
    blocks = [{"b": 100.0, "c": 90.0}]
    standing = race(["a", "b", "c"], blocks, 40, failed={"a": 0})
    assert standing.eliminated["a"] == racing.Elimination(racing.FAILED, 0, None)
    assert standing.remaining == ("b", "c")
    assert standing.leader == "b"
    alone = race(["a", "b", "c"], blocks, 40, failed={"a": 0, "c": 1})
    assert (alone.phase, alone.leader, alone.measure) == (ENDED, "b", ())
    nobody = race(["a", "b"], [], 40, failed={"a": 0, "b": 0})
    assert (nobody.phase, nobody.leader) == (ENDED, "")


def test_the_most_runs_end_it_whatever_its_hours_hold() -> None:
    blocks = [{"a": 100.0, "b": 99.0}] * 3
    costs = [{"a": 1.0, "b": 1.0}] * 3
    assert race(["a", "b"], blocks, 1e6, costs=costs, most_runs=7).phase == ENDED
    assert race(["a", "b"], blocks, 1e6, costs=costs, most_runs=8).phase == CONFIRMING


def test_of_several_that_are_behind_the_slowest_is_out_first() -> None:
    truth = {"fast": 100.0, "middle": 50.0, "slow": 20.0}
    _, ended = run_to_its_end(truth, 200, noise=0.01)
    assert set(ended.eliminated) == {"slow"}


def test_places_are_ratios_to_the_leader_in_shared_blocks() -> None:
    blocks = [{"a": 100.0, "b": 50.0, "c": 10.0}, {"a": 110.0, "b": 55.0}]
    places = racing.places("a", ["a", "b", "c"], blocks)
    assert places["a"] == racing.RacePlace(2)
    assert places["b"].ratio == pytest.approx(0.5)
    assert places["b"].low == 0.0
    assert places["b"].high == math.inf
    assert places["c"].blocks == 1
    assert racing.places("a", ["a", "d"], blocks)["d"] == racing.RacePlace(0)


def test_as_many_more_blocks_as_are_said_decide_it() -> None:
    blocks, ended = run_to_its_end({"a": 100.0, "b": 96.0}, 20, noise=0.03, seed=4)
    assert ended.status == INCONCLUSIVE
    ratios = [math.log(block["a"] / block["b"]) for block in blocks]
    more = racing.more_blocks(ratios, math.log(1.02))
    assert more == ended.more_blocks is not None
    centre, deviation = np.mean(ratios), np.std(ratios, ddof=1)
    draw = np.random.default_rng(17)

    def decided(count: int) -> float:
        """The share of series of so many blocks, as different and as scattered, that are known."""
        lows = [
            racing.interval((centre + deviation * draw.normal(size=count)).tolist())[0]
            for _ in range(400)
        ]
        return float(np.mean(np.array(lows) > 0))

    assert 0.74 < decided(len(ratios) + more) < 0.9
    assert decided(len(ratios) + more // 2) < 0.74


def test_how_many_more_is_not_said_of_too_little_or_too_much() -> None:
    margin = math.log(1.02)
    assert racing.more_blocks([0.1, 0.2], margin) is None
    # Neither different nor within the margin: right at it, with a scatter.
    assert racing.more_blocks([margin - 0.5, margin, margin + 0.5], margin) is None
    assert racing.more_blocks([-0.001, 0.0, 0.001], margin) is not None  # equivalent before long
    assert racing.more_blocks([0.1, 0.1, 0.1], margin) == 2  # no interval is of fewer than five
