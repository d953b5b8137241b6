"""Latencies over the seconds of a test: percentiles of each interval, how many there were. Pure.

Each is of the completions of its interval alone: nothing is averaged over intervals, and an
interval without completions has no percentile.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsbench_web.core.measurement_columns import UnreadableBlock, pack, unpack

MAGIC = b"fsbt"
PERCENTS = ("50", "99", "99.9")
"""Those that are kept, beside the largest."""
MOST_INTERVALS = 300
"""Of one test of a workload, which makes them as long as that takes."""
MOST_KEPT = 320
"""Of any log: completions of neighbours are counted together until there are no more."""


@dataclass(frozen=True)
class LatencySeries:
    """``ends_ms`` rise: when each interval ended, from the first that was measured.

    ``counts`` are above 0. ``percentiles`` are by PERCENTS, a value an interval, in ``unit``, and
    ``most`` the largest of each: all the middles of the bins that hold them.
    """

    test: str
    load: str
    unit: str
    ends_ms: tuple[int, ...]
    counts: tuple[int, ...]
    percentiles: tuple[tuple[float, ...], ...]
    most: tuple[float, ...]

    @property
    def total(self) -> int:
        return sum(self.counts)


def encode(some: Sequence[LatencySeries]) -> bytes:
    """The block of some series, of the form of those of measurements."""
    directory = [[one.test, one.load, one.unit, len(one.ends_ms)] for one in some]
    columns = [
        np.array([value for one in some for value in one.ends_ms], dtype=np.int64),
        np.array([value for one in some for value in one.counts], dtype=np.int64),
        *(
            np.array([value for one in some for value in one.percentiles[place]], dtype=float)
            for place in range(len(PERCENTS))
        ),
        np.array([value for one in some for value in one.most], dtype=float),
    ]
    return pack(directory, columns, MAGIC)


def decode(block: bytes) -> list[LatencySeries]:
    """The inverse. Raises UnreadableBlock."""
    directory, arrays = unpack(block, MAGIC)
    try:
        ends, counts, *percentiles, most = (one.tolist() for one in arrays)
        found, start = [], 0
        for test, load, unit, size in directory:
            part = slice(start, start + size)
            found.append(
                LatencySeries(
                    *(test, load, unit, tuple(ends[part]), tuple(counts[part])),
                    tuple(tuple(one[part]) for one in percentiles),
                    tuple(most[part]),
                )
            )
            start += size
    except (TypeError, ValueError) as error:
        raise UnreadableBlock(f"The block is not made as it should be: {error!r}.") from None
    lengths = {len(one) for one in (ends, counts, *percentiles, most)}
    if lengths != {start} or len(percentiles) != len(PERCENTS):
        raise UnreadableBlock("The block holds other numbers than it names.")
    return found
