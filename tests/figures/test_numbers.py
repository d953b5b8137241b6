from decimal import ROUND_HALF_UP, Decimal

import pytest
from django.template.defaultfilters import floatformat
from hypothesis import example, given
from hypothesis import strategies as st

from fsbench_web.core import numbers


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1147056.63, "score", "1,147,056.63"),
        (692055.0, "KB/s", "692,055.00"),
        (292.067, "s", "292.067"),
        (29.4, "s", "29.4"),
        (70.0, "s", "70"),
        (0.0, "KB/s", "0.00"),
    ],
)
def test_an_amount_has_the_decimals_of_its_unit(value: float, unit: str, text: str) -> None:
    assert numbers.amount(value, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "least", "text"),
    [
        # A mount that took 87 µs is not a mount in no time.
        (0.0000874333, "s", 0, "0.0000874"),
        (0.00527, "s", 2, "0.00527"),
        (0.05, "s", 0, "0.05"),
        (0.05, "s", 2, "0.05"),
        (0.0999999, "s", 0, "0.1"),
        (0.0999999, "s", 2, "0.10"),
        (0.1, "s", 2, "0.10"),
        (-0.0004, "s", 0, "-0.0004"),
        (0.004, "KB/s", 0, "0.004"),
        (0.05, "KB/s", 0, "0.05"),
        (0.0, "s", 2, "0.00"),
        (0.4, "ns", 0, "0.0004"),
        (2e-30, "ops/s", 2, "2e-30"),
        (1.25e-30, "KB/s", 0, "1.25e-30"),
        # As many digits as a float has, and not the 31 of its binary form.
        (1e30, "ops/s", 2, "1e+30"),
        (8.5e29, "KB/s", 0, "8.5e+29"),
        (999_999_999_999_999.0, "KB/s", 0, "999,999,999,999,999.00"),
    ],
)
def test_what_was_measured_is_never_written_as_zero_nor_with_invented_digits(
    value: float, unit: str, least: int, text: str
) -> None:
    assert numbers.amount(value, unit, least) == text


def test_a_percentage_of_very_many_digits_is_a_power_of_ten() -> None:
    assert numbers.percent(-6.666e58) == "-6.666e+58"


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_a_missing_number_is_a_dash_and_never_a_zero(value: float | None) -> None:
    assert numbers.amount(value, "KB/s") == "–"
    assert numbers.amount(value, "s") == "–"
    assert numbers.with_unit(value, "KB/s") == "–"
    assert numbers.percent(value) == "–"
    assert numbers.size(value) == "–"
    assert numbers.duration(value) == "–"
    assert numbers.compact(value) == ""


def test_a_percentage_of_zero_has_no_sign() -> None:
    assert numbers.percent(-0.0) == "0.00"
    assert numbers.percent(-107.8) == "-107.80"


def test_the_overall_score_has_no_unit() -> None:
    assert numbers.with_unit(12.5, "score") == "12.50"
    assert numbers.with_unit(12.5, "KB/s") == "12.50 KB/s"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (4194304 * 1024, "4 GiB"),
        (566772105216, "527.8 GiB"),
        (2**80, "1048576 EiB"),
        (None, "–"),
    ],
)
def test_sizes_count_in_1024_and_say_so(value: int | None, text: str) -> None:
    assert numbers.size(value) == text


@pytest.mark.parametrize(
    ("value_kb", "text"),
    [(0.5, "512 B"), (1, "1 KB"), (1024, "1 MB"), (4194304, "4 GB"), (None, "–")],
)
def test_sizes_of_benchmarks_are_in_the_words_of_the_papers(
    value_kb: float | None, text: str
) -> None:
    assert numbers.benchmark_size(value_kb) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (0.345, "0.34 s"),
        (9.99, "10 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (7500, "2 h 5 min"),
        (90000, "1 d 1 h"),
        (86400, "1 d"),
    ],
)
def test_durations_name_two_units_at_most(value: float, text: str) -> None:
    assert numbers.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1147056.63, "1.15 M"), (999.4, "999"), (999.9, "1 k"), (52300, "52.3 k"), (0.5, "0.5")],
)
def test_compact_numbers_have_three_digits(value: float, text: str) -> None:
    assert numbers.compact(value) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([29.4, 17.9, 6.45, 5.99], ["29.40", "17.90", "6.45", "5.99"]),
        ([1.0, 0.5, 0.44], ["1.00", "0.50", "0.44"]),
        # As precise as it was given, and no digit more.
        ([292.067, 297.27], ["292.067", "297.27"]),
        ([70.0, None, 65.0], ["70", "–", "65"]),
        ([], []),
    ],
)
def test_seconds_that_stand_together_align(values: list[float | None], texts: list[str]) -> None:
    least = numbers.least_decimals(values)
    assert [numbers.amount(value, "s", least) for value in values] == texts


