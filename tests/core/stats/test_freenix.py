from itertools import permutations
from math import sqrt

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.core.stats.freenix import compare, welch_p
from fsbench_web.core.stats.intervals import TRIALS, Interval, interval, sample_interval
from fsbench_web.core.stats.verdicts import SIGNIFICANT, TIE, Verdict, decided, holm, pairs_of

VALUES = st.lists(st.floats(min_value=1.0, max_value=1e6, allow_nan=False), min_size=2, max_size=12)


def of(*values: float) -> Interval:
    mean_interval = interval(values)
    assert mean_interval is not None
    return mean_interval


def verdict(a: Interval, b: Interval, margin: float = 10.0, lower: bool = False) -> Verdict:
    return compare(a, b, margin_percent=margin, lower_is_better=lower)


def test_apart_by_more_than_both_intervals_and_a_tenth_is_significant() -> None:
    # Half-widths by hand: t(0.975, 2) = 4.30265; s = 1; 4.30265 / sqrt(3) = 2.48414.
    ahead, behind = of(99.0, 100.0, 101.0), of(79.0, 80.0, 81.0)
    assert ahead.half_width == pytest.approx(2.48414, abs=1e-5)
    outcome = verdict(ahead, behind)
    assert outcome.status == SIGNIFICANT
    assert outcome.reasons == ()
    assert outcome.difference_percent == 20.0


def test_overlapping_intervals_are_a_tie_however_far_apart_the_means() -> None:
    outcome = verdict(of(100.0, 140.0), of(60.0, 100.0))
    assert outcome.status == TIE
    assert outcome.reasons == ("overlap",)


def test_intervals_that_touch_overlap() -> None:
    touching = verdict(Interval(100.0, 10.0, 3), Interval(80.0, 10.0, 3))
    apart = verdict(Interval(100.0, 10.0, 3), Interval(80.0, 9.999, 3))
    assert touching.reasons == ("overlap",)
    assert apart.status == SIGNIFICANT


def test_a_tenth_is_enough_and_a_hair_less_is_not() -> None:
    behind = Interval(90.0, 0.1, 3)
    assert verdict(Interval(100.0, 0.1, 3), behind).status == SIGNIFICANT
    assert verdict(Interval(99.999, 0.1, 3), behind).reasons == ("margin",)


def test_a_close_call_is_decided_in_decimals() -> None:
    """0.1 + 0.2 is more than 0.3 in binary, and 0.4 - 0.1 is not 0.3: these intervals touch."""
    assert "overlap" in verdict(Interval(0.4, 0.1, 3), Interval(0.1, 0.2, 3)).reasons
    assert "overlap" not in verdict(Interval(0.4, 0.1, 3), Interval(0.1, 0.1999999, 3)).reasons


@pytest.mark.parametrize(("margin", "status"), [(0.0, SIGNIFICANT), (5.0, SIGNIFICANT), (6.0, TIE)])
def test_the_margin_can_be_chosen(margin: float, status: str) -> None:
    assert verdict(Interval(100.0, 0.1, 3), Interval(95.0, 0.1, 3), margin).status == status


def test_a_tenth_of_a_tenth_is_exact_in_decimals() -> None:
    """In binary (0.3 - 0.27) / 0.3 is a hair less than a tenth."""
    assert verdict(Interval(0.3, 0.001, 3), Interval(0.27, 0.001, 3)).status == SIGNIFICANT


def test_of_times_the_smaller_mean_is_ahead() -> None:
    fast, slow = Interval(8.0, 0.1, 3), Interval(10.0, 0.1, 3)
    assert verdict(fast, slow, lower=True).status == SIGNIFICANT
    assert verdict(fast, slow, lower=True).difference_percent == 20.0
    assert "order" in verdict(slow, fast, lower=True).reasons


def test_a_winner_by_its_score_whose_mean_is_behind_is_no_winner() -> None:
    """A maximum is taken over all repeats: one lucky repeat wins, and the means say otherwise."""
    outcome = verdict(Interval(80.0, 1.0, 3), Interval(100.0, 1.0, 3))
    assert outcome.status == TIE
    assert outcome.reasons == ("order",)


def test_equal_means_are_a_tie_for_three_reasons() -> None:
    assert verdict(of(5.0, 5.0), of(5.0, 5.0)).reasons == ("equal", "overlap", "margin")


def test_no_scatter_at_all_takes_the_limit_of_the_test() -> None:
    assert welch_p(of(5.0, 5.0), of(6.0, 6.0)) == 0.0
    assert welch_p(of(5.0, 5.0), of(5.0, 5.0)) == 1.0
    one_sided = welch_p(of(5.0, 5.0), of(6.0, 6.1, 6.2))
    assert one_sided == pytest.approx(
        scipy.stats.ttest_1samp([6.0, 6.1, 6.2], 5.0).pvalue, rel=1e-9
    )


def test_zero_and_negative_means_have_no_percentages_and_never_win() -> None:
    assert verdict(Interval(0.0, 0.0, 2), Interval(0.0, 0.0, 2)).difference_percent is None
    assert verdict(Interval(5.0, 0.1, 2), Interval(-5.0, 0.1, 2)).reasons == ("margin",)


