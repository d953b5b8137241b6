"""The interval of signed ranks is exact."""

from itertools import compress, product

import pytest

from benchmarks.overhead import signed_ranks


# Critical values of Wilcoxon's signed ranks, 5% two-sided: Hollander and Wolfe, table A.4.
@pytest.mark.parametrize(
    ("count", "critical"), [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52), (25, 89)]
)
def test_the_cut_of_the_rank_interval_is_wilcoxons(count: int, critical: int) -> None:
    assert signed_ranks._rank_cut(count) == critical


@pytest.mark.parametrize("count", [6, 7, 8, 10, 12])
def test_a_stricter_level_cuts_off_less(count: int) -> None:
    """Against all signs of all ranks, one by one."""
    ranks = range(1, count + 1)
    sums = [sum(compress(ranks, signs)) for signs in product((0, 1), repeat=count)]
    cut = signed_ranks._rank_cut(count, 0.975)
    assert sum(rank_sum <= cut for rank_sum in sums) <= 0.0125 * 2**count
    assert sum(rank_sum <= cut + 1 for rank_sum in sums) > 0.0125 * 2**count
    interval = signed_ranks.rank_interval([float(number) for number in range(count)], 0.975)
    assert (interval is None) == (count < 7)
