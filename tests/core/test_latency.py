"""Distributions are merged without loss, and their percentiles are those of all latencies."""

import math
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.core import latency, latency_blocks
from fsbench_web.core.latency import TAILS, Distribution, distribution
from fsbench_web.core.measurement_columns import UnreadableBlock

PAIRS = st.lists(st.tuples(st.integers(0, 10**12), st.integers(1, 10**6)), min_size=1, max_size=40)


def of(pairs: list[tuple[int, int]], test: str = "clat") -> Distribution:
    latencies = distribution(test, "", "ns", pairs, 1.0, 2.0)
    assert latencies is not None
    return latencies


@given(st.lists(PAIRS, min_size=1, max_size=5))
def test_merged_in_whatever_order_is_all_of_them_at_once(
    groups: list[list[tuple[int, int]]],
) -> None:
    together = of(list(chain.from_iterable(groups)))
    some = [of(group) for group in groups]
    assert latency.merged(some) == latency.merged(some[::-1]) == together
    assert latency.merged([latency.merged(some[:1]), *some[1:]]) == together
    assert latency_blocks.decode(latency_blocks.encode(some)) == some


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200))
def test_a_percentile_is_that_of_the_sorted_latencies(values: list[int]) -> None:
    latencies, ordered = of([(value, 1) for value in values]), sorted(values)
    for percent in TAILS:
        rank = max(1, math.ceil(round(float(percent) * len(values), 6) / 100))
        assert latencies.percentile(percent) == ordered[rank - 1]
    assert latencies.shares()[-1] == (max(values), 1.0)


def test_the_interval_of_the_median_of_a_hundred_is_that_of_the_tables() -> None:
    """Le Boudec 2010, appendix A: of n = 100 the 40th and the 61st."""
    latencies = of([(value, 1) for value in range(1, 101)])
    assert latencies.interval("50") == (40, 61)


@pytest.mark.parametrize(("count", "is_known"), [(5, False), (6, True)])
def test_too_few_latencies_have_no_interval(count: int, is_known: bool) -> None:
    """Of five the whole range holds the median in 93.75% only."""
    latencies = of([(value, 1) for value in range(count)])
    assert (latencies.interval("50") is not None) is is_known
    assert latencies.interval("99") is None


def test_what_was_never_measured_is_no_distribution() -> None:
    assert distribution("clat", "", "ns", [(5, 0)]) is None
    assert distribution("clat", "", "ns", []) is None
    with pytest.raises(ValueError, match="below 0"):
        distribution("clat", "", "ns", [(5, -1)])
    with pytest.raises(ValueError, match="cannot be merged"):
        latency.merged([of([(1, 1)]), Distribution("clat", "", "B", (1,), (1,))])


def test_ends_are_known_where_all_of_them_are() -> None:
    known = distribution("clat", "", "ns", [(5, 1)], 4.0, 6.0)
    other = distribution("clat", "", "ns", [(9, 1)], 8.0, 9.5)
    unknown = distribution("clat", "", "ns", [(5, 1)])
    assert known is not None
    assert other is not None
    assert unknown is not None
    assert (latency.merged([known, other]).least, latency.merged([known, other]).most) == (4.0, 9.5)
    assert latency.merged([known, unknown]).most is None


def test_a_damaged_block_is_refused() -> None:
    block = latency_blocks.encode([of([(1, 1), (2, 3)])])
    with pytest.raises(UnreadableBlock, match="checksum"):
        latency_blocks.decode(block[:-1] + bytes([block[-1] ^ 1]))
    with pytest.raises(UnreadableBlock, match="begins with"):
        latency_blocks.decode(b"fsba" + block[4:])


def test_of_two_units_of_time_all_become_nanoseconds() -> None:
    micro = Distribution("clat", "", "µs", (2, 5), (3, 1), 1.5, 5.25)
    both = latency.merged([of([(2000, 1)]), micro])
    assert (both.unit, both.values, both.counts) == ("ns", (2000, 5000), (4, 1))
    assert latency.merged([micro]) == micro
    assert latency.merged([micro, Distribution("clat", "", "ns", (7,), (1,), 7, 7)]).most == 5250
