"""Which changes of a line are news, and when what was not taken is tried again."""

import random
from datetime import timedelta

import pytest

from fsbench_web.compare.watches.deliveries import MOST_TRIES, wait_after
from fsbench_web.compare.watches.reportable import (
    significant_changes,
    slowdowns,
    unreported_changes,
)
from fsbench_web.core.stats.changes import Change, changes

NAMES = list("abcdefghij")


def change(place: int, percent: float = -20.0) -> Change:
    return Change(place, 100.0, 100.0 + percent, percent, 0.001)


def fresh(line_changes: list[Change], reported: set[str], names: list[str] = NAMES) -> list[int]:
    """``reported`` led to 80, as every change here does."""
    levels = dict.fromkeys(reported, 80.0)
    return [
        slowdown.place
        for slowdown in unreported_changes(
            slowdowns(line_changes, 10, False), names, levels, 10, False
        )
    ]


def test_only_what_is_slower_by_the_margin_counts():
    line_changes = [change(2, -20), change(4, 30), change(6, -9.9)]
    assert [slowdown.place for slowdown, _ in slowdowns(line_changes, 10, False)] == [2]
    assert [slowdown.place for slowdown, _ in slowdowns(line_changes, 10, True)] == [4]
    assert [slowdown.place for slowdown, _ in slowdowns([change(2, -10.0)], 10, False)] == [2]


def test_a_change_is_told_once():
    assert fresh([change(5)], set()) == [5]
    assert fresh([change(5)], {"f"}) == []


def test_a_change_that_moved_is_the_same():
    assert fresh([change(5)], {"e"}) == []
    assert fresh([change(5)], {"g"}) == []


def test_a_change_that_seems_to_have_moved_but_is_much_worse_is_news():
    assert fresh([change(5, -27)], {"e"}) == []
    assert fresh([change(5, -28)], {"e"}) == [5]
    slow = [(Change(5, 10.0, 13.0, 30.0, 0.001), (-1, 99))]
    assert unreported_changes(slow, NAMES, {"e": 12.0}, 10, True) == []
    assert len(unreported_changes(slow, NAMES, {"e": 11.0}, 10, True)) == 1


def test_a_second_change_behind_a_told_one_is_news():
    assert fresh([change(3), change(7)], {"d"}) == [7]
    assert fresh([change(3), change(7)], {"d", "h"}) == []


def test_one_told_change_stands_for_one_found_change_alone():
    # "f" lies between both: the nearest is what it was.
    assert fresh([change(4), change(8)], {"f"}) == [8]
    assert fresh([change(4), change(6)], {"f"}) == [6]


def test_slow_fixed_and_slow_again_is_told_twice():
    line_changes = [change(2), change(4, 25), change(7)]
    assert fresh(line_changes, {"c"}) == [7]


def test_what_was_told_of_points_that_are_gone_changes_nothing():
    assert fresh([change(5)], {"z"}) == [5]


def test_noise_is_no_news():
    noisy = [[100 + part for part in (-30, 0, 30)], [85 + part for part in (-30, 0, 30)]] * 2
    assert slowdowns(changes(noisy, 10), 10, False) == []
    clear = [[100.0, 100.5, 99.5], [100.2, 99.8, 100.0], [80.0, 80.5, 79.5], [80.1, 79.9, 80.2]]
    ((slowdown, ends),) = slowdowns(changes(clear, 10), 10, False)
    assert slowdown.place == 2
    assert ends[0] == -1
    assert slowdowns(changes(clear, 25), 25, False) == []


@pytest.mark.parametrize(
    ("p_value", "points", "is_told"),
    [(0.04, 9, False), (0.0101, 9, False), (0.0099, 9, True), (0.0, 2, False), (0.0, 3, True)],
)
def test_what_is_told_is_surer_than_what_a_page_shows(p_value, points, is_told):
    drop = Change(1, 100.0, 80.0, -20.0, p_value)
    assert significant_changes([drop], [[1.0]] * points, of_kernels=True) == [drop] * is_told


@pytest.mark.parametrize(("p_value", "is_told"), [(0.00011, False), (0.00009, True)])
def test_days_are_looked_at_more_often_and_have_to_be_surer(p_value, is_told):
    drop = Change(2, 100.0, 80.0, -20.0, p_value)
    assert significant_changes([drop], [[1.0]] * 9, of_kernels=False) == [drop] * is_told


@pytest.mark.parametrize(
    ("repeats", "of_kernels", "is_told"), [(1, True, False), (2, True, True), (5, False, False)]
)
def test_a_single_point_is_told_of_a_kernel_with_repeats_alone(repeats, of_kernels, is_told):
    drop = Change(8, 100.0, 80.0, -20.0, 0.0, points=1)
    points = [[1.0]] * 8 + [[1.0] * repeats]
    assert significant_changes([drop], points, of_kernels=of_kernels) == [drop] * is_told


@pytest.mark.parametrize(
    ("place", "needed", "is_told"), [(1, 2, False), (2, 2, True), (2, 3, False), (3, 3, True)]
)
def test_days_before_a_change_are_a_level_or_it_is_not_told(place, needed, is_told):
    drop = Change(place, 100.0, 80.0, -20.0, 0.0, points=9, needed=needed)
    points = [[1.0]] * (place + 9)
    assert significant_changes([drop], points, of_kernels=False) == [drop] * is_told


def test_a_spike_that_becomes_the_first_day_of_a_line_is_not_told():
    chance = random.Random(5)
    days = [[120.0], *([chance.gauss(100, 0.5)] for _ in range(149))]
    (drop,) = changes(days, 10)
    assert (drop.place, drop.is_confirmed) == (1, True)
    assert significant_changes([drop], days, of_kernels=False) == []


def test_it_waits_longer_and_longer_and_gives_up():
    waits = [wait_after(tries) for tries in range(1, MOST_TRIES + 1)]
    assert waits[-1] is None
    assert waits[:-1] == sorted(waits[:-1])
    assert waits[0] == timedelta(minutes=1)
