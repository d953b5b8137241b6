"""Which of many kernels in order made it slower: who is measured next, and what is claimed."""

from collections.abc import Callable
from math import exp
from random import Random

import pytest

from fsbench_web.core.stats import bisecting
from fsbench_web.core.stats.bisecting import AFTER, BEFORE, Bisection, bisection, least_runs
from fsbench_web.core.stats.racing import ENDED, Block
from fsbench_web.core.stats.verdicts import EQUIVALENT, FASTER, INCONCLUSIVE

Level = Callable[[int], float]


def names(count: int) -> list[str]:
    return [f"k{place}" for place in range(count)]


def search(
    count: int,
    level: Level,
    *,
    noise: float = 0.01,
    runs: int = 200,
    failed: tuple[str, ...] = (),
    seed: int = 1,
) -> tuple[Bisection, list[dict[str, float]]]:
    """A bisection to its end, with blocks that drift by 8%; ``failed`` never give a value."""
    draw, blocks, lost = Random(seed), list[dict[str, float]](), dict[str, int]()
    while (stands := bisection(names(count), blocks, runs, failed=lost)).measure:
        drift = draw.gauss(0, 0.08)
        block = {}
        for name in stands.measure:
            if name in failed:
                lost[name] = len(blocks)
            else:
                block[name] = exp(drift - level(int(name[1:])) + draw.gauss(0, noise))
        blocks.append(block)
    return stands, blocks


@pytest.mark.parametrize("at", [1, 4, 15])
def test_it_finds_where_speed_changed(at: int) -> None:
    outcome, blocks = search(16, lambda place: 0.1 * (place >= at))
    assert (outcome.before, outcome.after) == (f"k{at - 1}", f"k{at}")
    assert (outcome.status, outcome.is_neighbours) == (FASTER, True)
    assert outcome.low is not None
    assert outcome.high is not None
    assert outcome.low < exp(-0.1) < outcome.high < 1
    assert sum(map(len, blocks)) <= 60
    assert all(outcome.sides[f"k{place}"] == BEFORE for place in (0, at - 1))
    assert all(outcome.sides[f"k{place}"] == AFTER for place in (at, 15))


def test_what_became_faster_is_found_as_well() -> None:
    outcome, _ = search(8, lambda place: -0.05 * (place >= 3))
    assert (outcome.before, outcome.after, outcome.status) == ("k2", "k3", FASTER)
    assert outcome.ratio is not None
    assert outcome.ratio > 1.03


def test_ends_that_are_alike_end_it_without_a_halving() -> None:
    outcome, blocks = search(16, lambda place: 0.0)
    assert (outcome.phase, outcome.status, outcome.is_neighbours) == (ENDED, EQUIVALENT, False)
    assert {name for block in blocks for name in block} == {"k0", "k15"}


def test_two_kernels_are_compared_and_nothing_is_confirmed_twice() -> None:
    outcome, blocks = search(2, lambda place: 0.1 * place)
    assert (outcome.before, outcome.after, outcome.status) == ("k0", "k1", FASTER)
    assert outcome.fresh == len(blocks) < 8


def test_what_chose_the_two_does_not_count_in_what_is_said_of_them() -> None:
    outcome, blocks = search(8, lambda place: 0.1 * (place >= 3))
    tail = blocks[len(blocks) - outcome.fresh :]
    assert all(set(block) == {"k2", "k3"} for block in tail)
    assert "k2" in blocks[len(blocks) - outcome.fresh - 1]


def test_one_that_fails_is_passed_over() -> None:
    outcome, _ = search(8, lambda place: 0.1 * (place >= 5), failed=("k4",))
    assert outcome.sides["k4"] == bisecting.FAILED
    assert (outcome.before, outcome.after, outcome.status) == ("k3", "k5", FASTER)
    assert outcome.is_neighbours


@pytest.mark.parametrize("lost", ["k0", "k7"])
def test_without_an_end_there_is_nothing_to_compare(lost: str) -> None:
    outcome, blocks = search(8, lambda place: 0.1 * (place >= 5), failed=(lost,))
    assert (outcome.phase, outcome.measure, outcome.status) == (ENDED, (), INCONCLUSIVE)
    assert len(blocks) == 1


def test_the_budget_ends_it_where_it_is() -> None:
    outcome, blocks = search(16, lambda place: 0.1 * (place >= 5), noise=0.05, runs=least_runs(16))
    assert outcome.phase == ENDED
    assert outcome.status == INCONCLUSIVE or outcome.is_neighbours
    assert sum(map(len, blocks)) <= least_runs(16)


def test_runs_are_never_more_than_the_most() -> None:
    blocks: list[Block] = [{"k0": 1.0, "k3": 1.0}]
    stands = bisection(names(4), blocks, 1e9, costs=[{"k0": 1, "k3": 1}], most_runs=3)
    assert (stands.phase, stands.measure) == (ENDED, ())


def test_without_any_scatter_it_is_found_too() -> None:
    outcome, _ = search(8, lambda place: 0.1 * (place >= 5), noise=0)
    assert (outcome.before, outcome.after) == ("k4", "k5")


def test_a_block_of_others_is_refused() -> None:
    with pytest.raises(ValueError, match="not of those"):
        bisection(names(4), [{"k0": 1.0, "k1": 1.0}], 100)
    with pytest.raises(ValueError, match="two contenders"):
        bisection(["k0"], [], 100)
    with pytest.raises(ValueError, match="runs at least"):
        bisection(names(8), [], 5)
