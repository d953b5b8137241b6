"""Flags and scores of runs that come in as columns, before their numbers are stored."""

from array import array
from typing import Any

import numpy as np

from fsbench_web.core.formats.tables.long import Columns, LargeTable
from fsbench_web.studies.models import Run, Series
from fsbench_web.studies.scores import ingest, quality
from fsbench_web.studies.scores.columns import RunColumns
from fsbench_web.studies.scores.quality import TestColumns
from fsbench_web.studies.scores.selections import SelectedScores, TestQuality, quality_of


def score_fresh(
    table: LargeTable, series: Series, found: list[tuple[Run, Columns]]
) -> dict[int, array]:
    """Write the scores of a series that has no other runs, and return its numbers' flags.

    The flags are bits (``quality.CELL_FLAGS``) by run, in the order of the run's columns. The same
    as ``ingest.rescore`` finds once the numbers are stored. Raises MixedMeasurements.
    """
    basis = quality.basis_of(series)
    units: dict[str, str] = {}
    judged: dict[str, TestQuality] = {}
    flags = {run.pk: array("B", bytes(len(columns))) for run, columns in found}
    present = {test for _, columns in found for test in set(columns.tests)}
    for test in sorted(present):
        name, unit = table.tests[test]
        if units.setdefault(name, unit) != unit:
            raise ingest.MixedMeasurements(f"{name} was measured in {units[name]} and in {unit}.")
        gathered = RunColumns()
        for run, columns in found:
            gathered.add_test(
                run.pk, test, columns.tests, columns.records, columns.files, columns.values
            )
        whole = SelectedScores(gathered.scores(name), gathered.intervals(name))
        columns_of_test = _side_by_side(gathered)
        del gathered
        verdict = quality.judge(name, unit, columns_of_test, basis)
        judged[name] = quality_of(name, columns_of_test, verdict, basis, whole)
        start = 0
        for run, columns in found:
            places = np.flatnonzero(np.frombuffer(columns.tests, dtype=np.uint16) == test)
            bits = np.frombuffer(flags[run.pk], dtype=np.uint8)
            bits[places] = verdict.bits[start : start + len(places)]
            start += len(places)
    ingest.replace_scores(series, units, basis, judged)
    return flags


def _side_by_side(gathered: RunColumns) -> TestColumns:
    """The columns of several runs as one, the runs in the order they were added."""
    ids, lengths = list(gathered.runs), [len(c[2]) for c in gathered.runs.values()]
    records, files, values = zip(*gathered.runs.values(), strict=True)
    if len(ids) == 1:
        # Without a copy: the one run may have millions of numbers.
        runs = np.broadcast_to(np.array(ids[0], dtype=np.int64), lengths)
    else:
        runs = np.repeat(np.array(ids, dtype=np.int64), lengths)
    return TestColumns(
        runs,
        _joined(records, np.int32).astype(np.int64),
        _joined(files, np.int64),
        _joined(values, np.float64),
    )


def _joined(parts: tuple[array, ...], kind: type) -> Any:
    found: list[Any] = [np.frombuffer(part, dtype=kind) for part in parts]
    return found[0] if len(found) == 1 else np.concatenate(found)
