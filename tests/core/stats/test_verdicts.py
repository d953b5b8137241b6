"""Verdicts of contenders that share blocks, against scipy's tests and by hand."""

from math import inf, log

import numpy as np
import pytest
import scipy  # its parts are loaded when they are asked for

from fsbench_web.core.stats import verdicts as subject
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.core.stats.verdicts import (
    EQUIVALENT,
    FASTER,
    INCONCLUSIVE,
    SLOWER,
    family,
    of_logarithms,
    paired,
    unpaired,
)

# Five blocks that drift by far more than the two differ.
EXT4 = {"1": 100.0, "2": 108.0, "3": 93.0, "4": 101.0, "5": 112.0}
XFS = {
    block: value * ratio
    for (block, value), ratio in zip(EXT4.items(), (1.061, 1.055, 1.066, 1.058, 1.063), strict=True)
}


def test_a_drift_of_the_blocks_does_not_hide_a_difference() -> None:
    verdict = paired(XFS, EXT4, lower_is_better=False)
    assert verdict is not None
    assert verdict.status == FASTER
    assert verdict.blocks == 5
    assert verdict.ratio == pytest.approx(1.0606, abs=1e-4)
    assert 1.05 < verdict.low < verdict.ratio < verdict.high < 1.07
    # Unpaired the same numbers are a tie: the scatter between blocks is 7%.
    assert (
        scipy.stats.ttest_ind(list(XFS.values()), list(EXT4.values()), equal_var=False).pvalue > 0.1
    )


def test_the_other_way_round_it_is_slower_by_the_reciprocal() -> None:
    verdict = paired(XFS, EXT4, lower_is_better=False)
    other = paired(EXT4, XFS, lower_is_better=False)
    assert verdict is not None
    assert other is not None
    assert other.status == SLOWER
    assert other.ratio == pytest.approx(1 / verdict.ratio, rel=1e-12)
    assert other.low == pytest.approx(1 / verdict.high, rel=1e-12)
    assert other.p_value == pytest.approx(verdict.p_value, rel=1e-9)


def test_of_times_the_shorter_is_the_faster() -> None:
    seconds = paired(XFS, EXT4, lower_is_better=True)
    assert seconds is not None
    assert seconds.status == SLOWER
    assert seconds.ratio == pytest.approx(1 / 1.0606, abs=1e-4)


@pytest.mark.parametrize("count", [3, 4, 7, 12, 40])
def test_interval_and_p_values_are_those_of_scipy(count: int) -> None:
    logarithms = np.random.default_rng(count).normal(0.02, 0.03, count)
    verdict = of_logarithms(logarithms.tolist())
    student = scipy.stats.ttest_1samp(logarithms, 0)
    interval = student.confidence_interval(0.95)
    assert verdict.p_value == pytest.approx(student.pvalue, rel=1e-9)
    assert log(verdict.low) == pytest.approx(interval.low, rel=1e-9)
    assert log(verdict.high) == pytest.approx(interval.high, rel=1e-9)
    margin = log(1.02)
    sides = (
        scipy.stats.ttest_1samp(logarithms, margin, alternative="less").pvalue,
        scipy.stats.ttest_1samp(logarithms, -margin, alternative="greater").pvalue,
    )
    assert verdict.p_equivalence == pytest.approx(max(sides), rel=1e-9)


def test_what_is_less_than_the_margin_is_no_difference_however_sure() -> None:
    tight = [0.0100, 0.0101, 0.0099, 0.0100, 0.0102]
    verdict = of_logarithms(tight)
    assert verdict.p_value < 0.001
    assert verdict.status == EQUIVALENT
    assert of_logarithms(tight, margin_percent=0.5).status == FASTER


def test_what_is_not_known_says_how_many_blocks_would_decide() -> None:
    verdict = of_logarithms([0.08, -0.05, 0.09, -0.02])
    assert verdict.status == INCONCLUSIVE
    assert verdict.more_blocks is not None
    assert 1 <= verdict.more_blocks < 100
    decided = of_logarithms([0.08, -0.05, 0.09, -0.02] * 40)
    assert decided.status == FASTER
    assert decided.more_blocks is None


def test_a_difference_on_the_edge_of_the_margin_is_decided_by_no_number_of_blocks() -> None:
    """Neither another than none, nor surely below the margin: scatter far above both."""
    assert of_logarithms([0.9, -0.9, 0.91, -0.9, 0.0]).more_blocks is None


def test_without_scatter() -> None:
    assert of_logarithms([0.05] * 3).status == FASTER
    assert of_logarithms([0.0] * 3).status == EQUIVALENT
    same = of_logarithms([0.0625] * 4)
    assert (same.p_value, same.low, same.high) == (0.0, same.ratio, same.ratio)


@pytest.mark.parametrize("shared", [0, 1, 2])
def test_fewer_than_three_shared_blocks_are_not_paired(shared: int) -> None:
    ahead = {str(block): 100.0 + block for block in range(shared)} | {"a": 1.0, "b": 2.0}
    behind = {str(block): 90.0 for block in range(shared)} | {"c": 1.0, "d": 2.0}
    assert paired(ahead, behind, lower_is_better=False) is None


def test_a_value_of_zero_has_no_ratio() -> None:
    assert paired(EXT4 | {"2": 0.0}, XFS, lower_is_better=False) is None
    assert paired(EXT4 | {"2": -1.0}, XFS, lower_is_better=False) is None
    # In a block that only one of them has it does not matter.
    assert paired(EXT4 | {"6": 0.0}, XFS, lower_is_better=False) is not None


