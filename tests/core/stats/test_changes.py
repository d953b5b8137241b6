"""Changes of level along a line: found where they are, and not made of noise."""

import random

import numpy as np
import pytest
import scipy

from benchmarks.detection.__main__ import labelled_series
from fsbench_web.core.stats.changes import Modes, changes, levels, newest_against_level


def line(levels: list[float], repeats: int, noise: float, seed: int) -> list[list[float]]:
    chance = random.Random(seed)
    return [[level * chance.gauss(1, noise) for _ in range(repeats)] for level in levels]


def test_it_finds_one_change_with_its_levels():
    points = [[100, 101, 99], [99, 100, 101], [80, 81, 79], [80, 79, 81]]
    (change,) = changes(points)
    assert change.place == 2
    assert (change.before, change.after) == pytest.approx((100, 80))
    assert change.change_percent == pytest.approx(-20)
    assert change.p_value < 0.01


def test_it_finds_several_and_says_each_against_its_neighbour():
    points = line([100] * 6 + [80] * 6 + [120] * 6, 3, 0.01, seed=1)
    assert [change.place for change in changes(points)] == [6, 12]
    assert [round(change.change_percent) for change in changes(points)] == [-20, 50]


def test_two_kernels_with_repeats_are_enough_and_without_are_not():
    assert len(changes([[100, 101, 99], [80, 81, 79]])) == 1
    assert changes([[100], [50]]) == []
    assert changes([[100], [50], [50]]) == []
    assert changes([]) == changes([[1, 2, 3, 4]]) == []


def test_single_runs_are_judged_by_the_scatter_of_their_neighbours():
    quiet = [[value] for value in (100, 101, 99, 100, 101, 80, 81, 79, 80)]
    assert [change.place for change in changes(quiet)] == [5]
    loud = line([100] * 40 + [93] * 3, 1, 0.03, seed=15)
    assert [step.place for step in levels(both).changes(2.0)] == [30]


def test_labelled_series_score_as_promised() -> None:
    """All regressions of SAP's set and both changes of the other; two false alarms at most."""
    found, false = 0, 0
    for series in labelled_series():
        alarms = [series.starts[change.place] for change in changes(series.points, 5.0)]
        near = [[alarm for alarm in alarms if abs(alarm - label) <= 5] for label in series.labels]
        found += sum(map(bool, near))
        false += len(alarms) - sum(map(len, near))
    assert (found, false <= 2) == (7, True)


def test_what_confirms_a_level() -> None:
    """Two points; five where points of the level before reach it; more where spikes are usual."""
    quiet = [[value] for value in (100, 101, 99, 100, 101, 99, 100, 80, 81)]
    (change,) = changes(quiet)
    assert (change.points, change.needed, change.is_confirmed) == (2, 2, True)
    reached = [[value] for value in (100, 79, 100, 99, 101, 100, 99, 101, 100, 101, 99, 100)]
    found = levels([*reached, [80.0], [81.0]])
    assert found.spikes == (1,)
    assert [(step.needed, step.is_confirmed) for step in found.changes(5)] == [(3, False)]
    loud = line([100] * 40 + [93] * 3, 1, 0.03, seed=15)
    assert [(step.needed, step.is_confirmed) for step in levels(loud).changes(5)] == [(5, False)]


def kernels(*levels_of_kernels: float) -> list[list[float]]:
    """Five repeats each, within 1%."""
    return line(list(levels_of_kernels), 5, 0.004, seed=11)


@pytest.mark.parametrize(
    ("levels_of_kernels", "percent"),
    [
        ((1213, 1223, 1090), -10.5),
        ((1213, 1223, 1219, 1094), -10.2),
        ((1213, 1223, 1219, 1210, 1217, 1221, 1215, 1218, 1103), -9.4),
    ],
)
def test_the_newest_kernel_is_set_against_the_level_before_it(
    levels_of_kernels: tuple[float, ...], percent: float
) -> None:
    points = kernels(*levels_of_kernels)
    compared = newest_against_level(points, levels(points), lower_is_better=False)
    assert compared is not None
    count, verdict = compared
    assert count == len(points) - 1
    assert verdict.direction == "slower"
    assert verdict.ratio == pytest.approx(1 + percent / 100, abs=0.006)
    assert verdict.ratio_low is not None
    assert verdict.ratio_high is not None
    assert verdict.ratio_low < verdict.ratio < verdict.ratio_high < 1


def test_the_newest_against_the_level_covers_what_it_says() -> None:
    """The ratio of a further point of one level is 1: in 95 of 100 lines the interval has it."""
    draw = np.random.default_rng(20_261_129)
    outside = 0
    for _ in range(600):
        points = (1000 * (1 + 0.02 * draw.normal(size=(6, 1)))).tolist()
        compared = newest_against_level(points, levels([[1.0]]), lower_is_better=False)
        assert compared is not None
        low, high = compared[1].ratio_low, compared[1].ratio_high
        assert low is not None
        assert high is not None
        outside += not low <= 1 <= high
    assert 12 <= outside <= 48, "5% of 600 are 30; the bounds are three deviations away"


def test_of_a_level_of_one_point_nothing_is_said() -> None:
    assert newest_against_level([[100], [80]], levels([[1.0]]), lower_is_better=False) is None
    points = [[100.0], [0.0], [80.0]]
    assert newest_against_level(points, levels(points), lower_is_better=False) is None


@pytest.mark.parametrize("factor", [1e-310, 1e-200, 1e200, 1e306])
def test_size_does_not_matter(factor: float) -> None:
    points = [[value * factor] for value in (100, 101, 99, 100, 101, 80, 81, 79, 80)]
    (change,) = changes(points)
    assert change.place == 5
    assert change.after == pytest.approx(80 * factor, rel=0.01)
    assert len(changes([[1.7e308]] * 5 + [[-1.7e308]] * 5)) == 1
    assert changes([[0.0]] * 9) == []
