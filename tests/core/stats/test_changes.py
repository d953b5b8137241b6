"""Changes of level along a line: found where they are, and not made of noise."""

import random

import numpy as np
import pytest
import scipy

from fsbench_web.core.stats.changes import changes


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
    loud = [[value] for value in (100, 60, 140, 95, 120, 80, 130, 70, 80)]
    assert changes(loud) == []


def test_repeats_of_one_evening_do_not_hide_that_evenings_differ():
    # Very alike within a point, scattered between points: no level changed for good.
    chance = random.Random(3)
    points = []
    for _ in range(12):
        level = 100 * chance.gauss(1, 0.15)
        points.append([level * chance.gauss(1, 0.001) for _ in range(4)])
    assert changes(points, margin_percent=5) == []


def test_a_change_below_the_margin_is_none():
    points = line([100] * 8 + [94] * 8, 3, 0.005, seed=4)
    assert changes(points) == []
    assert len(changes(points, margin_percent=5)) == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_below_the_margin_hides_no_change_behind_it(sign: int) -> None:
    """Else a rise of 9% is the noise that a fall of 15% has to rise above, for six points."""
    levels = [100.0] * 30 + [100.0 + sign * 9] * 30
    points = line([*levels, levels[-1] * 0.85, levels[-1] * 0.85], 1, 0.01, seed=7)
    (change,) = changes(points)
    assert change.place == 60
    assert change.before == pytest.approx(levels[-1], rel=0.01)
    assert change.change_percent == pytest.approx(-15, abs=1.5)


def test_the_last_point_alone_can_be_a_change():
    points = [*line([100] * 9, 3, 0.01, seed=5), [70, 71, 69]]
    assert [change.place for change in changes(points)] == [9]


@pytest.mark.parametrize("repeats", [1, 3])
def test_noise_alone_makes_few_changes(repeats):
    false = sum(
        bool(changes(line([100] * 20, repeats, 0.1, seed), margin_percent=0)) for seed in range(300)
    )
    assert false / 300 <= 0.08


def test_equal_values_have_no_change_and_a_step_without_noise_has():
    assert changes([[5, 5]] * 6) == []
    assert [change.place for change in changes([[5, 5]] * 3 + [[4, 4]] * 3)] == [3]


@pytest.mark.parametrize("points", [[[1, 2], []], [[1], [float("nan")]], [[float("inf")], [1]]])
def test_it_refuses_what_is_no_number(points):
    with pytest.raises(ValueError, match="finite number"):
        changes(points)


def test_evenings_that_differ_are_no_change_of_level() -> None:
    """Of three evenings, each of three runs that are alike: noise between evenings makes a step in
    5 of 100 lines at most. By the larger of both errors, with its own freedom, it was 15.
    """
    draw = np.random.default_rng(20_261_127)
    lines = 1000 * (1 + 0.05 * draw.normal(size=(400, 3, 1)) + 0.01 * draw.normal(size=(400, 3, 3)))
    changed = sum(bool(changes(line.tolist(), 0.0)) for line in lines)
    assert changed <= 28, "5% of 400 are 20; 29 or more have a chance of 3%"


def test_the_error_of_a_mean_of_points_is_that_of_each_points_repeats() -> None:
    """Points count alike, so that one of two runs is not as sure as one of four.

    By hand: repeats scatter by 200 / 5 = 40; the mean of the first two points has a variance of
    (40 / 2 + 40 / 4) / 4, the last of 40 / 2; Student's t of 5 degrees, times two places.
    """
    (change,) = changes([[90, 110], [100, 100, 100, 100], [80, 80]])
    p_value = 2 * scipy.stats.t.sf(20 / (7.5 + 20) ** 0.5, 5)
    assert (change.place, change.p_value) == (2, pytest.approx(2 * p_value))


def test_behind_a_change_two_points_are_not_yet_told_apart() -> None:
    """Of three points on evenings count, which two alone say nothing of: after a step each second
    evening would be another step, because its repeats are alike.
    """
    before = [[1000.0, 1002.0, 998.0], [1030.0, 1031.0, 1029.0], [985.0, 986.0, 984.0]]
    after = [[700.0, 701.0, 699.0], [780.0, 781.0, 779.0]]
    assert [change.place for change in changes([*before, *after])] == [3]
    assert [change.place for change in changes([*before, *before, *after])] == [6]
    # A third evening may tell, and a line of two points is told as before: it has nothing else.
    third = [[781.0, 782.0, 780.0], [779.0, 780.0, 778.0]]
    assert [change.place for change in changes([*before, *after, *third])] == [3, 4]
    assert [change.place for change in changes(after)] == [1]
