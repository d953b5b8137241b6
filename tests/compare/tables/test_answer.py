"""The answer of delta tables: what counts, its status, its words, its caveats."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import pytest

from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.core.comparison.answer import (
    CEILING_UNRELIABLE,
    CONDITIONS_DIFFER,
    NO_COMMON_TEST,
    ONE_BLOCK,
    ONE_ENTRY,
    PAGE_CACHE,
    PROMISES_DIFFER,
    ComparisonAnswer,
    answer_from,
    matrix_of,
)
from fsbench_web.core.comparison.answer_shown import basis, details, headline
from fsbench_web.core.comparison.delta_tables import MIXED_WORKLOADS
from fsbench_web.core.comparison.headlines import caveats_of, headline_tables, line_against
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.comparison.significance import Rule, with_verdicts
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.stats.verdicts import FREENIX
from tests.compare.tables.verdicts.test_significance import interval_around, row


def table(test: str, unit: str = "KB/s", category: str = "mean", **scores: float) -> DeltaTable:
    lower = unit == "s"
    best = (min if lower else max)(scores.values())
    rows = (row(name, score, best=score == best) for name, score in scores.items())
    return DeltaTable(test, category, unit, lower, tuple(rows))


def measured(
    test: str = "write", unit: str = "KB/s", workload: str = "IOzone", **repeats: Sequence[float]
) -> DeltaTable:
    """A judged table of repeats in blocks of one study."""
    scores = {name: sum(values) / len(values) for name, values in repeats.items()}
    plain = table(test, unit, **scores)
    rows = tuple(
        row._replace(
            repeat_scores=tuple((f"b{at}", value) for at, value in enumerate(repeats[name])),
            runs=len(repeats[name]),
            workload=workload,
        )
        for row in plain.rows
        for name in [row.contender]
    )
    (judged,) = with_verdicts([replace(plain, rows=rows)])
    return judged


STEADY = [100.0, 101.0, 99.0, 100.5, 99.5]
FASTER = [value * 1.5 for value in (101.0, 100.0, 99.5, 100.2, 99.8)]


def of(*tables: DeltaTable, baseline: str = "", cached: Sequence[int] = ()) -> ComparisonAnswer:
    return answer_from(tables, baseline, cached)


def test_a_leader_is_named_with_the_interval_of_its_lead() -> None:
    found = of(measured(ext4=STEADY, xfs=FASTER))
    assert (found.status, found.leader) == ("faster", "xfs")
    assert headline(found) == "xfs is 50% faster than ext4 (95%: 49% to 52%)."
    assert details(found) == ["Significant in 1 of 1 test."]
    assert basis(found) == "5 rounds, paired"
    assert found.as_dict()["ratio"] == pytest.approx(1.5, rel=0.01)


def test_a_winner_of_no_single_test_is_explained() -> None:
    """Three rounds: the leads of six tests scatter, and their mean does not."""
    leads = (1.01, 1.08, 1.15)
    tables = [
        measured(
            f"t{n}", ext4=STEADY[:3], xfs=[STEADY[at] * leads[(at + n) % 3] for at in range(3)]
        )
        for n in range(6)
    ]
    found = of(*with_verdicts(tables))
    assert (found.status, found.leader, found.significant) == ("faster", "xfs", ())
    assert details(found) == [
        "Significant in 0 of 6 tests. The mean of all tests decides: it scatters less than each "
        "test. Ahead but not significant in 6."
    ]


def test_without_evidence_nobody_is_named() -> None:
    found = of(measured(ext4=[90.0, 110.0, 100.0], xfs=[120.0, 95.0, 101.0]))
    assert (found.status, found.leader, found.as_dict()["leader"]) == ("inconclusive", None, None)
    assert headline(found).startswith("No clear winner: xfs 1.05× ext4 (95%: 0.")


def test_one_run_each_is_not_enough_to_tell() -> None:
    found = of(table("write", a=2.0, b=1.0))
    assert (found.status, found.leader) == ("inconclusive", None)
    assert headline(found) == "No clear winner: a 2.00× b. One run each: not enough to tell."
    assert found.caveats == (ONE_BLOCK,)
    assert found.as_dict()["ratio_low"] is None


def test_it_depends_on_the_test_where_both_directions_are_significant() -> None:
    found = of(
        measured("a", ext4=STEADY, xfs=FASTER),
        measured("b", ext4=STEADY, xfs=FASTER),
        measured("c", ext4=FASTER, xfs=STEADY),
    )
    assert (found.status, found.leader) == ("mixed", None)
    assert headline(found) == "It depends on the test: xfs is faster in 2 tests, ext4 in 1."


def test_answer_tables_and_matrix_mark_the_same_tests() -> None:
    """Of ten tests two are close calls: significant alone, and not among all."""
    own = (1.02, 0.99, 1.06, 1.04, 1.015)
    close = [value * 1.02 * factor for value, factor in zip(STEADY, own, strict=True)]
    noisy = [88.0, 112.0, 97.0, 108.0, 95.0]
    plain = [
        *(measured(f"close{n}", ext4=STEADY, xfs=close) for n in range(2)),
        *(measured(f"open{n}", ext4=STEADY, xfs=noisy) for n in range(7)),
        measured("sure", ext4=STEADY, xfs=FASTER),
    ]
    tables = with_verdicts(plain)
    found = of(*tables)
    marked = {
        table.test
        for table in tables
        for row in table.rows
        if row.best and row.verdict is not None and row.verdict.status == "significant"
    }
    matrix = matrix_of(tables, found)
    assert matrix is not None
    cells = {
        row.test
        for _, rows in matrix.groups
        for row in rows
        if any(cell is not None and cell.is_significant for cell in row.cells)
    }
    assert set(found.significant) | set(found.slower) == marked == cells == {"sure"}
    assert sum(row.verdict.status == "significant" for table in plain for row in table.rows) > 2


def test_equal_entries_are_equivalent() -> None:
    close = [value * 1.001 for value in STEADY]
    found = of(measured(ext4=STEADY, xfs=close, btrfs=[50.0, 51, 49, 50, 50]))
    assert (found.status, found.leader) == ("equivalent", None)
    assert "less than 2%" in headline(found)
    assert "btrfs is 50% slower than ext4." in details(found)


def test_workloads_have_an_answer_each_and_are_not_averaged() -> None:
    found = of(
        measured("read", workload="IOzone", ext4=STEADY, xfs=FASTER),
        measured("ops", workload="PostMark", ext4=FASTER, xfs=STEADY),
    )
    assert [work.workload for work in found.workloads] == ["IOzone", "PostMark"]
    assert (found.status, found.leader, found.as_dict()["ratio"]) == ("mixed", None, None)
    assert "xfs is faster for IOzone, ext4 is faster for PostMark" in headline(found)
    agreed = of(
        measured("read", workload="IOzone", ext4=STEADY, xfs=FASTER),
        measured("ops", workload="PostMark", ext4=STEADY, xfs=FASTER),
    )
    assert (agreed.status, agreed.leader) == ("faster", "xfs")
    assert headline(agreed) == "xfs is faster than ext4 in all 2 workloads, by 50%."


def test_one_measurement_counts_once() -> None:
    names = ("iops", "bw", "lat_mean", "clat_mean", "clat_max", "clat_p99", "clat_p99.99")
    found = of(*(measured(f"randread_{name}", ext4=STEADY, xfs=FASTER) for name in names))
    assert found.tests == ("randread_iops",)
    assert set(found.secondary) == {f"randread_{name}" for name in names[1:]}


def test_only_what_every_entry_has_and_what_is_work_counts() -> None:
    found = of(
        table("read", a=2.0, b=1.0),
        table("write", a=1.0),
        table("mkfs", "s", a=9.0, b=1.0),
        table("zero", a=0.0, b=1.0),
    )
    assert found.tests == ("read",)
    assert found.secondary == ("write", "mkfs", "zero")


def test_what_cannot_be_compared_says_why() -> None:
    for tables, missing in (
        ([], ""),
        ([table("write", a=1.0)], ONE_ENTRY),
        ([table("write", a=1.0), table("read", b=1.0)], NO_COMMON_TEST),
        ([table("mkfs", "s", a=1.0, b=2.0)], NO_COMMON_TEST),
    ):
        found = of(*tables)
        assert (found.status, found.missing, found.leader) == ("none", missing, None)
        assert headline(found).startswith("Nothing to compare.")


def test_a_matrix_counts_by_the_mean_of_its_data_points_and_not_by_a_sum() -> None:
    tables = [
        table("write", category="maximum", a=9.0, b=1.0),
        table("write", category="overall", a=9.0, b=1.0),
        table("write", category="total_average", a=3.0, b=1.0),
    ]
    (shown,) = headline_tables(tables)
    assert shown.category == "total_average"
    assert of(*tables).as_dict()["ratio"] == pytest.approx(3.0)


def test_standings_are_relative_to_the_baseline_else_to_the_runner_up() -> None:
    tables = [table("read", a=4.0, b=2.0, c=1.0)]
    assert [one.ratio for one in of(*tables).standings] == pytest.approx([2.0, 1.0, 0.5])
    found = of(*tables, baseline="c")
    assert [one.ratio for one in found.standings] == pytest.approx([4.0, 2.0, 1.0])
    assert of(*tables, baseline="moon").workloads[0].answer.baseline == "b"


def test_caveats_have_codes() -> None:
    plain = measured(ext4=STEADY, xfs=FASTER)
    rows = tuple(row._replace(series_id=at) for at, row in enumerate(plain.rows))
    assert of(replace(plain, rows=rows), cached=[1]).caveats == (PAGE_CACHE,)
    assert of(replace(plain, rows=rows), cached=[7]).caveats == ()
    above = tuple(
        row._replace(share=Share(206.2, 100.0, "random read of 4 KiB", 3, 5.0)) for row in rows
    )
    assert of(replace(plain, rows=above)).caveats == (CEILING_UNRELIABLE,)


@pytest.mark.parametrize(
    ("kept", "flags", "expected"),
    [
        ([1], ("not_flushed",), (PROMISES_DIFFER,)),
        ([1], ("failed_crash_points",), ()),
        ([1], (), ()),
        ([], ("not_flushed",), ()),
        # A run of the same entry kept it: the entry is flagged, and no other one is known.
        ([0], ("not_flushed",), ()),
    ],
)
def test_promises_differ_where_one_is_kept_and_another_is_not(
    kept: list[int], flags: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    plain = measured(ext4=STEADY, xfs=FASTER)
    rows = tuple(row._replace(series_id=at) for at, row in enumerate(plain.rows))
    table = replace(plain, rows=(rows[0]._replace(flags=flags), *rows[1:]))
    assert answer_from([table], without=[("not_flushed", kept)]).caveats == expected


def test_emulated_and_real_entries_have_no_interval() -> None:
    plain = measured(ext4=STEADY, xfs=FASTER)
    rows = (plain.rows[0]._replace(flags=("emulated",)), *plain.rows[1:])
    (judged,) = with_verdicts([replace(plain, rows=rows)])
    found = of(judged)
    assert (found.leader, found.as_dict()["ratio_low"]) == (None, None)


def test_a_ratio_to_the_smallest_of_all_numbers_is_one_too() -> None:
    ratio = of(table("write", a=5e-324, b=1.0)).as_dict()["ratio"]
    assert 1e300 < ratio < inf
    for line in (
        line_against(table("write", a=5e-324, b=1.0), "a"),
        line_against(table("copy", "s", a=1e30, b=5e-324), "a"),
    ):
        assert line.ratio is not None
        assert 1e300 < line.ratio < inf


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
    """The ratio of the scores: of 100, 200, 600 to 100, 100, 400 that is 1.5. The geometric mean of
    the ratios 1, 2 and 1.5 would be the cube root of 3.
    """
    judged_table = blocks(fast=[100.0, 200.0, 600.0], slow=[100.0, 100.0, 400.0])
    line = line_against(judged_table, "slow")
    assert line.ratio == pytest.approx(1.5)
    assert line.verdict is not None
    assert line.verdict.ratio_low < line.ratio < line.verdict.ratio_high
    assert uncertainty.pair_verdict(line.verdict) == "inconclusive, paired in 3 rounds"
    low, to, high = uncertainty.interval_of(line.verdict).partition(" to ")
    assert low.startswith("\u2212")
    assert to
    assert high.startswith("+")
    assert uncertainty.signed_percent(line.ratio) == "+50.0%"
    # The same of a baseline that is the best: of the two that stand beside each other.
    turned = line_against(judged_table, "fast")
    assert (turned.best.contender, turned.other.contender) == ("fast", "slow")
    assert turned.ratio == pytest.approx(line.ratio)


def test_a_lead_over_the_baseline_that_is_none_over_others_says_so() -> None:
    judged_table = blocks(a=[300.0, 310.0, 320.0], b=[299.0, 330.0, 300.0], c=[100.0, 103.0, 107.0])
    line = line_against(judged_table, "c")
    assert uncertainty.pair_verdict(line.verdict) == "faster, paired in 3 rounds"
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
    assert uncertainty.pair_verdict(line.verdict) == "faster, FREENIX rule"
    assert line.is_undecided_elsewhere
    assert uncertainty.verdict_over_others(line.best.verdict) == "inconclusive against 1 other"


@pytest.mark.parametrize("rule", [Rule(), Rule(FREENIX)], ids=["ratios", "freenix"])
def test_of_three_that_share_a_score_two_have_it(rule: Rule) -> None:
    [judged_table] = with_verdicts([table("write", a=5.0, b=5.0, c=5.0)], rule)
    assert (
        uncertainty.pair_verdict(line_against(judged_table, "b").verdict) == uncertainty.SAME_SCORE
    )
    [judged_table] = with_verdicts([table("write", a=5.0, b=5.0, c=4.0)], rule)
    assert (
        uncertainty.pair_verdict(line_against(judged_table, "b").verdict) == uncertainty.SAME_SCORE
    )


def test_what_is_not_known_of_noise_is_not_said() -> None:
    caveats = caveats_of([table("read", a=2.0, b=1.0)])
    assert (caveats.noise, caveats.noisiest, caveats.rows) == (None, None, 2)


def test_what_has_one_identity_is_one_workload_and_other_identities_are_others() -> None:
    """An import of two jobs, and our own preset of one of them at two depths."""
    at_8, at_1 = (f"random_8k_read_iops@iodepth={depth}" for depth in (8, 1))
    both = measured(at_8, "ops/s", workload="ours", ext4=STEADY, xfs=FASTER)
    both = replace(
        both,
        rows=tuple(
            row._replace(
                workload="imported" if row.contender == "xfs" else "ours", flags=(MIXED_WORKLOADS,)
            )
            for row in both.rows
        ),
    )
    ours = measured(at_1, "ops/s", workload="ours", ext4=STEADY, zfs=FASTER)
    stream = measured(
        "sequential_1m_read_bw@iodepth=8", workload="imported", xfs=STEADY, ext4=FASTER
    )
    found = of(both, stream)
    assert {work.workload for work in found.workloads} == {"Random 8k", "Sequential 1m"}
    assert CONDITIONS_DIFFER in found.caveats
    alone = of(ours, stream)
    assert {work.workload for work in alone.workloads} == {"ours", "imported"}
    assert CONDITIONS_DIFFER not in alone.caveats
    # No test of random 8k was measured of all three, so each workload has its answer.
    apart = of(both, ours)
    assert {work.answer.tests for work in apart.workloads} == {(at_8,), (at_1,)}
