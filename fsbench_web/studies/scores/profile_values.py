"""What runs measured of the cells of a work profile.

A cell counts only if measured as the profile asks: uncached beyond the series' cache boundary or by
direct I/O, flushed if the tool says so; unknown counts as no. Tests of other tools count by their
identity (core.identity).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from fsbench_web.core import identity as identities
from fsbench_web.core.identity import Identity, in_flight, of_fio_name
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.categories import Cell
from fsbench_web.core.scoring.profiles.definition import RequiredCell
from fsbench_web.core.scoring.quality import LEAVE_NOTHING_OUT
from fsbench_web.core.scoring.quality_cells import Boundary, includes_flush
from fsbench_web.core.units import OPERATIONS, RATE, SIZE, is_known, lower_is_better, unit_factor
from fsbench_web.core.workloads import ParameterError
from fsbench_web.core.workloads.registry import workload_types
from fsbench_web.studies.models import UNTRACED, Run, RunState, Selection, Series
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.cells import TooManyValues
from fsbench_web.studies.scores.measurements import Numbers
from fsbench_web.studies.scores.quality import NOTED, boundary_of, flags_of_run

MOST_READ = 1_500_000
"""Numbers of the wanted tests that are looked at for one page."""
MOST_SERIES = 900
_NO_CELL: Cell = (-1, -1)


@dataclass(frozen=True)
class Measure:
    """The kind of values of a test: a printed ``unit`` is ``factor`` of its ``dimension``."""

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

    ``measurement``: equal for series that measured in one way; ``ways``: of tests that another
    tool's name stands for. ``smaller``: cells with less data than their files hold. ``cells``:
    every measured size by kind of demand. ``flags``: of the numbers. ``left_out``: reasons of a
    selection, counted.
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
    ways: dict[str, str] = field(default_factory=dict)
    smaller: set[RequiredCell] = field(default_factory=set)

    def measurement_of(self, test: str) -> str:
        """What series share that measured a test in one way."""
        return self.ways.get(test, self.measurement)


def kind_of(demand: RequiredCell) -> RequiredCell:
    """The demand without its sizes: the key of ``SeriesValues.cells``."""
    return RequiredCell(demand.test, None, None, demand.cached, demand.flushed)


@dataclass(frozen=True)
class _MeasuringConditions:
    is_direct: bool
    is_flushed: bool | None
    measurement: str
    boundaries: Mapping[str, Boundary | None]
    settings: tuple[str, ...] = ()

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
    """The values of series that measured any test. Three queries. Raises TooManyValues."""
    if len(series_ids) > MOST_SERIES:
        raise TooManyValues
    kinds: dict[str, dict[RequiredCell, dict[Cell, RequiredCell]]] = {}
    for demand in demands:
        cell = _NO_CELL
        if demand.record_kb is not None and demand.file_kb is not None:
            cell = (demand.record_kb, demand.file_kb)
        kinds.setdefault(demand.test, {}).setdefault(kind_of(demand), {})[cell] = demand
    is_wanted = _wanted_tests(kinds)
    blocks = [
        block
        for block in measurements.listed(measurements.of_finished(series_ids), samples=False)
        if block.holds(is_wanted)
    ]
    if sum(_count(block.tests, is_wanted) for block in blocks) > MOST_READ:
        raise TooManyValues
    by_series: dict[int, SeriesValues] = {}
    measured_by = {block.series_id for block in blocks}
    repeats = _repeats(measured_by)
    circumstances = _circumstances(measured_by, kinds)
    for block in blocks:
        numbers, pk = block.read(), block.series_id
        numbers = numbers.subset(numbers.columns.of_tests(is_wanted))
        series = by_series.setdefault(
            pk, SeriesValues(pk, circumstances[pk].measurement, repeats.get(pk, {}))
        )
        reader = _RunReader(
            series, numbers, kinds, circumstances[pk], tools.get(pk), str(selection)
        )
        reader.add()
        reader.add_identical()
    return by_series


def _wanted_tests(kinds: Iterable[str]) -> Callable[[tuple[str, str]], bool]:
    """Whether a (test, load) is of these, or may have done what one of them does."""
    names = {testnames.parts(test) for test in kinds}
    works = {(test, *in_flight(load)) for test, load in names}
    flights = {work[1:] for work in works}

    @cache  # of thousands of runs all have the same names
    def is_wanted(name: tuple[str, str]) -> bool:
        if name in names:
            return True
        if not identities.is_candidate(*name):
            return False
        of_fio = of_fio_name(*name)
        if of_fio is None:  # others say in their settings what it was
            return in_flight(name[1]) in flights
        return (of_fio[0].operation, of_fio[0].in_flight, of_fio[0].jobs) in works

    return is_wanted


def _count(tests: Iterable[Iterable[Any]], is_wanted: Callable[[tuple[str, str]], bool]) -> int:
    return sum(count for test, load, _, count, _ in tests if is_wanted((test, load)))


def _repeats(series_ids: Collection[int]) -> dict[int, dict[int, Repeat]]:
    rows = Run.objects.filter(
        series__in=list(series_ids), state=RunState.DONE, tracing=UNTRACED
    ).order_by("id")
    by_series: dict[int, dict[int, Repeat]] = {}
    columns = ("id", "series_id", "block", "is_contended", "drift_percent")
    for row in rows.values_list(*columns, *(f"conditions__{name}" for name in NOTED)):
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
            identities.settings_of(_with_defaults(tool, parameters or {})),
        )
        for pk, quality, workload, tool, parameters in rows.values_list(*columns)
    }


def measurement_of(
    workload_id: int | None, tool: str | None, parameters: Mapping[str, Any] | None
) -> str:
    """A name that workloads share if they measure cells in one way: tool and other parameters."""
    kind = workload_types().get(tool or "")
    if kind is not None and kind.sizes:
        try:
            return kind(**(parameters or {})).measurement
        except ParameterError:
            pass  # Of another release, or a file's: nobody knows how it measured.
    return f"workload {workload_id}"


def _with_defaults(tool: str | None, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a workload's row, those that are as usual among them."""
    kind = workload_types().get(tool or "")
    try:
        return kind(**parameters).values if kind is not None else parameters
    except ParameterError:
        return parameters


