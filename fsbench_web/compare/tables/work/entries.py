"""Who competes by a work profile: configurations under the same circumstances, whichever of their
workloads measured a part.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fsbench_web.compare.selection.properties import Value
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.scoring.profiles.combining import Values
from fsbench_web.core.scoring.profiles.definition import Demand
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
    """``sources`` are the series that its cells are taken from, by test; ``lead`` says what it is
    of. ``value`` is the contender that it is an entry of.
    """

    lead: SeriesFacts
    value: Value
    sources: Mapping[str, SeriesValues]
    demands: Sequence[Demand]

    @property
    def series(self) -> list[SeriesValues]:
        """Its sources, each once."""
        return list({one.series_id: one for one in self.sources.values()}.values())

    @property
    def measured(self) -> list[Demand]:
        return [demand for demand in self.demands if self.numbers(demand)]

    @property
    def missing(self) -> list[Demand]:
        return [demand for demand in self.demands if not self.numbers(demand)]

    def numbers(self, demand: Demand) -> Mapping[int, float]:
        """What each run measured of a cell."""
        source = self.sources.get(demand.test)
        return source.values.get(demand, {}) if source else {}

    def values(self) -> Values:
        """By cell and repeat. Of several workloads a repeat is what shares a block, or where there
        are none, what came first of each, second, and so on.
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
        return {
            run: one.block if by_block else f"#{place}"
            for of in found
            for place, (run, one) in enumerate(of.repeats.items(), start=1)
        }

    def repeat_scores(self, of_repeats: Mapping[str, float]) -> RepeatScores:
        """(block, score by itself) of each repeat, in their order."""
        names = self._repeat_names()
        blocks = {names[run]: one.block for of in self.series for run, one in of.repeats.items()}
        return tuple((blocks[name], value) for name, value in of_repeats.items())

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
            if (source := self.sources.get(demand.test)) is not None
            for flag in source.flags.get(demand, ())
        }
        return tuple(ordered(found - {SPIKE}))

    def measure(self, test: str) -> Measure | None:
        source = self.sources.get(test)
        return source.measures.get(test) if source else None


def entries_of(
    facts: Mapping[int, SeriesFacts],
    values_of: Mapping[int, Value],
    found: Mapping[int, SeriesValues],
    demands: Sequence[Demand],
    spec: ComparisonSpec,
) -> list[Entry]:
    """Every entry, in order of their first series; some have no cell at all.

    ``values_of`` are the contenders by series. Where several workloads measured a test, the series
    that has most of its cells counts, and of these the newest.
    """
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for series_id in sorted(facts):
        one = facts[series_id]
        by_workload = one.workload if spec.by == "workload" else None
        key = (*(getattr(one, name) for name in _SAME), values_of[series_id].slug, by_workload)
        groups[key].append(series_id)
    wanted: dict[str, list[Demand]] = defaultdict(list)
    for demand in demands:
        wanted[demand.test].append(demand)
    entries = []
    for series_ids in groups.values():
        sources = {}
        for test, of_test in wanted.items():
            able = [found[pk] for pk in series_ids if pk in found and _has(found[pk], of_test)]
            if able:
                sources[test] = max(able, key=lambda one: _standing(one, of_test))
        lead = series_ids[0] if not sources else min(one.series_id for one in sources.values())
        entries.append(
            Entry(_joined(facts, lead, sources.values()), values_of[lead], sources, demands)
        )
    return entries


def _has(series: SeriesValues, demands: Iterable[Demand]) -> bool:
    return any(series.cells.get(kind_of(demand)) for demand in demands)


def _standing(series: SeriesValues, demands: Iterable[Demand]) -> tuple[int, int]:
    return sum(bool(series.values.get(demand)) for demand in demands), series.series_id


def _joined(
    facts: Mapping[int, SeriesFacts], lead: int, sources: Iterable[SeriesValues]
) -> SeriesFacts:
    """The facts of the entry: of several workloads it says all."""
    found = [facts[pk] for pk in sorted({one.series_id for one in sources} or {lead})]
    slugs = dict.fromkeys(one.workload for one in found)
    if len(slugs) < 2:
        return facts[lead]
    titles = dict.fromkeys(one.workload_title or "not known" for one in found)
    values = dict(vars(facts[lead]))
    values["workload"] = "+".join(slug or "unknown" for slug in slugs)
    values["workload_title"] = "; ".join(titles)
    return SeriesFacts(**values)
