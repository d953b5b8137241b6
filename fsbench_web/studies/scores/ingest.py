"""Raw output, measurements and scores of a run. The caller holds the transaction.

Runs that a worker executed and runs that were imported come through here alike, so that a better
parser can read old output again.
"""

import gzip
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.formats.result import ParsedResult, ParsedValue
from fsbench_web.core.scoring import quality as flag_words
from fsbench_web.core.scoring.categories import MEAN, expected_cells
from fsbench_web.core.scoring.confidence import REPEATS, Interval, sample_interval, score_intervals
from fsbench_web.core.scoring.scores import ScoreValue, score_mean, score_repeats
from fsbench_web.core.scoring.testnames import at_load
from fsbench_web.core.units import overall_unit
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.studies.models import (
    COMPUTED,
    Artefact,
    Measurement,
    Run,
    RunState,
    Score,
    Selection,
    Series,
)
from fsbench_web.studies.scores import quality
from fsbench_web.studies.scores.columns import MixedMeasurements as MixedMeasurements
from fsbench_web.studies.scores.columns import RunColumns
from fsbench_web.studies.scores.quality import Basis, Gathered
from fsbench_web.studies.scores.rows import as_json, insert_rows
from fsbench_web.studies.scores.selections import SelectedScores, TestQuality, quality_of
from fsbench_web.studies.series import lock, lock_all, next_repeat, series_for

LARGE_SERIES = 200_000
_SMALL_SERIES = 5_000
"""Up to so many numbers are read without asking first how many there are."""
_WRITTEN = (
    *("run_id", "artefact_id", "line", "test", "load", "record_size_kb", "file_size_kb"),
    *("value", "unit", "samples"),
)
_WRITTEN_SCORES = (
    *("series_id", "test", "category", "selection", "value", "unit", "repeats", "run_ids"),
    *(
        "half_width",
        "half_width_percent",
        "interval",
        "cells",
        "cells_expected",
        "left_out",
        "flags",
        "origin",
    ),
)
_READ = ("test", "load", "run_id", "record_size_kb", "file_size_kb", "value", "unit")


def store_artefact(
    run: Run, name: str, data: bytes, media_type: str = "text/plain; charset=utf-8"
) -> Artefact:
    """Keep raw output as it came: compressed, with the digest and size of the original."""
    return Artefact.objects.create(
        run=run,
        name=name.replace("\x00", "\ufffd")[:200],
        media_type=media_type,
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        # mtime=0: the same output is the same bytes.
        content_gzip=gzip.compress(data, mtime=0),
    )


def artefact_bytes(artefact: Artefact) -> bytes:
    """The raw output as it came."""
    return gzip.decompress(artefact.content_gzip)


def store_result(run: Run, artefact: Artefact | None, parsed: ParsedResult) -> int:
    """Store the numbers of a file as measurements of ``run``. Returns how many.

    Scores follow with ``rescore`` once the run is done.
    """
    return store_values(run, artefact, parsed.values)


def store_values(run: Run, artefact: Artefact | None, values: Iterable[ParsedValue]) -> int:
    """Store some of a file's numbers: a table may hold those of several runs."""
    artefact_id = artefact.pk if artefact is not None else None
    return insert_rows(
        Measurement,
        _WRITTEN,
        (
            (
                run.pk,
                artefact_id,
                value.line,
                value.test,
                value.load,
                value.record_size_kb,
                value.file_size_kb,
                value.value,
                value.unit,
                as_json(list(value.samples) or None),
            )
            for value in values
        ),
    )


def move_to_kernel(
    run: Run, kernel: str, distribution: str, accelerator: str | None = None
) -> Series:
    """Put the run into the series of what it really ran on, and number it there.

    ``accelerator`` is what a guest was really run with; None: as it was submitted, or no guest. The
    job was written before anybody knew the kernel. The series it leaves stays, also when it
    is empty: another job may just be joining it.
    """
    old = run.series
    machine = Machine.of(old.machine)
    if machine.is_guest and accelerator is not None:
        machine = replace(machine, accelerator=accelerator)
    new = series_for(
        old.study,
        old.configuration,
        workload=old.workload,
        hardware=old.hardware,
        lun=old.lun,
        journal_lun=old.journal_lun,
        kernel=kernel[:200],
        distribution=distribution[:200],
        preparation=old.preparation,
        machine=machine.stored(),
    )
    if new.pk == old.pk:
        return old
    # One order of locks for everybody, so that two moves cannot wait for each other.
    for series in sorted((old, new), key=lambda series: series.pk):
        lock(series)
    run.series, run.repeat = new, next_repeat(new)
    run.save(update_fields=["series", "repeat"])
    return new


