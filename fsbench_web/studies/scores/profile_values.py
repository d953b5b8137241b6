"""What runs measured of the cells of a work profile, for whoever scores it.

A cell counts only where it was measured as the profile asks: beyond the cache by the boundary that
was seen of the series' own test, or by direct I/O; flushed where the tool says that fsync is within
the time. Where nobody knows, it was not measured so.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsbench_web.core.conversion import RATE, SIZE, unit_factor
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.cache_boundary import Boundary
from fsbench_web.core.scoring.categories import Cell
from fsbench_web.core.scoring.profiles.definition import RequiredCell
from fsbench_web.core.scoring.quality_cells import includes_flush
from fsbench_web.core.units import is_known, lower_is_better
from fsbench_web.core.workloads import ParameterError
from fsbench_web.core.workloads.registry import workload_types
from fsbench_web.studies.models import UNTRACED, Run, RunState, Selection, Series
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.cells import TooManyValues
from fsbench_web.studies.scores.measurements import Numbers
from fsbench_web.studies.scores.quality import boundary_of, flags_of_run

MOST_READ = 1_500_000
"""Numbers of the wanted tests that are looked at for one page."""
MOST_SERIES = 900
_NO_CELL: Cell = (-1, -1)


@dataclass(frozen=True)
class Measure:
    """What values of a test are: of this ``dimension``, a printed ``unit`` being ``factor`` of it.

    A unit of which nobody knows what it is has a dimension of its own, and no other is like it.
    """

    dimension: str
    unit: str
    factor: float
    lower_is_better: bool

    @property
    def base(self) -> int | None:
        """What its KB, MB and GB are of; None of other units, and where nobody knows."""
        if self.dimension not in (RATE, SIZE) or self.factor <= 1:
            return None
        return 1000 if self.factor % 1000 == 0 else 1024


@dataclass(frozen=True)
class Repeat:
    """A finished run: its ``block`` ("" for none) and the flags of all of it."""

    run_id: int
    block: str
    flags: tuple[str, ...]


@dataclass
class SeriesValues:
    """What one series measured: by cell and run, in the dimension's own unit.

    ``cells`` is every size that it measured of a test, as each kind of demand asks for it;
    ``flags`` are those of the numbers, ``left_out`` why a selection left some out, by number.
    Series of one configuration and place with the same ``measurement`` measured their cells in one
    way: the tool and its parameters but for the sizes are the same.
    """

    series_id: int
    measurement: str = ""
    repeats: Mapping[int, Repeat] = field(default_factory=dict)
    values: dict[RequiredCell, dict[int, float]] = field(default_factory=dict)
    measures: dict[str, Measure] = field(default_factory=dict)
    cells: dict[RequiredCell, set[Cell]] = field(default_factory=dict)
    flags: dict[RequiredCell, set[str]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    left_out_numbers: int = 0


def kind_of(demand: RequiredCell) -> RequiredCell:
    """The demand without its sizes: the key of ``SeriesValues.cells``."""
    return RequiredCell(demand.test, None, None, demand.cached, demand.flushed)


@dataclass(frozen=True)
class _MeasuringConditions:
    is_direct: bool
    is_flushed: bool | None
    measurement: str
    boundaries: Mapping[str, Boundary | None]

    def meets(self, kind: RequiredCell, cell: Cell) -> bool:
        return (kind.cached is None or self._is_cached(kind.test, cell) is kind.cached) and (
            kind.flushed is None or _only_reads(kind.test) or self.is_flushed is kind.flushed
        )

    def _is_cached(self, test: str, cell: Cell) -> bool | None:
        if self.is_direct:
            return False
        boundary = self.boundaries.get(test)
        if boundary is None or cell[0] not in boundary.edges:
            return None
        return boundary.is_cached(cell)


def profile_values(
    series_ids: Collection[int],
    demands: Collection[RequiredCell],
    tools: Mapping[int, str],
    selection: str = Selection.ALL,
) -> dict[int, SeriesValues]:
    """By series, those alone that measured any of the tests. Three queries.

    ``tools`` says whose words the units of a series are. Raises TooManyValues.
    """
    if len(series_ids) > MOST_SERIES:
        raise TooManyValues
    kinds: dict[str, dict[RequiredCell, dict[Cell, RequiredCell]]] = {}
    for demand in demands:
        cell = _NO_CELL
        if demand.record_kb is not None and demand.file_kb is not None:
            cell = (demand.record_kb, demand.file_kb)
        kinds.setdefault(demand.test, {}).setdefault(kind_of(demand), {})[cell] = demand
    names = {testnames.parts(test) for test in kinds}
    blocks = [
        block
        for block in measurements.listed(measurements.of_finished(series_ids), samples=False)
        if block.holds(names.__contains__)
    ]
    if sum(_count(block.tests, names) for block in blocks) > MOST_READ:
        raise TooManyValues
    by_series: dict[int, SeriesValues] = {}
    measured_by = {block.series_id for block in blocks}
    repeats = _repeats(measured_by)
    circumstances = _circumstances(measured_by, kinds)
    for block in blocks:
        numbers = block.read()
        numbers = numbers.subset(numbers.columns.of_tests(names.__contains__))
        series = by_series.setdefault(
            block.series_id,
            SeriesValues(
                block.series_id,
                circumstances[block.series_id].measurement,
                repeats.get(block.series_id, {}),
            ),
        )
        _add(series, numbers, kinds, circumstances[block.series_id], tools, selection)
    return by_series


def _count(tests: Iterable[Iterable[Any]], names: Collection[tuple[str, str]]) -> int:
    return sum(count for test, load, _, count, _ in tests if (test, load) in names)


def _repeats(series_ids: Collection[int]) -> dict[int, dict[int, Repeat]]:
    rows = Run.objects.filter(
        series__in=list(series_ids), state=RunState.DONE, tracing=UNTRACED
    ).order_by("id")
    by_series: dict[int, dict[int, Repeat]] = {}
    columns = ("id", "series_id", "block", "is_contended", "drift_percent")
    noted = ("conditions__busy", "conditions__swap")
    for row in rows.values_list(*columns, *noted):
        pk, series_id, block, *noted_of_run = row
        by_series.setdefault(series_id, {})[pk] = Repeat(pk, block, flags_of_run(*noted_of_run))
    return by_series


def _circumstances(
    series_ids: Collection[int], tests: Iterable[str]
) -> dict[int, _MeasuringConditions]:
    rows = Series.objects.filter(pk__in=list(series_ids)).order_by()
    columns = ("pk", "quality", "workload_id", "workload__tool", "workload__parameters")
    return {
        pk: _MeasuringConditions(
            bool((quality or {}).get("direct_io")),
            is_flushed(parameters or {}),
            measurement_of(workload, tool, parameters),
            {test: boundary_of(quality, test) for test in tests},
        )
        for pk, quality, workload, tool, parameters in rows.values_list(*columns)
    }


def measurement_of(
    workload_id: int | None, tool: str | None, parameters: Mapping[str, Any] | None
) -> str:
    """What workloads share that measure cells in one way: by their rows' tools and parameters.

    What has no parameters for sizes, and what nobody can read (imports, other releases), measures
    in a way of its own.
    """
    kind = workload_types().get(tool or "")
    if kind is not None and kind.sizes:
        try:
            return kind(**(parameters or {})).measurement
        except ParameterError:
            pass  # Of another release, or a file's: nobody knows how it measured.
    return f"workload {workload_id}"


def is_flushed(parameters: Mapping[str, Any]) -> bool | None:
    """Whether fsync is within the time of writes, by a workload's parameters; None: not known."""
    if "include_flush" in parameters:
        return bool(parameters["include_flush"])
    return includes_flush(parameters.get("modes") or ())


