"""Which workloads measure the cells of a work profile. Pure.

Cells with sizes are IOzone's: one matrix for each way of measuring (with fsync, by direct I/O),
from the smallest to the largest sizes wanted, as IOzone doubles both. A test without sizes is of
the preset that is sure to give it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from fsbench_web.core.scoring.profiles.definition import Demand
from fsbench_web.core.scoring.testnames import at_load
from fsbench_web.core.workloads import iozone
from fsbench_web.core.workloads.base import ParameterError
from fsbench_web.core.workloads.registry import presets

_MATRICES = ("iozone-paper", "iozone-direct", "iozone-small")
"""Presets that carry the parameters of one matrix each: a job names a workload once."""


@dataclass(frozen=True)
class Measuring:
    """Presets with their parameters, by slug; and what of the cells they do not measure."""

    workloads: Mapping[str, Mapping[str, Any]]
    left: tuple[Demand, ...]


def measuring(demands: Iterable[Demand]) -> Measuring:
    """The fewest workloads that measure the cells."""
    matrices: dict[tuple[bool, bool], list[Demand]] = defaultdict(list)
    found: dict[str, Mapping[str, Any]] = {}
    left = []
    for demand in demands:
        if demand.record_kb is None or demand.file_kb is None:
            slug = _preset_of(demand.test)
            if slug:
                found.setdefault(slug, {})
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
    for place, ((is_flushed, is_direct), some) in enumerate(sorted(matrices.items())):
        parameters = _matrix(some, is_flushed=is_flushed, is_direct=is_direct)
        if parameters is None or place >= len(_MATRICES):
            left += some
        else:
            found[_MATRICES[place]] = parameters
    return Measuring(found, tuple(left))


def _matrix(
    demands: Iterable[Demand], *, is_flushed: bool, is_direct: bool
) -> Mapping[str, Any] | None:
    """None where IOzone has no such matrix."""
    records = [demand.record_kb for demand in demands if demand.record_kb]
    files = [demand.file_kb for demand in demands if demand.file_kb]
    parameters = {
        "minimum_record_kb": min(records),
        "maximum_record_kb": max(records),
        "minimum_file_kb": min(files),
        "maximum_file_kb": max(files),
        "direct_io": is_direct,
        "include_flush": is_flushed,
    }
    try:
        iozone.Iozone(**parameters)
    except ParameterError:
        return None
    return parameters


def _is_power(size: int) -> bool:
    return size & (size - 1) == 0


def _preset_of(test: str) -> str:
    return _presets_by_test().get(test, "")


@cache
def _presets_by_test() -> Mapping[str, str]:
    """The first preset that must give each test without sizes."""
    found: dict[str, str] = {}
    for slug, preset in presets().items():
        for name, load, record_kb, file_kb in preset.workload().expected():
            if record_kb is None and file_kb is None:
                found.setdefault(at_load(name, load), slug)
    return found
