"""A digest over the numbers of a run, in any order: equal for the same measurement.

A cell is 32 bytes, most significant first. Eight are the digest of test, load and unit. Sizes
(NONE without) and value follow.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fsbench_web.core.measurement_columns import MeasuredTest, MeasurementColumns

Words = NDArray[np.uint64]
_PIECE = 65_536


@dataclass(frozen=True)
class Content:
    """The digest of some numbers; ``twice`` are the places of two numbers of one cell, if any."""

    digest: str
    twice: tuple[int, int] | None


@lru_cache(maxsize=4096)
def _of_test(test: MeasuredTest) -> int:
    named = "\x1f".join((test.test, test.load, test.unit)).encode()
    return int.from_bytes(hashlib.sha256(named).digest()[:8], "big")


def _words(columns: MeasurementColumns) -> list[Words]:
    """Test, sizes and value of each number, such that numbers sort as the bytes of cells do."""
    tests = np.array([_of_test(test) for test in columns.tests], dtype=np.uint64)
    return [
        tests[columns.codes],
        columns.records.astype(np.int64).view(np.uint64),
        columns.files.astype(np.int64).view(np.uint64),
        columns.values.astype(np.float64).view(np.uint64),
    ]


def content_of(blocks: Sequence[MeasurementColumns]) -> Content:
    if not blocks:
        return Content(hashlib.sha256().hexdigest(), None)
    first, *more = map(_words, blocks)
    words = [np.concatenate(arrays) for arrays in zip(first, *more, strict=True)] if more else first
    order = np.lexsort(words[2::-1])
    digest, twice = hashlib.sha256(), None
    for start in range(0, len(order), _PIECE):
        # With the cell before it, which may be the same.
        before = max(start - 1, 0)
        places = order[before : start + _PIECE]
        cells = np.stack([word[places] for word in words], axis=1).astype(">u8")
        digest.update(cells[start - before :].tobytes())
        repeated = np.flatnonzero((cells[1:, :3] == cells[:-1, :3]).all(axis=1))
        if len(repeated):
            twice = int(places[repeated[0]]), int(places[repeated[0] + 1])
            # Such cells are in order by their values.
            order = np.lexsort(words[::-1])
            cells = np.stack([word[order] for word in words], axis=1).astype(">u8")
            digest = hashlib.sha256(cells.tobytes())
            break
    return Content(digest.hexdigest(), twice)


def digest_of(*blocks: MeasurementColumns) -> str:
    return content_of(blocks).digest
