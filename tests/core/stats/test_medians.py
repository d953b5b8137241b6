"""Medians of repeats, by order statistics."""

import pytest
import scipy  # its parts are loaded when they are asked for

from fsbench_web.core.stats.intervals import median_interval

VALUES = [12.0, 10.0, 11.0, 30.0, 9.0, 10.5, 10.2, 11.5, 10.7]


def test_five_repeats_have_none_and_six_have_their_least_and_greatest() -> None:
    assert median_interval(VALUES[:5]) is None
    interval = median_interval(VALUES[:6])
    assert interval is not None
    assert (interval.median, interval.low, interval.high, interval.count) == (10.75, 9.0, 30.0, 6)
    assert interval.level == pytest.approx(1 - 2 / 64)


@pytest.mark.parametrize("count", [6, 7, 8, 9, 12, 20, 35, 50, 200])
def test_the_ends_are_the_narrowest_that_the_binomial_distribution_allows(count: int) -> None:
    interval = median_interval([float(number) for number in range(1, count + 1)])
    assert interval is not None
    rank = int(interval.low)
    assert interval.high == count + 1 - rank
    inside = 1 - 2 * scipy.stats.binom.cdf(rank - 1, count, 0.5)
    assert interval.level == pytest.approx(inside)
    assert interval.level >= 0.95 > 1 - 2 * scipy.stats.binom.cdf(rank, count, 0.5)


def test_one_wild_repeat_does_not_move_it() -> None:
    calm, wild = (median_interval([*VALUES[4:], *VALUES[:3], last]) for last in (12.0, 1e9))
    assert calm is not None
    assert wild is not None
    assert (calm.low, calm.high, calm.median) == (wild.low, wild.high, wild.median)


def test_the_largest_numbers_have_a_median() -> None:
    interval = median_interval([1.79e308] * 20)
    assert interval is not None
    assert interval.median == 1.79e308
    with pytest.raises(ValueError, match="finite"):
        median_interval([1.0] * 5 + [float("inf")])
