"""Medians of repeats: order statistics, and how many repeats it takes (CONFIRM)."""

from itertools import combinations
from statistics import fmean, median

import pytest
import scipy  # its parts are loaded when they are asked for

from fsbench_web.core.scoring import median as medians
from fsbench_web.core.scoring.median import median_interval, repeats_for

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


@pytest.mark.parametrize("size", [6, 7, 9])
def test_the_mean_over_all_subsets_is_worked_out_and_not_drawn(size: int) -> None:
    ordered = sorted(VALUES)
    rank = medians._rank(size)[0]
    subsets = [sorted(subset) for subset in combinations(ordered, size)]
    assert medians._mean_ends(ordered, size) == pytest.approx(
        (
            fmean(subset[rank - 1] for subset in subsets),
            fmean(median(subset) for subset in subsets),
            fmean(subset[-rank] for subset in subsets),
        )
    )


def test_the_estimate_is_the_smallest_size_that_is_enough() -> None:
    ordered = sorted(100.0 + 0.2 * (7 * place % 41) for place in range(40))
    widths = []
    for size in range(6, 41):
        low, middle, high = medians._mean_ends(ordered, size)
        widths.append(max(middle - low, high - middle) / middle)
    assert repeats_for(ordered, 5.0) == 6
    enough = repeats_for(ordered, 2.0)
    assert enough is not None
    assert widths[enough - 6] <= 0.02 < min(widths[: enough - 6])
    assert repeats_for(ordered, 0.1) is None


@pytest.mark.parametrize(
    ("values", "enough"),
    [
        ([17, 19, 20, 20, 20, 20, 20, 21, 21, 21, 22], 9),
        ([18, 19, 20, 20, 20, 20, 20, 21, 21, 21, 22, 22], 12),
        ([9, *[10] * 14, 11, 11, 11], 9),
        ([1.7] * 2 + [1.8] * 2 + [1.9] * 5 + [2.0] * 3 + [2.1] * 5 + [2.2] * 3, 19),
    ],
)
def test_a_half_width_of_just_the_percents_is_enough(values: list[float], enough: int) -> None:
    """19 to 21 around 20 is ± 5%, whatever these are as binary numbers (by exact fractions)."""
    interval = median_interval(values)
    assert interval is not None
    assert interval.repeats_for[0].repeats == enough


def test_repeats_that_are_all_alike_need_six() -> None:
    interval = median_interval([89.999] * 12)
    assert interval is not None
    assert (interval.low, interval.median, interval.high) == (89.999, 89.999, 89.999)
    assert [entry.repeats for entry in interval.repeats_for] == [6, 6]


def test_what_has_no_percents_and_what_are_too_many_have_no_estimate() -> None:
    zero = median_interval([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0])
    many = median_interval([1.0] * (medians.MOST + 1))
    assert zero is not None
    assert many is not None
    assert zero.repeats_for == many.repeats_for == ()


def test_the_largest_numbers_have_a_median() -> None:
    interval = median_interval([1.79e308] * 20)
    assert interval is not None
    assert (interval.median, interval.repeats_for[0].repeats) == (1.79e308, 6)
    with pytest.raises(ValueError, match="finite"):
        median_interval([1.0] * 5 + [float("inf")])