@transaction.atomic
def rescore(series: Series) -> None:
    """Make all scores of a series anew from its finished runs, and remove what has no basis.

    The flags of its measurements and its scores of selected cells are made in the same go. A run
    that failed or was cancelled enters no score, whatever it measured. Scores that a paper printed
    stay untouched. Raises MixedMeasurements.
    """
    lock_all([series])
    rescore_locked(series)


def rescore_locked(series: Series, finished: Iterable[Run] | None = None) -> None:
    """``rescore`` for a caller who holds the lock (series.lock_all), and may know its ``finished``

    runs as they are now (quality.basis_of).
    Raises MixedMeasurements before anything is written.
    """
    basis = quality.basis_of(series, finished)
    changed: dict[int, list[int]] = defaultdict(list)
    numbers = _measurements(series).order_by("run_id", "id").values_list("id", *_READ, "flags")
    some = list(numbers[: _SMALL_SERIES + 1])
    if len(some) <= _SMALL_SERIES:
        units, found = _at_once(series, some, basis, changed)
    elif _is_large(series):
        units, found = _streamed(series, basis, changed)
    else:
        units, found = _at_once(series, numbers, basis, changed)
    quality.write_flags(changed)
    replace_scores(series, units, basis, found)


def _measurements(series: Series) -> QuerySet[Measurement]:
    return Measurement.objects.filter(run__series=series, run__state=RunState.DONE)


Judged = tuple[dict[str, str], dict[str, TestQuality]]
"""Units, and scores of all selections, by test."""


def _at_once(
    series: Series,
    rows: Iterable[tuple[Any, ...]],
    basis: Basis,
    changed: dict[int, list[int]],
) -> Judged:
    """What a series of usual size amounts to; ``changed`` takes {flags' bits: measurements}.

    ``rows`` are its measurements: id, ``_READ`` and flags.
    """
    repeats: dict[str, dict[int, dict[tuple[int | None, int | None], float]]] = {}
    gathered: dict[str, Gathered] = {}
    for pk, name, load, run_id, record_kb, file_kb, value, unit, flags in rows:
        test = at_load(name, load)
        columns = gathered.setdefault(test, Gathered(unit))
        if columns.unit != unit:
            raise MixedMeasurements(f"{test} was measured in {columns.unit} and in {unit}.")
        repeats.setdefault(test, {}).setdefault(run_id, {})[(record_kb, file_kb)] = value
        columns.add(pk, run_id, record_kb, file_kb, value, flags)
    scores = {test: _scores(test, list(runs.values())) for test, runs in repeats.items()}
    sure = {
        test: score_intervals(_scores(test, [repeat]) for repeat in runs.values())
        for test, runs in repeats.items()
    }
    intervals = _with_samples(series, scores, sure)
    found = {
        test: _quality(
            test, columns, basis, SelectedScores(scores[test], intervals.get(test, {})), changed
        )
        for test, columns in gathered.items()
    }
    return {test: columns.unit for test, columns in gathered.items()}, found


def _quality(
    test: str,
    gathered: Gathered,
    basis: Basis,
    whole: SelectedScores,
    changed: dict[int, list[int]],
) -> TestQuality:
    columns = gathered.columns
    judged = quality.judge(test, gathered.unit, columns, basis)
    for bits, pks in gathered.changed(judged.bits).items():
        changed[bits] += pks
    return quality_of(test, columns, judged, basis, whole)


def replace_scores(
    series: Series, units: Mapping[str, str], basis: Basis, found: Mapping[str, TestQuality]
) -> None:
    """Write the computed scores of a series, of all selections, in place of the old.

    ``units``: that of each test. ``found``: the scores of each test, judged by ``basis``. The
    caller holds the series' lock.
    """
    expected = _expected_cells(series)
    of_runs = flag_words.ordered({flag for flags in basis.unsound.values() for flag in flags})
    Score.selections.filter(series=series, origin=COMPUTED).delete()
    printed = set(series.scores.values_list("test", "category"))
    insert_rows(
        Score,
        _WRITTEN_SCORES,
        (
            (
                series.pk,
                test,
                category,
                str(selection),
                score.value,
                overall_unit(units[test]) if category == "overall" else units[test],
                len(selected.runs[category]),
                as_json(selected.runs[category]),
                sure.half_width if sure and sure.of == REPEATS else None,
                sure.relative_percent if sure and sure.of == REPEATS else None,
                as_json(sure.as_dict() if sure else None),
                score.cells,
                expected.get(category),
                as_json(selected.left_out.get(category)),
                as_json(
                    [
                        *score.flags,
                        *selected.flags.get(category, ()),
                        # Those repeats are what a sound score is without.
                        *(of_runs if selection != Selection.SOUND else ()),
                    ]
                ),
                COMPUTED,
            )
            for test, quality_of_test in found.items()
            for selection, selected in quality_of_test.scores.items()
            for category, score in selected.scores.items()
            for sure in [selected.intervals.get(category)]
            if (test, category) not in printed
        ),
    )
    boundaries = {test: one.boundary for test, one in found.items() if one.boundary is not None}
    judged_by = basis.as_dict(boundaries)
    if series.quality != judged_by:
        Series.objects.filter(pk=series.pk).update(quality=judged_by)
        series.quality = judged_by