def test_the_smallest_numbers_have_a_ratio_too() -> None:
    least = dict.fromkeys(EXT4, 5e-324)
    verdict = paired(
        least, {block: 1e15 * value for block, value in XFS.items()}, lower_is_better=True
    )
    assert verdict is not None
    assert verdict.status == FASTER
    assert verdict.low <= verdict.ratio <= verdict.high < inf
    whole = unpaired(Interval(5e-324, 0.0, 3), Interval(2.0, 0.1, 3), lower_is_better=True)
    assert whole is not None
    assert whole.ratio > 1e300


@pytest.mark.parametrize("value", [inf, float("nan")])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        paired(EXT4 | {"2": value}, XFS, lower_is_better=False)


def test_holm_over_a_family_takes_back_what_chance_found() -> None:
    barely = of_logarithms([0.03, 0.05, 0.045, 0.08, 0.01, 0.11])
    assert barely.status == FASTER
    nothing = [of_logarithms([0.05, -0.04, 0.02, -0.03, 0.06, -0.05])] * 9
    verdicts = family([barely, *nothing])
    assert verdicts[0].p_holm == pytest.approx(10 * barely.p_value)
    assert verdicts[0].tested == 10
    assert verdicts[0].status == INCONCLUSIVE
    # It takes more blocks than it would alone.
    assert verdicts[0].more_blocks is not None
    equal = of_logarithms([0.001, -0.001, 0.0005, -0.0005])
    assert family([equal, *nothing])[0].status == EQUIVALENT


def test_of_a_pair_that_is_far_from_sure_the_level_is_that_of_its_family() -> None:
    """Where Holm's p is 1 it says nothing of the level: the more pairs, the more blocks."""
    pair = of_logarithms([0.12, -0.02, 0.09, 0.0, 0.06])
    among = [family([pair] * count)[0] for count in (50, 1000)]
    assert [verdict.p_holm for verdict in among] == [1.0, 1.0]
    few, many = (verdict.more_blocks for verdict in among)
    assert few is not None
    assert many is not None
    assert few < many


def test_repeats_that_come_out_the_same_have_no_scatter_at_all() -> None:
    """Neither has what binary digits add to three times the same logarithm."""
    verdict = paired(dict.fromkeys("abc", 762.52), dict.fromkeys("abc", 3.1), lower_is_better=False)
    assert verdict is not None
    assert verdict.deviation == 0
    assert verdict.is_still


ONE_STEP = (1 / 12**0.5 / 100, 1 / 12**0.5 / 100)
"""What rounding to whole numbers makes of 100 and its neighbour."""


def test_scatter_is_never_less_than_what_rounding_makes() -> None:
    """100 and 101 of whole numbers may both be 100.5. By hand: the logarithm over sqrt(2 / 12)%
    and sqrt(3), two degrees of freedom.
    """
    ours, theirs = dict.fromkeys("abc", 101.0), dict.fromkeys("abc", 100.0)
    plain = paired(ours, theirs, lower_is_better=False, margin_percent=0)
    assert plain is not None
    assert (plain.p_value, plain.status) == (0.0, FASTER)
    rounded = paired(ours, theirs, lower_is_better=False, margin_percent=0, rounding=ONE_STEP)
    assert rounded is not None
    assert rounded.is_still
    assert rounded.status == INCONCLUSIVE
    error = 0.01 * (2 / 12) ** 0.5 / 3**0.5
    expected = 2 * scipy.stats.t.sf(log(1.01) / error, 2)
    assert rounded.p_value == pytest.approx(expected, rel=1e-9)
    far = paired(dict.fromkeys("abc", 150.0), theirs, lower_is_better=False, rounding=ONE_STEP)
    assert far is not None
    assert far.status == FASTER


def test_rounding_changes_nothing_of_what_scatters_more() -> None:
    tenths = (ONE_STEP[0] / 10, ONE_STEP[1] / 10)
    assert paired(XFS, EXT4, lower_is_better=False, rounding=tenths) == paired(
        XFS, EXT4, lower_is_better=False
    )


@pytest.mark.parametrize("count", [2, 3, 5])
def test_unpaired_means_have_the_scatter_of_rounding_too(count: int) -> None:
    first, other = Interval(101.0, 0.0, count), Interval(100.0, 0.0, count)
    verdict = unpaired(first, other, lower_is_better=False, margin_percent=0, rounding=ONE_STEP)
    assert verdict is not None
    assert verdict.is_still
    error = 0.01 * (2 / 12) ** 0.5 / count**0.5
    expected = 2 * scipy.stats.t.sf(log(1.01) / error, 2 * (count - 1))
    assert verdict.p_value == pytest.approx(expected, rel=1e-9)
    assert (verdict.status == FASTER) is (count > 2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([100.0, 101.0], 1.0),
        ([2.5, 3.0], 0.1),
        ([0.25, 12.0], 0.01),
        ([1e15, 2e15], 1.0),
        ([1e22], 1.0),
        ([1.5e-9, 2e-9], 1e-10),
        ([], 0.0),
    ],
)
def test_the_last_digit_of_numbers_is_that_of_the_one_with_most(
    values: list[float], expected: float
) -> None:
    assert subject.last_digit(values) == pytest.approx(expected, rel=1e-12)
