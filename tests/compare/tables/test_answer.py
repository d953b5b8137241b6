"""Who comes first over all tests, by how much, and how sure."""

from dataclasses import replace
from math import inf

import pytest

from fsbench_web.compare.tables.answer import (
    answer,
    caveats_of,
    headline_tables,
    why_unanswered,
)
from fsbench_web.compare.tables.lines_of_tests import line_against
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.tables.verdicts.significance import Rule, with_verdicts
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.scoring.significance import FREENIX
from tests.compare.tables.verdicts.test_significance import interval_around, row


def table(test: str, unit: str = "KB/s", category: str = "mean", **scores: float) -> DeltaTable:
    lower = unit == "s"
    best = (min if lower else max)(scores.values())
    rows = (row(name, score, best=score == best) for name, score in scores.items())
    return DeltaTable(test, category, unit, lower, tuple(rows))


def test_it_is_the_geometric_mean_of_ratios_of_speed_whatever_the_baseline() -> None:
    tables = [table("read", a=200.0, b=100.0), table("copy", "s", a=8.0, b=1.0)]
    ranking = answer(tables)
    assert ranking is not None
    assert (ranking.baseline, ranking.first.contender) == ("a", "b")
    # 1/2 as fast and 8 times as fast: twice, and not the 4.25 of the arithmetic mean.
    assert ranking.first.mean == pytest.approx(2.0)
    assert (ranking.first.lowest, ranking.first.highest) == pytest.approx((0.5, 8.0))
    turned = answer(tables, "b")
    assert turned is not None
    assert [standing.mean for standing in turned.standings] == pytest.approx([1.0, 0.5])
    assert ranking.slower_tests == ("read",)


def test_only_what_every_contender_has_and_what_is_work_counts() -> None:
    ranking = answer(
        [
            table("read", a=2.0, b=1.0),
            table("write", a=1.0),
            table("mkfs", "s", a=9.0, b=1.0),
            table("zero", a=0.0, b=1.0),
        ]
    )
    assert ranking is not None
    assert ranking.tests == ("read",)
    assert ranking.uncounted_tests == ("write", "mkfs", "zero")
    assert answer([table("write", a=1.0)]) is None
    assert answer([table("write", a=1.0), table("read", b=1.0)]) is None
    assert answer([]) is None


def test_a_ratio_to_the_smallest_of_all_numbers_is_one_too() -> None:
    ranking = answer([table("write", a=5e-324, b=1.0)])
    assert ranking is not None
    assert ranking.first.contender == "b"
    assert 1e300 < ranking.first.mean < inf
    for line in (
        line_against(table("write", a=5e-324, b=1.0), "a"),
        line_against(table("copy", "s", a=1e30, b=5e-324), "a"),
    ):
        assert line.ratio is not None
        assert 1e300 < line.ratio < inf


def test_the_slowest_operation_of_all_is_no_speed_of_the_work() -> None:
    slowest = table("job_read_clat_max@iodepth=8", "s", a=9.0, b=0.001)
    ranking = answer([table("read", a=2.0, b=1.0), slowest])
    assert ranking is not None
    assert (ranking.tests, ranking.uncounted_tests) == (("read",), (slowest.test,))
    assert ranking.first.mean == pytest.approx(2.0)


def test_scores_that_are_more_than_the_lun_does_are_counted() -> None:
    ranking = answer([table("read", a=2.0, b=1.0)])
    assert ranking is not None
    assert (ranking.scores, ranking.not_of_the_disk) == (2, 0)
    cached = table("read", a=200.0, b=1.0)
    rows = tuple(
        row._replace(share=Share(row.score, 100.0, "random read of 4 KiB", 3, 5.0))
        for row in cached.rows
    )
    ranking = answer([replace(cached, rows=rows), table("write", a=1.0, b=2.0)])
    assert ranking is not None
    assert (ranking.scores, ranking.not_of_the_disk) == (4, 1)


def test_a_baseline_that_is_not_there_is_the_slowest() -> None:
    ranking = answer([table("read", a=2.0, b=1.0, c=4.0)], "moon")
    assert ranking is not None
    assert ranking.baseline == "b"
    assert ranking.lead == pytest.approx(2.0)


