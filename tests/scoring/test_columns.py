"""Scores from columns are those of scoring.scores, to the last bit."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.scoring.columns import score_cells, score_one
from fsbench_web.core.scoring.scores import score_repeats

CELLS = st.tuples(
    st.sampled_from([1, 4, 16, 64, 1024]), st.sampled_from([4, 64, 2048, 4096, 4_194_304, 10**8])
)
VALUE = st.floats(0, 1e15, allow_nan=False)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(CELLS, VALUE, min_size=1))
def test_one_repeat(repeat: dict[tuple[int, int], float]) -> None:
    records, files = [cell[0] for cell in repeat], [cell[1] for cell in repeat]
    assert score_one(records, files, list(repeat.values())) == score_repeats([repeat])


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(CELLS, st.lists(VALUE, min_size=3, max_size=3), min_size=1))
def test_repeats_of_the_same_cells(cells: dict[tuple[int, int], list[float]]) -> None:
    repeats = [{cell: values[n] for cell, values in cells.items()} for n in range(3)]
    assert score_cells(cells, 3) == score_repeats(repeats)
