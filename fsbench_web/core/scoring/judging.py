"""Columns of the runs of a series -> scores of each test, by selection of cells. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fsbench_web.core.measurement_columns import NONE, Column, MeasurementColumns
from fsbench_web.core.scoring.categories import MEAN
from fsbench_web.core.scoring.quality import (
    CACHED,
    CACHED_CELLS,
    EVERY_CELL,
    LEAVE_NOTHING_OUT,
    SOUND_CELLS,
    SPIKE,
    UNCACHED,
    UNCACHED_CELLS,
    ordered,
)
from fsbench_web.core.scoring.quality_cells import (
    Boundary,
    Mask,
    MixedMeasurements,
    TestColumns,
    Whole,
)
from fsbench_web.core.scoring.scores import ScoreValue, score_mean, score_repeats
from fsbench_web.core.scoring.series_quality import (
    CELL_FLAGS,
    Bits,
    FlaggedCells,
    SeriesContext,
    judge,
    slugs,
)
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.scoring.testnames import at_load, is_mean_of_samples
from fsbench_web.core.stats.intervals import (
    LEAST_REPEATS,
    Interval,
    intervals_of,
    sample_interval,
)
from fsbench_web.core.units import SUM, overall_unit

SamplesOf = Callable[[Collection[str]], Iterable[tuple[str, Sequence[float] | None]]]
"""Takes tests with their loads, gives (test, samples) of each of their numbers that has any."""


@dataclass(frozen=True)
class SelectedScores:
    """The scores of one test in one selection, by category.

    ``runs``: oldest first. ``of_runs``: of each of several runs. ``cells``: by record size.
    """

    scores: Mapping[str, ScoreValue]
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    left_out: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    flags: Mapping[str, list[str]] = field(default_factory=dict)
    runs: Mapping[str, list[int]] = field(default_factory=dict)
    of_runs: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    cells: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, test: str, columns: TestColumns) -> "SelectedScores":
        """Scores and intervals. Raises MixedMeasurements, and ValueError if not finite."""
        of_each: Iterable[tuple[int, Mapping[str, ScoreValue]]]
        if columns.is_matrix(test):
            repeats = columns.repeats()
            scores = score_repeats(list(repeats.values()))
            of_each = ((run, score_repeats([repeat])) for run, repeat in repeats.items())
        else:
            values = columns.values_by_run()
            scores = _mean_score(columns.values.tolist())
            of_each = ((run, _mean_score(of_run)) for run, of_run in values.items())
        if len(columns.by_run[0]) < 2:
            return cls(scores)
        of_runs: dict[str, dict[int, float]] = {}
        for run, scores_of_run in of_each:
            for category, score in scores_of_run.items():
                of_runs.setdefault(category, {})[run] = score.value
        return cls(scores, intervals_of(of_runs), of_runs=of_runs)


@dataclass(frozen=True)
class TestQuality:
    """What was found of one test: its scores by selection, ``all`` among them."""

    scores: Mapping[str, SelectedScores]
    boundary: Boundary | None


def quality_of(
    test: str,
    columns: TestColumns,
    judged: FlaggedCells,
    basis: SeriesContext,
    whole: SelectedScores,
) -> TestQuality:
    """Flags, runs and selections of one test; ``whole``: its scores of all cells."""
    whole = replace(
        whole,
        flags=_flags(columns, judged, whole.scores),
        runs=_runs(columns, whole.scores),
    )
    scores = selected_scores(test, columns, judged, basis, whole)
    return TestQuality({EVERY_CELL: whole, **scores}, judged.boundary)


def selected_scores(
    test: str,
    columns: TestColumns,
    judged: FlaggedCells,
    basis: SeriesContext,
    whole: SelectedScores,
) -> dict[str, SelectedScores]:
    """The scores by selection, ``sound`` always among them; empty selections are missing."""
    reasons = {slug: judged.has(slug) for slug in CELL_FLAGS}
    of_runs = {slug for flags in basis.unsound.values() for slug in flags}
    for slug in of_runs - LEAVE_NOTHING_OUT:
        runs = [run for run, flags in basis.unsound.items() if slug in flags]
        reasons[slug] = np.isin(columns.runs, runs)
    wanted = {SOUND_CELLS: reasons}
    if judged.boundary is not None:
        is_cached = _cached(columns, judged)
        wanted[CACHED_CELLS] = {UNCACHED: ~is_cached}
        wanted[UNCACHED_CELLS] = {CACHED: is_cached}
    by_selection = {}
    for selection, why in wanted.items():
        scores = _remaining_scores(test, columns, judged, why, whole)
        if basis.ceilings is not None and scores.left_out:
            remaining = columns.subset(~np.logical_or.reduce(list(why.values())))
            left = {
                category: _by_record(remaining, category)
                for category in scores.left_out
                if category != "overall"
            }
            scores = replace(scores, cells=left)
        if scores.scores:
            by_selection[selection] = scores
    return by_selection


def _mean_score(values: Sequence[float]) -> dict[str, ScoreValue]:
    score = score_mean(values)
    return {} if score is None else {MEAN: score}


def _flags(
    columns: TestColumns,
    judged: FlaggedCells,
    scores: Mapping[str, ScoreValue],
    mask: Mask | None = None,
) -> dict[str, list[str]]:
    """The flags of the numbers of each score; spikes of extremes only."""
    by_category = {}
    for category, score in scores.items():
        is_extreme = category in ("maximum", "minimum")
        inside = columns.values == score.value if is_extreme else columns.region(category)
        if mask is not None:
            inside = inside & mask
        bits = int(np.bitwise_or.reduce(judged.bits[inside], initial=0))
        flags = set(slugs(bits))
        if not is_extreme:
            flags.discard(SPIKE)
        by_category[category] = ordered(flags)
    return by_category


def _runs(
    columns: TestColumns, categories: Iterable[str], mask: Mask | None = None
) -> dict[str, list[int]]:
    """The runs that gave a number to each category's score, oldest first."""
    runs, places = columns.by_run
    if len(runs) == 1:
        return {category: [int(runs[0])] for category in categories}
    by_category = {}
    for category in categories:
        inside = columns.region(category)
        if mask is not None:
            inside = inside & mask
        numbers = np.bincount(places[inside], minlength=len(runs))
        by_category[category] = [int(run) for run in runs[numbers > 0]]
    return by_category