@pytest.mark.parametrize(("second", "is_level"), [(1.0, True), (0.996, True), (0.99, False)])
def test_a_lead_that_is_said_as_one_is_no_lead(second: float, is_level: bool) -> None:
    ranking = answer([table("read", a=1.0, b=second)])
    assert ranking is not None
    assert ranking.is_level is is_level


def test_all_that_are_level_with_the_first_are_named() -> None:
    ranking = answer([table("read", a=1.0, b=1.0, c=0.999, d=0.5)])
    assert ranking is not None
    assert ranking.level_with == "b and c"


def test_who_shares_the_best_score_is_not_ahead() -> None:
    ranking = answer([table("read", a=2.0, b=2.0), table("write", a=2.0, b=1.0)])
    assert ranking is not None
    assert (ranking.first.contender, ranking.open, ranking.shared) == ("a", 1, 1)


def test_why_nothing_is_ranked_is_what_holds() -> None:
    assert why_unanswered([table("write", a=1.0)]) == "there is one contender alone"
    without = "no test of the work's speed has a score above 0 of every contender"
    # Two of the three share a test: that no two do would not be true.
    assert why_unanswered([table("write", a=1.0, b=2.0), table("read", b=1.0, c=2.0)]) == without
    assert why_unanswered([table("mkfs", "s", a=1.0, b=2.0)]) == without
    zeros = [table("write", a=0.0, b=1.0), table("copy", "s", a=0.0, b=2.0)]
    assert answer(zeros) is None
    assert why_unanswered(zeros).startswith("what all contenders have has a score of 0, of which")


def test_a_baseline_that_is_first_is_said_against_the_second() -> None:
    ranking = answer([table("read", a=4.0, b=2.0, c=1.0), table("copy", "s", a=1.0, b=1.0)], "a")
    assert ranking is not None
    assert (ranking.first.contender, ranking.against, ranking.has_third) == ("a", "b", False)
    assert ranking.compared.mean == pytest.approx(ranking.lead)
    usual = answer([table("read", a=4.0, b=2.0, c=1.0)])
    assert usual is not None
    assert (usual.against, usual.compared, usual.has_third) == ("c", usual.first, True)


def test_a_matrix_counts_by_the_mean_of_its_data_points_and_not_by_a_sum() -> None:
    tables = [
        table("write", category="maximum", a=9.0, b=1.0),
        table("write", category="overall", a=9.0, b=1.0),
        table("write", category="total_average", a=3.0, b=1.0),
    ]
    (headline,) = headline_tables(tables)
    assert headline.category == "total_average"
    ranking = answer(tables)
    assert ranking is not None
    assert ranking.first.mean == pytest.approx(3.0)


def test_a_line_says_the_best_against_the_baseline() -> None:
    line = line_against(table("copy", "s", a=8.0, b=2.0), "a")
    assert line.ratio == pytest.approx(4.0)
    assert (line.best.contender, line.other.contender) == ("b", "a")


def test_where_the_baseline_is_the_best_the_next_one_is_beside_it() -> None:
    for base in ("b", "nobody", ""):
        line = line_against(table("copy", "s", a=8.0, b=2.0, c=4.0), base)
        assert (line.best.contender, line.other.contender) == ("b", "c")
        assert line.ratio == pytest.approx(2.0)
    alone = line_against(table("copy", "s", a=8.0), "b")
    assert (alone.best.contender, alone.other, alone.ratio, alone.verdict) == (
        "a",
        None,
        None,
        None,
    )
    tied = line_against(table("read", a=2.0, b=2.0, c=1.0), "b")
    assert (tied.best.contender, tied.other.contender, tied.ratio) == ("b", "a", 1.0)


def blocks(**values: list[float]) -> DeltaTable:
    """Judged, of repeats that were measured in blocks: the scores are their means."""
    rows = [
        row._replace(
            repeat_scores=tuple((f"b{at}", score) for at, score in enumerate(values[name]))
        )
        for row in table("read", **{name: sum(scores) / 3 for name, scores in values.items()}).rows
        for name in [row.contender]
    ]
    (judged_table,) = with_verdicts([replace(table("read", a=1.0), rows=tuple(rows))])
    return judged_table


