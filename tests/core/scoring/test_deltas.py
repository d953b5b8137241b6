"""Deltas: the paper's formulas, their mirror for times, and who decides about rounding."""

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fsbench_web.core.scoring.deltas import (
    Delta,
    change_percent,
    delta_rows,
    is_same,
    published_differs,
    worst_first,
)

positive = st.floats(min_value=1e-6, max_value=1e12, allow_nan=False)
scores = st.lists(positive, min_size=1, max_size=12)


def test_it_takes_the_deltas_of_the_papers_first_table():
    rows = delta_rows([333045.00, 692055.00], lower_is_better=False)
    assert rows[0] == Delta(
        best=False,
        delta1_percent=pytest.approx(51.8759, abs=1e-4),
        delta2_percent=pytest.approx(-107.7962, abs=1e-4),
    )
    assert rows[1] == Delta(best=True, delta1_percent=0.0, delta2_percent=0.0)


def test_twice_the_time_is_half_the_speed():
    rows = delta_rows([20.0, 10.0], lower_is_better=True)
    assert rows == [Delta(False, 50.0, -100.0), Delta(True, 0.0, 0.0)]


def test_all_ties_are_best():
    assert [row.best for row in delta_rows([5.0, 7.0, 7.0], lower_is_better=False)] == [
        False,
        True,
        True,
    ]


def test_a_delta_that_would_divide_by_zero_is_missing():
    assert delta_rows([0.0, 4.0], False) == [Delta(False, 100.0, None), Delta(True, 0.0, 0.0)]
    assert delta_rows([0.0, 0.0], False) == [Delta(True, None, None)] * 2
    assert delta_rows([0.0, 4.0], True) == [Delta(True, None, None), Delta(False, 100.0, None)]


def test_a_delta_too_large_for_a_number_is_missing():
    assert delta_rows([5e-324, 1e308], False)[0].delta2_percent is None


def test_nothing_has_no_deltas():
    assert delta_rows([], lower_is_better=False) == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_it_refuses_what_cannot_be_compared(value):
    with pytest.raises(ValueError, match="cannot be compared"):
        delta_rows([1.0, value], lower_is_better=False)


def test_the_worst_comes_first_and_ties_by_name():
    names = ["xfs", "ext2", "jfs", "ext3"]
    assert worst_first([3.0, 1.0, 1.0, 2.0], names, lower_is_better=False) == [1, 2, 3, 0]
    assert worst_first([3.0, 1.0, 1.0, 2.0], names, lower_is_better=True) == [0, 3, 1, 2]


@given(scores, st.booleans())
def test_deltas_grow_from_the_best_to_the_worst(values, lower):
    rows = delta_rows(values, lower)
    order = worst_first(values, [str(n) for n in range(len(values))], lower)
    first_deltas = [rows[place].delta1_percent for place in order]
    assert first_deltas == sorted(first_deltas, reverse=True)
    assert all(0 <= row.delta1_percent <= 100 for row in rows)
    assert all(row.delta2_percent <= 0 for row in rows)
    assert rows[order[-1]].best
    assert all(row.best == (row.delta1_percent == 0.0) for row in rows)


@given(scores)
def test_times_give_the_deltas_of_their_speeds(values):
    # Binary reciprocals are not exact: only far enough from zero may they be compared.
    speeds = delta_rows([1 / value for value in values], lower_is_better=False)
    times = delta_rows(values, lower_is_better=True)
    for speed, time in zip(speeds, times, strict=True):
        assert time.delta1_percent == pytest.approx(speed.delta1_percent, rel=1e-9, abs=1e-9)
        assert time.delta2_percent == pytest.approx(speed.delta2_percent, rel=1e-9, abs=1e-9)


@given(scores, st.booleans(), st.integers(min_value=-3, max_value=3))
def test_the_unit_does_not_matter(values, lower, power):
    scaled = [value * 2.0**power for value in values]
    for row, other in zip(delta_rows(values, lower), delta_rows(scaled, lower), strict=True):
        assert row.best == other.best
        assert row.delta1_percent == pytest.approx(other.delta1_percent, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("printed", "recomputed", "differs"),
    [
        ("51.88", 51.8759, False),
        ("51.87", 51.8759, False),  # one hundredth is rounding
        ("51.86", 51.8759, True),
        ("-0.53", -4.493886232708622, True),
        ("0.12", 0.125, False),
        ("0.11", 0.125, True),  # 0.125 is 0.13: half goes away from zero
        ("-0.11", -0.125, True),
        ("2.67", 2.675, False),  # the float lies below the half, the decimal does not
        ("2.66", 2.675, True),
        ("0.00", 0.0, False),
        ("107.8", 107.80, False),
    ],
)
def test_a_print_differs_by_more_than_a_hundredth(printed, recomputed, differs):
    assert published_differs(Decimal(printed), recomputed) is differs


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_rightly_rounded_print_never_differs(value):
    printed = Decimal(f"{Decimal(repr(value)):.2f}")
    assert not published_differs(printed, value)


@given(
    st.integers(min_value=-(10**9), max_value=10**9),
    st.integers(min_value=2, max_value=10**6),
    st.sampled_from([-1, 1]),
)
def test_two_hundredths_beside_always_differ(hundredths, steps, sign):
    value = hundredths / 100
    assume(repr(value) == str(Decimal(repr(value))))
    printed = Decimal(repr(value)) + sign * steps * Decimal("0.01")
    assert published_differs(printed, value)


# In decimals all three are 0.2; in binary the first is 0.20000000000000004.
FIFTHS = [(0.1 + 0.2 + 0.3) / 3, 0.2, (0.3 + 0.1) / 2]


def test_means_of_the_same_decimals_tie_whatever_binary_made_of_them():
    assert len(set(FIFTHS)) > 1
    rows = delta_rows([*FIFTHS, 0.25], lower_is_better=True)
    tied = Delta(best=True, delta1_percent=0.0, delta2_percent=0.0)
    assert rows == [tied, tied, tied, Delta(best=False, delta1_percent=20.0, delta2_percent=-25.0)]
    assert [row.best for row in delta_rows([*FIFTHS, 0.1], lower_is_better=False)] == [
        *(True, True, True),
        False,
    ]


def test_what_differs_in_a_digit_that_somebody_measured_does_not_tie():
    # A billionth is measured by nobody's clock, and is kept apart all the same.
    assert [row.best for row in delta_rows([1.0, 1.000000001], lower_is_better=False)] == [
        False,
        True,
    ]
    assert [row.best for row in delta_rows([0.0, 1e-30], lower_is_better=False)] == [False, True]
    assert is_same(0.0, 0.0)
    assert not is_same(0.0, 1e-300)


def test_a_contender_as_fast_as_the_baseline_is_not_faster():
    assert FIFTHS[0] != 0.2
    assert change_percent(FIFTHS[0], 0.2, lower_is_better=False) == 0.0
    assert change_percent(0.2, FIFTHS[0], lower_is_better=True) == 0.0