def _with_samples(
    series: Series,
    scores: Mapping[str, Mapping[str, ScoreValue]],
    intervals: Mapping[str, Mapping[str, Interval]],
) -> Mapping[str, Mapping[str, Interval]]:
    """The intervals of repeats, and for a single run's value that of its interval samples.

    Repeats are independent of each other and samples hardly are: where there are repeats, samples
    are not asked. A mean of a matrix has no samples of its own.
    """
    single = {
        test
        for test, found in scores.items()
        if MEAN in found and found[MEAN].repeats == 1 and MEAN not in intervals.get(test, {})
    }
    if not single:
        return intervals
    added = {}
    with_samples = _measurements(series).filter(samples__isnull=False)
    for name, load, samples in with_samples.values_list("test", "load", "samples"):
        test = at_load(name, load)
        found = sample_interval(samples or ()) if test in single else None
        if found is not None:
            added[test] = {MEAN: found}
    return {**intervals, **added}


def _is_large(series: Series) -> bool:
    """Whether the series holds more numbers than fit into memory as a matrix each."""
    rows = Measurement.objects.filter(run__series=series).order_by()
    return len(rows.values_list("pk")[LARGE_SERIES : LARGE_SERIES + 1]) > 0


def _streamed(series: Series, basis: Basis, changed: dict[int, list[int]]) -> Judged:
    """What a large series amounts to; ``changed`` takes {flags' bits: measurements}.

    Its cells come from the database in order, one test at a time. Where one run measured a test its
    columns are scored as they are; several runs are brought together cell by cell, which takes
    memory for the distinct cells of one test.
    """
    rows = (
        _measurements(series)
        .order_by("test", "load", "run_id")
        .values_list(*_READ, "flags", "id")
        .iterator(chunk_size=5000)
    )
    units: dict[str, str] = {}
    found: dict[str, TestQuality] = {}
    for (name, load), group in groupby(rows, key=itemgetter(0, 1)):
        test = at_load(name, load)
        columns, gathered = RunColumns(), Gathered("")
        for _, _, run_id, record_kb, file_kb, value, unit, flags, pk in group:
            if units.setdefault(test, unit) != unit:
                raise MixedMeasurements(f"{test} was measured in {units[test]} and in {unit}.")
            columns.add(run_id, record_kb, file_kb, value)
            gathered.add(pk, run_id, record_kb, file_kb, value, flags)
        gathered.unit = units[test]
        whole = SelectedScores(columns.scores(test), columns.intervals(test))
        found[test] = _quality(test, gathered, basis, whole, changed)
    return units, found


def _scores(
    test: str, repeats: list[dict[tuple[int | None, int | None], float]]
) -> dict[str, ScoreValue]:
    """The seven categories of a matrix, or the mean of a test without sizes."""
    matrix: list[dict[tuple[int, int], float]] = []
    single: list[float] = []
    for repeat in repeats:
        cells: dict[tuple[int, int], float] = {}
        for (record_kb, file_kb), value in repeat.items():
            if record_kb is None or file_kb is None:
                single.append(value)
            else:
                cells[(record_kb, file_kb)] = value
        if cells:
            matrix.append(cells)
    if matrix and single:
        raise MixedMeasurements(f"{test} has values with sizes and values without.")
    if matrix:
        return score_repeats(matrix)
    score = score_mean(single)
    return {} if score is None else {MEAN: score}


def _expected_cells(series: Series) -> dict[str, int]:
    """How many cells the workload has in each category; nothing where that is not known."""
    if series.workload is None:
        return {}
    try:
        workload = workload_of(series.workload.tool, series.workload.parameters)
    except ParameterError:
        return {}
    cells = list(workload.cells())
    return expected_cells(cells) if cells else {}