def test_the_difference_is_the_estimate_that_interval_and_verdict_are_of() -> None:
    """Not the ratio of the scores: of 100, 200, 600 to 100, 100, 400 that is 1.5, and the geometric
    mean of the ratios 1, 2 and 1.5 is the cube root of 3.
    """
    judged_table = blocks(fast=[100.0, 200.0, 600.0], slow=[100.0, 100.0, 400.0])
    line = line_against(judged_table, "slow")
    assert line.ratio == pytest.approx(3 ** (1 / 3))
    assert line.verdict is not None
    assert line.verdict.ratio_low < line.ratio < line.verdict.ratio_high
    assert uncertainty.pair_verdict(line.verdict) == "inconclusive, paired in 3 blocks"
    low, to, high = uncertainty.interval_of(line.verdict).partition(" to ")
    assert low.startswith("\u2212")
    assert to
    assert high.startswith("+")
    assert uncertainty.signed_percent(line.ratio) == "+44.2%"
    # The same of a baseline that is the best: of the two that stand beside each other.
    turned = line_against(judged_table, "fast")
    assert (turned.best.contender, turned.other.contender) == ("fast", "slow")
    assert turned.ratio == pytest.approx(line.ratio)


def test_a_lead_over_the_baseline_that_is_none_over_others_says_so() -> None:
    judged_table = blocks(a=[300.0, 310.0, 320.0], b=[299.0, 330.0, 300.0], c=[100.0, 103.0, 107.0])
    line = line_against(judged_table, "c")
    assert uncertainty.pair_verdict(line.verdict) == "faster, paired in 3 blocks"
    assert line.is_undecided_elsewhere
    assert uncertainty.verdict_over_others(line.best.verdict) == "inconclusive against 1 other"
    assert not line_against(judged_table, "b").is_undecided_elsewhere


def test_by_the_rule_of_freenix_who_ties_with_others_is_known() -> None:
    rows = (
        row(name, score, interval_around(score), best=name == "a")
        for name, score in (("a", 300.0), ("b", 299.0), ("c", 100.0))
    )
    [judged_table] = with_verdicts(
        [DeltaTable("write", "mean", "KB/s", False, tuple(rows))], Rule(FREENIX)
    )
    line = line_against(judged_table, "c")
    assert uncertainty.pair_verdict(line.verdict) == "significantly ahead"
    assert line.is_undecided_elsewhere
    assert uncertainty.verdict_over_others(line.best.verdict) == "tie with 1 other"


@pytest.mark.parametrize(
    ("rule", "words"), [(Rule(), "same score"), (Rule(FREENIX), "tie")], ids=["ratios", "freenix"]
)
def test_of_three_that_share_a_score_two_have_it(rule: Rule, words: str) -> None:
    [judged_table] = with_verdicts([table("write", a=5.0, b=5.0, c=5.0)], rule)
    assert uncertainty.pair_verdict(line_against(judged_table, "b").verdict) == words
    [judged_table] = with_verdicts([table("write", a=5.0, b=5.0, c=4.0)], rule)
    assert uncertainty.pair_verdict(line_against(judged_table, "b").verdict) == words


def test_what_is_not_known_of_noise_is_not_said() -> None:
    caveats = caveats_of([table("read", a=2.0, b=1.0)])
    assert (caveats.noise, caveats.noisiest, caveats.rows) == (None, None, 2)


def of(workload: str, table: DeltaTable) -> DeltaTable:
    return replace(table, rows=tuple(row._replace(workload=workload) for row in table.rows))


def test_it_says_where_one_workload_outweighs_all_others() -> None:
    """42 tests of two workloads, 36 of one of them: their mean is that of the one."""
    names = [f"randread_clat_p{place}" for place in range(30)] + [f"rate{n}" for n in range(6)]
    tables = [of("fio by queue depth", table(name, a=2.0, b=1.0)) for name in names]
    tables += [of("IOzone", table(f"other{place}", a=2.0, b=1.0)) for place in range(6)]
    counted = len(answer(tables).tests)
    workload = answer(tables).dominant_workload
    assert workload is not None
    assert workload.total == counted
    assert workload.sentence.startswith(f"{workload.tests} of the {counted} tests in the mean")
    assert workload.sentence.endswith(
        "fio by queue depth: it weighs more than all others together."
    )
    assert (
        answer(tables[:36]).dominant_workload is None
    )  # of one workload alone nothing is outweighed
    assert answer(tables[30:]).dominant_workload is None  # half and half
    assert (
        answer([table("read", a=2.0, b=1.0), table("copy", a=2.0, b=1.0)]).dominant_workload is None
    )
