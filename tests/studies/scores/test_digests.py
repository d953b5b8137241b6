"""The digest of a run's numbers is that of its cells as bytes, in order, however it was sorted."""

import hashlib
import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.comparison.imported import content_of, digest_of
from fsbench_web.core.measurement_columns import NONE, MeasuredTest, of_rows

TEST = st.builds(MeasuredTest, st.sampled_from("abcdefg"), st.just(""), st.sampled_from(["", "s"]))
RECORD = st.sampled_from([None, 0, 1, 4, 2**20 - 1, 2**20])
FILE = st.sampled_from([None, 0, 4, 64, 2**36 - 1, 2**36])
ROWS = st.lists(st.tuples(TEST, RECORD, FILE, st.sampled_from([0.0, 1.5, 9e9]), st.just(1)))


def as_bytes(row: tuple[MeasuredTest, int | None, int | None, float, int]) -> bytes:
    test, record, file, value, _ = row
    sizes = [NONE if size is None else size for size in (record, file)]
    return hashlib.sha256("\x1f".join(test).encode()).digest()[:8] + struct.pack(
        ">qqd", *sizes, value
    )


@settings(max_examples=300, deadline=None)
@given(ROWS.filter(bool), st.integers(0, 5))
def test_it_is_that_of_the_cells_as_bytes(
    rows: list[tuple[MeasuredTest, int | None, int | None, float, int]], cut: int
) -> None:
    cells = sorted(map(as_bytes, rows))
    digest = hashlib.sha256(b"".join(cells)).hexdigest()
    content = content_of([of_rows(rows)])
    assert content.digest == digest
    assert (content.twice is None) == (len({cell[:24] for cell in cells}) == len(cells))
    if content.twice is not None:
        first, second = content.twice
        assert first < second
        assert as_bytes(rows[first])[:24] == as_bytes(rows[second])[:24]
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    assert digest_of(*map(of_rows, parts)) == digest


def test_of_no_numbers_it_is_that_of_nothing() -> None:
    assert digest_of() == hashlib.sha256().hexdigest()
