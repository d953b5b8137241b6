"""Numbers as people read them: one unit for a table, digits by the interval."""

import pytest

from fsbench_web.core.numbers import Scale, decimals_by_width, percent_by_width, scale_of, written


@pytest.mark.parametrize(
    ("unit", "values", "base", "unit_shown", "amounts"),
    [
        ("KB/s", [2344121.83, 314572.8], 1024, "GiB/s", ["2.24", "0.300"]),
        ("KB/s", [2344121.83, 314572.8], 1000, "GB/s", ["2.34", "0.315"]),
        # Of KB that may be of either nothing is made.
        ("KB/s", [2344121.83], None, "KB/s", ["2,344,122"]),
        ("KiB/s", [2344121.83], None, "GiB/s", ["2.24"]),
        ("kB/s", [2344121.83], None, "GB/s", ["2.34"]),
        ("MB", [0.5], 1000, "kB", ["500"]),
        ("s", [0.35, 0.2], None, "ms", ["350", "200"]),
        ("s", [70.0, 0.001], None, "s", ["70", "0.00100"]),
        ("ns", [812.3, 120000.0], None, "µs", ["0.812", "120"]),
        ("IOPS", [123456.78], None, "IOPS", ["123,457"]),
        ("score", [1234567.8], None, "score", ["1,234,568"]),
        ("KB/s", [0.0], 1024, "KB/s", ["0"]),
        ("s", [], None, "s", []),
    ],
)
def test_one_unit_for_all_values_of_a_table(unit, values, base, unit_shown, amounts) -> None:
    scale = scale_of(unit, values, base)
    assert scale.unit == unit_shown
    assert [scale.amount(value) for value in values] == amounts


def test_values_far_apart_get_a_unit_in_which_the_smallest_can_be_read() -> None:
    scale = scale_of("MiB/s", [0.5, 2000.0])
    assert (scale.unit, scale.amount(0.5), scale.amount(2000.0)) == ("MiB/s", "0.500", "2,000")
    assert scale_of("MiB/s", [0.001, 200000.0]).unit == "GiB/s"  # no unit is good for both


@pytest.mark.parametrize(
    ("value", "half_width", "text"),
    [
        # The examples of the Particle Data Group, Review of Particle Physics, rounding.
        (0.827, 0.119, "0.83"),
        (0.827, 0.367, "0.8"),
        # 950 to 999 are rounded up to 1000.
        (2.2361, 0.0096, "2.236"),
        (2.2361, 0.0013, "2.2361"),
        (2.2361, 5.0, "2"),
        # Digits before the point stay: zeros in their place nobody measured.
        (123456.0, 3000.0, "123,456"),
        # No scatter at all says nothing of digits.
        (2.2361, 0.0, "2.24"),
    ],
)
def test_digits_are_those_that_the_interval_leaves(value, half_width, text) -> None:
    assert written(value, half_width) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(95.0413, "95.0"), (9.678, "9.68"), (0.9612, "0.961"), (9.996, "10.0"), (949.6, "950")],
)
def test_three_digits_are_three_whatever_the_first_is(value, text) -> None:
    assert written(value) == written(value, 0.0) == text


@pytest.mark.parametrize(
    ("value", "half_width", "text"),
    [(0.355, 4.6, "0.4"), (2.8e-5, 3.6e-4, "0.00003"), (0.96, 40.0, "1.0"), (0.0, 4.6, "0")],
)
def test_no_interval_is_so_wide_that_what_was_measured_is_zero(value, half_width, text) -> None:
    assert written(value, half_width) == text


def test_what_is_no_number_is_missing_and_what_is_tiny_is_not_zero() -> None:
    assert written(None) == written(float("nan")) == written(float("inf")) == "–"
    assert written(3e-12) == "3e-12"
    assert written(-0.0) == "0"
    assert decimals_by_width(1e-8) == 9
    assert Scale("s").amount(1e300) == "1e+300"


@pytest.mark.parametrize(
    ("value", "half_width", "text"),
    [
        (-17.312, None, "−17.3"),
        (3.3333, 0.012, "+3.33"),
        (-17.3, 4.0, "−17"),
        (0.004, None, "+0.004"),
        # A hundredth of a speed is a speed.
        (-99.7, 4.0, "−99.7"),
        (-99.97, None, "−99.97"),
        (-99.99, 0.012, "−99.99"),
        (-100.0, 4.0, "−100"),
        (0.0, None, "0"),
        (None, None, "–"),
    ],
)
def test_a_difference_has_its_sign_and_is_never_shown_as_none(value, half_width, text) -> None:
    assert percent_by_width(value, half_width) == text
