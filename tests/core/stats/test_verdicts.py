"""Verdicts of two contenders, against scipy's tests and by hand."""

from dataclasses import replace
from math import inf, log
from statistics import fmean, stdev

import numpy as np
import pytest
import scipy  # its parts are loaded when they are asked for

from fsbench_web.core.stats import verdicts as subject
from fsbench_web.core.stats.intervals import Interval, interval
from fsbench_web.core.stats.verdicts import (
    EQUAL,
    EQUIVALENT,
    FASTER,
    MANY,
    OF_MEANS,
    PAIRED,
    ROUNDED,
    SIGNIFICANT,
    SLOWER,
    TIE,
    UNPAIRED,
    Family,
    Repeats,
    Verdict,
    blocks_to_decide,
    compared,
    compared_over_tests,
    family,
)

# Five blocks that drift by far more than the two differ.
EXT4 = {"1": 100.0, "2": 108.0, "3": 93.0, "4": 101.0, "5": 112.0}
XFS = {
    block: value * ratio
    for (block, value), ratio in zip(EXT4.items(), (1.061, 1.055, 1.066, 1.058, 1.063), strict=True)
}


def repeats(values: dict[str, float], rounding: float = 0.0) -> Repeats:
    return Repeats(fmean(values.values()), tuple(values.items()), rounding=rounding)


def verdict_of(
    ahead: dict[str, float],
    behind: dict[str, float],
    *,
    lower_is_better: bool = False,
    margin_percent: float = 2.0,
    rounding: tuple[float, float] = (0.0, 0.0),
) -> Verdict:
    verdict = compared(
        repeats(ahead, rounding[0]),
        repeats(behind, rounding[1]),
        lower_is_better=lower_is_better,
        margin_percent=margin_percent,
    )
    assert verdict is not None
    assert verdict.p_value is not None
    return verdict


def apart(*percents: float, margin_percent: float = 2.0) -> Verdict:
    """The verdict of one that is so many percent faster than 100 in each block."""
    blocks = {str(number): 100.0 + percent for number, percent in enumerate(percents)}
    return verdict_of(blocks, dict.fromkeys(blocks, 100.0), margin_percent=margin_percent)


def test_the_ratio_is_that_of_the_means_and_so_of_the_scores_shown() -> None:
    """Blocks that differ: the mean of the ratios is another number, of the other side of 1."""
    ahead = {"1": 10.0, "2": 100.0, "3": 400.0}
    behind = {"1": 20.0, "2": 110.0, "3": 300.0}
    verdict = verdict_of(ahead, behind)
    assert verdict.ratio == pytest.approx(510 / 430, rel=1e-12)
    assert fmean(log(ahead[block] / behind[block]) for block in ahead) < 0
    slower = verdict_of(ahead, behind, lower_is_better=True)
    assert slower.ratio == pytest.approx(430 / 510, rel=1e-12)


def test_a_drift_of_the_blocks_does_not_hide_a_difference() -> None:
    verdict = verdict_of(XFS, EXT4)
    assert (verdict.direction, verdict.method, verdict.blocks) == (FASTER, PAIRED, 5)
    assert verdict.ratio == pytest.approx(sum(XFS.values()) / sum(EXT4.values()))
    assert 1.05 < verdict.ratio_low < verdict.ratio < verdict.ratio_high < 1.07
    # Unpaired the same numbers are a tie: the scatter between blocks is 7%.
    assert (
        scipy.stats.ttest_ind(list(XFS.values()), list(EXT4.values()), equal_var=False).pvalue > 0.1
    )


def test_the_other_way_round_it_is_slower_by_the_reciprocal() -> None:
    verdict, other = verdict_of(XFS, EXT4), verdict_of(EXT4, XFS)
    assert other.direction == SLOWER
    assert other.ratio == pytest.approx(1 / verdict.ratio, rel=1e-12)
    assert other.ratio_low == pytest.approx(1 / verdict.ratio_high, rel=1e-12)
    assert other.p_value == pytest.approx(verdict.p_value, rel=1e-9)
    assert verdict.turned().ratio_low == pytest.approx(other.ratio_low, rel=1e-12)


def test_of_times_the_shorter_is_the_faster() -> None:
    seconds = verdict_of(XFS, EXT4, lower_is_better=True)
    assert (seconds.direction, verdict_of(EXT4, XFS, lower_is_better=True).direction) == (
        SLOWER,
        FASTER,
    )


