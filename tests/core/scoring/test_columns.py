"""Columns give the numbers of each run back, in the order of the runs."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.core.measurement_columns import NONE
from fsbench_web.core.scoring import quality_cells as of_test
from fsbench_web.core.scoring.quality_cells import MixedMeasurements

Repeat = dict[tuple[int, int], float]
SIZES = st.tuples(st.sampled_from([1, 4, 1024]), st.sampled_from([4, 2048, 10**8]))
VALUES = st.floats(0, 1e15, allow_nan=False)


def columns_of(rows: list[tuple[int, int, int, float]]) -> of_test.TestColumns:
    runs, records, files, values = map(np.array, zip(*rows, strict=True))
    return of_test.TestColumns(runs, records, files, values)


@given(st.lists(st.dictionaries(SIZES, VALUES, min_size=1), min_size=1, max_size=4), st.randoms())
def test_a_matrix_comes_back_whatever_the_order_of_its_numbers(
    repeats: list[Repeat], chance: Random
) -> None:
    rows = [
        (run, *cell, value)
        for run, repeat in enumerate(repeats, 7)
        for cell, value in repeat.items()
    ]
    chance.shuffle(rows)
    columns = columns_of(rows)
    assert columns.is_matrix("write")
    assert list(columns.repeats().items()) == list(enumerate(repeats, 7))


def test_a_run_without_sizes_may_have_several_values() -> None:
    columns = columns_of([(9, NONE, NONE, 1.0), (7, NONE, NONE, 2.0), (9, NONE, NONE, 3.0)])
    assert not columns.is_matrix("boot")
    assert list(columns.values_by_run().items()) == [(7, [2.0]), (9, [1.0, 3.0])]


def test_it_refuses_values_with_sizes_beside_values_without() -> None:
    columns = columns_of([(1, 4, 64, 1.0), (1, NONE, NONE, 2.0)])
    with pytest.raises(MixedMeasurements, match="write has values with sizes and values without"):
        columns.is_matrix("write")
