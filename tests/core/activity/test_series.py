"""The activity of a run as it is kept: exact totals, whatever is thinned out or breaks off."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.core.activity import series
from fsbench_web.core.activity.series import MOST_SAMPLES, ActivityBuilder, Step
from fsbench_web.core.measurement_columns import UnreadableBlock, pack

NAMES = ["data.writes", "data.in_flight", "memory.dirty_bytes"]


def built(rows: list[tuple[float, list[int | None], bool]], **how: bool) -> series.Activity:
    builder = ActivityBuilder()
    builder.begin(NAMES, [["energy", "none"]])
    for at_s, values, is_edge in rows:
        builder.add(at_s, values, is_edge=is_edge)
    builder.steps.append(Step(0.0, rows[-1][0], "benchmark", "fio.json", {"wchar": 7.0}))
    activity = builder.built(is_whole=how.get("is_whole", True))
    assert activity is not None
    return activity


VALUES = st.tuples(
    st.none() | st.integers(0, 2**62), st.none() | st.integers(0, 9), st.integers(0, 2**50)
)


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_what_is_kept_is_read_as_it_was(rows: list[tuple[int | None, ...]]) -> None:
    activity = built([(at / 10, list(values), at == 0) for at, values in enumerate(rows)])
    back = series.decode(series.encode(activity))
    assert back.times_ms.tolist() == activity.times_ms.tolist()
    assert {name: column.tolist() for name, column in back.columns.items()} == {
        name: column.tolist() for name, column in activity.columns.items()
    }
    assert (back.steps, back.absent, back.taken) == (
        list(activity.steps),
        list(activity.absent),
        len(rows),
    )


def test_counts_grow_from_the_first_sample_and_levels_stay_as_they_are() -> None:
    activity = built([(0, [500, 3, 10], True), (1, [510, 1, 30], False), (3, [540, 0, 20], True)])
    assert activity.grown("data.writes", 0, 3) == 40
    assert activity.rates("data.writes") == [10, 15]
    assert activity.levels("data.in_flight") == [3, 1, 0]
    assert activity.levels("memory.dirty_bytes") == [10, 30, 20]


def test_a_number_that_cannot_be_read_is_missing_and_no_zero() -> None:
    activity = built([(0, [5, 1, 1], True), (1, [None, None, 1], False), (2, [9, 1, 1], True)])
    assert activity.rates("data.writes") == [None, None]
    assert activity.levels("data.in_flight") == [1, None, 1]
    assert activity.grown("data.writes", 0, 2) == 4
    assert activity.grown("data.writes", 0, 1) is None


def test_a_count_that_ran_back_says_nothing() -> None:
    activity = built([(0, [100, 0, 0], True), (1, [3, 0, 0], True)])
    assert activity.grown("data.writes", 0, 1) is None
    assert activity.rates("data.writes") == [None]


def test_a_long_run_is_thinned_out_and_its_totals_stay_exact() -> None:
    count = 3 * MOST_SAMPLES
    edges = {0, 1234, 1235, count - 1}
    activity = built([(at, [7 * at, at % 5, at], at in edges) for at in range(count)])
    assert len(activity) <= MOST_SAMPLES
    assert activity.taken == count
    for start, end in ((0, 1234), (1234, 1235), (0, count - 1)):
        assert activity.grown("data.writes", start, end) == 7 * (end - start)
    seconds = (activity.times_ms // 1000).tolist()
    # Samples that were taken, each at its time: nothing is averaged.
    assert activity.levels("memory.dirty_bytes") == seconds
    assert len(series.encode(activity)) < 60_000


@pytest.mark.parametrize("values", [[1, 2], [1, 2, 3, 4], []], ids=["too few", "too many", "none"])
def test_a_sample_of_other_numbers_is_refused(values: list[int | None]) -> None:
    builder = ActivityBuilder()
    builder.begin(NAMES)
    with pytest.raises(ValueError, match="another number"):
        builder.add(0, values)


def test_without_samples_there_is_no_activity() -> None:
    assert ActivityBuilder().built(is_whole=False) is None


def test_a_damaged_block_is_refused() -> None:
    block = series.encode(built([(0, [1, 1, 1], True), (1, [2, 1, 1], True)]))
    with pytest.raises(UnreadableBlock, match="checksum"):
        series.decode(block[:-1] + bytes([block[-1] ^ 1]))
    with pytest.raises(UnreadableBlock, match="begins with"):
        series.decode(b"fsbm" + block[4:])
    with pytest.raises(UnreadableBlock, match="version"):
        series.decode(block[:4] + bytes([99]) + block[5:])
    column = np.array([1], dtype=np.int64)
    for directory in ({"names": ["a", "b"]}, {"names": []}, [], {"names": ["a"]}):
        with pytest.raises(UnreadableBlock):
            series.decode(pack(directory, [column, column], series.MAGIC))
    assert zlib.crc32(block[9:]) == int.from_bytes(block[5:9], "little")
