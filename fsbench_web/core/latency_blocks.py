"""Latencies as blocks of bytes, of the form of those of measurements. Pure.

Apart from ``latency`` and ``latency_over_time`` because of NumPy, a tenth and more of what a
command takes to start: all know what workloads give, and few store any of it.
"""

from collections.abc import Sequence

import numpy as np

from fsbench_web.core.latency import Distribution
from fsbench_web.core.latency_over_time import PERCENTS, LatencySeries
from fsbench_web.core.measurement_columns import UnreadableBlock, pack, unpack

DISTRIBUTIONS, OVER_TIME = b"fsbl", b"fsbt"


def encode(some: Sequence[Distribution]) -> bytes:
    """The block of some distributions, of the form of those of measurements."""
    directory = [
        [one.test, one.load, one.unit, len(one.values), one.least, one.most] for one in some
    ]
    values = np.array([value for one in some for value in one.values], dtype=np.int64)
    counts = np.array([count for one in some for count in one.counts], dtype=np.int64)
    return pack(directory, [np.diff(values, prepend=0), counts], DISTRIBUTIONS)


def decode(block: bytes) -> list[Distribution]:
    """The distributions of a block. Raises UnreadableBlock."""
    directory, arrays = unpack(block, DISTRIBUTIONS)
    try:
        differences, counts = arrays
        values = np.cumsum(differences, dtype=np.int64).tolist()
        numbers = counts.tolist()
        found, start = [], 0
        for test, load, unit, size, least, most in directory:
            part = slice(start, start + size)
            found.append(
                Distribution(
                    test, load, unit, tuple(values[part]), tuple(numbers[part]), least, most
                )
            )
            start += size
    except (TypeError, ValueError) as error:
        raise UnreadableBlock(f"The block is not made as it should be: {error!r}.") from None
    if start != len(values) or len(values) != len(numbers):
        raise UnreadableBlock("The block holds other numbers than it names.")
    return found


def encode_over_time(some: Sequence[LatencySeries]) -> bytes:
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
    return pack(directory, columns, OVER_TIME)


def decode_over_time(block: bytes) -> list[LatencySeries]:
    """The inverse. Raises UnreadableBlock."""
    directory, arrays = unpack(block, OVER_TIME)
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
