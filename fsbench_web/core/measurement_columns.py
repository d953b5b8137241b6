"""Measurements as columns, and the block of bytes that columns are kept as. Pure.

A block is four bytes that name it, a byte with its version, the CRC-32 of the rest, and the rest: a
directory (JSON) and columns, compressed by zlib (RFC 1950). A column has as few bytes a number as
its largest needs, all first bytes before all second ones ("shuffle" of HDF5 and Blosc). Readers
refuse everything else.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAGIC = b"fsbm"
VERSION = 1
NONE = -1
"""In columns of sizes and lines: there is none."""
MOST_IN_BLOCK = 65_536
"""Numbers of one block: what is read at once stays small, however many a run has."""
_HEAD = struct.Struct("<4sBI")
_LENGTH = struct.Struct("<I")
_KINDS = {np.dtype(kind).str: np.dtype(kind) for kind in ("u1", "<i2", "<i4", "<i8", "<f8")}
_WHOLE = [np.iinfo(kind) for kind in ("u1", "<i2", "<i4", "<i8")]

_as_json = json.JSONEncoder(ensure_ascii=False).encode

Whole = npt.NDArray[np.int64]
Column = npt.NDArray[Any]


class UnreadableBlock(ValueError):
    """A block that is damaged, or of a form that this version does not know, as the text says."""


class MeasuredTest(NamedTuple):
    """What numbers of one name are of."""

    test: str
    load: str
    unit: str


@dataclass(frozen=True)
class MeasurementColumns:
    """Numbers in the order in which they were stored.

    ``tests`` are distinct, and ``codes`` places in them. Sizes are KB, lines count from 1; NONE
    where there is none. Columns of whole numbers may be of any kind of these.
    """

    tests: Sequence[MeasuredTest]
    codes: Column
    records: Column
    files: Column
    values: npt.NDArray[np.float64]
    lines: Column

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_cell(self) -> npt.NDArray[np.bool_]:
        """Which numbers have both sizes."""
        return (self.records >= 0) & (self.files >= 0)

    def subset(self, selection: slice | Column) -> "MeasurementColumns":
        """Some of the numbers, by place or mask; ``tests`` stay."""
        return MeasurementColumns(
            self.tests,
            self.codes[selection],
            self.records[selection],
            self.files[selection],
            self.values[selection],
            self.lines[selection],
        )

    def of_tests(self, is_wanted: Callable[[tuple[str, str]], bool]) -> npt.NDArray[np.bool_]:
        """Which numbers are of the tests, (name, load), that are wanted, in whatever unit."""
        wanted = [is_wanted((test.test, test.load)) for test in self.tests]
        return np.array(wanted, dtype=np.bool_)[self.codes]

    def pruned(self) -> "MeasurementColumns":
        """The same without tests that have no number, in the order of their first one."""
        if np.bincount(self.codes, minlength=len(self.tests)).all():
            return self
        codes, first, places = np.unique(self.codes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        renamed = np.argsort(order)[places.reshape(-1)]
        return replace(self, tests=[self.tests[codes[place]] for place in order], codes=renamed)

    def summary(self) -> list[list[Any]]:
        """[test, load, unit, numbers, of these with both sizes] of each test that has any."""
        counts = np.bincount(self.codes, minlength=len(self.tests))
        cells = np.bincount(self.codes[self.is_cell], minlength=len(self.tests))
        return [
            [*test, count, sized]
            for test, count, sized in zip(self.tests, counts.tolist(), cells.tolist(), strict=True)
            if count
        ]

    def rows(self) -> Iterator[tuple[MeasuredTest, int | None, int | None, float, int | None]]:
        """(test, record KB, file KB, value, line) of each number."""
        return zip(
            map(self.tests.__getitem__, self.codes.tolist()),
            optional_values(self.records),
            optional_values(self.files),
            self.values.tolist(),
            optional_values(self.lines),
            strict=True,
        )


def optional_values(column: Column) -> list[int | None]:
    """The numbers of a column, None for NONE."""
    values: list[int | None] = column.tolist()
    return (
        [None if value == NONE else value for value in values] if (column == NONE).any() else values
    )


def integer_column(numbers: Iterable[int | None]) -> Whole:
    """A column of sizes or lines."""
    return np.array([NONE if number is None else number for number in numbers], dtype=np.int64)


def of_rows(
    rows: Iterable[tuple[MeasuredTest, int | None, int | None, float, int | None]],
) -> MeasurementColumns:
    """Columns of (test, record KB, file KB, value, line), at least one."""
    names, records, files, values, lines = zip(*rows, strict=True)
    places = {test: place for place, test in enumerate(dict.fromkeys(names))}
    return MeasurementColumns(
        tuple(places),
        np.array([places[test] for test in names], dtype=np.int64),
        integer_column(records),
        integer_column(files),
        np.array(values, dtype=np.float64),
        integer_column(lines),
    )


def no_columns() -> MeasurementColumns:
    """Columns without a number."""
    whole = np.zeros(0, dtype=np.int64)
    return MeasurementColumns((), whole, whole, whole, np.zeros(0), whole)


def joined_columns(parts: Sequence[MeasurementColumns]) -> MeasurementColumns:
    """The numbers of all parts, one part after the other."""
    tests = {
        test: place
        for place, test in enumerate(dict.fromkeys(test for part in parts for test in part.tests))
    }
    codes = [
        np.array([tests[test] for test in part.tests], dtype=np.int64)[part.codes] for part in parts
    ]
    names = ("records", "files", "values", "lines")
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
    return MeasurementColumns(tuple(tests), np.concatenate(codes), *columns)


def cells_of(columns: MeasurementColumns) -> Whole:
    """A number for what each value is of: those of one test, load and sizes have the same."""
    names: dict[tuple[str, str], int] = {}
    codes = [names.setdefault((test, load), len(names)) for test, load, _ in columns.tests]
    return combined(np.array(codes, dtype=np.int64)[columns.codes], columns.records, columns.files)


def combined(*columns: Column) -> Whole:
    """One column of whole numbers, which are equal where those of all columns are."""
    whole = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns if len(whole) else ():
        numbers = column.astype(np.int64) - int(column.min())
        if (int(whole.max()) + 1) * (int(numbers.max()) + 1) >= 2**63:
            whole = np.unique(whole, return_inverse=True)[1].reshape(-1)
            numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        whole = whole * (int(numbers.max()) + 1) + numbers
    return whole


def encode(columns: MeasurementColumns) -> bytes:
    """The block of some numbers."""
    # Lines mostly count on: their differences are nearly all alike.
    lines = np.diff(columns.lines.astype(np.int64), prepend=0)
    arrays = (columns.codes, columns.records, columns.files, columns.values, lines)
    return pack([list(test) for test in columns.tests], arrays)


def decode(block: bytes) -> MeasurementColumns:
    """The numbers of a block. Raises UnreadableBlock."""
    tests, arrays = unpack(block)
    if len(arrays) != 5 or len({len(array) for array in arrays}) != 1:
        raise UnreadableBlock("The block holds other columns than those of measurements.")
    codes, records, files, values, lines = arrays
    if len(codes) and codes.max() >= len(tests):
        raise UnreadableBlock("The block counts more tests than it names.")
    return MeasurementColumns(
        tuple(MeasuredTest(*test) for test in tests),
        codes,
        records.astype(np.int64),
        files.astype(np.int64),
        values.astype(np.float64),
        np.cumsum(lines, dtype=np.int64),
    )


def encode_flags(kinds: Sequence[Sequence[str] | None], codes: Column) -> bytes | None:
    """The flags of some numbers, which are places in ``kinds``; None where nothing is flagged."""
    if all(kinds[code] is None for code in np.flatnonzero(np.bincount(codes)).tolist()):
        return None
    return pack([None if kind is None else list(kind) for kind in kinds], (codes,))


def decode_flags(block: bytes | None, count: int) -> tuple[list[list[str] | None], Column]:
    """The flags of ``count`` numbers as ``encode_flags`` takes them. Raises UnreadableBlock."""
    if block is None:
        return [None], np.zeros(count, dtype=np.uint8)
    kinds, arrays = unpack(block)
    if len(arrays) != 1 or len(arrays[0]) != count or (count and arrays[0].max() >= len(kinds)):
        raise UnreadableBlock("The flags are not those of as many numbers.")
    return kinds, arrays[0]


def encode_samples(samples: dict[int, Any]) -> bytes | None:
    """Samples of the intervals by the place of their number; None where there are none."""
    return pack(list(samples.items()), ()) if samples else None


def decode_samples(block: bytes | None) -> dict[int, Any]:
    """The same back. Raises UnreadableBlock."""
    return {} if block is None else {int(place): samples for place, samples in unpack(block)[0]}


def pack(directory: Any, arrays: Sequence[Column], magic: bytes = MAGIC) -> bytes:
    """A block of this version; ``magic`` are four bytes that say what it is of."""
    columns = [_narrow(array) for array in arrays]
    described = [[column.dtype.str, len(column)] for column in columns]
    header = _as_json([directory, described]).encode("utf-8", "surrogatepass")
    from isal import isal_zlib  # who compares files only keeps no blocks, and need not have it

    # ISA-L (its usual level, 2): half the time of zlib's level 6 or less, and 1 to 2% larger.
    body = isal_zlib.compress(
        b"".join((_LENGTH.pack(len(header)), header, *(_shuffled(column) for column in columns)))
    )
    return _HEAD.pack(magic, VERSION, zlib.crc32(body)) + body


def unpack(block: bytes, kind_of_block: bytes = MAGIC) -> tuple[Any, list[Column]]:
    """Directory and columns of a block. Raises UnreadableBlock."""
    if len(block) < _HEAD.size:
        raise UnreadableBlock(f"The block ends after {len(block)} bytes, within its head.")
    magic, version, checksum = _HEAD.unpack_from(block)
    if magic != kind_of_block:
        raise UnreadableBlock(f"A block of this kind begins with {kind_of_block!r}, not {magic!r}.")
    if version != VERSION:
        raise UnreadableBlock(
            f"The block is of version {version}; this version of fsbench reads {VERSION}."
        )
    from isal import isal_zlib

    body = memoryview(block)[_HEAD.size :]
    if zlib.crc32(body) != checksum:
        raise UnreadableBlock(
            "The block is damaged: its bytes do not have their checksum any more."
        )
    try:
        data = isal_zlib.decompress(body)
        start = _LENGTH.size + _LENGTH.unpack_from(data)[0]
        directory, described = json.loads(
            data[_LENGTH.size : start].decode("utf-8", "surrogatepass")
        )
        arrays = []
        for name, count in described:
            kind = _KINDS[name]
            end = start + kind.itemsize * count
            arrays.append(_unshuffled(data[start:end], kind, count))
            start = end
    except (  # isal's stubs call its error an exception, and not a kind of one
        isal_zlib.error,  # type: ignore[misc]
        *(struct.error, ValueError, KeyError, TypeError),
    ) as error:
        raise UnreadableBlock(f"The block is not made as it should be: {error!r}.") from None
    if start != len(data):
        raise UnreadableBlock("The block holds more than its directory says.")
    return directory, arrays


def _narrow(column: Column) -> Column:
    """A column of whole numbers in as few bytes as hold them; the others as they are."""
    if column.dtype.kind == "f" or not len(column):
        return column.astype("<f8" if column.dtype.kind == "f" else "u1")
    low, high = int(column.min()), int(column.max())
    return column.astype(
        next(limits.dtype for limits in _WHOLE if limits.min <= low and high <= limits.max)
    )


def _shuffled(column: Column) -> bytes:
    parts = column.view(np.uint8).reshape(len(column), column.itemsize)
    return parts.tobytes(order="F")


def _unshuffled(data: bytes, kind: np.dtype[Any], count: int) -> Column:
    parts = np.frombuffer(data, dtype=np.uint8).reshape(kind.itemsize, count)
    return np.ascontiguousarray(parts.T).view(kind).reshape(count)
