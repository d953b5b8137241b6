"""Cells, loads and repeats of series, for pictures. Of finished runs, as measured.

Each function takes keys of series and makes one query, and one for each very large block.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.quality import FLAGS, ordered
from fsbench_web.core.scoring.quality_cells import Mask
from fsbench_web.core.stats.intervals import Interval, interval, mean, sample_interval
from fsbench_web.core.units import DisplayUnit, converted
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.measurements import Numbers
from fsbench_web.studies.scores.queries import ScoreFilter

MOST_VALUES = 60_000
"""A picture of more numbers is no picture any more, and would be long in coming."""

Cell = tuple[int, int]
"""(record size KB, file size KB)"""


class TooManyValues(ValueError):
    """The picture would be made of more than MOST_VALUES numbers."""


@dataclass
class Repeats:
    """One number of each finished run, oldest first; ``samples`` of the only run."""

    run_ids: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    samples: Sequence[float] = ()
    flags: list[str] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return mean(self.values)

    @property
    def interval(self) -> Interval | None:
        """The 95% interval: of the repeats, or of a single run's samples; None where neither is."""
        return interval(self.values) or (sample_interval(self.samples) if self.samples else None)

    def converted(self, times: Fraction) -> "Repeats":
        """The same in another unit; one of its own is ``times`` of that."""
        values, samples = (
            [converted(number, times) for number in numbers]
            for numbers in (self.values, self.samples)
        )
        return replace(self, values=values, samples=samples)

    def add(self, run_id: int, value: float, flags: Iterable[str] = ()) -> None:
        self.run_ids.append(run_id)
        self.values.append(value)
        self.flags += [flag for flag in flags if flag not in self.flags]


@dataclass
class Matrix:
    series_id: int
    unit: str
    cells: dict[Cell, Repeats] = field(default_factory=dict)

    def converted(self, display_unit: DisplayUnit) -> "Matrix":
        cells = {
            cell: measured.converted(display_unit.times) for cell, measured in self.cells.items()
        }
        return Matrix(self.series_id, display_unit.unit, cells)

    @property
    def means(self) -> dict[Cell, float]:
        return {cell: self.cells[cell].mean for cell in sorted(self.cells)}

    @property
    def flagged(self) -> dict[str, set[Cell]]:
        """The cells of each flag, by its words."""
        present = {flag for repeats in self.cells.values() for flag in repeats.flags}
        return {
            FLAGS[slug].of_cells if slug in FLAGS else slug: {
                cell for cell, repeats in self.cells.items() if slug in repeats.flags
            }
            for slug in ordered(present)
        }


def matrices(
    series_ids: Iterable[int],
    test: str,
    *,
    record_kb: int | None = None,
    file_kb: int | None = None,
) -> list[Matrix]:
    """The matrix, or a row or column, of each series and unit. Raises TooManyValues."""
    by_key: dict[tuple[int, str], Matrix] = {}
    for numbers in _bounded_blocks(
        numbers.subset(_cells_mask(numbers.columns, record_kb, file_kb))
        for numbers in _read(series_ids, test)
    ):
        _add_cells(by_key, numbers)
    return list(by_key.values())


def mean_maps(series_ids: Iterable[int], test: str, limit: int) -> list[Matrix] | None:
    """The matrices of ``test`` by series and unit; None for more than ``limit`` cells together."""
    by_key: dict[tuple[int, str], Matrix] = {}
    for numbers in _read(series_ids, test):
        _add_cells(by_key, numbers.subset(_cells_mask(numbers.columns)))
        if sum(len(matrix.cells) for matrix in by_key.values()) > limit:
            return None
    return [by_key[key] for key in sorted(by_key)]


def _add_cells(by_key: dict[tuple[int, str], Matrix], numbers: Numbers) -> None:
    for row in numbers.rows():
        key = (numbers.series_id, row.unit)
        matrix = by_key.setdefault(key, Matrix(*key))
        cell = (row.record_size_kb or 0, row.file_size_kb or 0)
        matrix.cells.setdefault(cell, Repeats()).add(row.run_id, row.value, row.flags or ())


def _cells_mask(
    columns: MeasurementColumns, record_kb: int | None = None, file_kb: int | None = None
) -> Mask:
    """Which numbers are cells, of one row or column where these are given."""
    mask = (columns.records > 0) & (columns.files > 0)
    if record_kb is not None:
        mask &= columns.records == record_kb
    if file_kb is not None:
        mask &= columns.files == file_kb
    return mask


@dataclass
class LoadCurve:
    """One test of one series at several loads, in ``unit``; ``sizes`` of record and file if any."""

    series_id: int
    unit: str
    sizes: tuple[int | None, int | None]
    loads: dict[str, Repeats] = field(default_factory=dict)

    def converted(self, display_unit: DisplayUnit) -> "LoadCurve":
        loads = {
            load: measured.converted(display_unit.times) for load, measured in self.loads.items()
        }
        return replace(self, unit=display_unit.unit, loads=loads)


