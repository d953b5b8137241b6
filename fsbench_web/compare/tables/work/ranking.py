"""Work profiles as delta tables: scores, how much was measured, and the nearest cells."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2

from fsbench_web.compare.selection.profiles import RequestedProfile, requested_profiles
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables.query import Field, TableContenders, field_of
from fsbench_web.compare.tables.work.entries import (
    Ceilings,
    Entry,
    entries_of,
    share_of_work,
    without_ceiling,
)
from fsbench_web.core import units
from fsbench_web.core.comparison.delta_tables import (
    Contender,
    TableKey,
    by_table,
    configuration_names,
    tool_of,
)
from fsbench_web.core.comparison.rows import ScoreRow, SeriesFacts
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.categories import Cell
from fsbench_web.core.scoring.profiles.combining import Combined, ScoreUnavailable, combined
from fsbench_web.core.scoring.profiles.coverage import (
    MOST_NAMED,
    SMALLER_DATA_SET,
    Coverage,
    NearestCell,
    NearestValue,
    PartWords,
    WorkAnswer,
    cells_were,
)
from fsbench_web.core.scoring.profiles.definition import (
    RATIO,
    Profile,
    RequiredCell,
    circumstances,
    size_words,
)
from fsbench_web.core.stats.intervals import mean
from fsbench_web.studies.models import COMPUTED, Selection
from fsbench_web.studies.scores.cells import TooManyValues
from fsbench_web.studies.scores.profile_values import Measure, SeriesValues, kind_of, profile_values
from fsbench_web.studies.scores.queries import series_facts
from fsbench_web.studies.scores.shares import of_many

TOO_MUCH = "Too many numbers for a work profile: choose studies, workloads or file systems."
_BYTES = {"bytes a second": ("MiB/s", 1024.0 * 1024)}
_PLAIN = {"operations a second": "ops/s", "seconds": "s", "bytes": "bytes"}


@dataclass(frozen=True)
class _ScoredEntry:
    entry: Entry
    combined: Combined


@dataclass(frozen=True)
class RankingData:
    """What was read for ``spec``: facts, contenders and values by series."""

    profiles: list[RequestedProfile]
    field: Field
    facts: Mapping[int, SeriesFacts]
    tools: Mapping[int, str]
    series_values: Mapping[int, SeriesValues]
    selection: str
    ceilings: Ceilings

    def entries(self, requested: RequestedProfile, spec: ComparisonSpec) -> list[Entry]:
        contenders = {pk: self.field.value_of(series) for pk, series in self.facts.items()}
        return entries_of(
            self.facts, contenders, self.series_values, requested.profile.demands, spec
        )


def rank(spec: ComparisonSpec) -> TableContenders:
    """What ``spec`` ranks by profile. Fifteen queries or less. Raises SpecError."""
    data = ranking_data(spec)
    groups: list[tuple[TableKey, list[Contender]]] = []
    answers = []
    printed = len(data.facts.keys() - data.series_values.keys())
    for requested in data.profiles:
        entries = data.entries(requested, spec)
        tables, answer = _rank_profile(
            requested, _by_configuration(entries, spec), spec, data.ceilings
        )
        # Of a range of several operations each says it of its own, unless there is nothing of any.
        is_several = requested.category == categories.RANGE and requested.test == testnames.WORK
        if answer.measured < answer.of and not (is_several and answer.measured):
            near = nearest_of(requested.profile, entries, data.tools, data.selection)
            answer = replace(answer, nearest=near)
        answers.append(replace(answer, only_printed=printed))
        groups += tables
        if is_several and not answer.measured:
            break
    field = data.field
    return TableContenders(groups, {}, field.considered, field.announced(spec), work=tuple(answers))


def ranking_data(spec: ComparisonSpec) -> RankingData:
    profiles = requested_profiles(spec)
    field = field_of(
        replace(spec.whole.without_work, tests=(), categories=(), cells="", min_runs=1)
    )
    considered = field.considered.order_by()
    series_ids = set(considered.values_list("series_id", flat=True).distinct())
    facts = series_facts(series_ids, spec.studies)
    facts = {pk: facts[pk] for pk in sorted(series_ids) if pk in facts}
    demands = list(
        dict.fromkeys(demand for requested in profiles for demand in requested.profile.demands)
    )
    tools = {pk: tool_of(series) for pk, series in facts.items()}
    selection = spec.cells or Selection.ALL
    try:
        series_values = profile_values(facts, demands, tools, selection)
    except TooManyValues:
        raise SpecError([TOO_MUCH]) from None
    return RankingData(
        profiles, field, facts, tools, series_values, selection, of_many(series_values)
    )


def _by_configuration(entries: list[Entry], spec: ComparisonSpec) -> list[Entry]:
    """Of single configurations each entry is a contender of its own."""
    if spec.by != "configuration":
        return entries
    names = configuration_names(entry.lead for entry in entries)
    return [
        replace(
            entry,
            value=entry.value._replace(slug=names[entry.lead.series_id]),
        )
        for entry in entries
    ]


def _rank_profile(
    requested: RequestedProfile, entries: Sequence[Entry], spec: ComparisonSpec, ceilings: Ceilings
) -> tuple[list[tuple[TableKey, list[Contender]]], WorkAnswer]:
    profile = requested.profile
    measures = _common_measures(entries, profile)
    lower = {test: measure.lower_is_better for test, measure in measures.items()}
    scored: dict[str, list[_ScoredEntry]] = defaultdict(list)
    why: dict[int, str] = {}
    for entry in entries:
        try:
            _refuse_units(entry, measures, profile)
            candidate = _ScoredEntry(entry, combined(profile, entry.values(), lower))
        except ScoreUnavailable as error:
            why[id(entry)] = why_incomplete(entry) or str(error)
            continue
        if spec.min_runs > 1 and len(candidate.combined.of_repeats) < spec.min_runs:
            why[id(entry)] = f"it has fewer than {spec.min_runs} runs with every cell"
            continue
        scored[entry.value.slug].append(candidate)
    better = min if profile.is_less_better(lower) else max
    best = {
        slug: better(candidates, key=lambda candidate: candidate.combined.level)
        for slug, candidates in scored.items()
    }
    rows, baseline = _rows(requested, best, measures, spec, ceilings)
    counts = {
        slug: len({candidate.entry.lead.configuration_id for candidate in candidates})
        for slug, candidates in scored.items()
    }
    tables = [
        (
            key,
            [
                Contender(
                    best[name].entry.value.slug,
                    best[name].entry.value.label,
                    row,
                    counts[name],
                    times,
                )
                for (name, row), times in placed
            ],
        )
        for key, placed in by_table(
            rows,
            lambda pair: (
                requested.test,
                requested.category,
                pair[1].printed_unit,
                tool_of(pair[1]),
            ),
            spec.units,
        )
    ]
    scorers = {name: winner.entry for name, winner in best.items()}
    answer = work_answer(requested, entries, why, set(best), baseline, spec)
    return tables, replace(answer, unceiled=without_ceiling(scorers, profile.demands, ceilings))


def _common_measures(entries: Iterable[Entry], profile: Profile) -> dict[str, Measure]:
    """The unit of each test: the commonest of the commonest dimension."""
    seen: dict[str, list[Measure]] = defaultdict(list)
    for entry in entries:
        for test in profile.tests:
            measure = entry.measure(test)
            if measure is not None:
                seen[test].append(measure)
    return {test: _most_common(measures) for test, measures in seen.items()}


def _most_common(measures: Sequence[Measure]) -> Measure:
    """The unit that most print, of the dimension that most are of."""
    [(dimension, _)] = Counter(measure.dimension for measure in measures).most_common(1)
    of_dimension = Counter(measure for measure in measures if measure.dimension == dimension)
    return of_dimension.most_common(1)[0][0]


def _refuse_units(entry: Entry, measures: Mapping[str, Measure], profile: Profile) -> None:
    for test in profile.tests:
        measure = entry.measure(test)
        if measure is not None and measure.dimension != measures[test].dimension:
            raise ScoreUnavailable(
                f"it was measured in {measure.unit}, the others in {measures[test].unit}"
            )
    dimensions = {measures[test].dimension for test in profile.tests if test in measures}
    if profile.together != RATIO and len(dimensions) > 1:
        raise ScoreUnavailable("its parts have several units, which make no amount of work")


def _rows(
    requested: RequestedProfile,
    best: Mapping[str, _ScoredEntry],
    measures: Mapping[str, Measure],
    spec: ComparisonSpec,
    ceilings: Ceilings,
) -> tuple[list[tuple[str, ScoreRow]], str]:
    """The score of each contender, and the contender that ratios are set against."""
    if not best:
        return [], ""
    if requested.profile.together == RATIO:
        worst = min(best, key=lambda name: (best[name].combined.level, name))
        baseline = spec.baseline if spec.baseline in best else worst
        divisor, unit = best[baseline].combined.level, units.RATIO
    else:
        baseline = ""
        unit, divisor = _unit(best.values(), requested.profile)
    lower = {test: measure.lower_is_better for test, measure in measures.items()}
    rows = []
    for name, winner in best.items():
        score = winner.combined.against(divisor)
        share = share_of_work(
            winner.entry, winner.combined.level, score.level, requested.profile, lower, ceilings
        )
        rows.append((name, replace(_row(requested, winner.entry, score, unit, spec), share=share)))
    return rows, baseline


def _unit(scored: Iterable[_ScoredEntry], profile: Profile) -> tuple[str, float]:
    """The unit as printed where all agree, else one of its dimension; and what one of it is."""
    measures = {
        measure
        for candidate in scored
        for test in profile.tests
        if (measure := candidate.entry.measure(test)) is not None
    }
    printed = {(measure.unit, measure.factor) for measure in measures}
    if len(printed) == 1:
        return printed.pop()
    dimension = next(iter(measures)).dimension
    if dimension in _BYTES:
        return _BYTES[dimension]
    return _PLAIN.get(dimension, next(iter(measures)).unit), 1.0


def _row(
    requested: RequestedProfile, entry: Entry, score: Combined, unit: str, spec: ComparisonSpec
) -> ScoreRow:
    interval = score.interval
    several = len(score.of_repeats) > 1
    left_out = _left_out(entry) if spec.cells else None
    return ScoreRow(
        **vars(entry.lead),
        test=requested.test,
        category=requested.category,
        value=score.level,
        unit=unit,
        repeats=len(score.of_repeats) or None,
        cells=len(entry.demands),
        cells_expected=len(entry.demands),
        origin=COMPUTED,
        half_width=interval.half_width if interval else None,
        half_width_percent=interval.relative_percent if interval else None,
        interval=interval,
        flags=entry.flags,
        run_ids=entry.run_ids,
        left_out=left_out,
        repeat_scores=entry.repeat_scores(score.of_repeats) if several else None,
    )


def _left_out(entry: Entry) -> dict[str, object] | None:
    why: Counter[str] = Counter()
    for source in entry.series:
        why.update(source.left_out)
    if not why:
        return None
    used = sum(len(entry.numbers(demand)) for demand in entry.demands)
    numbers = sum(source.left_out_numbers for source in entry.series)
    return {"cells": 0, "numbers": numbers, "of": used + numbers, "why": dict(why)}


def why_incomplete(entry: Entry) -> str:
    """Why an entry that lacks cells has no score, without the end of the sentence; "" of others."""
    total, apart = len(entry.demands), len(entry.other_workloads)
    gone = len(entry.missing) - apart
    titles = list(
        dict.fromkeys(title for workloads in entry.other_workloads.values() for title in workloads)
    )
    more = len(titles) - MOST_NAMED
    named = "; ".join(titles[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
    parts = [f"{gone} of {total} {cells_were(total)} not measured"] if gone else []
    if apart:
        parts.append(
            f"{apart} of {total} {cells_were(total)} measured by another workload alone ({named}), "
            "which measures in another way or does not say how"
        )
    return ", and ".join(parts)


def _missing_cells(entry: Entry, others: Collection[RequiredCell]) -> list[str]:
    """The cells without a number in words; ``others`` were measured of the contender elsewhere."""
    parts = []
    for demand in entry.missing[:MOST_NAMED]:
        if demand in entry.other_workloads:
            parts.append(
                f"{demand.words}, measured by {' and '.join(entry.other_workloads[demand][:2])}"
            )
        elif demand in others:
            parts.append(f"{demand.words}, measured under other circumstances")
        else:
            parts.append(demand.words)
    return parts


def work_answer(
    requested: RequestedProfile,
    entries: Sequence[Entry],
    why: Mapping[int, str],
    scored: Collection[str],
    baseline: str,
    spec: ComparisonSpec,
) -> WorkAnswer:
    """What is said of everything that was asked; ``why`` an entry has no score, by its id."""
    profile, fullest = requested.profile, fullest_of(entries)
    total = len(profile.demands)
    by_any = {demand for entry in entries for demand in (*entry.measured, *entry.other_workloads)}
    by_all = set(profile.demands).intersection(
        *(set(_measured_cells(entries, name)) for name in fullest)
    )
    coverage = [
        Coverage(
            name,
            entry.value.label,
            entry.lead.configuration,
            len(entry.measured),
            total,
            tuple(_missing_cells(entry, _measured_cells(entries, name))),
            "" if name in scored else why.get(id(entry), "it has no score"),
        )
        for name, entry in fullest.items()
    ]
    return WorkAnswer(
        title=profile.title,
        name=profile.name,
        together=profile.together,
        test=requested.test,
        category=requested.category,
        parts=tuple(
            PartWords(
                part.words,
                profile.percent_of(part),
                sum(demand in by_any for demand in part.demands),
                len(part.demands),
            )
            for part in profile.parts
        ),
        measured=len(by_any),
        of=total,
        by_all=len(by_all) if fullest else 0,
        scored=len(scored),
        contenders=len(fullest),
        coverage=tuple(sorted(coverage, key=lambda row: (row.measured, row.contender))),
        baseline=baseline,
        is_baseline_chosen=bool(baseline) and baseline == spec.baseline,
        baseline_missing=bool(spec.baseline) and spec.baseline not in scored,
        source=profile.source,
        notes=(SMALLER_DATA_SET,) if any(entry.has_smaller_data for entry in entries) else (),
        apart=sum(bool(entry.other_workloads) for entry in fullest.values()),
    )


def fullest_of(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Of each contender the entry with most cells; of equal ones the newest."""
    fullest: dict[str, Entry] = {}
    for entry in entries:
        previous = fullest.get(entry.value.slug)
        if previous is None or len(entry.measured) >= len(previous.measured):
            fullest[entry.value.slug] = entry
    return fullest


def _measured_cells(entries: Iterable[Entry], name: str) -> list[RequiredCell]:
    return [demand for entry in entries if entry.value.slug == name for demand in entry.measured]


MOST_OPERATIONS = 6


def nearest_of(
    profile: Profile,
    entries: Sequence[Entry],
    tools: Mapping[int, str],
    selection: str,
) -> tuple[NearestCell, ...]:
    """For each operation with unmeasured cells. Three queries more."""
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
