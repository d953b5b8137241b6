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


def encode(distributions: Sequence[Distribution]) -> bytes:
    """The block of some distributions, of the form of those of measurements."""
    directory = [
        [
            distribution.test,
            distribution.load,
            distribution.unit,
            len(distribution.values),
            distribution.least,
            distribution.most,
        ]
        for distribution in distributions
    ]
    values = np.array(
        [value for distribution in distributions for value in distribution.values], dtype=np.int64
    )
    counts = np.array(
        [count for distribution in distributions for count in distribution.counts], dtype=np.int64
    )
    return pack(directory, [np.diff(values, prepend=0), counts], DISTRIBUTIONS)


def decode(block: bytes) -> list[Distribution]:
    """The distributions of a block. Raises UnreadableBlock."""
    directory, arrays = unpack(block, DISTRIBUTIONS)
    try:
        differences, counts = arrays
        values = np.cumsum(differences, dtype=np.int64).tolist()
        numbers = counts.tolist()
        distributions, start = [], 0
        for test, load, unit, size, least, most in directory:
            part = slice(start, start + size)
            distributions.append(
                Distribution(
                    test, load, unit, tuple(values[part]), tuple(numbers[part]), least, most
                )
            )
            start += size
    except (TypeError, ValueError) as error:
        raise UnreadableBlock(f"The block is not made as it should be: {error!r}.") from None
    if start != len(values) or len(values) != len(numbers):
        raise UnreadableBlock("The block holds other numbers than it names.")
    return distributions


def encode_over_time(all_series: Sequence[LatencySeries]) -> bytes:
    """The block of some series, of the form of those of measurements."""
    directory = [
        [series.test, series.load, series.unit, len(series.ends_ms)] for series in all_series
    ]
    columns = [
        np.array([value for series in all_series for value in series.ends_ms], dtype=np.int64),
        np.array([value for series in all_series for value in series.counts], dtype=np.int64),
        *(
            np.array(
                [value for series in all_series for value in series.percentiles[place]], dtype=float
            )
            for place in range(len(PERCENTS))
        ),
        np.array([value for series in all_series for value in series.maxima], dtype=float),
    ]
    return pack(directory, columns, OVER_TIME)


def decode_over_time(block: bytes) -> list[LatencySeries]:
    """The inverse. Raises UnreadableBlock."""
    directory, arrays = unpack(block, OVER_TIME)
    try:
        ends, counts, *percentiles, maxima = (array.tolist() for array in arrays)
        all_series, start = [], 0
        for test, load, unit, size in directory:
            part = slice(start, start + size)
            all_series.append(
                LatencySeries(
                    *(test, load, unit, tuple(ends[part]), tuple(counts[part])),
                    tuple(tuple(column[part]) for column in percentiles),
                    tuple(maxima[part]),
                )
            )
            start += size
    except (TypeError, ValueError) as error:
        raise UnreadableBlock(f"The block is not made as it should be: {error!r}.") from None
    lengths = {len(column) for column in (ends, counts, *percentiles, maxima)}
    if lengths != {start} or len(percentiles) != len(PERCENTS):
        raise UnreadableBlock("The block holds other numbers than it names.")
    return all_series
