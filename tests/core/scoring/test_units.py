import pytest

from fsbench_web.core.units import UnknownUnit, is_known, lower_is_better, overall_unit


@pytest.mark.parametrize(
    "unit", ["s", "seconds", "ms", "µs", "CPU seconds", "real s", "MB", "% CPU"]
)
def test_times_space_and_load_are_better_when_small(unit):
    assert lower_is_better(unit) is True


@pytest.mark.parametrize(
    "unit", ["KB/s", "MB/s", "MiB/s", "operations/s", "score", "transactions per second", "IOPS"]
)
def test_rates_are_better_when_large(unit):
    assert lower_is_better(unit) is False


@pytest.mark.parametrize("unit", ["", "furlongs", "/s", "steps"])
def test_it_does_not_guess(unit):
    assert not is_known(unit)
    with pytest.raises(UnknownUnit, match="does not know"):
        lower_is_better(unit)


def test_a_sum_of_rates_is_a_score_and_a_sum_of_times_stays_a_time():
    assert overall_unit("KB/s") == "score"
    assert overall_unit("µs") == "µs"


def test_a_sum_of_what_has_no_direction_has_none_either():
    assert overall_unit("furlongs") == "furlongs"
    assert not is_known(overall_unit("furlongs"))
