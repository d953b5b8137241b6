"""The answer over several tests: its status follows the evidence."""

from dataclasses import replace
from math import exp

import pytest

from benchmarks.simulations import answers as simulated
from fsbench_web.core.stats.answers import (
    EQUIVALENT,
    FASTER,
    INCONCLUSIVE,
    MIXED,
    NONE,
    Answer,
    ComparedTest,
    Repeats,
    answer,
    together,
)
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.core.stats.verdicts import (
    MORE_REPEATS,
    TIED,
    TOO_NOISY,
    outlook,
    outlook_words,
)


def result_of(test: str, *, lower: bool = False, **values: list[float]) -> ComparedTest:
    """A test whose blocks are numbered."""
    made = simulated.result_of(test, values, is_paired=True)
    scores = {name: entry.score for name, entry in made.entries.items()}
    best = min(scores, key=scores.__getitem__) if lower else made.best
    return made._replace(lower_is_better=lower, best=best)


def found(*results: ComparedTest, baseline: str = "", margin: float = 2.0) -> Answer:
    made = answer(simulated.judged_together(list(results)), baseline, margin)
    assert made is not None
    return made


def test_a_real_difference_names_its_leader_with_an_interval() -> None:
    one = found(
        result_of("w", xfs=[110, 111, 109, 110.5, 110], ext4=[100, 101, 99, 100, 100.5]),
        result_of("r", xfs=[105, 106, 105, 104, 105], ext4=[100, 100.5, 99.5, 100, 100]),
    )
    assert (one.status, one.leader, one.runner_up) == (FASTER, "xfs", "ext4")
    assert one.ratio_low is not None
    assert 1.02 < one.ratio_low < one.ratio < 1.09
    assert one.significant == ("w", "r")
    assert one.slower == ()


def test_the_ratio_is_the_geometric_mean_over_tests_and_blocks() -> None:
    one = found(
        result_of("w", xfs=[400, 400, 400], ext4=[100, 100, 100]),
        result_of("r", xfs=[100, 100, 100], ext4=[100, 100, 100]),
    )
    assert one.ratio == pytest.approx(2.0)


def test_times_are_taken_reciprocally() -> None:
    one = found(result_of("t", lower=True, xfs=[2.0, 2.02, 1.98, 2.0], ext4=[1.0, 1.01, 0.99, 1.0]))
    assert one.first == "ext4"
    assert one.ratio == pytest.approx(2.0)


def test_one_run_each_has_a_ratio_and_no_interval() -> None:
    one = found(ComparedTest("w", False, {"xfs": Repeats(200.0), "ext4": Repeats(100.0)}, "xfs"))
    assert (one.status, one.leader, one.ratio) == (INCONCLUSIVE, None, pytest.approx(2.0))
    assert one.ratio_low is one.ratio_high is None
    assert one.repeats == (1, 1)
    assert one.outlook is None


def test_tests_that_differ_in_both_directions_name_no_leader() -> None:
    steady = [100, 101, 99, 100, 100.5]
    one = found(
        result_of("a", xfs=[v * 1.5 for v in steady], ext4=[*reversed(steady)]),
        result_of("b", xfs=[v * 1.4 for v in steady], ext4=[*reversed(steady)]),
        result_of("c", xfs=[v * 0.8 for v in steady], ext4=[*reversed(steady)]),
    )
    assert (one.status, one.leader) == (MIXED, None)
    assert one.wins == {"xfs": ("a", "b"), "ext4": ("c",)}
    assert one.slower == ("c",)


def test_a_tenth_of_the_tests_may_point_the_other_way_and_is_named() -> None:
    steady = [100, 101, 99, 100, 100.5]
    ahead = [
        result_of(f"t{n}", xfs=[v * 1.5 for v in steady], ext4=[*reversed(steady)])
        for n in range(9)
    ]
    behind = result_of("slow", xfs=[v * 0.8 for v in steady], ext4=[*reversed(steady)])
    one = found(*ahead, behind)
    assert (one.status, one.leader, one.slower) == (FASTER, "xfs", ("slow",))
    assert one.lost_to == {"slow": "ext4"}
    assert found(*ahead[:8], behind).status == MIXED  # one of nine is more than a tenth


