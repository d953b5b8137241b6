"""The measured cell nearest to those that were not, and who leads there."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import log2

from fsbench_web.compare.tables.work.entries import Entry
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.categories import Cell
from fsbench_web.core.scoring.profiles.coverage import NearestCell, NearestValue
from fsbench_web.core.scoring.profiles.definition import (
    Profile,
    RequiredCell,
    circumstances,
    size_words,
)
from fsbench_web.core.stats.intervals import mean
from fsbench_web.studies.scores.profile_values import Measure, SeriesValues, kind_of, profile_values

MOST_OPERATIONS = 6


def nearest_of(
    profile: Profile,
    entries: Sequence[Entry],
    tools: Mapping[int, str],
    selection: str,
) -> tuple[NearestCell, ...]:
    """For each operation of which cells are missing that nobody measured. Three queries more."""
    measured = {demand for entry in entries for demand in (*entry.measured, *entry.other_workloads)}
    missing: dict[RequiredCell, list[RequiredCell]] = defaultdict(list)
    for demand in profile.demands:
        if demand not in measured:
            missing[kind_of(demand)].append(demand)
    cells: dict[RequiredCell, set[Cell]] = defaultdict(set)
    for entry in entries:
        for source in entry.series:
            for kind in missing:
                cells[kind] |= source.cells.get(kind, set())
    wanted: dict[RequiredCell, RequiredCell] = {}
    for kind, of_kind in list(missing.items())[:MOST_OPERATIONS]:
        cell = _nearest_cell(cells[kind], of_kind)
        if cell is not None:
            wanted[kind] = replace(kind, record_kb=cell[0], file_kb=cell[1])
    series = {source.series_id for entry in entries for source in entry.series}
    series_values = profile_values(series, wanted.values(), tools, selection) if wanted else {}
    return tuple(
        _cell_with_values(kind, wanted.get(kind), entries, series_values)
        for kind in list(missing)[:MOST_OPERATIONS]
    )


def _nearest_cell(cells: Collection[Cell], missing: Iterable[RequiredCell]) -> Cell | None:
    """The cell fewest doublings away from any that is missing; of equal ones the larger file."""
    wanted = {(demand.record_kb, demand.file_kb) for demand in missing}
    sized = [(cell, (r, f)) for cell in cells for r, f in wanted if cell[0] > 0 and r and f]
    if not sized:
        return None

    def distance(pair: tuple[Cell, Cell]) -> tuple[float, int, int]:
        (record, file), (goal_record, goal_file) = pair
        apart = abs(log2(record / goal_record)) + abs(log2(file / goal_file))
        return apart, -file, record

    return min(sized, key=distance)[0]


def _cell_with_values(
    kind: RequiredCell,
    wanted: RequiredCell | None,
    entries: Iterable[Entry],
    series_values: Mapping[int, SeriesValues],
) -> NearestCell:
    text = ", ".join([testnames.label(kind.test), *circumstances(kind.cached, kind.flushed)])
    if wanted is None or wanted.record_kb is None or wanted.file_kb is None:
        return NearestCell(text, "", ())
    best: dict[str, tuple[float, NearestValue]] = {}
    dimensions: dict[str, str] = {}
    for entry in entries:
        for source in entry.series:
            series = series_values.get(source.series_id)
            numbers = series.values.get(wanted) if series else None
            if not series or not numbers:
                continue
            measure = series.measures[wanted.test]
            value = mean(list(numbers.values()))
            rank = -value if measure.lower_is_better else value
            previous = best.get(entry.value.slug)
            if previous is None or rank > previous[0]:
                best[entry.value.slug] = rank, _value(entry, value, measure, numbers)
                dimensions[entry.value.slug] = measure.dimension
    # Between dimensions (KB that nobody explained, KiB) nobody knows who leads: each by itself,
    # first that of most.
    counts = Counter(dimensions.values())

    def place(pair: tuple[float, NearestValue]) -> tuple[int, str, float, str]:
        dimension = dimensions[pair[1].contender]
        return -counts[dimension], dimension, -pair[0], pair[1].contender

    ranked = sorted(best.values(), key=place)
    cell = f"{size_words(wanted.record_kb)} in files of {size_words(wanted.file_kb)}"
    return NearestCell(
        text, cell, tuple(value for _, value in ranked), wanted.record_kb, wanted.file_kb
    )


def _value(
    entry: Entry, value: float, measure: Measure, numbers: Mapping[int, float]
) -> NearestValue:
    return NearestValue(
        entry.value.slug,
        entry.value.label,
        value / measure.factor,
        measure.unit,
        tuple(sorted(numbers)),
        measure.base,
    )
