"""Raw output, measurements and scores of a run. The caller holds the transaction.

Runs that a worker executed and runs that were imported come through here alike, so that a better
parser can read old output again.
"""

import gzip
import hashlib
from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter

from django.db import transaction

from fsbench_web.formats.result import ParsedResult, ParsedValue
from fsbench_web.scoring.categories import MEAN, expected_cells
from fsbench_web.scoring.confidence import Interval, score_intervals
from fsbench_web.scoring.scores import ScoreValue, score_mean, score_repeats
from fsbench_web.scoring.testnames import at_load
from fsbench_web.scoring.units import overall_unit
from fsbench_web.studies.contention import CONTENDED
from fsbench_web.studies.models import Artefact, Measurement, Run, RunState, Score, Series
from fsbench_web.studies.run_columns import MixedMeasurements as MixedMeasurements
from fsbench_web.studies.run_columns import RunColumns
from fsbench_web.studies.series import lock, next_repeat, series_for
from fsbench_web.workloads import ParameterError, workload_of

COMPUTED = "computed"
_BATCH = 2000
LARGE_SERIES = 200_000


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
    rows = [
        Measurement(
            run=run,
            artefact=artefact,
            line=value.line,
            test=value.test,
            record_size_kb=value.record_size_kb,
            file_size_kb=value.file_size_kb,
            value=value.value,
            unit=value.unit,
            load=value.load,
            samples=list(value.samples) or None,
        )
        for value in values
    ]
    Measurement.objects.bulk_create(rows, batch_size=_BATCH)
    return len(rows)


def move_to_kernel(run: Run, kernel: str, distribution: str) -> Series:
    """Put the run into the series of what it really ran on, and number it there.

    The order was written before anybody knew the kernel. The series it leaves stays, also when it
    is empty: another order may just be joining it.
    """
    old = run.series
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
def rescore(series: Series) -> list[Score]:
    """Make all scores of a series anew from its finished runs, and remove what has no basis.

    A run that failed or was cancelled enters no score, whatever it measured. Scores that a paper
    printed stay untouched. Raises MixedMeasurements.
    """
    lock(series)
    if _is_large(series):
        return replace_scores(series, *_streamed_scores(series))
    repeats: dict[str, dict[int, dict[tuple[int | None, int | None], float]]] = {}
    units: dict[str, str] = {}
    for name, load, run_id, record_kb, file_kb, value, unit in (
        Measurement.objects.filter(run__series=series, run__state=RunState.DONE)
        .order_by("run_id", "id")
        .values_list("test", "load", "run_id", "record_size_kb", "file_size_kb", "value", "unit")
    ):
        test = at_load(name, load)
        if units.setdefault(test, unit) != unit:
            raise MixedMeasurements(f"{test} was measured in {units[test]} and in {unit}.")
        repeats.setdefault(test, {}).setdefault(run_id, {})[(record_kb, file_kb)] = value
    scores = {test: _scores(test, list(runs.values())) for test, runs in repeats.items()}
    sure = {
        test: score_intervals(_scores(test, [repeat]) for repeat in runs.values())
        for test, runs in repeats.items()
    }
    return replace_scores(series, scores, units, sure)


def replace_scores(
    series: Series,
    scores: Mapping[str, Mapping[str, ScoreValue]],
    units: Mapping[str, str],
    intervals: Mapping[str, Mapping[str, Interval]],
) -> list[Score]:
    """Write the computed scores of a series, {test: {category: score}}, in place of the old.

    ``units``: that of each test. ``intervals``: the 95% interval of each score that has one, by
    test and category. The caller holds the series' lock.
    """
    expected = _expected_cells(series)
    contended = series.runs.filter(state=RunState.DONE, is_contended=True).exists()
    series.scores.filter(origin=COMPUTED).delete()
    printed = set(series.scores.values_list("test", "category"))
    return Score.objects.bulk_create(
        Score(
            series=series,
            test=test,
            category=category,
            value=score.value,
            unit=overall_unit(units[test]) if category == "overall" else units[test],
            repeats=score.repeats,
            half_width=found.half_width if found else None,
            half_width_percent=found.relative_percent if found else None,
            cells=score.cells,
            cells_expected=expected.get(category),
            flags=[*score.flags, *([CONTENDED] if contended else [])],
            origin=COMPUTED,
        )
        for test, categories in scores.items()
        for category, score in categories.items()
        for found in [intervals.get(test, {}).get(category)]
        if (test, category) not in printed
    )


def _is_large(series: Series) -> bool:
    """Whether the series holds more numbers than fit into memory as a matrix each."""
    rows = Measurement.objects.filter(run__series=series).order_by()
    return len(rows.values_list("pk")[LARGE_SERIES : LARGE_SERIES + 1]) > 0


def _streamed_scores(
    series: Series,
) -> tuple[dict[str, dict[str, ScoreValue]], dict[str, str], dict[str, dict[str, Interval]]]:
    """Scores, units and intervals of a large series.

    Its cells come from the database in order, one test at a time. Where one run measured a test its
    columns are scored as they are; several runs are brought together cell by cell, which takes
    memory for the distinct cells of one test.
    """
    rows = (
        Measurement.objects.filter(run__series=series, run__state=RunState.DONE)
        .order_by("test", "load", "run_id")
        .values_list("test", "load", "unit", "run_id", "record_size_kb", "file_size_kb", "value")
        .iterator(chunk_size=5000)
    )
    scores: dict[str, dict[str, ScoreValue]] = {}
    units: dict[str, str] = {}
    intervals: dict[str, dict[str, Interval]] = {}
    for (name, load), group in groupby(rows, key=itemgetter(0, 1)):
        test = at_load(name, load)
        columns = RunColumns()
        for _, _, unit, run_id, record_kb, file_kb, value in group:
            if units.setdefault(test, unit) != unit:
                raise MixedMeasurements(f"{test} was measured in {units[test]} and in {unit}.")
            columns.add(run_id, record_kb, file_kb, value)
        scores[test] = columns.scores(test)
        intervals[test] = columns.intervals(test)
    return scores, units, intervals


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