@pytest.mark.parametrize("count", [3, 4, 7, 12, 40])
def test_interval_and_p_values_are_those_of_the_delta_method(count: int) -> None:
    draw = np.random.default_rng(count)
    ours, theirs = draw.normal(103, 4, count), draw.normal(100, 5, count)
    named = [{str(place): float(v) for place, v in enumerate(side)} for side in (ours, theirs)]
    verdict = verdict_of(named[0], named[1])
    centre = log(ours.mean() / theirs.mean())
    influence = centre + ours / ours.mean() - theirs / theirs.mean()
    student = scipy.stats.ttest_1samp(influence, 0)
    ends = student.confidence_interval(0.95)
    assert verdict.p_value == pytest.approx(student.pvalue, rel=1e-9)
    assert log(verdict.ratio_low) == pytest.approx(ends.low, rel=1e-9)
    assert log(verdict.ratio_high) == pytest.approx(ends.high, rel=1e-9)
    margin = log(1.02)
    sides = (
        scipy.stats.ttest_1samp(influence, margin, alternative="less").pvalue,
        scipy.stats.ttest_1samp(influence, -margin, alternative="greater").pvalue,
    )
    assert verdict.p_equivalence == pytest.approx(max(sides), rel=1e-9)


@pytest.mark.parametrize("counts", [(2, 2), (3, 7), (10, 4)])
def test_unpaired_it_is_welchs_of_relative_deviations(counts: tuple[int, int]) -> None:
    draw = np.random.default_rng(sum(counts))
    sides = [draw.normal(100, 5, count).tolist() for count in counts]
    of_repeats = [Repeats(fmean(side), tuple(("", value) for value in side)) for side in sides]
    verdict = compared(*of_repeats, lower_is_better=False)
    assert verdict is not None
    assert (verdict.method, verdict.blocks) == (UNPAIRED, 0)
    variances = [(stdev(side) / fmean(side)) ** 2 / len(side) for side in sides]
    freedom = sum(variances) ** 2 / sum(
        variance**2 / (len(side) - 1) for variance, side in zip(variances, sides, strict=True)
    )
    half = scipy.stats.t.ppf(0.975, freedom) * sum(variances) ** 0.5
    assert log(verdict.ratio_high / verdict.ratio) == pytest.approx(half, rel=1e-9)
    # An interval says the same of repeats that were not kept.
    kept = [Repeats(fmean(side), interval=interval(side)) for side in sides]
    again = compared(*kept, lower_is_better=False)
    assert again is not None
    assert again.ratio_high == pytest.approx(verdict.ratio_high, rel=1e-9)


def test_runs_outside_of_the_shared_blocks_count_in_ratio_and_interval() -> None:
    """The score is the mean of all repeats, and so is what is compared."""
    more = XFS | {"6": 160.0, "7": 70.0}
    verdict, shared = verdict_of(more, EXT4), verdict_of(XFS, EXT4)
    assert (verdict.blocks, verdict.method) == (5, PAIRED)
    assert verdict.ratio == pytest.approx(fmean(more.values()) / fmean(EXT4.values()))
    assert verdict.ratio_high / verdict.ratio_low > 2 * shared.ratio_high / shared.ratio_low - 1
    assert OF_MEANS not in verdict.reasons


def test_it_says_where_the_score_is_not_the_mean_of_the_repeats() -> None:
    best_cases = (replace(repeats(XFS), score=200.0), replace(repeats(EXT4), score=210.0))
    verdict = compared(*best_cases, lower_is_better=False)
    assert verdict is not None
    assert OF_MEANS in verdict.reasons
    assert verdict.ratio > 1


def test_over_tests_it_is_the_geometric_mean_and_blocks_carry_the_dependence() -> None:
    tests = 4
    one = verdict_of(XFS, EXT4)
    same = compared_over_tests([repeats(XFS)] * tests, [repeats(EXT4)] * tests, [False] * tests)
    assert same is not None
    assert same.ratio == pytest.approx(one.ratio)
    assert same.ratio_high == pytest.approx(one.ratio_high)  # no narrower by asking four times
    back = compared_over_tests(
        [repeats(XFS), repeats(EXT4)], [repeats(EXT4), repeats(XFS)], [False, False]
    )
    assert back is not None
    assert back.ratio == pytest.approx(1)