def _remaining_scores(
    test: str,
    columns: TestColumns,
    judged: FlaggedCells,
    why: Mapping[str, Mask],
    whole: SelectedScores,
) -> SelectedScores:
    taken = np.zeros(len(columns.values), dtype=np.bool_)
    for mask in why.values():
        taken |= mask
    if not taken.any():
        return whole
    remaining = columns.subset(~taken)
    if not len(remaining):
        return SelectedScores({})
    selected = SelectedScores.of(test, remaining)
    cell = columns.cells
    return replace(
        selected,
        left_out={
            category: left_out
            for category in selected.scores
            if (left_out := _left_out(cell, taken, why, columns.region(category)))["numbers"]
        },
        flags=_flags(columns, judged, selected.scores, ~taken),
        runs=_runs(columns, selected.scores, ~taken),
    )


def _by_record(columns: TestColumns, category: str) -> dict[int, int]:
    """How many cells of each record size there are in the region of a category."""
    inside = columns.region(category)
    cells = np.unique(np.stack([columns.records[inside], columns.files[inside]]), axis=1)
    records, counts = np.unique(cells[0], return_counts=True)
    return dict(zip(records.tolist(), counts.tolist(), strict=True))


def _left_out(cell: Whole, taken: Mask, why: Mapping[str, Mask], region: Mask) -> dict[str, Any]:
    """What the region lost: cells without a number left, numbers of how many, and why."""
    counts = {slug: int(np.count_nonzero(mask & region)) for slug, mask in why.items()}
    return {
        "cells": _distinct(cell[region]) - _distinct(cell[region & ~taken]),
        "numbers": int(np.count_nonzero(taken & region)),
        "of": int(np.count_nonzero(region)),
        "why": {slug: counts[slug] for slug in ordered(set(counts)) if counts[slug]},
    }


def _distinct(cells: Whole) -> int:
    # Cells are counted from 0. NumPy's unique hashes them, which took 0.9 s for 300,000.
    return int(np.count_nonzero(np.bincount(cells)))


def _cached(columns: TestColumns, judged: FlaggedCells) -> Mask:
    """Which numbers are of files within the cache boundary of their record size."""
    assert judged.boundary is not None
    last = {record: edge.cached_kb for record, edge in judged.boundary.edges.items()}
    records, places = np.unique(columns.records, return_inverse=True)
    limits = np.array([last[int(record)] for record in records], dtype=np.int64)
    return np.asarray(columns.files <= limits[places.reshape(-1)], dtype=np.bool_)


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


def judge_parts(
    test_scores: TestScores,
    parts: Iterable[Part],
    basis: SeriesContext,
    samples_of: SamplesOf,
    kind: str,
    wanted: frozenset[str] | None = None,
) -> None:
    """Add what ``parts`` come to, in the order of their runs. Raises MixedMeasurements.

    ``wanted``: tests with loads; None for all. ``kind``: SAMPLES or TRIALS.
    """
    tests = _by_test(parts, wanted)
    wholes = {}
    for test, gathered in tests.items():
        wholes[test] = SelectedScores.of(test, gathered.columns)
    _add_samples(wholes, samples_of, kind)
    for test, gathered in tests.items():
        judged = judge(test, gathered.unit, gathered.columns, basis)
        gathered.write(judged.bits)
        test_scores.units[test] = gathered.unit
        test_scores.tests[test] = quality_of(test, gathered.columns, judged, basis, wholes[test])


