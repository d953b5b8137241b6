"""The LUN's own line beside that of a configuration: whether the disk got slower, or what is on it.

Each run of the line is set against the probe of its block. If a score changes and its share of the
LUN changes with it, it is what stands on the disk; if the share stays, it is the disk. Beside a
work profile the line is the ceilings of its cells, put together as the score is of its values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any

from fsbench_web.catalog.models import Workload
from fsbench_web.compare.history.profile_line import ProfileScore, WorkLine, cells_in_words
from fsbench_web.compare.models import Watch
from fsbench_web.core.scoring.ceilings import Probe, differ_percent
from fsbench_web.core.scoring.profiles.combining import ScoreUnavailable, level_of
from fsbench_web.core.scoring.profiles.definition import RATIO, RequiredCell
from fsbench_web.core.scoring.shares import is_unreliable, percent_words
from fsbench_web.core.stats.changes import changes
from fsbench_web.core.stats.intervals import mean
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.core.workloads import Workload as Kind
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores.shares import SeriesCeilings, is_of_time, read_probes

Values = tuple[float, ...]
NOT_MEASURED = (
    "The LUN itself was measured beside none of these runs: there is no line of its own, and "
    "whether a change is the disk cannot be told."
)


@dataclass(frozen=True)
class LunLine:
    """What the LUN did by itself, in the unit of the scores, beside each point of a line.

    ``points`` and ``shares`` (scores in percent of it) have the values of each point's runs; a
    point none of whose runs has a probe is empty. ``of`` says of which requests. ``why`` says in a
    sentence why there is none, where that is asked. ``is_of_time``: less is better of both.
    """

    of: str = ""
    points: tuple[Values, ...] = ()
    shares: tuple[Values, ...] = ()
    why: str = ""
    is_of_time: bool = False

    def in_multiples_of(self, base: float) -> "LunLine":
        """In multiples of ``base``: shares stay."""
        points = tuple(tuple(value / base for value in values) for values in self.points)
        return replace(self, points=points)

    @property
    def is_known(self) -> bool:
        return any(self.points)

    def mean_at(self, place: int) -> float | None:
        """The LUN's own at a point; None where nobody measured it."""
        return mean(self.points[place]) if self.is_known and self.points[place] else None

    def is_unreliable_at(self, place: int) -> bool:
        """Whether the share of a point says nothing (core.scoring.shares)."""
        share = self._share_at(place)
        return share is not None and is_unreliable(share, differ_percent(self.points[place]))

    def share_at(self, place: int) -> float | None:
        """The share of a point; None where nobody measured it, or it says nothing."""
        return None if self.is_unreliable_at(place) else self._share_at(place)

    def _share_at(self, place: int) -> float | None:
        """The mean score of a point in percent of that, as tables have it: a mean of the shares of
        its runs would be that of the run whose probe was the slowest.
        """
        if not self.is_known or not self.shares[place]:
            return None
        pairs = list(zip(self.points[place], self.shares[place], strict=True))
        if self.is_of_time:
            return fsum(level for level, _ in pairs) / fsum(level / share for level, share in pairs)
        return fsum(level * share for level, share in pairs) / fsum(level for level, _ in pairs)

    def explanation_of(self, place: int, margin_percent: float) -> str:
        """Whether a change of the score at this point is of the disk; "" where nobody knows."""
        before, after = self.share_at(place - 1), self.share_at(place)
        if before is None or after is None:
            return ""
        was, is_now = percent_words(before), percent_words(after)
        if _changes_at(self.shares, margin_percent, place):
            return (
                f"It is not the disk: the score went from {was} to {is_now} of what "
                "the LUN does by itself."
            )
        lun_changes = self.changes(margin_percent)
        if any(step == place for step, _ in lun_changes):
            return (
                "It is the disk: the LUN itself changed too, and the score stayed at "
                f"{was} and {is_now} of it."
            )
        return (
            f"Whether it is the disk cannot be told: the score was {was} of the LUN's own "
            f"before and {is_now} after, and neither that nor the LUN changed for sure."
        )

    def changes(self, margin_percent: float) -> list[tuple[int, float]]:
        """Where the LUN itself changed its level: (place of the point, percent)."""
        places = [place for place, values in enumerate(self.points) if values]
        steps = changes([self.points[place] for place in places], margin_percent) if places else []
        return [(places[step.place], step.change_percent) for step in steps]


def _changes_at(values: Sequence[Values], margin_percent: float, place: int) -> bool:
    known_places = [index for index, point_values in enumerate(values) if point_values]
    steps = changes([values[index] for index in known_places], margin_percent)
    return any(known_places[step.place] == place for step in steps)


def read_lun_line(
    line: Series | Watch,
    points: Sequence[Sequence[int]],
    probe_of: Mapping[int, int],
    scores: Mapping[int, float],
    score_key: tuple[str, str, str],
) -> LunLine:
    """That of the runs of each point, by their numbers. Two queries; none where there is no probe.

    ``probe_of`` are the probes of the runs by key, ``scores`` their scores, ``score_key`` is the
    test, the category, and the unit of the scores.
    """
    if not probe_of or line.workload is None:
        return LunLine()
    try:
        kind = workload_of(line.workload.tool, line.workload.parameters)
    except ParameterError:
        return LunLine()
    test, category, unit = score_key
    by_probe = {
        pk: SeriesCeilings(kind, [probe])
        for pk, probe in read_probes(set(probe_of.values())).items()
    }
    by_run: dict[int, tuple[float, float]] = {}
    of = ""
    for run, probe in probe_of.items():
        ceilings = by_probe.get(probe)
        share = ceilings and ceilings.share(scores[run], unit, test, category)
        if share:
            by_run[run] = (share.ceiling, share.percent)
            of = share.of
    return LunLine(
        of,
        tuple(tuple(by_run[run][0] for run in runs if run in by_run) for runs in points),
        tuple(tuple(by_run[run][1] for run in runs if run in by_run) for runs in points),
        is_of_time=is_of_time(unit),
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
