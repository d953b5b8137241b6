"""What differs most is said of what differs, with the right ranks, and of nothing else."""

import math

import pytest

from fsbench_web.compare.explanations import words
from fsbench_web.compare.templatetags.explanations import explanation_table
from fsbench_web.core.activity import price
from fsbench_web.core.activity.costs import COSTS
from fsbench_web.core.activity.waits import WAITS
from fsbench_web.core.explanation import ALIKE, DIFFERS, UNSURE, Difference, RunCosts, explained
from fsbench_web.core.setup_effects import SetupDifference

SCATTER = (0.97, 1.03, 1.0, 0.99, 1.01)


def runs(blocks: bool = True, **costs: float) -> list[RunCosts]:
    """Five runs that scatter by some percent, each cost a little differently."""
    return [
        RunCosts(
            f"block {place}" if blocks else "",
            {
                name: value * SCATTER[(place + n) % 5]
                for n, (name, value) in enumerate(costs.items())
            },
        )
        for place in range(5)
    ]


ORDERED = {
    "write_amplification": 1.1,
    "flushes_per_1000_operations": 20.0,
    "mean_write_request": 64.0,
    "cpu_seconds_per_gib": 4.0,
    "device_utilisation": 50.0,
}


def test_a_ratio_of_next_to_nothing_says_what_it_is_of() -> None:
    """0.0001 over 0.0003 is a third, and the table has the ratio with the floor added to both."""
    changed = ORDERED | {"read_amplification": 0.0001}
    explanation = explained(runs(**changed), runs(**ORDERED | {"read_amplification": 0.0003}))
    little = next(
        difference
        for difference in explanation.work
        if difference.cost.test == "read_amplification"
    )
    assert (little.status, little.is_next_to_nothing) == (ALIKE, True)
    table = explanation_table([little], "What the work cost")
    assert "1.00 times" in table
    assert "with 0.05 B/B added to both" in table
    others = [difference for difference in explanation.work if difference is not little]
    assert "added to both" not in explanation_table(others, "What the work cost")


@pytest.mark.parametrize("blocks", [True, False], ids=["paired", "unpaired"])
def test_what_surely_differs_most_is_first(blocks: bool) -> None:
    changed = ORDERED | {"write_amplification": 2.3, "flushes_per_1000_operations": 68.0}
    explanation = explained(runs(blocks, **changed), runs(blocks, **ORDERED))
    assert [(difference.cost.test, difference.status) for difference in explanation.work][:2] == [
        ("flushes_per_1000_operations", DIFFERS),
        ("write_amplification", DIFFERS),
    ]
    assert {difference.status for difference in explanation.work[2:]} == {ALIKE}
    assert explanation.first is not None
    assert explanation.first.cost.test == "flushes_per_1000_operations"
    assert explanation.first.low is not None
    assert explanation.first.high is not None
    assert explanation.first.low < 68.5 / 20.5 < explanation.first.high
    assert [difference.cost.test for difference in explanation.waits] == ["device_utilisation"]
    assert (explanation.tested, explanation.blocks) == (5, 5 if blocks else 0)


def test_amounts_come_before_shapes() -> None:
    """Compression writes fewer bytes, and requests that are smaller by more than that."""
    changed = ORDERED | {"write_amplification": 0.5, "mean_write_request": 4.0}
    explanation = explained(runs(**changed), runs(**ORDERED))
    assert [
        difference.cost.test for difference in explanation.work if difference.status == DIFFERS
    ] == [
        "write_amplification",
        "mean_write_request",
    ]


def test_a_set_up_lifts_nothing_above_what_differs_more() -> None:
    """A scheduler that merges a little more is not put before thirty times the flushes."""
    costs = {"merged_share": 20.0, "mean_write_request": 64.0, "flushes_per_1000_operations": 20.0}
    changed = {name: value * (30.0 if "flush" in name else 1.4) for name, value in costs.items()}
    setup = SetupDifference("scheduler", "I/O scheduler", "bfq", "none")
    explanation = explained(runs(**changed), runs(**costs), [setup])
    assert [(difference.cost.test, difference.fits) for difference in explanation.differing] == [
        ("flushes_per_1000_operations", ()),
        ("mean_write_request", ("I/O scheduler",)),
        ("merged_share", ("I/O scheduler",)),
    ]


def test_a_set_up_is_not_named_for_what_hardly_differs() -> None:
    """Surely 8% more: it differs, and is less than what two tests would call alike."""
    first_runs = [RunCosts(str(n), {"merged_share": 20.0 * 1.08 * (1 + n / 1e4)}) for n in range(5)]
    second_runs = [RunCosts(str(n), {"merged_share": 20.0 * (1 + n / 1e3)}) for n in range(5)]
    setup = SetupDifference("scheduler", "I/O scheduler", "bfq", "none")
    explanation = explained(first_runs, second_runs, [setup])
    assert words.setup_sentence(explanation) == ""
    assert words.sentence("a", "b", 0.0, explanation).startswith("a is as fast as b: ")


def test_the_same_is_alike_and_nothing_is_first() -> None:
    explanation = explained(runs(**ORDERED), runs(**ORDERED))
    assert {difference.status for difference in explanation.work} == {ALIKE}
    assert explanation.first is None
    sentence = words.sentence("a", "b", 0.4, explanation)
    assert "in nothing that was counted do they differ by more than chance; " in sentence
    assert words.sentence("a", "b", 99.97, explanation).startswith("a is 99.97% slower than b")