def _only_reads(test: str) -> bool:
    name = testnames.parts(test)[0]
    return "read" in name and "write" not in name


def _add(
    series: SeriesValues,
    numbers: Numbers,
    kinds: Mapping[str, Mapping[RequiredCell, Mapping[Cell, RequiredCell]]],
    circumstances: _MeasuringConditions,
    tools: Mapping[int, str],
    selection: str,
) -> None:
    """Numbers of one run."""
    repeat = series.repeats.get(numbers.run_id)
    of_run = repeat.flags if repeat else ()
    columns = numbers.columns
    for code, name in enumerate(columns.tests):
        test = testnames.at_load(name.test, name.load)
        if test not in kinds:
            continue
        measure = _measure(name.unit, tools.get(series.series_id))
        if measure is None or series.measures.setdefault(test, measure).dimension != (
            measure.dimension
        ):
            continue
        test_numbers = numbers.subset(columns.codes == code)
        if not len(test_numbers):
            continue
        for kind, wanted in kinds[test].items():
            seen = series.cells.setdefault(kind, set())
            seen.update(
                cell
                for cell in _sizes(test_numbers.columns)
                if circumstances.meets(kind, cell)
                and _is_selected(cell, circumstances, test, selection)
            )
            for cell, value, flags in _required_values(test_numbers, wanted):
                if cell not in seen:
                    continue
                why = [*(flags or ()), *of_run]
                if selection == Selection.SOUND and why:
                    series.left_out_numbers += 1
                    for flag in why:
                        series.left_out[flag] = series.left_out.get(flag, 0) + 1
                    continue
                demand = wanted[cell]
                series.values.setdefault(demand, {})[numbers.run_id] = value * measure.factor
                series.flags.setdefault(demand, set()).update(why)


def _is_selected(
    cell: Cell, circumstances: _MeasuringConditions, test: str, selection: str
) -> bool:
    if selection not in (Selection.CACHED, Selection.UNCACHED):
        return True
    return circumstances.meets(RequiredCell(test, cached=selection == Selection.CACHED), cell)


def _sizes(columns: MeasurementColumns) -> list[Cell]:
    """Every size of these numbers; those without sizes have one that nobody asks for by size."""
    is_cell = columns.is_cell
    pairs = np.stack([columns.records[is_cell], columns.files[is_cell]]).astype(np.int64)
    sizes: list[Cell] = [(int(record), int(file)) for record, file in np.unique(pairs, axis=1).T]
    return sizes if is_cell.all() else [*sizes, _NO_CELL]


def _required_values(
    numbers: Numbers, wanted: Mapping[Cell, RequiredCell]
) -> Iterable[tuple[Cell, float, list[str] | None]]:
    columns = numbers.columns
    records = np.where(columns.is_cell, columns.records, -1)
    files = np.where(columns.is_cell, columns.files, -1)
    mask = np.isin(records, [cell[0] for cell in wanted])
    mask &= np.isin(files, [cell[1] for cell in wanted])
    places = np.flatnonzero(mask)
    for place in places.tolist():
        cell = (int(records[place]), int(files[place]))
        if cell in wanted:
            yield cell, float(columns.values[place]), numbers.kinds[int(numbers.flag_codes[place])]


def _measure(unit: str, tool: str | None) -> Measure | None:
    """None for a unit of which nobody knows whether more is better."""
    if not is_known(unit):
        return None
    lower = lower_is_better(unit)
    conversion = unit_factor(unit, tool)
    if conversion is None:
        return Measure(f"unit {unit}", unit, 1.0, lower)
    return Measure(conversion.dimension, unit, float(conversion.factor), lower)
