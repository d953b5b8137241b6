"""The interval against scipy's own and against tables."""

import statistics

import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.stats.intervals import interval, sample_interval

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
