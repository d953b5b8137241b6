"""The numbers of one test as columns, which flags and selections of cells work on. Pure."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fsbench_web.core.scoring.categories import CATEGORIES, MEAN, Cell
from fsbench_web.core.scoring.quality_cells import Mask, Numbers
from fsbench_web.core.scoring.quality_repeats import Whole, cells_of


class MixedMeasurements(ValueError):
    """Measurements of one test that no score can be made of: two units, or cells beside a mean."""


@dataclass(frozen=True)
class TestColumns:
    """The numbers of one test: run (any integers), record KB, file KB (negative: none), value.

    A run has one number of a cell, and without sizes any.
    """

    runs: Whole
    records: Whole
    files: Whole
    values: Numbers

    def __len__(self) -> int:
        return len(self.values)

    def subset(self, selection: Mask | Whole) -> "TestColumns":
        """Some of the numbers, by mask or place."""
        return TestColumns(
            self.runs[selection],
            self.records[selection],
            self.files[selection],
            self.values[selection],
        )

    def region(self, category: str) -> Mask | None:
        """Which numbers lie in the region of a category; None for those without one. Not to be
        changed: who asks again gets the same.
        """
        region = None if category == MEAN else CATEGORIES[category].region
        if region is None:
            return None
        if category not in self._regions:
            inside: Mask = (self.records >= region.minimum_record_kb) & (
                self.records <= region.maximum_record_kb
            )
            inside &= self.files >= region.minimum_file_kb
            inside &= self.files <= region.maximum_file_kb
            inside.flags.writeable = False
            self._regions[category] = inside
        return self._regions[category]

    @cached_property
    def _regions(self) -> dict[str, Mask]:
        return {}

    @cached_property
    def is_one_run(self) -> bool:
        """Whether all are of one run, which may have millions of numbers."""
        return bool(self.runs.min() == self.runs.max())

    @cached_property
    def cells(self) -> Whole:
        """A number for the cell of each number, the same where cells are, all from 0."""
        if self.is_one_run:
            return np.arange(len(self))
        return cells_of(self.records, self.files)[0]

    @cached_property
    def by_run(self) -> tuple[Whole, Whole]:
        """The runs there are, in order, and the place in them of each number's."""
        if not len(self) or self.is_one_run:
            return self.runs[:1], np.broadcast_to(np.int64(0), len(self))
        if (self.runs[1:] >= self.runs[:-1]).all():
            is_next = np.diff(self.runs, prepend=self.runs[0]) != 0
            places = np.cumsum(is_next)
            is_next[0] = True
            return self.runs[is_next], places
        runs = np.sort(self.runs)
        runs = runs[np.flatnonzero(np.diff(runs, prepend=runs[0] - 1))]
        return runs, np.searchsorted(runs, self.runs)

    def repeats(self) -> dict[int, dict[Cell, float]]:
        """The values of each run by cell, in the order of the runs."""
        repeats: dict[int, dict[Cell, float]] = {run: {} for run in self.by_run[0].tolist()}
        columns = (self.runs, self.records, self.files, self.values)
        for run, record, file, value in zip(*(column.tolist() for column in columns), strict=True):
            repeats[run][record, file] = value
        return repeats

    def values_by_run(self) -> dict[int, list[float]]:
        """All values of each run, in the order of the runs."""
        values: dict[int, list[float]] = {run: [] for run in self.by_run[0].tolist()}
        for run, value in zip(self.runs.tolist(), self.values.tolist(), strict=True):
            values[run].append(value)
        return values

    def is_matrix(self, test: str) -> bool:
        """Whether the numbers have sizes. Raises MixedMeasurements where some have."""
        sized = self.records >= 0
        if sized.all() != sized.any():
            raise MixedMeasurements(f"{test} has values with sizes and values without.")
        return bool(sized.all())
