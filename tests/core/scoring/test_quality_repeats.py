"""Flags of a number among others: outlying repeats and lone spikes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.scoring import quality_cells as repeats
from fsbench_web.core.scoring.quality_cells import Mask


def integers(values: list[int]) -> repeats.Whole:
    return np.array(values, dtype=np.int64)


def outliers_of_cell(*values: float) -> list[bool]:
    n = len(values)
    return repeats.outliers(integers([4] * n), integers([64] * n), np.array(values)).tolist()


def test_one_repeat_far_from_the_others_is_an_outlier() -> None:
    assert outliers_of_cell(100, 101, 99, 50) == [False, False, False, True]
    assert outliers_of_cell(100, 101, 99, 102, 300) == [False, False, False, False, True]


def test_three_repeats_prove_nothing() -> None:
    assert outliers_of_cell(100, 101, 50) == [False] * 3


def test_the_scatter_of_the_series_decides_and_not_a_percentage() -> None:
    assert outliers_of_cell(100, 100.01, 99.99, 101) == [False, False, False, True]
    assert outliers_of_cell(100, 60, 140, 80, 190) == [False] * 5


def test_one_step_of_the_last_digit_is_rounding() -> None:
    assert outliers_of_cell(12, 12, 12, 12, 13) == [False] * 5
    assert outliers_of_cell(1.2, 1.2, 1.2, 1.2, 1.3) == [False] * 5
    assert outliers_of_cell(12, 12, 12, 12, 18) == [False] * 4 + [True]


def test_a_second_outlier_does_not_hide_the_first() -> None:
    steady = [100, 101, 99, 100.5, 99.5, 100.2, 99.7, 100.1]
    assert outliers_of_cell(*steady, 50, 51) == [False] * 8 + [True] * 2


@pytest.mark.parametrize("repeats_of_each", [4, 5, 6, 8, 10, 20])
def test_at_most_one_percent_of_gaussian_repeats_are_outliers(repeats_of_each: int) -> None:
    cells = np.repeat(np.arange(4000), repeats_of_each)
    noise = np.random.default_rng(20_261_128).normal(size=len(cells))
    flagged = repeats.outliers(cells, cells, 1000 * (1 + 0.08 * noise))
    assert flagged.mean() <= 0.01
    # Of the scores of one such cell each, no more than 2 in 100 carry the flag.
    assert flagged.reshape(-1, repeats_of_each).any(axis=1).mean() <= 0.02


def test_equal_repeats_leave_no_median_deviation() -> None:
    assert outliers_of_cell(100, 100, 100, 100, 100, 50) == [False] * 5 + [True]
    assert outliers_of_cell(100, 100, 100, 100) == [False] * 4


def test_cells_are_judged_each_by_its_own_repeats() -> None:
    records, files = integers([4, 8] * 5), integers([64, 64] * 5)
    values = np.array([100, 1000, 101, 1001, 99, 999, 100, 1000, 50, 1002], dtype=float)
    outliers = repeats.outliers(records, files, values)
    assert np.flatnonzero(outliers).tolist() == [8]


VALUES = st.lists(st.floats(0.1, 1e6), min_size=4, max_size=30)


@given(VALUES, st.randoms())
def test_outliers_follow_no_order(values: list[float], random: Any) -> None:
    cells = [(1 + place % 3) for place in range(len(values))]
    order = list(range(len(values)))
    random.shuffle(order)

    def outliers_at(places: list[int]) -> Mask:
        of = integers([cells[place] for place in places])
        return repeats.outliers(of, of, np.array([values[place] for place in places]))

    straight = outliers_at(list(range(len(values))))
    assert outliers_at(order).tolist() == [bool(straight[place]) for place in order]


@given(VALUES)
def test_what_was_not_measured_is_no_outlier_and_counts_for_nothing(values: list[float]) -> None:
    with_gaps = [*values, 0.0, float("nan"), float("inf"), -1.0]
    n = len(with_gaps)
    outliers = repeats.outliers(integers([4] * n), integers([64] * n), np.array(with_gaps))
    assert outliers.tolist() == [*outliers_of_cell(*values), False, False, False, False]


def matrix(rows: list[list[float]]) -> tuple[repeats.Whole, ...]:
    sizes = [(2**r, 2**f) for r in range(len(rows)) for f in range(len(rows[0]))]
    return (
        integers([1] * len(sizes)),
        integers([r for r, _ in sizes]),
        integers([f for _, f in sizes]),
    )


def spikes_of(rows: list[list[float]], lower: bool = False) -> list[float]:
    runs, records, files = matrix(rows)
    values = np.array([value for row in rows for value in row], dtype=float)
    return values[repeats.spikes(runs, records, files, values, lower)].tolist()


PLATEAU: list[list[float]] = [[10.0, 11, 12, 11], [11, 14, 15, 12], [10, 13, 14, 11]]


def test_the_top_of_a_plateau_is_no_spike() -> None:
    assert spikes_of(PLATEAU) == []


def test_a_best_case_alone_is_a_spike() -> None:
    rows: list[list[float]] = [list(row) for row in PLATEAU]
    rows[1][2] = 40.0
    assert spikes_of(rows) == [40.0]
    # A neighbour that comes close makes it a plateau.
    rows[0][3] = 30.0
    assert spikes_of(rows) == []


def test_of_times_the_shortest_is_the_best() -> None:
    rows: list[list[float]] = [[100.0] * 4, [100, 20, 100, 100], [100] * 4]
    assert spikes_of(rows, lower=True) == [20.0]
    assert spikes_of(rows) == []


def test_a_matrix_without_room_has_no_spike() -> None:
    assert spikes_of([[1.0, 2], [3, 400]]) == []


def test_two_equal_best_cells_are_not_alone() -> None:
    rows: list[list[float]] = [[1.0, 1, 1, 1, 90], [1, 1, 1, 1, 1], [90, 1, 1, 1, 1]]
    assert spikes_of(rows) == []


def test_each_run_has_its_own_best() -> None:
    runs, records, files = matrix(PLATEAU)
    flat = [value for row in PLATEAU for value in row]
    spiky = [*flat[:5], 90.0, *flat[6:]]
    spikes = repeats.spikes(
        np.concatenate([runs, runs + 1]),
        np.concatenate([records, records]),
        np.concatenate([files, files]),
        np.array([*flat, *spiky]),
    )
    assert np.flatnonzero(spikes).tolist() == [len(flat) + 5]


@given(st.lists(st.floats(0, 1e6), min_size=12, max_size=12), st.randoms(), st.integers(-8, 8))
def test_spikes_follow_neither_order_nor_scale(
    values: list[float], random: Any, power: int
) -> None:
    runs, records, files = matrix([[0.0] * 4] * 3)
    straight = repeats.spikes(runs, records, files, np.array(values))
    assert all(values[place] > 0 for place in np.flatnonzero(straight))
    order = np.array(random.sample(range(12), 12))
    # A power of two, so that no rounding comes in.
    shuffled = np.array(values)[order] * 2.0**power
    spikes = repeats.spikes(runs, records[order], files[order], shuffled)
    assert spikes.tolist() == straight[order].tolist()


def spikes_by_definition(
    cells: list[tuple[int, int, int]], values: list[float], lower: bool
) -> set[int]:
    """The places of spikes, one run and one number after the other."""
    spikes = set()
    for run in {run for run, _, _ in cells}:
        own = [
            (cell[1:], 1 / value if lower else value, place)
            for place, (cell, value) in enumerate(zip(cells, values, strict=True))
            if cell[0] == run and min(cell[1:]) >= 0 and 0 < value < float("inf")
        ]
        best = max((speed for _, speed, _ in own), default=0)
        at = [(cell, place) for cell, speed, place in own if speed == best]
        if len(own) < repeats.LEAST_CELLS or len(at) > 1:
            continue
        [((record, file), place)] = at
        sizes = [sorted({cell[axis] for cell, _, _ in own}) for axis in (0, 1)]

        def is_near(axis: int, size: int, other: int, sizes: list[list[int]] = sizes) -> bool:
            return abs(sizes[axis].index(size) - sizes[axis].index(other)) <= 1

        near = [
            speed
            for cell, speed, of in own
            if of != place and is_near(0, cell[0], record) and is_near(1, cell[1], file)
        ]
        if len(near) >= repeats.LEAST_NEIGHBOURS and best > repeats.SPIKE_RATIO * max(near):
            spikes.add(place)
    return spikes


SIZE = st.sampled_from([-1, 0, 1, 4, 8, 16, 2**62, 2**63 - 1])
SPEED = st.sampled_from([float("nan"), float("inf"), -1.0, 0.0, 1.0, 1.5, 2.0, 3.0, 10.0, 40.0])


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.tuples(st.integers(1, 4), SIZE, SIZE), SPEED, min_size=1, max_size=90),
    st.booleans(),
)
def test_spikes_of_many_runs_are_those_of_each_by_itself(
    measured: dict[tuple[int, int, int], float], lower: bool
) -> None:
    columns = [integers(list(column)) for column in zip(*measured, strict=True)]
    spikes = repeats.spikes(*columns, np.array(list(measured.values())), lower)
    expected = spikes_by_definition(list(measured), list(measured.values()), lower)
    assert set(np.flatnonzero(spikes).tolist()) == expected


def test_medians_of_cells() -> None:
    medians = repeats.cell_medians(
        integers([4, 4, 4, 8, 8, -1]),
        integers([64, 64, 64, 64, 64, -1]),
        np.array([3, 1, 2, 5, 7, 9.0]),
    )
    assert medians == {(4, 64): 2, (8, 64): pytest.approx(6)}
