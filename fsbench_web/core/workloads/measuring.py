"""Which workloads measure the cells of a work profile. Pure.

IOzone has one matrix for each way of measuring. Where its files do not fit, presets with direct I/O
replace them. A test without sizes takes the first preset that gives it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from fsbench_web.core import identity
from fsbench_web.core.identity import in_flight
from fsbench_web.core.scoring.profiles.definition import RequiredCell
from fsbench_web.core.scoring.testnames import CREATION_TESTS, at_load, parts
from fsbench_web.core.workloads import iozone
from fsbench_web.core.workloads.base import ParameterError, Workload
from fsbench_web.core.workloads.registry import presets

_MATRICES = ("iozone-paper", "iozone-direct", "iozone-small")
"""Presets that carry the parameters of one matrix each: a job names a workload once."""


Check = Callable[[Workload], str]
"""Why a workload cannot be measured where it shall be, as a sentence; "" where it can."""


def _no_problem(workload: Workload) -> str:
    return ""


@dataclass(frozen=True)
class MeasuringPlan:
    """Presets with parameters by slug; cells that no workload measures, or not there, with why."""

    workloads: Mapping[str, Mapping[str, Any]]
    without_workload: tuple[RequiredCell, ...]
    refused: tuple[tuple[RequiredCell, str], ...] = ()


def measuring_plan(demands: Iterable[RequiredCell], problem: Check = _no_problem) -> MeasuringPlan:
    """The fewest workloads that measure the cells, of those without a ``problem``."""
    matrices: dict[tuple[bool, bool], list[RequiredCell]] = defaultdict(list)
    by_slug: dict[str, Mapping[str, Any]] = {}
    left: list[RequiredCell] = []
    refused: list[tuple[RequiredCell, str]] = []
    for demand in demands:
        if demand.record_kb is None or demand.file_kb is None:
            slug, reason = _preset_of(demand.test, problem)
            if slug:
                by_slug.setdefault(slug, {})
            elif reason:
                refused.append((demand, reason))
            else:
                left.append(demand)
        elif (
            demand.test in iozone.TESTS
            and _is_power(demand.record_kb)
            and (_is_power(demand.file_kb))
        ):
            matrices[demand.flushed is True, demand.cached is False].append(demand)
        else:
            left.append(demand)
    for place, ((is_flushed, is_direct), cells) in enumerate(sorted(matrices.items())):
        matrix = _matrix(cells, is_flushed=is_flushed, is_direct=is_direct, problem=problem)
        if matrix.refused:
            slugs, uncovered = covering_presets(cells, problem)
            if not uncovered:  # Cells of two ways of measuring are not put together.
                by_slug |= {slug: {} for slug in slugs}
                continue
        if matrix.parameters is None or place >= len(_MATRICES):
            left += [cell for cell in cells if cell not in [other for other, _ in matrix.refused]]
        else:
            by_slug[_MATRICES[place]] = matrix.parameters
        refused += matrix.refused
    return MeasuringPlan(by_slug, tuple(left), tuple(refused))


@dataclass(frozen=True)
class _Matrix:
    """``parameters`` None: IOzone has no such matrix, or none of it can be measured there."""

    parameters: Mapping[str, Any] | None
    refused: list[tuple[RequiredCell, str]]


def _matrix(
    demands: Iterable[RequiredCell], *, is_flushed: bool, is_direct: bool, problem: Check
) -> _Matrix:
    """The matrix of the cells that can be measured: without the largest files until it can."""
    cells, refused = list(demands), list[tuple[RequiredCell, str]]()
    while cells:
        parameters = _parameters(cells, is_flushed=is_flushed, is_direct=is_direct)
        try:
            reason = problem(iozone.Iozone(**parameters))
        except ParameterError:
            return _Matrix(None, refused)
        if not reason:
            return _Matrix(parameters, refused)
        largest = max(demand.file_kb or 0 for demand in cells)
        refused += [(demand, reason) for demand in cells if demand.file_kb == largest]
        cells = [demand for demand in cells if demand.file_kb != largest]
    return _Matrix(None, refused)


def _parameters(
    demands: Iterable[RequiredCell], *, is_flushed: bool, is_direct: bool
) -> dict[str, Any]:
    records = [demand.record_kb for demand in demands if demand.record_kb]
    files = [demand.file_kb for demand in demands if demand.file_kb]
    return {
        "minimum_record_kb": min(records),
        "maximum_record_kb": max(records),
        "minimum_file_kb": min(files),
        "maximum_file_kb": max(files),
        "direct_io": is_direct,
        "include_flush": is_flushed,
    }


def covering_presets(
    cells: Iterable[RequiredCell], problem: Check = _no_problem
) -> tuple[list[str], set[RequiredCell]]:
    """(presets with direct I/O that measure most cells, cells left). Greedy, shortest first."""
    left = set(cells)
    workloads = {
        slug: workload
        for slug, preset in presets().items()
        if (workload := preset.workload()).is_direct and not problem(workload)
    }
    measured = {slug: _measured(workload, left) for slug, workload in workloads.items()}
    chosen = []
    while left and measured:
        slug = max(
            measured,
            key=lambda slug: (len(measured[slug] & left), -(workloads[slug].estimated_s() or 0)),
        )
        if not measured[slug] & left:
            break
        chosen.append(slug)
        left -= measured[slug]
    return chosen, left


def _measured(workload: Workload, cells: Collection[RequiredCell]) -> set[RequiredCell]:
    """The cells that a workload with direct I/O measures, by name or by what it does."""
    settings = identity.settings_of(workload.values)
    data_kb = identity.data_kb(settings)
    measured: set[RequiredCell] = set()
    for test, load, record_kb, file_kb in workload.expected():
        name = (at_load(test, load), record_kb, file_kb)
        done = identity.of_stored(test, load, settings)
        for cell in cells:
            if cell.cached or cell.flushed or cell.record_kb is None:
                continue
            operation, of_cell = parts(cell.test)
            asked = (operation, *in_flight(of_cell), cell.record_kb * 1024)
            if name == (cell.test, cell.record_kb, cell.file_kb) or (
                done is not None
                and (done.operation, done.in_flight, done.jobs, done.block_bytes) == asked
                and identity.covers(done, data_kb, cell.file_kb)
            ):
                measured.add(cell)
    return measured


def _is_power(size: int) -> bool:
    return size & (size - 1) == 0


def tests_without_sizes() -> Mapping[str, tuple[str, ...]]:
    """The presets that give each test that has no sizes, those that time mkfs and mount too."""
    return {**_presets_by_test(), **dict.fromkeys(CREATION_TESTS, ())}


def _preset_of(test: str, problem: Check) -> tuple[str, str]:
    """The first preset that gives the test and can be measured there; else why none can."""
    first = ""
    for slug in _presets_by_test().get(test, ()):
        reason = problem(presets()[slug].workload())
        if not reason:
            return slug, ""
        first = first or reason
    return "", first


@cache
def _presets_by_test() -> Mapping[str, tuple[str, ...]]:
    """The presets that must give each test without sizes, in their order."""
    by_test: dict[str, tuple[str, ...]] = {}
    for slug, preset in presets().items():
        for name, load, record_kb, file_kb in preset.workload().expected():
            test = at_load(name, load)
            if record_kb is None and file_kb is None and slug not in by_test.get(test, ()):
                by_test[test] = (*by_test.get(test, ()), slug)
    return by_test