@dataclass
class _Test:
    """The numbers of one test, and where their flags stand."""

    unit: str
    columns: TestColumns
    places: list[tuple[Bits, Column, int]]
    """Flags of a part, where those of the test stand in them, and how many these are."""

    def write(self, bits: Bits) -> None:
        start = 0
        for of_part, places, count in self.places:
            of_part[places] = bits[start : start + count]
            start += count


def _by_test(parts: Iterable[Part], wanted: frozenset[str] | None) -> dict[str, _Test]:
    units: dict[str, str] = {}
    pieces: dict[str, list[tuple[Part, Column, MeasurementColumns]]] = {}
    for part in parts:
        codes = part.columns.codes
        for code in np.unique(codes).tolist():
            test, places = part.columns.tests[code], np.flatnonzero(codes == code)
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


def _joined_columns(pieces: Sequence[tuple[int, MeasurementColumns]]) -> TestColumns:
    """Numbers of one test, (run, columns); one size alone is none."""
    lengths = [len(columns) for _, columns in pieces]
    runs = np.repeat(np.array([run_id for run_id, _ in pieces], dtype=np.int64), lengths)
    records = np.concatenate([columns.records for _, columns in pieces], dtype=np.int64)
    files = np.concatenate([columns.files for _, columns in pieces], dtype=np.int64)
    values = np.concatenate([columns.values for _, columns in pieces])
    is_cell = (records >= 0) & (files >= 0)
    if not is_cell.all():
        records, files = np.where(is_cell, records, NONE), np.where(is_cell, files, NONE)
    return TestColumns(runs, records, files, values)


def _add_samples(wholes: dict[str, SelectedScores], samples_of: SamplesOf, kind: str) -> None:
    """Give values of a single run, but percentiles, the interval of their samples."""
    single = {
        test
        for test, whole in wholes.items()
        if MEAN in whole.scores
        and whole.scores[MEAN].repeats == 1
        and MEAN not in whole.intervals
        and is_mean_of_samples(test)
    }
    for test, samples in samples_of(single) if single else ():
        interval = sample_interval(samples or (), kind) if test in single else None
        if interval is not None:
            wholes[test] = replace(wholes[test], intervals={MEAN: interval})


@dataclass(frozen=True)
class ComputedScore:
    """A score of a series, as ``studies.models.Score`` names its columns."""

    test: str
    category: str
    selection: str
    value: float
    unit: str
    run_ids: list[int]
    summed_unit: str | None
    interval: Interval | None
    repeat_scores: list[tuple[str, float | None]] | None
    cells: int | None
    cells_expected: int | None
    left_out: dict[str, Any] | None
    share: Share | None
    flags: list[str]


def computed_scores(
    basis: SeriesContext, test_scores: TestScores, expected_cells: Mapping[str, int]
) -> Iterator[ComputedScore]:
    """Every score of a series; ``expected_cells``: of each category in the workload's matrix."""
    of_runs = ordered({flag for flags in basis.unsound.values() for flag in flags})
    lasting = [flag for flag in of_runs if flag in LEAVE_NOTHING_OUT]
    for test, quality_of_test in test_scores.tests.items():
        measured = test_scores.units[test]
        for selection, selected in quality_of_test.scores.items():
            # The others' repeats are what a sound score is without.
            flags_of_runs = of_runs if selection != SOUND_CELLS else lasting
            for category, score in selected.scores.items():
                unit = overall_unit(measured) if category == "overall" else measured
                cells = selected.cells.get(category)
                yield ComputedScore(
                    *(test, category, selection, score.value, unit),
                    run_ids=selected.runs[category],
                    summed_unit=measured if unit == SUM else None,
                    interval=selected.intervals.get(category),
                    repeat_scores=_repeat_scores(selected, category, basis),
                    cells=score.cells,
                    cells_expected=expected_cells.get(category),
                    left_out=selected.left_out.get(category),
                    # A selection without some cells has the ceilings of the rest.
                    share=basis.ceilings.share(score.value, unit, test, category, cells)
                    if basis.ceilings is not None
                    else None,
                    flags=[*score.flags, *selected.flags.get(category, ()), *flags_of_runs],
                )


def _repeat_scores(
    selected: SelectedScores, category: str, basis: SeriesContext
) -> list[tuple[str, float | None]] | None:
    """(block, score) of each run; None for fewer than LEAST_REPEATS."""
    runs = selected.runs[category]
    if len(runs) < LEAST_REPEATS:
        return None
    of_runs = selected.of_runs.get(category, {})
    return [(basis.blocks.get(run, ""), of_runs.get(run)) for run in runs]