def is_flushed(parameters: Mapping[str, Any]) -> bool | None:
    """Whether fsync is within the time of writes, by a workload's parameters; None: not known."""
    if "include_flush" in parameters:
        return bool(parameters["include_flush"])
    return includes_flush(parameters.get("modes") or ())


def _only_reads(test: str) -> bool:
    name = testnames.parts(test)[0]
    return "read" in name and "write" not in name


@dataclass(frozen=True)
class _Identical:
    """Numbers of a test that did what ``test`` of a profile does, under another name."""

    test: str
    identity: Identity
    measure: Measure
    numbers: Numbers

    @property
    def is_rate(self) -> bool:
        return self.measure.dimension == RATE


class _CellValue(NamedTuple):
    bytes_s: float
    block_bytes: int
    data_kb: int | None
    flags: list[str] | None


_RATE = Measure(RATE, "MiB/s", 1024.0 * 1024, False)
"""What operations of one size are shown in."""


@dataclass(frozen=True)
class _RunReader:
    """Reads the numbers of one run into the values of its series."""

    series: SeriesValues
    numbers: Numbers
    kinds: Mapping[str, Mapping[RequiredCell, Mapping[Cell, RequiredCell]]]
    circumstances: _MeasuringConditions
    tool: str | None
    selection: str

    def add(self) -> None:
        series, columns = self.series, self.numbers.columns
        for code, name in enumerate(columns.tests):
            test = testnames.at_load(name.test, name.load)
            measure = _measure(name.unit, self.tool) if test in self.kinds else None
            if measure is None or series.measures.setdefault(test, measure).dimension != (
                measure.dimension
            ):
                continue
            test_numbers = self.numbers.subset(columns.codes == code)
            if not len(test_numbers):
                continue
            for kind, wanted in self.kinds[test].items():
                seen = series.cells.setdefault(kind, set())
                seen.update(
                    cell
                    for cell in _sizes(test_numbers.columns)
                    if self.circumstances.meets(kind, cell) and self._is_selected(cell, test)
                )
                for cell, value, flags in _required_values(test_numbers, wanted):
                    if cell in seen:
                        self._keep(wanted[cell], value * measure.factor, flags)

    def add_identical(self) -> None:
        """Numbers under names of other tools; by direct I/O before others, rates first."""
        series, settings = self.series, self.circumstances.settings
        found = _identical(self.numbers, self.kinds, settings, self.tool)
        for one in sorted(found, key=lambda one: (not one.identity.direct, not one.is_rate)):
            rate = one.measure if one.is_rate else _RATE
            if series.ways.setdefault(one.test, one.identity.way) != one.identity.way:
                continue  # Measured in another way, too: that one counts.
            if series.measures.setdefault(one.test, rate).dimension != RATE:
                continue
            for cell in _cells_of(one, settings):
                for kind, wanted in self.kinds[one.test].items():
                    if _meets(one.identity, kind, self.selection):
                        self._add_cell(one, cell, kind, wanted)

    def _add_cell(
        self,
        one: _Identical,
        cell: _CellValue,
        kind: RequiredCell,
        wanted: Mapping[Cell, RequiredCell],
    ) -> None:
        series, run_id = self.series, self.numbers.run_id
        if cell.data_kb is not None and cell.block_bytes % 1024 == 0:
            series.cells.setdefault(kind, set()).add((cell.block_bytes // 1024, cell.data_kb))
        for (record_kb, file_kb), demand in wanted.items():
            if record_kb * 1024 != cell.block_bytes or run_id in series.values.get(demand, ()):
                continue
            if not identities.covers(one.identity, cell.data_kb, file_kb):
                continue
            if self._keep(demand, cell.bytes_s, cell.flags):
                series.cells.setdefault(kind, set()).add((record_kb, file_kb))
                if cell.data_kb is None or cell.data_kb < file_kb:
                    series.smaller.add(demand)

    def _keep(self, demand: RequiredCell, value: float, flags: Iterable[str] | None) -> bool:
        """Keep a value, unless the selection leaves it out."""
        series, run_id = self.series, self.numbers.run_id
        repeat = series.repeats.get(run_id)
        why = [*(flags or ()), *(repeat.flags if repeat else ())]
        unsound = [flag for flag in why if flag not in LEAVE_NOTHING_OUT]
        if self.selection == Selection.SOUND and unsound:
            series.left_out_numbers += 1
            for flag in unsound:
                series.left_out[flag] = series.left_out.get(flag, 0) + 1
            return False
        series.values.setdefault(demand, {})[run_id] = value
        series.flags.setdefault(demand, set()).update(why)
        return True

    def _is_selected(self, cell: Cell, test: str) -> bool:
        if self.selection not in (Selection.CACHED, Selection.UNCACHED):
            return True
        kind = RequiredCell(test, cached=self.selection == Selection.CACHED)
        return self.circumstances.meets(kind, cell)


def _identical(
    numbers: Numbers, kinds: Iterable[str], settings: tuple[str, ...], tool: str | None
) -> list[_Identical]:
    by_work = {
        (testnames.parts(test)[0], *in_flight(testnames.parts(test)[1])): test for test in kinds
    }
    found = []
    for code, name in enumerate(numbers.columns.tests):
        done = identities.of_stored(name.test, name.load, settings)
        measure = _measure(name.unit, tool) if done is not None else None
        if done is None or measure is None or measure.dimension not in (RATE, OPERATIONS):
            continue
        test = by_work.get((done.operation, done.in_flight, done.jobs))
        of_test = numbers.subset(numbers.columns.codes == code)
        if test is not None and len(of_test):
            found.append(_Identical(test, done, measure, of_test))
    return found


def _cells_of(one: _Identical, settings: Iterable[str]) -> Iterable[_CellValue]:
    """Each number with a known block. Operations of one size are a rate by definition."""
    columns = one.numbers.columns
    data_kb = identities.data_kb(settings)
    for place, flags in enumerate(one.numbers.flags):
        is_cell = bool(columns.is_cell[place])
        block_bytes = int(columns.records[place]) * 1024 if is_cell else one.identity.block_bytes
        if block_bytes is not None:
            times = one.measure.factor if one.is_rate else block_bytes
            data = int(columns.files[place]) if is_cell else data_kb
            yield _CellValue(float(columns.values[place]) * times, block_bytes, data, flags)


def _meets(done: Identity, kind: RequiredCell, selection: str) -> bool:
    """Whether it was measured as asked; through the page cache nobody knows what came from it."""
    is_cached = False if done.direct else None
    if selection in (Selection.CACHED, Selection.UNCACHED) and is_cached is not (
        selection == Selection.CACHED
    ):
        return False
    is_flushed = None if kind.flushed is None or _only_reads(kind.test) else bool(done.sync)
    return (kind.cached is None or is_cached is kind.cached) and (
        is_flushed is None or is_flushed is kind.flushed
    )


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
    """None for a unit without a known direction."""
    if not is_known(unit):
        return None
    lower = lower_is_better(unit)
    conversion = unit_factor(unit, tool)
    if conversion is None:
        return Measure(f"unit {unit}", unit, 1.0, lower)
    return Measure(conversion.dimension, unit, float(conversion.factor), lower)
