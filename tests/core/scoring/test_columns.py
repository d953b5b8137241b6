"""Scores from columns, of few numbers and of many, are those of scoring.scores, to the last bit."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.measurement_columns import NONE
from fsbench_web.core.scoring import columns as scored
from fsbench_web.core.scoring import few_numbers
from fsbench_web.core.scoring.columns import MixedMeasurements, scores, scores_of_runs
from fsbench_web.core.scoring.scores import score_mean, score_repeats

CELLS = st.tuples(
    st.sampled_from([1, 4, 16, 64, 1024]), st.sampled_from([4, 64, 2048, 4096, 4_194_304, 10**8])
)
# Those that are whole are summed another way, as long as no sum needs rounding.
WHOLE = st.integers(0, 2**54).map(float)
VALUE = st.one_of(st.floats(0, 1e15, allow_nan=False), WHOLE, st.sampled_from([89.999, 0.0, 1.0]))
Repeat = dict[tuple[int, int], float]


@pytest.fixture(params=["few", "many"], autouse=True, scope="module")
def _way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few numbers are scored without arrays: each test is of both ways."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "many":
            patch.setattr(few_numbers, "MOST", 0)
        yield


def columns_of(repeats: list[Repeat], *, mixed: bool = True) -> scored.TestColumns:
    """The numbers of runs 7, 8, 9 and so on, those of several runs ``mixed`` or run after run."""
    rows = [
        (7 + run, *cell, value)
        for run, repeat in enumerate(repeats)
        for cell, value in repeat.items()
    ]
    if mixed:
        rows.sort(key=lambda row: hash(row[1:3]))
    return scored.TestColumns(
        *(np.array(column, dtype=np.int64) for column in list(zip(*rows, strict=True))[:3]),
        np.array([row[3] for row in rows], dtype=np.float64),
    )


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.lists(st.dictionaries(CELLS, VALUE, min_size=1), min_size=1, max_size=5),
        st.lists(st.dictionaries(CELLS, WHOLE, min_size=1), min_size=1, max_size=5),
        st.dictionaries(CELLS, st.lists(VALUE, min_size=4, max_size=4), min_size=1).map(
            lambda cells: [{cell: v[n] for cell, v in cells.items()} for n in range(4)]
        ),
    ),
    st.booleans(),
)
def test_a_matrix(repeats: list[Repeat], mixed: bool) -> None:
    columns = columns_of(repeats, mixed=mixed)
    assert scores("write", columns) == score_repeats(repeats)
    each = [score_repeats([repeat]) for repeat in repeats]
    assert scores_of_runs("write", columns) == {
        slug: {run: by_slug[slug].value for run, by_slug in enumerate(each, 7) if slug in by_slug}
        for slug in dict.fromkeys(slug for by_slug in each for slug in by_slug)
    }


@settings(max_examples=100, deadline=None)
@given(st.lists(VALUE, min_size=1, max_size=9))
def test_values_without_sizes(values: list[float]) -> None:
    none = np.full(len(values), NONE)
    columns = scored.TestColumns(np.arange(len(values)), none, none, np.array(values))
    assert scores("boot", columns) == {"mean": score_mean(values)}
    assert scores_of_runs("boot", columns) == {"mean": dict(enumerate(values))}


def test_what_no_score_is_made_of() -> None:
    some = scored.TestColumns(*np.array([[1, 1], [4, NONE], [64, NONE]]), np.array([1.0, 2.0]))
    with pytest.raises(MixedMeasurements, match="write has values with sizes and values without"):
        scores("write", some)
    with pytest.raises(ValueError, match="not a finite number"):
        scores("write", columns_of([{(4, 64): 1.0, (4, 128): float("inf")}]))
    assert scores("write", some.subset(np.zeros(2, dtype=np.bool_))) == {}
