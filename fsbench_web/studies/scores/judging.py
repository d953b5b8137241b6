"""Columns of the runs of a series -> flags of each number, and scores of each test.

Blocks are looked at one after the other, and a series of very many numbers some tests at a time,
so that no more is in memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fsbench_web.core.measurement_columns import NONE, Column, MeasuredTest, MeasurementColumns
from fsbench_web.core.scoring.categories import MEAN
from fsbench_web.core.scoring.quality_cells import (
    MixedMeasurements,
    TestColumns,
)
from fsbench_web.core.scoring.testnames import at_load, is_mean_of_samples
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS, sample_interval
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores import measurements, quality
from fsbench_web.studies.scores.measurements import StoredBlock
from fsbench_web.studies.scores.quality import Bits, SeriesContext
from fsbench_web.studies.scores.selections import SelectedScores, TestQuality, quality_of

MOST_AT_ONCE = 200_000
"""Numbers that are looked at together, unless one test has more."""


@dataclass(frozen=True)
class Part:
    """Numbers of one run; ``bits``, their flags, are written in place (``quality.CELL_FLAGS``)."""

    run_id: int
    columns: MeasurementColumns
    bits: Bits


@dataclass
class TestScores:
    """Unit, and scores of all selections, of each test, named with its load."""

    units: dict[str, str] = field(default_factory=dict)
    tests: dict[str, TestQuality] = field(default_factory=dict)


def judge_stored(series: Series, basis: SeriesContext) -> TestScores:
    """Judge the finished runs of a series and write the flags that changed.

    The caller holds the series' lock. Raises MixedMeasurements before anything is written.
    """
    blocks = measurements.listed(measurements.of_finished([series.pk]), samples=False)
    block_bits: dict[int, tuple[Bits, Bits]] = {}
    test_scores = TestScores()
    for wanted in _test_batches(block.tests for block in blocks):
        _judge(test_scores, _parts(blocks, wanted, block_bits), basis, wanted, series)
    for block in blocks:
        stored, bits = block_bits[block.pk]
        if (stored != bits).any():
            measurements.write_flags(block, quality.flags_of(bits))
    return test_scores


def _judge(
    test_scores: TestScores,
    parts: Iterable[Part],
    basis: SeriesContext,
    wanted: frozenset[str] | None,
    series: Series,
) -> None:
    """Add to ``test_scores`` what tests of ``parts`` amount to: those of ``wanted``, if given.

    ``parts`` come in the order of their runs, and their flags are written. Stored samples give an
    interval to the value of a single run. Raises MixedMeasurements.
    """
    tests = _by_test(parts, wanted)
    wholes = {}
    for test, gathered in tests.items():
        wholes[test] = SelectedScores.of(test, gathered.columns)
    _add_samples(series, wholes)
    for test, gathered in tests.items():
        judged = quality.judge(test, gathered.unit, gathered.columns, basis)
        gathered.write(judged.bits)
        test_scores.units[test] = gathered.unit
        test_scores.tests[test] = quality_of(test, gathered.columns, judged, basis, wholes[test])


@dataclass
class _Test:
    """The numbers of one test, and where their flags stand."""

    unit: str
    columns: TestColumns
    places: list[tuple[Bits, slice | Column, int]]
    """Flags of a part, where those of the test stand in them, and how many these are."""

    def write(self, bits: Bits) -> None:
        start = 0
        for of_part, places, count in self.places:
            of_part[places] = bits[start : start + count]
            start += count


def _by_test(parts: Iterable[Part], wanted: frozenset[str] | None) -> dict[str, _Test]:
    units: dict[str, str] = {}
    pieces: dict[str, list[tuple[Part, slice | Column, MeasurementColumns]]] = {}
    for part in parts:
        for test, places in _places_of_tests(part.columns):
            name = at_load(test.test, test.load)
            if wanted is not None and name not in wanted:
                continue
            if units.setdefault(name, test.unit) != test.unit:
                raise MixedMeasurements(f"{name} was measured in {units[name]} and in {test.unit}.")
            pieces.setdefault(name, []).append((part, places, part.columns.subset(places)))
    return {
        name: _Test(
            units[name],
            _joined_columns([(part.run_id, columns) for part, _, columns in test_pieces]),
            [(part.bits, places, len(columns)) for part, places, columns in test_pieces],
        )
        for name, test_pieces in pieces.items()
    }


def _places_of_tests(
    columns: MeasurementColumns,
) -> Iterator[tuple[MeasuredTest, slice | Column]]:
    """Each test that has numbers, and where these are: a slice where they stand together, since
    one test may have millions of them.
    """
    codes = columns.codes
    counts = np.bincount(codes)
    present = np.flatnonzero(counts)
    is_together = bool((codes[1:] >= codes[:-1]).all())
    order = None if is_together else np.argsort(codes, kind="stable")
    start = 0
    for code, count in zip(present.tolist(), counts[present].tolist(), strict=True):
        places = slice(start, start + count)
        yield columns.tests[code], places if order is None else order[places]
        start += count


def _joined_columns(pieces: Sequence[tuple[int, MeasurementColumns]]) -> TestColumns:
    """Numbers of one test, (run, columns); one size alone is none."""
    if len(pieces) == 1:
        [(run_id, columns)] = pieces
        runs = np.broadcast_to(np.int64(run_id), len(columns))
        records = columns.records.astype(np.int64, copy=False)
        files = columns.files.astype(np.int64, copy=False)
        values = columns.values
    else:
        lengths = [len(columns) for _, columns in pieces]
        runs = np.repeat(np.array([run_id for run_id, _ in pieces], dtype=np.int64), lengths)
        records = np.concatenate([columns.records for _, columns in pieces], dtype=np.int64)
        files = np.concatenate([columns.files for _, columns in pieces], dtype=np.int64)
        values = np.concatenate([columns.values for _, columns in pieces])
    is_cell = (records >= 0) & (files >= 0)
    if not is_cell.all():
        records, files = np.where(is_cell, records, NONE), np.where(is_cell, files, NONE)
    return TestColumns(runs, records, files, values)


def _test_batches(
    summaries: Iterable[Iterable[Sequence[Any]]],
) -> Iterator[frozenset[str] | None]:
    """Tests that are looked at together; None where that is all of them."""
    counts: dict[str, int] = {}
    for tests in summaries:
        for test, load, _, count, _ in tests:
            name = at_load(test, load)
            counts[name] = counts.get(name, 0) + count
    if sum(counts.values()) <= MOST_AT_ONCE:
        yield None
        return
    names: list[str] = []
    numbers = 0
    for name, count in counts.items():
        if names and numbers + count > MOST_AT_ONCE:
            yield frozenset(names)
            names, numbers = [], 0
        names.append(name)
        numbers += count
    yield frozenset(names)


def _parts(
    blocks: Iterable[StoredBlock],
    wanted: frozenset[str] | None,
    block_bits: dict[int, tuple[Bits, Bits]],
) -> Iterator[Part]:
    """The blocks with one of the tests; ``block_bits`` has the flags of each, stored and found."""
    for block in blocks:
        if wanted is not None and not any(
            at_load(test, load) in wanted for test, load, *_ in block.tests
        ):
            continue
        numbers = block.read()
        if block.pk not in block_bits:
            bits = np.array([quality.bits_of(flags) for flags in numbers.kinds], dtype=np.uint8)
            stored = bits[numbers.flag_codes]
            block_bits[block.pk] = stored, stored.copy()
        yield Part(block.run_id, numbers.columns, block_bits[block.pk][1])


def _add_samples(series: Series, wholes: dict[str, SelectedScores]) -> None:
    """The interval of a single run's value is that of its interval samples, or of its trials.

    Repeats are independent of each other and samples hardly are: where there are repeats, samples
    are not asked. A mean of a matrix has no samples of its own, and percentiles of intervals have
    no mean that says anything of the percentile of all.
    """
    single = {
        test
        for test, whole in wholes.items()
        if MEAN in whole.scores
        and whole.scores[MEAN].repeats == 1
        and MEAN not in whole.intervals
        and is_mean_of_samples(test)
    }
    if not single:
        return
    sampled = measurements.of_finished([series.pk]).filter(samples__isnull=False)
    for numbers in measurements.read(sampled, samples=True):
        kind = TRIALS if series.samples_are_trials else SAMPLES
        for place, samples in numbers.samples.items():
            measured_test = numbers.columns.tests[numbers.columns.codes[place]]
            test = at_load(measured_test.test, measured_test.load)
            interval = sample_interval(samples or (), kind) if test in single else None
            if interval is not None:
                wholes[test] = replace(wholes[test], intervals={MEAN: interval})
