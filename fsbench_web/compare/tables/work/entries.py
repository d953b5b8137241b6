"""Who competes by a work profile: configurations under the same circumstances, whichever of their
workloads measured a part.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fsbench_web.compare.selection.properties import Value
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.scoring.profiles.combining import Values, put_together
from fsbench_web.core.scoring.profiles.definition import RequiredCell
from fsbench_web.core.scoring.quality import SPIKE, ordered
from fsbench_web.studies.scores.profile_values import Measure, SeriesValues, kind_of
from fsbench_web.studies.scores.queries import RepeatScores, SeriesFacts

_SAME = (
    *("study", "configuration_id", "hardware", "lun", "journal_lun", "kernel", "distribution"),
    *("stack_luns", "preparation", "machine", "guest_kernel"),
)
"""What the series of one entry share: all but the workload."""


@dataclass(frozen=True)
class Entry:
    """``sources`` are the series that its cells are taken from, by kind of demand: each cell from
    the first that has it. ``lead`` says what it is of. ``value`` is the contender that it is an
    entry of. ``apart`` are cells that only other workloads measured there, which may not be put
    together with these, with the titles of those workloads.
    """

    lead: SeriesFacts
    value: Value
    sources: Mapping[RequiredCell, Sequence[SeriesValues]]
    demands: Sequence[RequiredCell]
    apart: Mapping[RequiredCell, tuple[str, ...]] = field(default_factory=dict)

    @property
    def series(self) -> list[SeriesValues]:
        """Its sources, each once."""
        some = (one for sources in self.sources.values() for one in sources)
        return list({one.series_id: one for one in some}.values())

    @property
    def measured(self) -> list[RequiredCell]:
        return [demand for demand in self.demands if self.numbers(demand)]

    @property
    def missing(self) -> list[RequiredCell]:
        return [demand for demand in self.demands if not self.numbers(demand)]

    def source(self, demand: RequiredCell) -> SeriesValues | None:
        """The series that a cell is taken from."""
        return _giver(self.sources.get(kind_of(demand), ()), demand)

    def numbers(self, demand: RequiredCell) -> Mapping[int, float]:
        """What each run measured of a cell."""
        source = self.source(demand)
        return source.values.get(demand, {}) if source else {}

    def values(self) -> Values:
        """By cell and repeat. Of several workloads a repeat is what shares a block, or where they
        share none, what came first of each, second, and so on.
        """
        names = self._repeat_names()
        return {
            demand: {names[run]: value for run, value in self.numbers(demand).items()}
            for demand in self.demands
            if self.numbers(demand)
        }

    def _repeat_names(self) -> dict[int, str]:
        found = self.series
        if len(found) < 2:
            return {run: str(run) for of in found for run in of.repeats}
        blocks = [[one.block for one in of.repeats.values()] for of in found]
        by_block = all(all(some) and len(set(some)) == len(some) for some in blocks)
        by_block &= bool(set(blocks[0]).intersection(*blocks[1:]))
        return {
            run: one.block if by_block else f"#{place}"
            for of in found
            for place, (run, one) in enumerate(of.repeats.items(), start=1)
        }

    def repeat_scores(self, of_repeats: Mapping[str, float]) -> RepeatScores:
        """(block, score by itself) of each repeat, in their order. What came from several blocks
        is of them together; "" where any part has none.
        """
        names = self._repeat_names()
        blocks: dict[str, dict[str, None]] = defaultdict(dict)
        for of in self.series:
            for run, one in of.repeats.items():
                blocks[names[run]][one.block] = None
        return tuple(
            ("" if "" in blocks[name] else "+".join(sorted(blocks[name])), value)
            for name, value in of_repeats.items()
        )

    @property
    def run_ids(self) -> tuple[int, ...]:
        """Every run that gave a cell, oldest first."""
        return tuple(sorted({run for demand in self.demands for run in self.numbers(demand)}))

    @property
    def flags(self) -> tuple[str, ...]:
        """Those of the numbers that it is scored by; a lone spike concerns a maximum alone."""
        found = {
            flag
            for demand in self.demands
            if (source := self.source(demand)) is not None
            for flag in source.flags.get(demand, ())
        }
        return tuple(ordered(found - {SPIKE}))

    def measure(self, test: str) -> Measure | None:
        """Of all of its sources the dimension is the same."""
        some = (one for kind, of in self.sources.items() if kind.test == test for one in of)
        return next((one.measures[test] for one in some if test in one.measures), None)


def entries_of(
    facts: Mapping[int, SeriesFacts],
    values_of: Mapping[int, Value],
    found: Mapping[int, SeriesValues],
    demands: Sequence[RequiredCell],
    spec: ComparisonSpec,
) -> list[Entry]:
    """Every entry, in order of their first series; some have no cell at all.

    ``values_of`` are the contenders by series. Where several workloads measured an operation, those
    count that measured most of its cells in one way (``put_together``), and of these the newest.
    """
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for series_id in sorted(facts):
        one = facts[series_id]
        by_workload = one.workload if spec.by == "workload" else None
        key = (*(getattr(one, name) for name in _SAME), values_of[series_id].slug, by_workload)
        groups[key].append(series_id)
    entries = []
    for series_ids in groups.values():
        here = [found[pk] for pk in series_ids if pk in found]
        sources = _sources(here, demands)
        used = {one.series_id for some in sources.values() for one in some}
        lead = min(used, default=series_ids[0])
        apart = _apart(here, sources, demands, facts)
        entries.append(
            Entry(_joined(facts, used or {lead}), values_of[lead], sources, demands, apart)
        )
    return entries


def _sources(
    here: Iterable[SeriesValues], demands: Iterable[RequiredCell]
) -> dict[RequiredCell, list[SeriesValues]]:
    """By kind of demand; those of one test are of one dimension, that of its first kind."""
    wanted: dict[RequiredCell, list[RequiredCell]] = defaultdict(list)
    for demand in demands:
        wanted[kind_of(demand)].append(demand)
    by_id = {one.series_id: one for one in here}
    dimensions: dict[str, str] = {}
    sources: dict[RequiredCell, list[SeriesValues]] = {}
    for kind, some in wanted.items():
        dimension = dimensions.get(kind.test, "")
        able = [pk for pk, one in by_id.items() if one.cells.get(kind)]
        if dimension:
            able = [pk for pk in able if by_id[pk].measures[kind.test].dimension == dimension]
        # What was measured in another dimension is no measurement of the same.
        ways = {
            pk: f"{by_id[pk].measurement} {by_id[pk].measures[kind.test].dimension}" for pk in able
        }
        chosen = [
            by_id[pk]
            for pk in put_together(
                able, some, lambda pk: by_id[pk].values.keys(), ways.__getitem__, int
            )
        ]
        if chosen:
            sources[kind] = chosen
            dimensions[kind.test] = chosen[0].measures[kind.test].dimension
    return sources


def _giver(sources: Iterable[SeriesValues], demand: RequiredCell) -> SeriesValues | None:
    return next((one for one in sources if one.values.get(demand)), None)


def _apart(
    here: Iterable[SeriesValues],
    sources: Mapping[RequiredCell, Sequence[SeriesValues]],
    demands: Iterable[RequiredCell],
    facts: Mapping[int, SeriesFacts],
) -> dict[RequiredCell, tuple[str, ...]]:
    found = {}
    for demand in demands:
        if _giver(sources.get(kind_of(demand), ()), demand) is None:
            titles = dict.fromkeys(
                facts[one.series_id].workload_title or "a workload that is not known"
                for one in here
                if one.values.get(demand)
            )
            if titles:
                found[demand] = tuple(titles)
    return found


def _joined(facts: Mapping[int, SeriesFacts], used: Collection[int]) -> SeriesFacts:
    """The facts of the entry: of several workloads it says all."""
    found = [facts[pk] for pk in sorted(used)]
    lead = found[0].series_id
    slugs = dict.fromkeys(one.workload for one in found)
    if len(slugs) < 2:
        return facts[lead]
    titles = dict.fromkeys(one.workload_title or "not known" for one in found)
    values = dict(vars(facts[lead]))
    values["workload"] = "+".join(slug or "unknown" for slug in slugs)
    values["workload_title"] = "; ".join(titles)
    return SeriesFacts(**values)
