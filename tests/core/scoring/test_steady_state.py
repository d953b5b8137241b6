"""SNIA's window rule: by hand, and what must hold for any samples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.core.scoring.steady_state import WINDOW, steady_state, window

RATES = st.floats(min_value=1e-3, max_value=1e12)
SERIES = st.lists(RATES, min_size=WINDOW, max_size=60)


def test_the_window_by_hand() -> None:
    # Average 100, 90 to 110; by least squares the line rises by 4.2 a round.
    measurement_window = window([90, 100, 98, 102, 110])
    assert measurement_window.range_percent == pytest.approx(20.0)
    assert measurement_window.slope_percent == pytest.approx(4 * 4.2)
    assert not measurement_window.is_steady
    # The same values in another order: as far apart, and the line is nearly flat.
    assert window([100, 90, 110, 98, 102]).is_steady


@pytest.mark.parametrize(
    ("samples", "start"),
    [
        ([100] * 5, 0),
        ([2, 1.8, 2.2, 2, 2], 0),  # just 20%, and a little more by binary rounding
        ([10, 50, 90, 100, 101, 99, 100, 102], 2),
        ([100] * 10 + [50], None),  # it was steady, and is not in the end
        ([100, 100, 20, 100, 100, 100, 100, 100], 3),
        (list(range(100, 120)), 0),  # 4% a window: it drifts within the rule
        # A rise of 4 is at most a tenth of averages from 40 on.
        ([30.5 + step for step in range(20)], 8),
        ([100, 104, 108, 112, 116], None),  # 14.8% apart, and all of it slope
        ([0, 0, 0, 0, 0], 0),
        ([-1, 1, -1, 1, 0], None),
        ([100] * 4, None),
        ([], None),
    ],
)
def test_where_it_becomes_steady(samples: list[float], start: int | None) -> None:
    state = steady_state(samples)
    assert state.start == start
    assert state.count == len(samples)
    assert (state.last is None) == (len(samples) < WINDOW)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        steady_state([1.0, 2.0, bad])


def first_by_the_letter(samples: list[float]) -> int | None:
    """The rule with numpy's own fit, every window anew."""
    steady = []
    for first in range(len(samples) - WINDOW + 1):
        y = np.array(samples[first : first + WINDOW])
        line = np.polyval(np.polyfit(range(WINDOW), y, 1), range(WINDOW))
        steady.append(np.ptp(y) <= 0.2 * abs(y.mean()) and np.ptp(line) <= 0.1 * abs(y.mean()))
    starts = [first for first in range(len(steady)) if all(steady[first:])]
    return starts[0] if starts else None


@given(st.lists(st.integers(90, 113), min_size=WINDOW, max_size=30))
def test_it_agrees_with_the_rule_by_the_letter(samples: list[int]) -> None:
    state = steady_state(samples)
    near = any(
        abs(percent - most) < 1e-6
        for first in range(len(samples) - WINDOW + 1)
        for percent, most in zip(
            vars(window(samples[first : first + WINDOW])).values(), (20.0, 10.0), strict=True
        )
        if percent is not None
    )
    if not near:  # right on the edge the last bit decides
        assert state.start == first_by_the_letter([float(sample) for sample in samples])


@given(SERIES)
def test_every_window_of_the_steady_part_is_steady_and_the_one_before_is_not(
    samples: list[float],
) -> None:
    state = steady_state(samples)
    firsts = range(len(samples) - WINDOW + 1)
    if state.start is None:
        assert not window(samples[-WINDOW:]).is_steady
        return
    assert all(window(samples[i : i + WINDOW]).is_steady for i in firsts[state.start :])
    if state.start:
        assert not window(samples[state.start - 1 : state.start - 1 + WINDOW]).is_steady


@given(SERIES, st.integers(-20, 20))
def test_units_do_not_matter(samples: list[float], power: int) -> None:
    assert (
        steady_state([sample * 2.0**power for sample in samples]).start
        == steady_state(samples).start
    )


@given(SERIES, st.lists(RATES, max_size=20))
def test_what_came_before_does_not_make_it_less_steady(
    samples: list[float], before: list[float]
) -> None:
    alone, after = steady_state(samples).start, steady_state(before + samples).start
    assert (alone is None) == (after is None)
    if alone is not None and after is not None:
        assert after <= alone + len(before)


@given(RATES, st.integers(WINDOW, 40))
def test_what_never_changes_is_steady_from_the_first(value: float, count: int) -> None:
    assert steady_state([value] * count).start == 0