def test_what_is_less_than_the_margin_is_no_difference_however_sure() -> None:
    tight = (1.00, 1.01, 0.99, 1.00, 1.02)
    verdict = apart(*tight)
    assert verdict.p_value < 0.001
    assert (verdict.status, verdict.direction) == (EQUAL, EQUIVALENT)
    assert apart(*tight, margin_percent=0.5).direction == FASTER


def test_what_is_not_known_says_how_many_blocks_would_decide() -> None:
    verdict = apart(8, -5, 9, -2)
    assert verdict.status == TIE
    assert verdict.more_blocks is not None
    assert 1 <= verdict.more_blocks < 100
    decided = apart(*(8, -5, 9, -2) * 40)
    assert (decided.direction, decided.more_blocks) == (FASTER, None)
    # To leave the margin takes more than to leave 1.
    beyond = blocks_to_decide(verdict, beyond_margin=True)
    assert beyond is None or beyond > verdict.more_blocks


def test_a_difference_on_the_edge_of_the_margin_is_decided_by_no_number_of_blocks() -> None:
    """Neither another than none, nor surely below the margin: scatter far above both."""
    wide = apart(90, -60, 91, -60, 0)
    assert (wide.more_blocks, wide.outlook) == (None, subject.TOO_NOISY)


def test_a_verdict_of_before_there_were_outlooks_has_that_of_its_numbers() -> None:
    for values in ((90, -60, 91, -60, 0), (8, -5, 9, -2), (5, 5, 5)):
        now = apart(*values)
        before = {name: value for name, value in now.as_dict().items() if name != "outlook"}
        assert subject.Verdict.from_dict(before) == now
        assert subject.Verdict.from_dict(now.as_dict()) == now
    undecidable = apart(90, -60, 91, -60, 0)._replace(reasons=(subject.TICKS,), outlook=None)
    before = {name: value for name, value in undecidable.as_dict().items() if name != "outlook"}
    assert subject.Verdict.from_dict(before).outlook is None


def test_without_scatter() -> None:
    assert apart(5, 5, 5).direction == FASTER
    assert apart(0, 0, 0).direction == EQUIVALENT
    same = apart(6.25, 6.25, 6.25, 6.25)
    assert (same.p_value, same.ratio_low, same.ratio_high) == (0.0, same.ratio, same.ratio)


@pytest.mark.parametrize("shared", [0, 1, 2])
def test_fewer_than_three_shared_blocks_are_not_paired(shared: int) -> None:
    ahead = {str(block): 100.0 + block for block in range(shared)} | {"a": 1.0, "b": 2.0}
    behind = {str(block): 90.0 for block in range(shared)} | {"c": 1.0, "d": 2.0}
    verdict = verdict_of(ahead, behind)
    assert (verdict.method, verdict.blocks) == (UNPAIRED, shared)


def test_a_mean_of_zero_has_no_ratio_and_one_zero_has() -> None:
    assert compared(repeats(dict.fromkeys(EXT4, 0.0)), repeats(XFS), lower_is_better=False) is None
    assert verdict_of(EXT4 | {"2": 0.0}, XFS).method == PAIRED


def test_the_smallest_numbers_have_a_ratio_too() -> None:
    least = dict.fromkeys(EXT4, 5e-324)
    verdict = verdict_of(
        least, {block: 1e15 * value for block, value in XFS.items()}, lower_is_better=True
    )
    assert verdict.direction == FASTER
    assert verdict.ratio_low <= verdict.ratio <= verdict.ratio_high < inf
    whole = compared(
        Repeats(5e-324, interval=Interval(5e-324, 0.0, 3)),
        Repeats(2.0, interval=Interval(2.0, 0.1, 3)),
        lower_is_better=True,
    )
    assert whole is not None
    assert whole.ratio > 1e300


@pytest.mark.parametrize("value", [inf, float("nan")])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        compared(repeats(EXT4 | {"2": value}), repeats(XFS), lower_is_better=False)


def test_q_values_are_those_of_benjamini_and_hochberg() -> None:
    p_values = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
    shown = Family(p_values)
    expected = scipy.stats.false_discovery_control(p_values)
    assert [shown.q_value(p) for p in p_values] == pytest.approx(expected.tolist())
    assert sum(shown.q_value(p) <= 0.05 for p in p_values) == 2
    assert Family([]).q_value(0.03) == 0.03


