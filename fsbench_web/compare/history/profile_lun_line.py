"""The LUN's own line beside that of a work profile: the ceilings of its cells, put together as the
score is of its values, for each repeat by the probes of its own runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.catalog.models import Workload
from fsbench_web.compare.history.lun_line import LunLine
from fsbench_web.compare.history.profile_line import ProfileScore, WorkLine, cells_in_words
from fsbench_web.core.scoring.ceilings import Probe
from fsbench_web.core.scoring.profiles.combining import ScoreUnavailable, level_of
from fsbench_web.core.scoring.profiles.definition import RATIO, RequiredCell
from fsbench_web.core.scoring.scores import mean
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.core.workloads import Workload as Kind
from fsbench_web.studies.scores.shares import SeriesCeilings, read_probes

NOT_MEASURED = (
    "The LUN itself was measured beside none of these runs: there is no line of its own, and "
    "whether a change is the disk cannot be told."
)


def lun_line_of_work(line: WorkLine, names: Sequence[Any], probe_of: Mapping[int, int]) -> LunLine:
    """Of the points ``names``, in multiples of what ``line.groups`` has; ``probe_of`` are the
    probes of runs, by key. Two queries; none where there is no probe.
    """
    used = {run for name in names for run in line.groups[name].runs}
    probes = {run: probe for run, probe in probe_of.items() if run in used}
    if not probes:
        return LunLine(why=NOT_MEASURED)
    ceilings = _Ceilings(line, probes, read_probes(set(probes.values())), _kinds(line.workloads))
    levels = [ceilings.levels(line.groups[name]) for name in names]
    if not any(levels):
        return LunLine(why=ceilings.why_missing)
    of = f"requests of the same work, {len(line.profile.demands)} cells by their weights"
    return LunLine(
        of,
        tuple(tuple(lun_level for lun_level, _ in pairs) for pairs in levels),
        tuple(tuple(percent for _, percent in pairs) for pairs in levels),
        is_of_time=ceilings.is_of_time,
    )


def _kinds(workloads: set[int | None]) -> dict[int | None, Kind]:
    kinds: dict[int | None, Kind] = {}
    for row in Workload.objects.filter(pk__in=[pk for pk in workloads if pk is not None]):
        try:
            kinds[row.pk] = workload_of(row.tool, row.parameters)
        except ParameterError:
            continue  # of another release
    return kinds


@dataclass
class _Ceilings:
    """What the LUN did of each cell, by the probe of the run that gave it."""

    line: WorkLine
    probe_of: Mapping[int, int]
    probes: Mapping[int, Probe]
    kinds: Mapping[int | None, Kind]
    missing: set[RequiredCell] = field(default_factory=set)
    _series_ceilings: dict[tuple[int | None, int], SeriesCeilings] = field(default_factory=dict)

    @property
    def is_of_time(self) -> bool:
        return self.line.profile.together != RATIO and set(self.line.lower.values()) == {True}

    def levels(self, score: ProfileScore) -> list[tuple[float, float]]:
        """(the LUN's own, the score in percent of it) of each repeat, of all together where none
        has every cell."""
        if not score.of_repeats:
            pairs = [
                self._level(score.level, {d: list(r.values()) for d, r in score.sources.items()})
            ]
        else:
            pairs = [
                self._level(value, {d: [runs[name]] for d, runs in score.sources.items()})
                for name, value in score.of_repeats.items()
            ]
        return [pair for pair in pairs if pair is not None]

    def _level(
        self, score: float, runs_of: Mapping[RequiredCell, Sequence[int]]
    ) -> tuple[float, float] | None:
        ceilings: dict[RequiredCell, float] = {}
        for demand, runs in runs_of.items():
            values = [
                ceiling for run in runs if (ceiling := self._ceiling(demand, run)) is not None
            ]
            if values:
                ceilings[demand] = mean(values)
        if len(ceilings) < len(self.line.profile.demands):
            return None
        lower = self.line.lower
        try:
            lun_level = level_of(self.line.profile, ceilings, lower)
        except ScoreUnavailable:
            return None
        return lun_level, 100 * (lun_level / score if self.is_of_time else score / lun_level)

    def _ceiling(self, demand: RequiredCell, run: int) -> float | None:
        """In the dimension's own unit."""
        workload, probe = self.line.workload_of[run], self.probe_of.get(run)
        kind = self.kinds.get(workload)
        if probe is None or probe not in self.probes:
            return None
        if kind is None:
            self.missing.add(demand)
            return None
        key = (workload, probe)
        if key not in self._series_ceilings:
            self._series_ceilings[key] = SeriesCeilings(kind, [self.probes[probe]])
        measure = self.line.measures[demand.test]
        ceiling = self._series_ceilings[key].in_unit(measure.unit, demand.test, demand.record_kb)
        if ceiling is None:
            self.missing.add(demand)
            return None
        return ceiling * measure.factor

    @property
    def why_missing(self) -> str:
        """Why no repeat has a ceiling of every cell."""
        if not self.missing:
            return (
                "The LUN itself was measured beside some of these runs, and beside all runs of no "
                "repeat: there is no line of its own."
            )
        cells = [demand.words for demand in self.line.profile.demands if demand in self.missing]
        return (
            f"There is no line of the LUN itself: {len(cells)} of {len(self.line.profile.demands)} "
            f"cells have no counterpart among what was measured of it ({cells_in_words(cells)})"
            "."
        )
