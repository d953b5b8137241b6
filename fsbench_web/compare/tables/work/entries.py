"""Who competes by a work profile: configurations under the same circumstances."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.comparison.rows import RepeatScores, SeriesFacts, Value
from fsbench_web.core.scoring.profiles.combining import (
    ScoreUnavailable,
    Values,
    level_of,
    put_together,
    repeat_names,
)
from fsbench_web.core.scoring.profiles.coverage import MOST_NAMED
from fsbench_web.core.scoring.profiles.definition import Profile, RequiredCell
from fsbench_web.core.scoring.quality import SPIKE, ordered
from fsbench_web.core.scoring.shares import Share
from fsbench_web.studies.scores.profile_values import Measure, SeriesValues, kind_of
from fsbench_web.studies.scores.shares import SeriesCeilings

_SAME = (
    *("study", "configuration_id", "hardware", "lun", "journal_lun", "kernel", "distribution"),
    *("stack_luns", "preparation", "machine", "guest_kernel"),
)
"""What the series of one entry share: all but the workload."""


@dataclass(frozen=True)
class MeasuredCells:
    """Measured cells of a work profile in one place; each cell is from its first source."""

    sources: Mapping[RequiredCell, Sequence[SeriesValues]]
    demands: Sequence[RequiredCell]

    @property
    def series(self) -> list[SeriesValues]:
        every_source = (source for sources in self.sources.values() for source in sources)
        return list({source.series_id: source for source in every_source}.values())

    @property
    def measured(self) -> list[RequiredCell]:
        return [demand for demand in self.demands if self.numbers(demand)]

    @property
    def missing(self) -> list[RequiredCell]:
        return [demand for demand in self.demands if not self.numbers(demand)]

    def source(self, demand: RequiredCell) -> SeriesValues | None:
        return _source_of(self.sources.get(kind_of(demand), ()), demand)

    @property
    def has_smaller_data(self) -> bool:
        """Whether a cell comes from less data than its files hold."""
        sources = ((demand, self.source(demand)) for demand in self.demands)
        return any(source is not None and demand in source.smaller for demand, source in sources)

    def numbers(self, demand: RequiredCell) -> Mapping[int, float]:
        source = self.source(demand)
        return source.values.get(demand, {}) if source else {}

    def values(self) -> Values:
        """By cell and repeat (``combining.repeat_names``)."""
        names = self.repeat_names()
        return {
            demand: {names[run]: value for run, value in self.numbers(demand).items()}
            for demand in self.demands
            if self.numbers(demand)
        }

    def repeat_names(self) -> dict[int, str]:
        return repeat_names(
            [
                {run: repeat.block for run, repeat in source.repeats.items()}
                for source in self.series
            ],
            map(self.numbers, self.demands),
        )

    @property
    def run_ids(self) -> tuple[int, ...]:
        return tuple(sorted({run for demand in self.demands for run in self.numbers(demand)}))

    def measure(self, test: str) -> Measure | None:
        """Of all of its sources the dimension is the same."""
        candidates = (
            source
            for kind, sources in self.sources.items()
            if kind.test == test
            for source in sources
        )
        return next(
            (source.measures[test] for source in candidates if test in source.measures), None
        )


@dataclass(frozen=True)
class Entry(MeasuredCells):
    """``other_workloads``: cells that only incompatible workloads measured, with their titles."""

    lead: SeriesFacts
    value: Value
    other_workloads: Mapping[RequiredCell, tuple[str, ...]] = field(default_factory=dict)

    def repeat_scores(self, of_repeats: Mapping[str, float]) -> RepeatScores:
        """(block, own score) of each repeat; "" where any part has no block."""
        names = self.repeat_names()
        blocks: dict[str, dict[str, None]] = defaultdict(dict)
        for source in self.series:
            for run, repeat in source.repeats.items():
                blocks[names[run]][repeat.block] = None
        return tuple(
            ("" if "" in blocks[name] else "+".join(sorted(blocks[name])), value)
            for name, value in of_repeats.items()
        )

    @property
    def flags(self) -> tuple[str, ...]:
        """Those of the numbers that it is scored by; a lone spike concerns a maximum alone."""
        flags = {
            flag
            for demand in self.demands
            if (source := self.source(demand)) is not None
            for flag in source.flags.get(demand, ())
        }
        return tuple(ordered(flags - {SPIKE}))


def entries_of(
    facts: Mapping[int, SeriesFacts],
    values_of: Mapping[int, Value],
    series_values: Mapping[int, SeriesValues],
    demands: Sequence[RequiredCell],
    spec: ComparisonSpec,
) -> list[Entry]:
    """Every entry, in order of its first series; some have no cell.

    Of several workloads those count that measured most cells in one way, then the newest.
    """
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for series_id in sorted(facts):
        series = facts[series_id]
        by_workload = series.workload if spec.by == "workload" else None
        key = (*(getattr(series, name) for name in _SAME), values_of[series_id].slug, by_workload)
        groups[key].append(series_id)
    entries = []
    for series_ids in groups.values():
        measured = [series_values[pk] for pk in series_ids if pk in series_values]
        sources = ranked_sources(measured, demands, int)
        used = {source.series_id for chosen in sources.values() for source in chosen}
        lead = min(used, default=series_ids[0])
        apart = _cells_of_other_workloads(measured, sources, demands, facts)
        entries.append(
            Entry(sources, demands, _joined_facts(facts, used or {lead}), values_of[lead], apart)
        )
    return entries


def ranked_sources(
    measured: Iterable[SeriesValues],
    demands: Iterable[RequiredCell],
    preferred: Callable[[int], Any],
) -> dict[RequiredCell, list[SeriesValues]]:
    """The sources of each kind of demand, best first; those of one test have one dimension.

    ``preferred`` ranks equal ones: the largest first.
    """
    wanted: dict[RequiredCell, list[RequiredCell]] = defaultdict(list)
    for demand in demands:
        wanted[kind_of(demand)].append(demand)
    by_id = {source.series_id: source for source in measured}
    dimensions: dict[str, str] = {}
    sources: dict[RequiredCell, list[SeriesValues]] = {}
    for kind, of_kind in wanted.items():
        dimension = dimensions.get(kind.test, "")
        pks = [pk for pk, source in by_id.items() if source.cells.get(kind)]
        if dimension:
            pks = [pk for pk in pks if by_id[pk].measures[kind.test].dimension == dimension]
        # What was measured in another dimension is not a measurement of the same.
        measurements = {
            pk: f"{by_id[pk].measurement_of(kind.test)} {by_id[pk].measures[kind.test].dimension}"
            for pk in pks
        }
        ranked = put_together(
            pks, of_kind, lambda pk: by_id[pk].values, measurements.__getitem__, preferred
        )
        chosen = [by_id[pk] for pk in ranked]
        if chosen:
            sources[kind] = chosen
            dimensions[kind.test] = chosen[0].measures[kind.test].dimension
    return sources


def _source_of(sources: Iterable[SeriesValues], demand: RequiredCell) -> SeriesValues | None:
    return next((source for source in sources if source.values.get(demand)), None)


def _cells_of_other_workloads(
    measured: Iterable[SeriesValues],
    sources: Mapping[RequiredCell, Sequence[SeriesValues]],
    demands: Iterable[RequiredCell],
    facts: Mapping[int, SeriesFacts],
) -> dict[RequiredCell, tuple[str, ...]]:
    apart = {}
    for demand in demands:
        if _source_of(sources.get(kind_of(demand), ()), demand) is None:
            titles = dict.fromkeys(
                facts[source.series_id].workload_title or "a workload that is not known"
                for source in measured
                if source.values.get(demand)
            )
            if titles:
                apart[demand] = tuple(titles)
    return apart


def _joined_facts(facts: Mapping[int, SeriesFacts], used: Collection[int]) -> SeriesFacts:
    """The facts of the entry: of several workloads it says all."""
    members = [facts[pk] for pk in sorted(used)]
    lead = members[0].series_id
    slugs = dict.fromkeys(member.workload for member in members)
    if len(slugs) < 2:
        return facts[lead]
    titles = dict.fromkeys(member.workload_title or "not known" for member in members)
    values = dict(vars(facts[lead]))
    values["workload"] = "+".join(slug or "unknown" for slug in slugs)
    values["workload_title"] = "; ".join(titles)
    return SeriesFacts(**values)


# The share of the LUN: its ceilings of the cells are put together as the score is.

Ceilings = Mapping[int, SeriesCeilings]
"""What the raw LUN of each series did, where a probe measured it."""


def share_of_work(
    entry: MeasuredCells,
    level: float,
    value: float,
    profile: Profile,
    lower: Mapping[str, bool],
    ceilings: Ceilings,
) -> Share | None:
    """The share of a score; ``value`` is the table's score for ``level``. None without ceilings."""
    cells = _ceilings(entry, ceilings)
    if not cells or len(cells) < len(profile.demands):
        return None
    measures = {demand: _measure(entry, demand) for demand in cells}
    try:
        of_lun = level_of(
            profile,
            {
                demand: share.ceiling * measure.factor
                for demand, share in cells.items()
                if (measure := measures[demand]) is not None
            },
            lower,
        )
    except ScoreUnavailable:
        return None
    is_of_time = profile.is_less_better(lower)
    percent = 100 * (of_lun / level if is_of_time else level / of_lun)
    spreads = [share.spread_percent for share in cells.values()]
    known_spreads = [spread for spread in spreads if spread is not None]
    return Share(
        percent,
        value * percent / 100 if is_of_time else value * 100 / percent,
        f"requests of the same work, {len(cells)} cells by their weights",
        min(share.probes for share in cells.values()),
        max(known_spreads) if len(known_spreads) == len(spreads) else None,
        any(share.is_between for share in cells.values()),
        max(share.differ_percent or 0.0 for share in cells.values()),
    )


