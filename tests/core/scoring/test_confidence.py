"""The interval against scipy's own and against tables, and when repeating ends."""

import statistics

import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.scoring.confidence import (
    Continue,
    RepeatTarget,
    Stop,
    interval,
    repeats_verdict,
    sample_interval,
)

TARGET = RepeatTarget(5, least=3, most=10)
values = st.lists(st.floats(min_value=1e-3, max_value=1e9), min_size=2, max_size=30)


# The first call of scipy takes longer than a test may.
@settings(deadline=None)
@given(values)
def test_it_is_the_interval_that_scipy_works_out(numbers: list[float]) -> None:
    mean, error = statistics.fmean(numbers), scipy.stats.sem(numbers)
    mean_interval = interval(numbers)
    assert mean_interval is not None
    assert mean_interval.mean == pytest.approx(mean)
    assert mean_interval.count == len(numbers)
    if error > 1e-9 * mean:
        low, high = scipy.stats.t.interval(0.95, len(numbers) - 1, loc=mean, scale=error)
        assert mean_interval.half_width == pytest.approx((high - low) / 2, rel=1e-6)


@settings(deadline=None)
@given(values)
def test_it_is_the_formula_of_the_textbook(numbers: list[float]) -> None:
    quantile = scipy.stats.t.ppf(0.975, len(numbers) - 1)
    mean_interval = interval(numbers)
    assert mean_interval is not None
    expected = quantile * statistics.stdev(numbers) / len(numbers) ** 0.5
    assert mean_interval.half_width == pytest.approx(
        expected, rel=1e-6, abs=1e-9 * mean_interval.mean
    )


@pytest.mark.parametrize(
    ("count", "quantile"), [(2, 12.706), (3, 4.303), (5, 2.776), (10, 2.262), (31, 2.042)]
)
def test_its_quantile_is_the_one_of_the_printed_tables(count: int, quantile: float) -> None:
    """Student's t, two-sided 95%, as every table prints it."""
    numbers = [1.0, 3.0] + [2.0] * (count - 2)
    mean_interval = interval(numbers)
    assert mean_interval is not None
    assert mean_interval.half_width == pytest.approx(
        quantile * statistics.stdev(numbers) / count**0.5, rel=2e-4
    )


def test_equal_values_do_not_scatter() -> None:
    mean_interval = interval([89.999] * 3)
    assert mean_interval is not None
    assert (mean_interval.mean, mean_interval.half_width, mean_interval.relative_percent) == (
        89.999,
        0.0,
        0.0,
    )
    samples = sample_interval([89.999] * 3)
    assert samples is not None
    assert (samples.half_width, samples.autocorrelation) == (0.0, None)


def test_one_value_has_no_interval() -> None:
    assert interval([]) is None
    assert interval([5.0]) is None


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        interval([1.0, bad])


def test_a_mean_of_zero_has_no_relative_width() -> None:
    mean_interval = interval([-1.0, 1.0])
    assert mean_interval is not None
    assert mean_interval.relative_percent is None


def verdict(
    scores: dict[str, list[float]], done: int | None = None, ended: int | None = None
) -> Continue | Stop:
    count = done if done is not None else len(next(iter(scores.values()), []))
    return repeats_verdict(scores, TARGET, done=count, ended=count if ended is None else ended)


STEADY = [100.0, 101.0, 99.0]
WILD = [100.0, 140.0, 60.0]


def test_it_stops_when_the_interval_is_narrow_enough() -> None:
    assert verdict({"write": STEADY}) == Stop("3 repeats: half-width 2.5% ≤ 5%")


def test_every_test_has_to_be_sure() -> None:
    assert verdict({"write": STEADY, "read": WILD}) == Continue(
        "half-width 99% > 5% in the widest of 2 tests, read"
    )
    assert verdict({"write": STEADY, "random_read": STEADY}) == Stop(
        "3 repeats: half-width 2.5% ≤ 5% in the widest of 2 tests, write"
    )


def test_it_goes_on_below_the_least_however_sure_it_is() -> None:
    assert verdict({"write": [100.0, 100.0]}) == Continue("2 of at least 3 repeats are finished")


def test_it_stops_at_the_most_and_says_how_unsure_it_still_is() -> None:
    assert verdict({"write": WILD * 3}, done=10) == Stop(
        "stopped at the most, 10: half-width still 27%"
    )


def test_failed_repeats_count_against_the_most() -> None:
    assert verdict({}, done=0, ended=9) == Continue("0 of at least 3 repeats are finished")
    assert verdict({}, done=0, ended=10) == Stop(
        "stopped at the most, 10, 10 of them without a result: "
        "too few finished repeats for an interval"
    )
    assert verdict({"write": [100.0, 101.0]}, done=2, ended=10) == Stop(
        "stopped at the most, 10, 8 of them without a result: half-width still 6.3%"
    )
    assert verdict({"write": [100.0, 100.1]}, done=2, ended=10) == Stop(
        "stopped at the most, 10, 8 of them without a result: half-width 0.63%, with fewer "
        "finished repeats than the least, 3"
    )


def test_a_test_that_misses_a_score_is_not_sure() -> None:
    assert isinstance(verdict({"write": STEADY, "read": [100.0]}), Continue)


@pytest.mark.parametrize(
    ("spread", "reason"),
    [(2.0137, "half-width 5.0023% > 5%"), (2.0127, "3 repeats: half-width 5% ≤ 5%")],
)
def test_what_is_printed_never_contradicts_what_is_decided(spread: float, reason: str) -> None:
    assert verdict({"write": [100.0, 100.0 + spread, 100.0 - spread]}).reason == reason


@settings(deadline=None)
@given(st.lists(st.floats(min_value=50, max_value=150), min_size=0, max_size=12))
def test_repeating_ends_whatever_is_measured(numbers: list[float]) -> None:
    decision = verdict(
        {"write": numbers} if numbers else {}, done=len(numbers), ended=max(10, len(numbers))
    )
    assert isinstance(decision, Stop)