def test_scores_within_the_margin_are_equivalent() -> None:
    one = found(result_of("w", xfs=[100.1, 100, 99.9, 100], ext4=[100, 100.2, 99.8, 100.1]))
    assert (one.status, one.leader) == (EQUIVALENT, None)


def test_a_difference_within_the_margin_is_not_faster() -> None:
    """1.5% faster for sure, where 2% is what matters."""
    one = found(result_of("w", xfs=[101.5, 101.6, 101.4, 101.5], ext4=[100, 100.1, 99.9, 100]))
    assert one.leader is None


def test_the_leader_must_be_faster_than_every_other() -> None:
    steady = [100, 101, 99, 100, 100.5]
    one = found(
        result_of(
            "w",
            btrfs=[v * 0.5 for v in steady],
            xfs=[v * 1.01 for v in [90, 110, 100, 95, 105]],
            ext4=steady,
        )
    )
    assert (one.entries[-1], one.leader) == ("btrfs", None)


def test_without_blocks_the_interval_is_welchs() -> None:
    one = found(
        simulated.result_of(
            "w", {"xfs": [150, 152, 149, 151], "ext4": [100, 101, 99.5, 100]}, is_paired=False
        )
    )
    assert (one.status, one.blocks) == (FASTER, 0)


def test_intervals_stand_in_for_repeats_that_were_not_kept() -> None:
    results = [
        ComparedTest(
            "w",
            False,
            {
                name: Repeats(mean, interval=Interval(mean, 5.0, 5, "repeats"))
                for name, mean in (("xfs", 150.0), ("ext4", 100.0))
            },
            "xfs",
        )
    ]
    one = found(*results)
    assert (one.status, one.repeats) == (FASTER, (5, 5))


def test_repeats_of_another_study_are_not_paired() -> None:
    results = [result_of("w", xfs=[150, 152, 149, 151], ext4=[100, 101, 99.5, 100])]
    elsewhere = {name: replace(repeats, study=name) for name, repeats in results[0].entries.items()}
    assert found(results[0]).blocks == 4
    assert found(results[0]._replace(entries=elsewhere)).blocks == 0


def test_a_wide_interval_of_three_rounds_is_noise_and_no_tie() -> None:
    noisy = found(result_of("w", xfs=[112, 65, 140], ext4=[98, 103, 101]))
    assert (noisy.status, noisy.more_blocks, noisy.outlook) == (INCONCLUSIVE, None, TOO_NOISY)
    assert noisy.ratio_low is not None
    assert noisy.ratio_high is not None
    assert noisy.ratio_low < 0.6
    assert noisy.ratio_high > 1.8


def test_advice_is_of_the_pair_that_is_not_decided() -> None:
    """The runner-up is surely slower; only the third is too noisy."""
    steady = [100.0, 100.5, 99.5, 100.2, 99.8]
    noisy = [150.0, 45.0, 160.0, 40.0, 99.0]
    one = found(result_of("w", xfs=[v * 1.2 for v in steady], ext4=steady, jfs=noisy))
    assert (one.entries, one.status) == (("xfs", "ext4", "jfs"), INCONCLUSIVE)
    assert one.ratio_low is not None
    assert one.ratio_low > 1.1
    assert one.more_blocks is None or one.more_blocks > 5
    assert one.outlook in (TOO_NOISY, MORE_REPEATS)


def test_a_narrow_interval_that_repeats_cannot_decide_is_a_tie() -> None:
    """2.0% apart by the estimate, where 2% is what matters: repeats stay at the margin."""
    pattern = [-3, 4, 1, -2, 3, -4, 2, -1, 0, 1, -1, 0, 2, -2, 3, -3]
    ext4 = [100.0 + value for value in pattern]
    one = found(result_of("w", xfs=[102.0 + value for value in reversed(pattern)], ext4=ext4))
    assert (one.status, one.more_blocks, one.outlook) == (INCONCLUSIVE, None, TIED)