def without_ceiling(
    entries: Mapping[str, Entry], demands: Collection[RequiredCell], ceilings: Ceilings
) -> tuple[str, ...]:
    """The contenders on a measured LUN with cells without a ceiling; MOST_NAMED of them."""
    gaps = []
    for name, entry in sorted(entries.items()):
        missing = len(demands) - len(_ceilings(entry, ceilings))
        if missing and any(source.series_id in ceilings for source in entry.series):
            gaps.append(f"{missing} of {len(demands)} cells of {name}")
    more = len(gaps) - MOST_NAMED
    return tuple(gaps[:MOST_NAMED]) + ((f"and of {more} more",) if more > 0 else ())


def without_ceilings(entry: MeasuredCells, ceilings: Ceilings) -> set[RequiredCell]:
    """The measured cells on a measured LUN that have no ceiling."""
    found = _ceilings(entry, ceilings)
    return {
        demand
        for demand in entry.demands
        if demand not in found
        and (source := entry.source(demand)) is not None
        and source.series_id in ceilings
    }


def _ceilings(entry: MeasuredCells, ceilings: Ceilings) -> dict[RequiredCell, Share]:
    """What the LUN did of each cell, as the share of one in the unit of its test."""
    shares = {}
    for demand in entry.demands:
        source, measure = entry.source(demand), _measure(entry, demand)
        of_series = ceilings.get(source.series_id) if source else None
        if of_series is None or measure is None:
            continue
        share = of_series.share_of_one(measure.unit, demand.test, demand.record_kb)
        if share is not None:
            shares[demand] = share
    return shares


def _measure(entry: MeasuredCells, demand: RequiredCell) -> Measure | None:
    """As the series printed it that gave the cell."""
    source = entry.source(demand)
    return source.measures.get(demand.test) if source else None