def test_pairs_that_nobody_asks_about_count_as_the_last() -> None:
    asked = [0.001, 0.02]
    among = Family(asked, pairs=10)
    expected = scipy.stats.false_discovery_control([*asked, *[1.0] * 8])
    assert [among.q_value(p) for p in asked] == pytest.approx(expected[:2].tolist())
    # A pair that is asked about later is judged by the same limit.
    assert among.q_value(0.004) <= 0.05 < among.q_value(0.006)


def test_a_family_takes_back_what_chance_found() -> None:
    barely = apart(3, 5, 4.5, 8, 1, 11)
    assert barely.direction == FASTER
    nothing = [apart(5, -4, 2, -3, 6, -5)] * 9
    verdicts = family([barely, *nothing])
    assert verdicts[0].p_holm == pytest.approx(10 * barely.p_value)
    assert verdicts[0].q_value == pytest.approx(10 * barely.p_value)
    assert (verdicts[0].tested, verdicts[0].status) == (10, TIE)
    assert MANY in verdicts[0].reasons
    # It takes more rounds than it would alone.
    assert verdicts[0].more_blocks is not None
    equal = apart(0.1, -0.1, 0.05, -0.05)
    assert family([equal, *nothing])[0].status == EQUAL


def test_a_family_of_differences_keeps_what_holms_method_would_lose() -> None:
    """The more of them are significant, the less each has to be."""
    verdicts = family([apart(3, 5, 4.5, 8, 1, 11)] * 10)
    assert {verdict.status for verdict in verdicts} == {SIGNIFICANT}
    assert verdicts[0].p_holm > 0.05


def test_of_a_pair_that_is_far_from_sure_the_level_is_that_of_its_family() -> None:
    pair = apart(12, -2, 9, 0, 6)
    sure = [apart(60, 61, 59, 60, 60)] * 20
    alone = pair.more_blocks
    among = family([pair, *[apart(5, -4, 2, -3, 6)] * 40])[0].more_blocks
    beside_sure = family([pair, *sure])[0].more_blocks
    assert alone is not None
    assert among is not None
    assert beside_sure is not None
    assert alone <= beside_sure < among


def test_repeats_that_come_out_the_same_have_no_scatter_at_all() -> None:
    """Neither has what binary digits add to three times the same value."""
    verdict = verdict_of(dict.fromkeys("abc", 762.52), dict.fromkeys("abc", 3.1))
    assert verdict.deviation == 0


ONE_STEP = (1 / 12**0.5 / 100, 1 / 12**0.5 / 100)
"""What rounding to whole numbers makes of 100 and its neighbour."""


def test_scatter_is_never_less_than_what_rounding_makes() -> None:
    """100 and 101 of whole numbers may both be 100.5. By hand: the logarithm over sqrt(2 / 12)%
    and sqrt(3), two degrees of freedom.
    """
    ours, theirs = dict.fromkeys("abc", 101.0), dict.fromkeys("abc", 100.0)
    plain = verdict_of(ours, theirs, margin_percent=0)
    assert (plain.p_value, plain.direction) == (0.0, FASTER)
    rounded = verdict_of(ours, theirs, margin_percent=0, rounding=ONE_STEP)
    assert rounded.status == TIE
    assert ROUNDED in rounded.reasons
    error = 0.01 * (2 / 12) ** 0.5 / 3**0.5
    expected = 2 * scipy.stats.t.sf(log(1.01) / error, 2)
    assert rounded.p_value == pytest.approx(expected, rel=1e-9)
    assert verdict_of(dict.fromkeys("abc", 150.0), theirs, rounding=ONE_STEP).direction == FASTER


def test_rounding_changes_nothing_of_what_scatters_more() -> None:
    tenths = (ONE_STEP[0] / 10, ONE_STEP[1] / 10)
    assert verdict_of(XFS, EXT4, rounding=tenths) == verdict_of(XFS, EXT4)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_unpaired_means_have_the_scatter_of_rounding_too(count: int) -> None:
    sides = [
        Repeats(mean, rounding=step, interval=Interval(mean, 0.0, count))
        for mean, step in zip((101.0, 100.0), ONE_STEP, strict=True)
    ]
    verdict = compared(*sides, lower_is_better=False, margin_percent=0)
    assert verdict is not None
    error = 0.01 * (2 / 12) ** 0.5 / count**0.5
    expected = 2 * scipy.stats.t.sf(log(1.01) / error, 2 * (count - 1))
    assert verdict.p_value == pytest.approx(expected, rel=1e-9)
    assert (verdict.direction == FASTER) is (count > 2)


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
