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
    # The first evening at 700 is then a lone one, not a level.
    third = [[781.0, 782.0, 780.0], [779.0, 780.0, 778.0]]
    found = levels([*before, *after, *third])
    assert ([step.place for step in found.steps], found.spikes) == ([4], (3,))
    assert [change.place for change in changes(after)] == [1]


def test_a_single_point_is_not_confirmed() -> None:
    points = [*line([100] * 9, 3, 0.01, seed=5), [70, 71, 69]]
    (change,) = changes(points)
    assert (change.points, change.is_confirmed) == (1, False)
    (change,) = changes([*points, [70, 69, 71]])
    assert (change.place, change.points, change.is_confirmed) == (9, 2, True)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_lone_spike_is_no_change(repeats: int) -> None:
    points = line([100] * 10 + [70] + [100] * 10, repeats, 0.01, seed=6)
    found = levels(points)
    assert (found.steps, found.spikes) == ((), (10,))


def test_a_spike_beside_a_step_hides_no_step() -> None:
    found = levels(line([100] * 10 + [60] + [100] * 6 + [85] * 8, 1, 0.01, seed=8))
    assert [step.place for step in found.steps] == [17]
    assert found.spikes == (10,)


def test_a_step_is_no_spike_and_steps_down_the_stairs_are_steps() -> None:
    assert levels(line([100] * 8 + [80] * 8, 1, 0.01, seed=9)).spikes == ()
    found = levels(line([100] * 5 + [80] + [60] * 5, 3, 0.005, seed=9))
    assert [step.place for step in found.steps] == [5, 6]


def test_a_bimodal_line_switches_and_does_not_change() -> None:
    chance = random.Random(10)
    fast = [chance.random() < 0.5 for _ in range(60)]
    found = levels([[(1010 if mode else 925) * chance.gauss(1, 0.004)] for mode in fast])
    assert found.steps == ()
    assert isinstance(found.modes, Modes)
    assert (found.modes.low, found.modes.high) == pytest.approx((925, 1010), rel=0.01)
    # Both modes slower is a change.
    both = [
        [(1010 if mode else 925) * (1 if place < 30 else 0.97) * chance.gauss(1, 0.002)]
        for place, mode in enumerate(fast)
    ]
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