def test_rates_always_have_two_decimals() -> None:
    assert numbers.amount(70.0, "KB/s", numbers.least_decimals([70.0])) == "70.00"


def test_nanoseconds_are_read_as_micro_and_milliseconds() -> None:
    assert numbers.unit_name("ns") == "µs"
    assert numbers.unit_name("KB/s") == "KB/s"
    # No digit is lost: three decimals of a microsecond are nanoseconds.
    assert numbers.amount(1_234_567, "ns") == "1,234.567"
    assert numbers.amount(815_240, "ns", 2) == "815.24"
    assert numbers.with_unit(815_240, "ns") == "815.24 µs"
    assert numbers.with_unit(1_234_567, "ns") == "1.235 ms"
    assert numbers.with_unit(None, "ns") == "–"
    assert numbers.span(999_000, 1_234_567, "ns") == "0.999 to 1.235 ms"
    assert numbers.span(99_000, 234_567, "ns") == "99 to 234.567 µs"
    assert numbers.span(1.5, 2, "s") == "1.5 to 2 s"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (99.994, "99.99"),
        (99.997, "99.997"),
        (-99.9999999, "-99.9999999"),
        (100.0, "100.00"),
        (100.001, "100.00"),
        (0.004, "0.004"),
        (-0.0006, "-0.0006"),
        (2e-12, "2e-12"),
    ],
)
def test_two_decimals_say_neither_that_all_of_a_speed_is_gone_nor_nothing(value, text) -> None:
    assert numbers.percent(value) == text


@given(st.floats(0, 1e6), st.integers(0, 3))
@example(99.7, 0)
@example(99.99999999999999, 0)
@example(5e-324, 2)
def test_only_all_is_written_as_all_and_nothing_as_nothing(size: float, decimals: int) -> None:
    written = float(numbers.percent_size(size, decimals).replace(",", ""))
    assert (written == 0) == (size == 0)
    assert size >= 100 or written < 100
    assert abs(written - size) <= 0.5001 * 10**-decimals


@pytest.mark.parametrize(
    ("value", "text"), [(12.34, "+12.3"), (-99.97, "−99.97"), (-0.04, "−0.04"), (0, "0.0")]
)
def test_a_change_that_is_none_has_no_sign_and_one_that_is_keeps_it(value, text) -> None:
    assert numbers.signed_percent(value) == text


def test_how_many_times_is_never_zero() -> None:
    assert [numbers.ratio(value) for value in (0.003, 0.05, 9.371)] == ["0.003", "0.05", "9.37"]


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (5.05, 1, "5.1"),  # in binary 5.04999...
        (2.675, 2, "2.68"),
        (1234.5, 0, "1,235"),
        (0.5, 0, "1"),
        (-0.05, 1, "-0.1"),
        (-0.04, 1, "0.0"),
        (5e-05, 4, "0.0001"),
        (999999.995, 2, "1,000,000.00"),
    ],
)
def test_rounded_are_the_decimals_that_people_see(value: float, decimals: int, text: str) -> None:
    assert numbers.fixed(value, decimals) == numbers.number(value, decimals) == text


HALVES = st.integers(-(10**9), 10**9).map(lambda count: count / 1000) | st.floats(-1e12, 1e12)


@given(HALVES, st.integers(0, 5))
@example(5.05, 1)
@example(0.125, 2)
def test_all_round_alike(value: float, decimals: int) -> None:
    """Python and templates, which write numbers beside each other."""
    exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    text = numbers.fixed(value, decimals)
    assert Decimal(text.replace(",", "")) == exact
    if abs(value) >= 1e-6:  # of less a template writes a power of ten
        assert text == floatformat(value, f"{decimals}g")


@given(st.floats(1e-300, 1e300), st.integers(1, 6))
@example(0.01235, 3)
@example(9.995, 3)
@example(12350.0, 3)
def test_significant_digits_are_of_these_decimals_too(value: float, digits: int) -> None:
    exact = Decimal(repr(value))
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    rounded = exact.quantize(place, ROUND_HALF_UP)
    assert Decimal(numbers.scientific(value, digits)) == rounded


def test_tables_and_sentences_round_alike() -> None:
    assert numbers.written(5.05, 1.2) == numbers.fixed(5.05, 1) == "5.1"
    assert numbers.written(9.995) == "10.0"
    assert numbers.percent_by_width(-17.25) == "\u221217.3"
    assert numbers.percent(4.305) == "4.31"  # as published deltas are judged


def test_one_of_a_thing_is_one() -> None:
    counted = [numbers.counted(count, "run") for count in (0, 1, 2, 1234)]
    assert counted == ["0 runs", "1 run", "2 runs", "1,234 runs"]
