"""The scores of scoring.scores for very many numbers: the same values from columns. Pure.

Sums are exact before they are rounded (math.fsum), so that the order of values and the way here
cannot make a difference.
"""

from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np

from fsbench_web.core.scoring import few_numbers
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN, SUMMED, Cell
from fsbench_web.core.scoring.quality_cells import Mask, Numbers
from fsbench_web.core.scoring.quality_repeats import Whole, cells_of, narrowed
from fsbench_web.core.scoring.scores import UNEQUAL_REPEATS, ScoreValue, mean, overall


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

    @property
    def pairs(self) -> list[Cell]:
        """The cell of each number, (record KB, file KB)."""
        return list(zip(self.records.tolist(), self.files.tolist(), strict=True))

    def is_matrix(self, test: str) -> bool:
        """Whether the numbers have sizes. Raises MixedMeasurements where some have."""
        sized = self.records >= 0
        if sized.all() != sized.any():
            raise MixedMeasurements(f"{test} has values with sizes and values without.")
        return bool(sized.all())


def scores(test: str, columns: TestColumns) -> dict[str, ScoreValue]:
    """The scores by category, as ``score_repeats`` and ``score_mean`` give them.

    Raises MixedMeasurements, and ValueError for a value that is not a finite number.
    """
    if not len(columns):
        return {}
    is_matrix = columns.is_matrix(test)
    _refuse_infinite(columns.values)
    if not is_matrix:
        return {MEAN: ScoreValue(_mean(columns.values), cells=1, repeats=len(columns))}
    if len(columns) <= few_numbers.MOST:
        return few_numbers.scores(columns.runs.tolist(), columns.pairs, columns.values.tolist())
    run_ids, of_runs = columns.by_run
    repeats = len(run_ids)
    cells = columns.cells
    order = np.argsort(narrowed(cells), kind="stable")
    by_category = {}
    for slug in SUMMED:
        inside = columns.region(slug)
        selected = slice(None) if inside is None else inside
        values = columns.values[selected]
        if not len(values):
            continue
        of_cell = cells[selected]
        numbers = np.bincount(of_cell)
        count = int(np.count_nonzero(numbers))
        by_run = np.bincount(of_runs[selected], minlength=repeats)
        if inside is None:
            value = _of_each(slug, values, np.array([len(values)]))[0]
        else:
            of_cells = columns.values[order[inside[order]]]
            value = _mean(_means(of_cells, numbers))
        by_category[slug] = ScoreValue(
            value,
            cells=count,
            repeats=int(np.count_nonzero(by_run)),
            flags=() if (by_run == count).all() else (UNEQUAL_REPEATS,),
        )
    if len(by_category) == len(SUMMED):
        by_category["overall"] = overall(by_category)
    return by_category


def scores_of_runs(test: str, columns: TestColumns) -> dict[str, dict[int, float]]:
    """The values of ``scores`` of each run by itself: by category, and run in their order.

    Raises as ``scores`` does.
    """
    if not len(columns):
        return {}
    is_matrix = columns.is_matrix(test)
    _refuse_infinite(columns.values)
    if len(columns) <= few_numbers.MOST:
        pairs = columns.pairs if is_matrix else None
        return few_numbers.scores_of_runs(columns.runs.tolist(), pairs, columns.values.tolist())
    if (columns.runs[1:] < columns.runs[:-1]).any():
        columns = columns.subset(np.argsort(columns.runs, kind="stable"))
    runs, of_runs = columns.by_run
    repeats, run_ids = len(runs), runs.tolist()
    by_category: dict[str, dict[int, float]] = {}
    for slug in SUMMED if is_matrix else (MEAN,):
        inside = columns.region(slug)
        selected = slice(None) if inside is None else inside
        numbers = np.bincount(of_runs[selected], minlength=repeats)
        present = np.flatnonzero(numbers)
        if len(present):
            values = _of_each(slug, columns.values[selected], numbers[present])
            by_category[slug] = dict(zip(present.tolist(), values, strict=True))
    if is_matrix and len(by_category) == len(SUMMED):
        whole = [
            run for run in range(repeats) if all(run in by_run for by_run in by_category.values())
        ]
        if whole:
            by_category["overall"] = {
                run: fsum(by_run[run] for by_run in by_category.values()) for run in whole
            }
    return {
        slug: {run_ids[place]: value for place, value in values.items()}
        for slug, values in by_category.items()
    }


def _refuse_infinite(values: Numbers) -> None:
    if not np.isfinite(values).all():
        raise ValueError("a value is not a finite number")


def _of_each(slug: str, values: Numbers, counts: Whole) -> list[float]:
    """A category of each of several runs whose numbers stand behind each other."""
    starts = np.cumsum(counts) - counts
    run_values: Numbers
    if slug == "maximum":
        run_values = np.maximum.reduceat(values, starts)
    elif slug == "minimum":
        run_values = np.minimum.reduceat(values, starts)
    else:
        run_values = _means(values, counts)
    return run_values.tolist()


def _means(values: Numbers, counts: Whole) -> Numbers:
    """The mean of the first ``counts[0]`` numbers, of the next ``counts[1]``, and so on; of none
    there is none.
    """
    counts = counts[counts > 0]
    starts = np.cumsum(counts) - counts
    if _has_exact_sums(values, counts):
        return np.asarray(np.add.reduceat(values, starts) / counts, dtype=np.float64)
    means = values[starts]
    pairs = starts[counts == 2]
    means[counts == 2] = (values[pairs] + values[pairs + 1]) / 2
    for place in np.flatnonzero(counts > 2).tolist():
        means[place] = _mean(values[starts[place] : starts[place] + counts[place]])
    return means


def _has_exact_sums(values: Numbers, counts: Whole) -> bool:
    """Whether sums of ``counts`` of the values need no rounding, in whatever order: all are whole,
    as rates mostly are, and no sum is above 2^53. They are those of math.fsum then.
    """
    largest_sum = float(np.abs(values).max()) * float(counts.max())
    return largest_sum <= 2.0**53 and bool((values == np.floor(values)).all())


def _mean(values: Numbers) -> float:
    """``scores.mean``, without a list of all numbers."""
    return mean(memoryview(np.ascontiguousarray(values)))  # type: ignore[arg-type]
