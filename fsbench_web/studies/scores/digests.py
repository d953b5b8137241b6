"""What makes two runs the same measurement: a digest over their numbers, in any order.

A cell is 32 bytes: eight of the digest of its test, load and unit, then sizes and value. Sorting
them brings repeated cells together and makes the digest independent of files and of order.
"""

import hashlib
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from fsbench_web.core.measurement_columns import MeasurementColumns

NO_SIZE = -1
_CELL = struct.Struct(">qqd")
PREFIX_BYTES = 8
VALUE_BYTES = 8


@lru_cache(maxsize=4096)
def test_prefix(test: str, load: str, unit: str) -> bytes:
    """The first bytes of all cells of a test."""
    return hashlib.sha256("\x1f".join((test, load, unit)).encode()).digest()[:PREFIX_BYTES]


def cell(prefix: bytes, record_kb: int | None, file_kb: int | None, value: float) -> bytes:
    """One number; sizes in KB, None or NO_SIZE without."""
    return prefix + _CELL.pack(
        NO_SIZE if record_kb is None else record_kb, NO_SIZE if file_kb is None else file_kb, value
    )


def digest(cells: Iterable[bytes]) -> str:
    """The digest of a run's numbers."""
    return digest_of_sorted(sorted(cells))


def digest_of_sorted(cells: Iterable[bytes]) -> str:
    """The same of cells in order."""
    found = hashlib.sha256()
    for one in cells:
        found.update(one)
    return found.hexdigest()


Row = tuple[str, str, str, int | None, int | None, float]
"""Test, load, unit, record KB, file KB, value."""


def digest_of_rows(rows: Iterable[Row]) -> str:
    """The digest of (test, load, unit, record KB, file KB, value)."""
    return digest(
        cell(test_prefix(test, load, unit), record_kb, file_kb, value)
        for test, load, unit, record_kb, file_kb, value in rows
    )


def cells_of_columns(columns: MeasurementColumns) -> np.ndarray:
    """The cells of columns, sorted: one array of 32 bytes each."""
    cells = np.empty(
        len(columns), dtype=[("test", "S8"), ("record", ">i8"), ("file", ">i8"), ("value", ">f8")]
    )
    prefixes = [test_prefix(one.test, one.load, one.unit) for one in columns.tests]
    cells["test"] = np.array(prefixes, dtype="S8")[columns.codes]
    cells["record"], cells["file"] = columns.records, columns.files
    cells["value"] = columns.values
    return np.sort(cells.view("S32"))


def digest_of_columns(columns: Sequence[MeasurementColumns]) -> str:
    """The digest of the numbers of all blocks of a run."""
    cells = np.sort(np.concatenate([cells_of_columns(one) for one in columns]))
    return hashlib.sha256(cells.tobytes()).hexdigest()


def first_repeated(ordered: Sequence[bytes]) -> bytes | None:
    """A cell (without its value) that stands twice among sorted cells, or None."""
    previous = b""
    for one in ordered:
        place = one[:-VALUE_BYTES]
        if place == previous:
            return place
        previous = place
    return None