@given(VALUES, VALUES)
def test_the_p_value_is_that_of_welch(a: list[float], b: list[float]) -> None:
    first, other = of(*a), of(*b)
    if min(first.half_width, other.half_width) < 1e-6 * max(first.mean, other.mean):
        return  # scipy itself warns of lost precision there
    expected = scipy.stats.ttest_ind(a, b, equal_var=False).pvalue
    assert welch_p(first, other) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_welch_by_hand() -> None:
    # means 21 and 24, variances 1 and 4 with n = 3: t = 3 / sqrt(5/3), nu = (5/3)^2 / (17/18).
    a, b = of(20.0, 21.0, 22.0), of(22.0, 24.0, 26.0)
    t, freedom = 3 / sqrt(5 / 3), (5 / 3) ** 2 / (17 / 18)
    assert welch_p(a, b) == pytest.approx(2 * scipy.stats.t.sf(t, freedom), rel=1e-12)


def test_holm_by_hand() -> None:
    """The example that most texts give: 0.01, 0.04, 0.03, 0.005 of four tests."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_of_one_test_changes_nothing_and_of_none_is_none() -> None:
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_holm_never_exceeds_one_and_does_not_depend_on_the_order() -> None:
    given_values = [0.5, 0.9, 0.2]
    for places in permutations(range(3)):
        adjusted = holm([given_values[place] for place in places])
        assert [adjusted[places.index(n)] for n in range(3)] == pytest.approx([1.0, 1.0, 0.6])


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_holm_refuses_what_is_no_probability(p: float) -> None:
    with pytest.raises(ValueError, match="p-value"):
        holm([0.5, p])


def test_many_tests_at_once_need_more_than_one_does() -> None:
    pair = compare(of(100.0, 101.0), of(60.0, 62.0), margin_percent=10.0, lower_is_better=False)
    assert pair.p_value is not None
    assert 0.0001 < pair.p_value < 0.01
    assert decided(pair, pair.p_value).status == SIGNIFICANT
    many = decided(pair, 0.051, tested=100)
    assert (many.status, many.reasons, many.tested) == (TIE, ("many",), 100)


def test_the_correction_never_makes_a_winner_of_a_tie() -> None:
    tie = verdict(Interval(100.0, 0.01, 9), Interval(95.0, 0.01, 9))
    assert tie.p_value is not None
    assert tie.p_value < 1e-9
    assert decided(tie, tie.p_value).status == TIE
    assert tie.candidate_p == 1


@given(VALUES, VALUES, st.floats(min_value=0, max_value=100))
def test_not_both_of_two_can_be_ahead(a: list[float], b: list[float], margin: float) -> None:
    first, other = of(*a), of(*b)
    statuses = {verdict(first, other, margin).status, verdict(other, first, margin).status}
    assert TIE in statuses


@given(VALUES, VALUES)
def test_a_larger_margin_never_makes_a_difference_significant(
    a: list[float], b: list[float]
) -> None:
    wide = verdict(of(*a), of(*b), 50.0)
    if wide.status == SIGNIFICANT:
        assert verdict(of(*a), of(*b), 10.0).status == SIGNIFICANT


def test_a_verdict_by_samples_says_so() -> None:
    samples = sample_interval([100.0, 101.0, 99.0, 100.0])
    assert samples is not None
    assert verdict(samples, of(60.0, 61.0, 62.0)).reasons == ("samples",)
    trials = sample_interval([100.0, 101.0, 99.0, 100.0], TRIALS)
    assert trials is not None
    assert verdict(trials, of(60.0, 61.0, 62.0)).reasons == ("trials",)


def test_neighbouring_samples_that_are_alike_are_told() -> None:
    rising, alternating = sample_interval(range(1, 21)), sample_interval([1.0, 2.0] * 10)
    assert rising is not None
    assert alternating is not None
    # By hand: sum over pairs of (i - 10.5)(i - 9.5) for i = 1..19 is 565.25, of squares 665.
    assert rising.autocorrelation == pytest.approx(565.25 / 665)
    assert rising.follows
    assert alternating.autocorrelation == pytest.approx(-0.95)
    assert not alternating.follows


def test_samples_without_scatter_have_no_autocorrelation() -> None:
    mean_interval = sample_interval([4.0, 4.0, 4.0])
    assert mean_interval is not None
    assert (mean_interval.half_width, mean_interval.autocorrelation, mean_interval.follows) == (
        0.0,
        None,
        False,
    )
    assert sample_interval([4.0]) is None


def test_of_a_family_that_is_known_in_part_the_others_are_taken_as_later() -> None:
    assert holm([0.01, 0.02], 10) == pytest.approx([0.10, 0.18])
    assert holm([0.01, 0.02], 2) == holm([0.01, 0.02])
    with pytest.raises(ValueError, match="than are tested"):
        holm([0.01, 0.02], 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.data())
def test_a_part_of_a_family_is_corrected_no_less_than_among_all(
    p_values: list[float], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(p_values)))
    whole = holm(p_values)
    part = holm(p_values[:count], len(p_values))
    assert all(of_part >= of_whole for of_part, of_whole in zip(part, whole, strict=False))


def test_pairs_of_contenders() -> None:
    assert [pairs_of(count) for count in range(5)] == [0, 0, 1, 3, 6]
