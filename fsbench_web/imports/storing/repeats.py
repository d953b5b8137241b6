"""Which files are repeats of each other, and which are parts of one repeat. No database.

A sweep over files (1m.log, 10m.log, 100m.log) measures each cell once: it is one repeat. As in a
single file (formats.values.numbered), what is measured belongs to the first repeat after the last
one that measured any of the same.
"""

from collections import Counter
from collections.abc import Mapping
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
    """What some numbers are of."""
    sizes = columns.records.astype(np.float64) + 1j * columns.files.astype(np.float64)
    order = np.argsort(columns.codes, kind="stable")
    counts = np.bincount(columns.codes, minlength=len(columns.tests))
    found: dict[str, list[Sizes]] = {}
    for test, some in zip(columns.tests, np.split(sizes[order], np.cumsum(counts)), strict=False):
        if len(some):
            found.setdefault(at_load(test.test, test.load), []).append(some)
    return {test: np.unique(np.concatenate(some)) for test, some in found.items()}


class KnownCells:
    """``cells_of``, asked once for all numbers that are of the same: repeats mostly are."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Cells] = {}

    def of(self, columns: MeasurementColumns) -> Cells:
        whole = (columns.codes, columns.records, columns.files)
        what = *columns.tests, *((one.dtype.str, one.tobytes()) for one in whole)
        if what not in self._found:
            self._found[what] = cells_of(columns)
        return self._found[what]


@dataclass
class Repeats:
    """What the repeats of a series measured, by their numbers."""

    _last: dict[str, tuple[Sizes, NDArray[np.int64]]] = field(default_factory=dict)
    _parts: dict[int, list[Cells]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, repeat: int, cells: Cells) -> None:
        """A repeat measured these, of which it had none."""
        self._parts.setdefault(repeat, []).append(cells)
        for test, sizes in cells.items():
            known, last = self._last.get(test, (sizes[:0], np.zeros(0, dtype=np.int64)))
            if known is sizes or np.array_equal(known, sizes):  # as repeats mostly are
                self._last[test] = known, np.maximum(last, repeat)
                continue
            every = np.union1d(known, sizes)
            latest = np.full(len(every), -1, dtype=np.int64)
            latest[np.searchsorted(every, known)] = last
            places = np.searchsorted(every, sizes)
            latest[places] = np.maximum(latest[places], repeat)
            self._last[test] = every, latest

    def parts(self, repeat: int) -> int:
        """How many parts a repeat has."""
        return len(self._parts.get(repeat, ()))

    def places(self, cells: Cells) -> list[int]:
        """The repeats that these may be part of: those after the last that has any of them."""
        last = -1  # repeats may begin at 0
        for test, sizes in cells.items():
            if test in self._last:
                known, of = self._last[test]
                found = of[np.isin(known, sizes, assume_unique=True)]
                last = max([last, *found.tolist()])
        return sorted(repeat for repeat in self._parts if repeat > last)

    def has_any(self, repeat: int, cells: Cells) -> bool:
        """Whether a repeat has some of these."""
        return any(
            len(np.intersect1d(part[test], sizes, assume_unique=True))
            for part in self._parts.get(repeat, ())
            for test, sizes in cells.items()
            if test in part
        )

    @property
    def unequal(self) -> list[int]:
        """The repeats that lack something which others have."""
        total = sum(len(every) for every, _ in self._last.values())
        return [n for n in sorted(self._parts) if sum(self._counts(n).values()) < total]

    def _counts(self, repeat: int) -> Counter[str]:
        counts: Counter[str] = Counter()
        for part in self._parts[repeat]:
            counts.update({test: len(sizes) for test, sizes in part.items()})
        return counts

    def lacks(self, repeat: int) -> str:
        """What others have measured and this one has not, in words."""
        counts = self._counts(repeat)
        found = [
            (test, len(every) - counts[test], len(every))
            for test, (every, _) in self._last.items()
            if len(every) > counts[test]
        ]
        lacking, total = sum(one[1] for one in found), sum(len(s) for s, _ in self._last.values())
        named = [
            test if of == 1 else f"{test} ({'all' if count == of else count} of {of})"
            for test, count, of in found[:_MOST_TESTS]
        ]
        if (more := len(found) - _MOST_TESTS) > 0:
            named.append(f"and {more:,} more test{'s' if more > 1 else ''}")
        return f"{lacking:,} of the {total:,} values of its repeats: {', '.join(named)}"