@pytest.mark.parametrize(
    ("low", "high", "more", "expected"),
    [
        (0.95, 1.05, None, TIED),
        (1 / 1.1, 1.1, None, TIED),
        (0.9, 1.05, None, TOO_NOISY),
        (0.95, 1.11, None, TOO_NOISY),
        (0.5, 2.17, None, TOO_NOISY),
        (0.5, 2.17, 40, MORE_REPEATS),
        (None, None, None, TOO_NOISY),
    ],
)
def test_the_outlook_asks_for_the_interval(
    low: float | None, high: float | None, more: int | None, expected: str
) -> None:
    assert outlook(low, high, more) == expected
    assert outlook_words(expected, more)


def test_more_blocks_are_advised_up_to_a_hundred() -> None:
    advised = found(result_of("w", xfs=[105, 112, 100, 108, 106], ext4=[100, 101, 99, 100, 100.5]))
    assert advised.status == INCONCLUSIVE
    assert advised.more_blocks is not None
    assert 1 <= advised.more_blocks <= 100
    assert advised.outlook == MORE_REPEATS
    noisy = found(result_of("w", xfs=[140, 60, 100, 150, 52], ext4=[60, 140, 101, 70, 130]))
    assert (noisy.more_blocks, noisy.outlook) == (None, TOO_NOISY)


def test_what_rounding_can_make_is_no_difference() -> None:
    """Two values of one digit, a step apart in every block: nothing scatters."""
    rounded = Repeats(3.0, (("1", 3.0), ("2", 3.0), ("3", 3.0)), rounding=0.1)
    other = Repeats(2.9, (("1", 2.9), ("2", 2.9), ("3", 2.9)), rounding=0.1)
    one = found(ComparedTest("w", False, {"a": rounded, "b": other}, "a"))
    assert one.status == INCONCLUSIVE


def test_standings_are_relative_to_the_baseline() -> None:
    one = found(result_of("w", c=[50, 51, 49], a=[200, 201, 199], b=[100, 101, 99]), baseline="c")
    assert [standing.entry for standing in one.standings] == ["a", "b", "c"]
    assert [round(standing.ratio, 1) for standing in one.standings] == [4.0, 2.0, 1.0]
    assert found(result_of("w", a=[2, 2, 2], b=[1, 1, 1]), baseline="gone").baseline == "b"


def test_only_tests_of_all_entries_with_a_ratio_count() -> None:
    one = found(
        result_of("w", a=[2, 2, 2], b=[1, 1, 1]),
        ComparedTest("zero", False, {"a": Repeats(0.0), "b": Repeats(1.0)}),
        ComparedTest("alone", False, {"a": Repeats(1.0)}),
    )
    assert one.tests == ("w",)
    assert answer([ComparedTest("alone", False, {"a": Repeats(1.0)})]) is None
    assert answer([]) is None


def test_workloads_are_not_averaged() -> None:
    faster = found(result_of("w", a=[2.0, 2.01, 1.99], b=[1.0, 1.01, 0.99]))
    reverse = found(result_of("w", b=[2.0, 2.01, 1.99], a=[1.0, 1.01, 0.99]))
    open_one = found(ComparedTest("w", False, {"a": Repeats(2.0), "b": Repeats(1.0)}, "a"))
    assert together([faster, faster]) == FASTER
    assert together([faster, reverse]) == MIXED
    assert together([faster, open_one]) == INCONCLUSIVE
    assert together([]) == NONE


def test_of_1000_studies_without_a_difference_few_name_a_leader() -> None:
    for entries in ("ab", "abc"):
        answers = simulated.answers_of(dict.fromkeys(entries, [1.0] * 4), 5, 1000 // len(entries))
        assert simulated.leaders(answers) <= 5.0


def test_the_interval_covers_the_truth_where_tests_correlate() -> None:
    truth = {"a": [exp(0.1)] * 8, "b": [1.0] * 8}
    for is_paired in (True, False):
        answers = simulated.answers_of(truth, 5, 300, correlation=0.9, is_paired=is_paired)
        assert 92 <= simulated.covered(answers, truth) <= 98
