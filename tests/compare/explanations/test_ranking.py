"""What differs most is said of what differs, with the right ranks, and of nothing else."""

import math

import pytest
from django.template.loader import render_to_string

from fsbench_web.core.explanation import ALIKE, DIFFERS, UNSURE, WAIT, RunCosts, explained

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
        for difference in explanation.differences
        if difference.cost.test == "read_amplification"
    )
    assert (little.status, little.is_next_to_nothing) == (ALIKE, True)
    table = render_to_string("compare/explanation_table.html", {"differences": [little]})
    assert '<td class="num">1.00<span' in table
    assert "with 0.05 B/B added to both" in table
    others = [difference for difference in explanation.differences if difference is not little]
    context = {"differences": others}
    assert "added to both" not in render_to_string("compare/explanation_table.html", context)


@pytest.mark.parametrize("blocks", [True, False], ids=["paired", "unpaired"])
def test_what_surely_differs_most_is_first(blocks: bool) -> None:
    changed = ORDERED | {"write_amplification": 2.3, "flushes_per_1000_operations": 68.0}
    explanation = explained(runs(blocks, **changed), runs(blocks, **ORDERED))
    assert [(difference.cost.test, difference.status) for difference in explanation.differences][
        :2
    ] == [
        ("flushes_per_1000_operations", DIFFERS),
        ("write_amplification", DIFFERS),
    ]
    assert {difference.status for difference in explanation.differences[2:]} == {ALIKE}
    first = explanation.differing[0]
    assert first.cost.test == "flushes_per_1000_operations"
    assert first.low is not None
    assert first.high is not None
    assert first.low < 68.5 / 20.5 < first.high
    last = explanation.differences[-1]
    assert (last.cost.test, last.kind) == ("device_utilisation", WAIT)
    assert (explanation.tested, first.blocks) == (5, 5 if blocks else 0)


def test_amounts_come_before_shapes() -> None:
    """Compression writes fewer bytes, and requests that are smaller by more than that."""
    changed = ORDERED | {"write_amplification": 0.5, "mean_write_request": 4.0}
    explanation = explained(runs(**changed), runs(**ORDERED))
    assert [
        difference.cost.test
        for difference in explanation.differences
        if difference.status == DIFFERS
    ] == [
        "write_amplification",
        "mean_write_request",
    ]


def test_the_same_is_alike_and_nothing_is_first() -> None:
    explanation = explained(runs(**ORDERED), runs(**ORDERED))
    assert {difference.status for difference in explanation.differences} == {ALIKE}
    assert explanation.differing == []


def test_a_little_against_nothing_is_no_large_ratio() -> None:
    few = explained(runs(flushes_per_1000_operations=0.02), runs(flushes_per_1000_operations=0.0))
    assert few.differences[0].status != DIFFERS
    many = explained(runs(flushes_per_1000_operations=250.0), runs(flushes_per_1000_operations=0.0))
    assert many.differences[0].status == DIFFERS
    assert many.differences[0].is_next_to_nothing


def test_one_run_of_each_says_so_and_is_sure_of_nothing() -> None:
    first_runs, second_runs = (
        runs(**(ORDERED | {"write_amplification": 4.4}))[:1],
        runs(**ORDERED)[:1],
    )
    explanation = explained(first_runs, second_runs)
    assert {each.status for each in explanation.differences} == {UNSURE}
    assert explanation.differences[0].cost.test == "write_amplification"
    assert (explanation.differences[0].low, explanation.tested) == (None, 0)


def test_nothing_stays_nothing() -> None:
    """0.1 + 0.1 + 0.1 is not 3 times 0.1 in binary."""
    [none, some] = [
        [RunCosts(f"block {n}", {"read_amplification": value}) for n in range(3)]
        for value in (0.0, 50.0)
    ]
    assert explained(some, none).differences[0].other == 0


def test_what_one_of_the_two_lacks_is_named() -> None:
    explanation = explained(runs(**ORDERED), runs(write_amplification=1.0))
    assert [cost.test for cost in explanation.missing][:1] == ["flushes_per_1000_operations"]
    assert [difference.cost.test for difference in explanation.differences] == [
        "write_amplification"
    ]
    assert explained([], runs(**ORDERED)).differences == []


def test_a_run_that_was_tried_again_counts_once_in_its_block() -> None:
    again = [*runs(**ORDERED), RunCosts("block 0", {"write_amplification": 1.1})]
    explanation = explained(again, runs(**ORDERED))
    assert {difference.blocks for difference in explanation.differences} == {5}
    assert all(math.isfinite(difference.ratio) for difference in explanation.differences)
