"""The cache boundary along the file size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.core.scoring.quality_cells import CacheEdge, boundary, edge

SIZES = [2**n for n in range(10, 20)]


def row(*speeds: float) -> dict[int, float]:
    return dict(zip(SIZES, speeds, strict=False))


def test_the_edge_is_where_the_rate_falls_off() -> None:
    edge_and_fall = edge(row(900, 1000, 950, 1000, 980, 100, 110, 90))
    assert edge_and_fall is not None
    assert edge_and_fall[0] == CacheEdge(SIZES[4], SIZES[5])
    assert edge_and_fall[1] == pytest.approx(9.8, rel=0.05)


def test_one_odd_cell_makes_no_edge() -> None:
    assert edge(row(1000, 1000, 1000, 100, 1000, 1000, 1000, 1000)) is None
    edge_and_fall = edge(row(1000, 100, 1000, 1000, 1000, 100, 100, 100))
    assert edge_and_fall is not None
    assert edge_and_fall[0] == CacheEdge(SIZES[4], SIZES[5])


def test_a_slope_is_no_edge() -> None:
    assert edge(row(*(1024 / 2**n for n in range(10)))) is None


def test_a_flat_row_has_none() -> None:
    assert edge(row(*[1000] * 8)) is None
    assert edge(row(1000, 990, 1010, 700, 690, 710)) is None


def test_a_rise_is_no_edge() -> None:
    assert edge(row(100, 100, 100, 1000, 1000, 1000)) is None


def test_exactly_a_half_is_an_edge() -> None:
    assert edge(row(1000, 1000, 1000, 500, 500, 500)) is not None
    assert edge(row(1000, 1000, 1000, 501, 501, 501)) is None


def test_it_takes_two_sizes_on_either_side() -> None:
    assert edge(row(1000, 1000, 1000, 100)) is None
    assert edge(row(1000, 1000, 1000, 1000, 100)) is None
    assert edge(row(1000, 1000, 1000, 100, 100)) is not None


def test_what_was_not_measured_is_left_aside() -> None:
    speeds = row(1000, 1000, 1000, 100, 100) | {SIZES[5]: 0.0, SIZES[6]: float("nan")}
    assert edge(speeds) == edge(row(1000, 1000, 1000, 100, 100))


@given(
    st.lists(st.floats(1, 1e6), min_size=5, max_size=10),
    st.floats(0.001, 1000),
    st.randoms(),
)
def test_it_follows_neither_scale_nor_order(
    speeds: list[float], factor: float, random: object
) -> None:
    straight = edge(row(*speeds))
    items = list(row(*speeds).items())
    random.shuffle(items)  # type: ignore[attr-defined]
    assert edge(dict(items)) == straight
    scaled = edge(row(*(speed * factor for speed in speeds)))
    # Rounding may decide where two splits are as good, or where a fall is exactly a half.
    if straight is not None and scaled is not None:
        assert scaled[1] == pytest.approx(straight[1], rel=0.5)


def cells(rows: dict[int, dict[int, float]]) -> dict[tuple[int, int], float]:
    return {(record, kb): speed for record, r in rows.items() for kb, speed in r.items()}


FALL = (1000, 1000, 1000, 100, 100, 100)


def test_each_record_size_has_its_own_edge_and_others_the_usual() -> None:
    cache_boundary = boundary(
        cells(
            {
                4: row(*FALL),
                8: row(1000, 1000, 1000, 1000, 100, 100),
                16: row(*FALL),
                # Too few file sizes to see anything.
                1024: {SIZES[4]: 100.0, SIZES[5]: 90.0},
            }
        )
    )
    assert cache_boundary is not None
    assert cache_boundary.observed_kb == {4, 8, 16}
    assert cache_boundary.edges[8] == CacheEdge(SIZES[3], SIZES[4])
    assert cache_boundary.edges[1024] == CacheEdge(SIZES[2], SIZES[3])
    assert cache_boundary.is_cached((4, SIZES[2]))
    assert not cache_boundary.is_cached((4, SIZES[3]))
    assert not cache_boundary.is_cached((1024, SIZES[4]))


def test_most_record_sizes_must_show_it() -> None:
    flat = row(*[1000] * 6)
    assert boundary(cells({4: row(*FALL), 8: flat, 16: flat})) is None
    assert boundary(cells({4: row(*FALL), 8: flat})) is not None


def test_a_fall_far_below_the_memory_is_not_the_page_caches() -> None:
    speeds = cells({4: row(*FALL)})
    first_beyond = SIZES[3]
    assert boundary(speeds, memory_kb=first_beyond * 50) is not None
    assert boundary(speeds, memory_kb=first_beyond * 51) is None
    assert boundary(speeds, memory_kb=None) is not None


def test_no_cells_no_boundary() -> None:
    assert boundary({}) is None
