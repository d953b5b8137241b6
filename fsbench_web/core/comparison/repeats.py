"""Which files are repeats, and which are parts of one repeat. No database.

A part belongs to the first repeat after the last one that measured any of the same cells.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring.testnames import at_load

Sizes = NDArray[np.complex128]
"""Cells of a test, sorted: record KB + file KB · i, both -1 where there is none."""
Cells = Mapping[str, Sizes]
"""The cells of each test, named with its load."""

_MOST_TESTS = 6


def cells_of(columns: MeasurementColumns) -> Cells:
    sizes = columns.records.astype(np.float64) + 1j * columns.files.astype(np.float64)
    order = np.argsort(columns.codes, kind="stable")
    counts = np.bincount(columns.codes, minlength=len(columns.tests))
    by_test: dict[str, list[Sizes]] = {}
    for test, part in zip(columns.tests, np.split(sizes[order], np.cumsum(counts)), strict=False):
        if len(part):
            by_test.setdefault(at_load(test.test, test.load), []).append(part)
    return {test: _distinct(parts) for test, parts in by_test.items()}


def _distinct(parts: Sequence[Sizes]) -> Sizes:
    """All sizes once, sorted: mostly they come in order, which numpy.unique makes no use of."""
    sizes = np.sort(np.concatenate(parts), kind="stable")
    return sizes[np.append(True, sizes[1:] != sizes[:-1])] if len(sizes) else sizes


class KnownCells:
    """``cells_of``, asked once for all numbers that are of the same: repeats mostly are."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Cells] = {}

    def of(self, columns: MeasurementColumns) -> Cells:
        arrays = (columns.codes, columns.records, columns.files)
        key = *columns.tests, *((array.dtype.str, array.tobytes()) for array in arrays)
        if key not in self._found:
            self._found[key] = cells_of(columns)
        return self._found[key]


@dataclass
class Repeats:
    """What the repeats of a series measured, by their numbers."""

    _last: dict[str, tuple[Sizes, NDArray[np.int64]]] = field(default_factory=dict)
    _parts: dict[int, list[Cells]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, repeat: int, cells: Cells) -> None:
        """Add cells that a repeat measured; it had none of these before."""
        self._parts.setdefault(repeat, []).append(cells)
        for test, sizes in cells.items():
            known_sizes, last = self._last.get(test, (sizes[:0], np.zeros(0, dtype=np.int64)))
            if known_sizes is sizes or np.array_equal(known_sizes, sizes):  # as repeats mostly are
                self._last[test] = known_sizes, np.maximum(last, repeat)
                continue
            all_sizes = _distinct([known_sizes, sizes])
            latest = np.full(len(all_sizes), -1, dtype=np.int64)
            latest[np.searchsorted(all_sizes, known_sizes)] = last
            places = np.searchsorted(all_sizes, sizes)
            latest[places] = np.maximum(latest[places], repeat)
            self._last[test] = all_sizes, latest

    def parts(self, repeat: int) -> int:
        return len(self._parts.get(repeat, ()))

    def places(self, cells: Cells) -> list[int]:
        """The repeats that these may be part of: those after the last that has any of them."""
        last = -1  # repeats may begin at 0
        for test, sizes in cells.items():
            if test in self._last:
                known_sizes, last_repeats = self._last[test]
                matching = last_repeats[np.isin(known_sizes, sizes, assume_unique=True)]
                last = max([last, *matching.tolist()])
        return sorted(repeat for repeat in self._parts if repeat > last)

    def has_any(self, repeat: int, cells: Cells) -> bool:
        return any(
            len(np.intersect1d(part[test], sizes, assume_unique=True))
            for part in self._parts.get(repeat, ())
            for test, sizes in cells.items()
            if test in part
        )

    @property
    def unequal(self) -> list[int]:
        total = sum(len(all_sizes) for all_sizes, _ in self._last.values())
        return [
            repeat for repeat in sorted(self._parts) if sum(self._counts(repeat).values()) < total
        ]

    def _counts(self, repeat: int) -> Counter[str]:
        counts: Counter[str] = Counter()
        for part in self._parts[repeat]:
            counts.update({test: len(sizes) for test, sizes in part.items()})
        return counts

    def missing_cells(self, repeat: int) -> str:
        """What others have measured and this one has not, in words."""
        counts = self._counts(repeat)
        lacking_tests = [
            (test, len(all_sizes) - counts[test], len(all_sizes))
            for test, (all_sizes, _) in self._last.items()
            if len(all_sizes) > counts[test]
        ]
        lacking, total = (
            sum(entry[1] for entry in lacking_tests),
            sum(len(sizes) for sizes, _ in self._last.values()),
        )
        named = [
            test
            if expected == 1
            else f"{test} ({'all' if count == expected else count} of {expected})"
            for test, count, expected in lacking_tests[:_MOST_TESTS]
        ]
        if (more := len(lacking_tests) - _MOST_TESTS) > 0:
            named.append(f"and {more:,} more test{'s' if more > 1 else ''}")
        return f"{lacking:,} of the {total:,} values of its repeats: {', '.join(named)}"