def test_a_little_against_nothing_is_no_large_ratio() -> None:
    few = explained(runs(flushes_per_1000_operations=0.02), runs(flushes_per_1000_operations=0.0))
    assert few.work[0].status != DIFFERS
    many = explained(runs(flushes_per_1000_operations=250.0), runs(flushes_per_1000_operations=0.0))
    assert many.work[0].status == DIFFERS
    assert words.phrase(many.work[0]) == (
        "flushed 250 times for 1,000 operations (the other never)"
    )


def test_what_next_to_nothing_is_of_is_a_sentence_with_its_unit() -> None:
    some, none = {"merged_share": 38.1, "write_amplification": 0.01}, {"merged_share": 0.0}
    explanation = explained(runs(**some), runs(**none | {"write_amplification": 1.4}))
    sentence = words.sentence("ext4", "XFS", 40.0, explanation)
    assert (
        "wrote 0.01 bytes to the device for each byte of its work (the other 1.4 bytes)" in sentence
    )
    assert "had 38.1% of its requests merged (the other 0%)" in sentence
    assert "38.1% of requests" in explanation_table(explanation.waits, "How it waited")


def test_next_to_nothing_of_every_cost_is_said_with_both_values() -> None:
    for cost in (*COSTS.values(), *WAITS.values()):
        if cost.test not in price.TESTS:
            difference = Difference(cost, "work", DIFFERS, cost.floor * 1000, 0.0, 1001.0)
            assert "(the other " in words.phrase(difference)


def test_one_run_of_each_says_so_and_is_sure_of_nothing() -> None:
    first_runs, second_runs = (
        runs(**(ORDERED | {"write_amplification": 4.4}))[:1],
        runs(**ORDERED)[:1],
    )
    explanation = explained(first_runs, second_runs)
    assert {each.status for each in explanation.work} == {UNSURE}
    assert explanation.work[0].cost.test == "write_amplification"
    assert (explanation.work[0].low, explanation.tested) == (None, 0)
    assert "nobody knows what is chance" in words.sentence("a", "b", 48.0, explanation)


def test_of_whom_there_is_one_run_and_of_whom_no_sample() -> None:
    one, five = [RunCosts("", ORDERED)], runs(blocks=False, **ORDERED | {"energy_per_gib": 4.0})
    one_more = [RunCosts("", {name: 2 * value for name, value in ORDERED.items()})]
    text = words.sentence("a", "b", 48.0, explained(one_more, five))
    assert text.endswith("; with one run of one of them nobody knows what is chance.")
    text = words.sentence("a", "b", 0.0, explained(one, one))
    assert text == "a is as fast as b: nothing that was counted differs, with one run of each."
    text = words.sentence("a", "b", 1e-7, explained([], one))
    assert text == "a is 0.0000001% slower than b: nothing was sampled of one of the two."
    assert words.sentence("a", "b", None, explained([], [])) == (
        "a against b: nothing was sampled of either."
    )
    other = [RunCosts("", {"space_amplification": 1.0})]
    assert words.sentence("a", "b", None, explained(one, other)) == (
        "a against b: nothing that it cost is known of both."
    )


def test_nothing_stays_nothing_and_what_differs_differs() -> None:
    """0.1 + 0.1 + 0.1 is not 3 times 0.1 in binary: the other read "6.9e-18 bytes"."""
    [none, some] = [
        [RunCosts(f"block {n}", {"read_amplification": value}) for n in range(3)]
        for value in (0.0, 50.0)
    ]
    assert explained(some, none).work[0].other == 0
    [more, less] = [
        [RunCosts(f"block {n}", {"energy_per_gib": value}) for n in range(3)]
        for value in (1000.4, 1000.0)
    ]
    said = words.phrase(explained(more, less).work[0])
    assert said == "took 1.0004 times the energy for each GiB"


def test_what_one_of_the_two_lacks_is_named() -> None:
    explanation = explained(runs(**ORDERED), runs(write_amplification=1.0))
    assert [cost.test for cost in explanation.missing][:1] == ["flushes_per_1000_operations"]
    assert [difference.cost.test for difference in explanation.work] == ["write_amplification"]
    assert explained([], runs(**ORDERED)).work == []


def test_the_sentence_speaks_of_association_with_numbers() -> None:
    changed = ORDERED | {"write_amplification": 2.3, "flushes_per_1000_operations": 68.0}
    explanation = explained(runs(**changed), runs(**ORDERED))
    assert words.sentence("ext4 data=journal", "ext4", 48.0, explanation) == (
        "ext4 data=journal is 48% slower than ext4: it flushed 3.3 times as often and wrote "
        "2.0 times the bytes to the device for each byte of its work; mean write request and CPU "
        "seconds for each GiB are alike."
    )


def test_a_run_that_was_tried_again_counts_once_in_its_block() -> None:
    again = [*runs(**ORDERED), RunCosts("block 0", {"write_amplification": 1.1})]
    explanation = explained(again, runs(**ORDERED))
    assert explanation.blocks == 5
    assert all(math.isfinite(difference.ratio) for difference in explanation.work)
