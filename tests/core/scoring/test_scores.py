"""Scores: against values worked out by hand, and against what must hold for any repeats."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.core.scoring.categories import CATEGORIES, SUMMED, expected_cells
from fsbench_web.core.scoring.scores import (
    UNEQUAL_REPEATS,
    harmonic_mean,
    score_mean,
    score_repeats,
)
from fsbench_web.core.workloads import presets

rates = st.floats(min_value=0, max_value=1e12, allow_nan=False)
cells = st.tuples(
    st.sampled_from([2**n for n in range(11)]), st.sampled_from([2**n for n in range(2, 23)])
)
repeats = st.lists(st.dictionaries(cells, rates, max_size=12), max_size=4)


def test_it_scores_two_repeats_by_hand():
    first = {(1, 4): 10.0, (4, 4): 20.0, (16, 4096): 40.0, (64, 64): 100.0}
    second = {(1, 4): 30.0, (4, 4): 40.0, (16, 4096): 60.0, (64, 64): 200.0}
    scores = score_repeats([first, second])
    assert {slug: score.value for slug, score in scores.items()} == {
        "maximum": 200.0,
        "minimum": 10.0,
        "total_average": 62.5,
        "target_average": 25.0,  # (1, 4) and (4, 4): means 20 and 30
        "ora_ta": 40.0,  # (4, 4) and (16, 4096): means 30 and 50
        "specfp_ta": 25.0,
        "overall": 200.0 + 10.0 + 62.5 + 25.0 + 40.0 + 25.0,
    }
    assert scores["maximum"].cells == 4
    assert scores["target_average"].cells == 2
    assert all(score.repeats == 2 and score.flags == () for score in scores.values())


def test_it_takes_the_mean_over_the_repeats_that_have_the_cell():
    scores = score_repeats([{(4, 4): 10.0, (4, 8): 90.0}, {(4, 4): 30.0}])
    assert scores["ora_ta"].value == (20.0 + 90.0) / 2
    assert scores["total_average"].value == pytest.approx(130 / 3)
    assert scores["ora_ta"].flags == (UNEQUAL_REPEATS,)
    assert scores["overall"].flags == (UNEQUAL_REPEATS,)


def test_unequal_repeats_are_told_only_where_the_missing_cell_counts():
    scores = score_repeats([{(4, 4): 1.0, (1024, 4194304): 2.0}, {(4, 4): 1.0}])
    assert scores["total_average"].flags == (UNEQUAL_REPEATS,)
    assert scores["target_average"].flags == ()


def test_a_region_without_a_cell_is_missing_and_so_is_the_overall_score():
    scores = score_repeats([{(64, 64): 5.0}])
    assert set(scores) == {"maximum", "minimum", "total_average"}


def test_nothing_measured_is_no_score():
    assert score_repeats([]) == {}
    assert score_repeats([{}, {}]) == {}


def test_a_repeat_without_any_cell_is_no_repeat_but_is_told():
    score = score_repeats([{(4, 4): 5.0}, {}])["maximum"]
    assert (score.repeats, score.flags) == (1, (UNEQUAL_REPEATS,))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_it_refuses_what_is_no_number(value):
    with pytest.raises(ValueError, match="not a finite number"):
        score_repeats([{(4, 4): value}])
    with pytest.raises(ValueError, match="not a finite number"):
        score_mean([1.0, value])


def test_the_limits_of_a_region_belong_to_it():
    assert CATEGORIES["target_average"].holds((32, 2048))
    assert not CATEGORIES["target_average"].holds((32, 4096))
    assert not CATEGORIES["target_average"].holds((64, 2048))
    assert CATEGORIES["ora_ta"].holds((4, 4))
    assert CATEGORIES["ora_ta"].holds((16, 4194304))
    assert not CATEGORIES["ora_ta"].holds((2, 4))
    assert CATEGORIES["specfp_ta"].holds((1, 4194304))


def test_the_papers_matrix_has_these_cells():
    counts = expected_cells(presets()["iozone-paper"].workload().cells())
    # 21 file sizes from 4 KB to 4 GB; records 1 to 1024 KB that fit into them.
    assert counts["total_average"] == counts["overall"] == sum(min(n, 10) + 1 for n in range(2, 23))
    assert counts["target_average"] == sum(min(n, 5) + 1 for n in range(2, 12))
    assert counts["specfp_ta"] == 21 * 3
    assert counts["ora_ta"] == 21 * 3 - 2 - 1


@given(repeats)
def test_averages_lie_between_minimum_and_maximum(given_repeats):
    scores = score_repeats(given_repeats)
    for slug in ("total_average", "target_average", "ora_ta", "specfp_ta"):
        if slug in scores:
            slack = 1e-12 * scores["maximum"].value
            assert scores["minimum"].value - slack <= scores[slug].value
            assert scores[slug].value <= scores["maximum"].value + slack


@given(repeats)
def test_overall_is_the_sum_of_the_six_or_missing(given_repeats):
    scores = score_repeats(given_repeats)
    parts = [scores[slug].value for slug in SUMMED if slug in scores]
    assert ("overall" in scores) == (len(parts) == 6)
    if "overall" in scores:
        assert scores["overall"].value == math.fsum(parts)


@given(repeats.flatmap(lambda r: st.tuples(st.just(r), st.permutations(r))))
def test_the_order_of_repeats_does_not_matter(pair):
    given_repeats, shuffled = pair
    assert score_repeats(given_repeats) == score_repeats(shuffled)


@given(st.dictionaries(cells, rates, min_size=1, max_size=12))
def test_an_equal_second_repeat_changes_no_score_but_the_count(repeat):
    once, twice = score_repeats([repeat]), score_repeats([repeat, repeat])
    for slug, score in once.items():
        assert twice[slug].value == pytest.approx(score.value)
        assert (score.repeats, twice[slug].repeats) == (1, 2)
        assert twice[slug].flags == ()


@given(st.lists(rates, min_size=1))
def test_a_test_without_a_matrix_is_scored_by_its_mean(values):
    score = score_mean(values)
    assert score is not None
    is_one = len(set(values)) == 1
    assert score.value == (values[0] if is_one else math.fsum(values) / len(values))
    assert score.repeats == len(values)


def test_the_mean_of_equal_values_is_their_value():
    assert math.fsum([89.999] * 3) / 3 != 89.999  # 89.99899999999998
    score = score_mean([89.999] * 3)
    assert score is not None
    assert score.value == 89.999
    matrix = score_repeats([{(1, 4): 89.999, (4, 64): 89.999, (16, 64): 89.999}])
    assert {score.value for slug, score in matrix.items() if slug != "overall"} == {89.999}


def test_no_value_has_no_mean():
    assert score_mean([]) is None


def test_the_harmonic_mean_of_rates_is_all_work_over_all_time() -> None:
    rates, work = [30.0, 60.0, 20.0], 600.0
    assert harmonic_mean(rates) == pytest.approx(3 * work / sum(work / rate for rate in rates))
    assert harmonic_mean([89.999] * 3) == 89.999
    assert harmonic_mean([30.0, 0.0]) is None
    assert harmonic_mean([]) is None
