"""Scores of some of the cells of a test: without flagged ones, or of one side of the cache.

A selection takes numbers away before the score is made, and the score is then made as always:
maximum, minimum and total average of what is left, target averages over the cells of their region
that are left. A category of which nothing is left has no score, and so has overall when one of its
six parts has none. What was taken away is counted, by reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fsbench_web.core.scoring.cache_boundary import Boundary
from fsbench_web.core.scoring.categories import MEAN
from fsbench_web.core.scoring.quality import CACHED, SPIKE, UNCACHED, ordered
from fsbench_web.core.scoring.quality_cells import Mask, TestColumns, Whole
from fsbench_web.core.scoring.scores import ScoreValue, score_mean, score_repeats
from fsbench_web.core.stats.intervals import Interval, intervals_of
from fsbench_web.studies.models import Selection
from fsbench_web.studies.scores.quality import CELL_FLAGS, FlaggedCells, SeriesContext, slugs
from fsbench_web.studies.scores.shares import OVERALL


@dataclass(frozen=True)
class SelectedScores:
    """The scores of one test in one selection, by category, with their intervals.

    ``left_out`` is as ``Score.left_out`` keeps it, for each category of which something was.
    ``flags`` are those of the numbers that each score is made of, ``runs`` the runs they are from,
    oldest first, and ``of_runs`` the score of each of these by itself, where there are several.
    ``cells`` are how many cells of each record size are left of a category, where some were left
    out and the LUN was measured: their ceilings are those of the score.
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
        """Scores and intervals of some numbers.

        Raises MixedMeasurements, and ValueError for a value that is not a finite number.
        """
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
    """What follows from the flags of one test; ``whole`` are its scores of all cells."""
    whole = replace(
        whole,
        flags=_flags(columns, judged, whole.scores),
        runs=_runs(columns, whole.scores),
    )
    scores = selected_scores(test, columns, judged, basis, whole)
    return TestQuality({str(Selection.ALL): whole, **scores}, judged.boundary)


def selected_scores(
    test: str,
    columns: TestColumns,
    judged: FlaggedCells,
    basis: SeriesContext,
    whole: SelectedScores,
) -> dict[str, SelectedScores]:
    """The scores of one test by selection; a selection of which nothing is left is not there.

    ``whole`` are those of all cells. ``sound`` is always there, also where nothing is flagged:
    it is then the same. ``cached`` and ``uncached`` are there where a cache boundary was seen.
    """
    reasons = {slug: judged.has(slug) for slug in CELL_FLAGS}
    for slug in {slug for flags in basis.unsound.values() for slug in flags}:
        runs = [run for run, flags in basis.unsound.items() if slug in flags]
        reasons[slug] = np.isin(columns.runs, runs)
    wanted = {str(Selection.SOUND): reasons}
    if judged.boundary is not None:
        is_cached = _cached(columns, judged)
        wanted[str(Selection.CACHED)] = {UNCACHED: ~is_cached}
        wanted[str(Selection.UNCACHED)] = {CACHED: is_cached}
    by_selection = {}
    for selection, why in wanted.items():
        scores = _remaining_scores(test, columns, judged, why, whole)
        if basis.ceilings is not None and scores.left_out:
            remaining = columns.subset(~np.logical_or.reduce(list(why.values())))
            left = {
                category: _by_record(remaining, category)
                for category in scores.left_out
                if category != OVERALL
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
    """The flags of the numbers that each score is made of, by category.

    A maximum or minimum has those of the cells where it was measured, all others those of any cell
    of their region; overall has those of the whole matrix. A lone spike concerns the maximum alone,
    and of times the minimum, which is their best.
    """
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
    """What the region lost: cells of which no number is left, numbers of how many, and why."""
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
