"""Imported fio jobs as workloads that run here: the same options on another disk."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.models import Workload as WorkloadRow
from fsbench_web.core.identity import READ, WRITE, Identity, data_kb, of_fio_name, settings_of
from fsbench_web.core.workloads import ParameterError, presets
from fsbench_web.core.workloads.fio_depths import FioDepths
from fsbench_web.studies.jobs.checks.workload import space_problem
from fsbench_web.studies.jobs.spec import ConfigurationSpec, WorkloadSpec
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores import measurements

MOST_BLOCKS = 500
"""Runs of a study that are looked at."""
UNKNOWN = "its options are not known"
_RUNTIME = re.compile(r"runtime=([1-9][0-9]{0,4})s?")
_FSYNC = re.compile(r"fsync-([1-9][0-9]{0,8})")
_REFILLED = ("refill-buffers",)


def stored_names(serieses: Iterable[Series]) -> set[tuple[str, str]]:
    """(test, load) of everything that these series measured."""
    blocks = measurements.of_finished(series.pk for series in serieses)
    tests = blocks.values_list("tests", flat=True)[:MOST_BLOCKS]
    return {(name[0], name[1]) for names in tests for name in names}


def workloads_of(
    row: WorkloadRow, names: Iterable[tuple[str, str]], taken: Collection[str] = ()
) -> tuple[list[WorkloadSpec], list[str]]:
    """The workloads that do what one row's fio did, and why others cannot be run here.

    ``names`` are the stored (test, load); presets in ``taken`` are not used again.
    """
    groups: dict[Identity, list[Identity]] = {}
    for test, load in sorted(names):
        found = of_fio_name(test, load)
        if found is not None and found[0].depth is not None:
            same = replace(found[0], depth=None, direction="")
            groups.setdefault(same, []).append(found[0])
    if row.tool != "fio" or not groups:
        return [], [UNKNOWN]
    specs: list[WorkloadSpec] = []
    problems: list[str] = []
    for identities in groups.values():
        try:
            values = _values(identities) | _conditions(row)
            used = {*taken, *(spec.name for spec in specs)}
            specs.append(_changed_preset(FioDepths(**values), used))
        except ParameterError as error:
            problems.append(str(error))
    return specs, list(dict.fromkeys(problems))


def bounded(
    wanted: WorkloadSpec, lun: Lun | None, configurations: Collection[ConfigurationSpec]
) -> WorkloadSpec:
    """The same with its file halved until it fits on the LUN."""
    if lun is None:
        return wanted
    parameters: dict[str, Any] = {**presets()[wanted.name].workload().values, **wanted.parameters}
    file_mb: int = parameters["file_mb"]
    while file_mb > 1 and space_problem(
        FioDepths(**parameters | {"file_mb": file_mb}), lun, configurations
    ):
        file_mb //= 2
    if file_mb == parameters["file_mb"]:
        return wanted
    return WorkloadSpec(wanted.name, {**wanted.parameters, "file_mb": file_mb})


def _values(identities: Collection[Identity]) -> dict[str, Any]:
    """Parameters of FioDepths. Raises ParameterError for what it does not do."""
    first, directions = next(iter(identities)), {one.direction for one in identities}
    if not directions <= {READ, WRITE}:
        raise ParameterError("a mix of reads and writes cannot be repeated")
    if (first.files or 1) > 1:
        raise ParameterError("several files of a job cannot be repeated")
    if others := [word for word in first.other if word not in _REFILLED]:
        raise ParameterError(f"these options cannot be repeated: {', '.join(others)}")
    fsync = _FSYNC.fullmatch(first.sync)
    if first.sync and not fsync:
        raise ParameterError(f"this option cannot be repeated: {first.sync}")
    if first.block_bytes is None or first.block_bytes % 1024 or first.direct is None:
        raise ParameterError(UNKNOWN)
    return {
        "access": first.access,
        "block_kb": first.block_bytes // 1024,
        "depths": sorted({one.depth for one in identities if one.depth}),
        "directions": "both" if len(directions) > 1 else directions.pop(),
        "jobs": first.jobs or 1,
        "engine": first.engine,
        "direct": first.direct,
        "fsync_every": int(fsync[1]) if fsync else 0,
        "refill_buffers": bool(first.other),
    }


def _conditions(row: WorkloadRow) -> dict[str, int]:
    """File size and runtime, where one of each is stored."""
    settings = settings_of(row.parameters)
    size_kb = data_kb(settings)
    times = {match[1] for text in settings if (match := _RUNTIME.fullmatch(text))}
    conditions = {"runtime_s": int(times.pop())} if len(times) == 1 else {}
    return conditions | ({"file_mb": max(1, size_kb // 1024)} if size_kb else {})


def _changed_preset(workload: FioDepths, taken: Collection[str]) -> WorkloadSpec:
    """A preset that is not taken, the most similar first, with what the workload changes."""
    slug, preset = min(
        _free_presets(taken),
        key=lambda pair: (
            pair[1].access != workload.access,
            pair[1].block_kb != workload.block_kb,
        ),
        default=("", workload),
    )
    if not slug:
        raise ParameterError("the form has no further fio workload")
    return WorkloadSpec(slug, dict(_differing(workload, preset)))


def _free_presets(taken: Collection[str]) -> Iterator[tuple[str, FioDepths]]:
    for slug, preset in presets().items():
        workload = preset.workload()
        if isinstance(workload, FioDepths) and workload.runtime_s > 2 and slug not in taken:
            yield slug, workload


def _differing(workload: FioDepths, preset: FioDepths) -> Mapping[str, Any]:
    keys = dict.fromkeys(chain(workload.values, preset.values))
    return {
        key: getattr(workload, key)
        for key in keys
        if key != "time_limit_s" and getattr(workload, key) != getattr(preset, key)
    }