def load_curves(series_ids: Iterable[int], name: str) -> list[LoadCurve]:
    """The test ``name`` (without a load) at every load, by series. Raises TooManyValues."""
    curves: dict[tuple[int, str, tuple[int | None, int | None]], LoadCurve] = {}
    blocks = measurements.of_finished(series_ids)
    for numbers in _bounded_blocks(
        measurements.read(blocks, lambda test: test[0] == name and test[1] != "", samples=True)
    ):
        for row in numbers.rows():
            key = (numbers.series_id, row.unit, (row.record_size_kb, row.file_size_kb))
            curve = curves.setdefault(key, LoadCurve(*key))
            repeats = curve.loads.setdefault(row.load, Repeats())
            repeats.add(row.run_id, row.value, row.flags or ())
            # Of several runs the repeats themselves say how far they scatter.
            is_single = len(repeats.values) == 1 and testnames.is_mean_of_samples(name)
            repeats.samples = row.samples or () if is_single else ()
    return list(curves.values())


@dataclass
class RepeatsOfSeries:
    """One number of every finished run of a series, each the mean of so many ``cells``."""

    series_id: int
    unit: str
    repeats: Repeats
    cells: list[int]

    def converted(self, display_unit: DisplayUnit) -> "RepeatsOfSeries":
        return replace(
            self, unit=display_unit.unit, repeats=self.repeats.converted(display_unit.times)
        )


def repeats(
    series_ids: Iterable[int],
    test: str,
    *,
    record_kb: int | None = None,
    file_kb: int | None = None,
) -> list[RepeatsOfSeries]:
    """What each run measured of ``test``: one cell of it, or the mean of all."""
    values: dict[tuple[int, str, int], list[float]] = {}
    for numbers in _read(series_ids, test):
        for name, record, file, value, _ in numbers.columns.rows():
            if record_kb in (None, record) and file_kb in (None, file):
                values.setdefault((numbers.series_id, name.unit, numbers.run_id), []).append(value)
    by_key: dict[tuple[int, str], RepeatsOfSeries] = {}
    for series_id, unit, run_id in sorted(values):
        of_run = values[series_id, unit, run_id]
        key = (series_id, unit)
        of_series = by_key.setdefault(key, RepeatsOfSeries(*key, Repeats(), []))
        of_series.repeats.add(run_id, mean(of_run))
        of_series.cells.append(len(of_run))
    return list(by_key.values())


def sizes_of(series_ids: Iterable[int], test: str) -> tuple[list[int], list[int]]:
    """The record sizes and the file sizes in KB at which ``test`` was measured, smallest first."""
    records: set[int] = set()
    files: set[int] = set()
    for numbers in _read(series_ids, test):
        columns = numbers.columns.subset(numbers.columns.is_cell)
        records.update(columns.records.tolist())
        files.update(columns.files.tolist())
    return sorted(records), sorted(files)


def _read(series_ids: Iterable[int], test: str) -> Iterator[Numbers]:
    names = {testnames.parts(test)}
    return measurements.read(measurements.of_finished(series_ids), names.__contains__)


def _bounded_blocks(blocks: Iterable[Numbers]) -> Iterator[Numbers]:
    """The same, until they are too many for a picture. Raises TooManyValues."""
    count = 0
    for numbers in blocks:
        count += len(numbers)
        if count > MOST_VALUES:
            raise TooManyValues(
                f"This chart would be made of more than {MOST_VALUES:,} numbers. "
                "Choose fewer contenders."
            )
        yield numbers


class ScoredTest(NamedTuple):
    """A test that has scores of a category, measured or published."""

    test: str
    category: str
    origin: str


def scored_tests(score_filter: ScoreFilter) -> list[ScoredTest]:
    """Every test that passes, with the categories it is scored in. One query."""
    columns = ("test", "category", "origin")
    return [
        ScoredTest(*row) for row in score_filter.scores.order_by().values_list(*columns).distinct()
    ]


CellsByTest = dict[str, dict[int, dict[int, dict[Cell, float]]]]
"""{test with its load: {series: {run: its cells to their values}}}"""

MOST_MATCHED = 300_000
"""So many numbers can be scored while a page waits."""


def cells_of_runs(series_ids: Iterable[int], tests: Iterable[str]) -> CellsByTest:
    """Every cell of the finished runs, oldest first, by test. Raises TooManyValues."""
    names = {testnames.parts(test) for test in tests}
    by_test: CellsByTest = {}
    count = 0
    for numbers in measurements.read(measurements.of_finished(series_ids), names.__contains__):
        columns = numbers.columns.subset(numbers.columns.is_cell)
        count += len(columns)
        if count > MOST_MATCHED:
            raise TooManyValues
        for name, record_kb, file_kb, value, _ in columns.rows():
            runs = by_test.setdefault(testnames.at_load(name.test, name.load), {})
            cells = runs.setdefault(numbers.series_id, {}).setdefault(numbers.run_id, {})
            cells[record_kb or 0, file_kb or 0] = value
    return by_test
