"""Work profiles over time: what the runs of a kernel or day come to; and the line of the LUN."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

from fsbench_web.catalog.models import Workload
from fsbench_web.compare.tables.work.entries import (
    MeasuredCells,
    ranked_sources,
    share_of_work,
    without_ceilings,
)
from fsbench_web.core import units
from fsbench_web.core.scoring.ceilings import differ_percent
from fsbench_web.core.scoring.profiles.combining import (
    CellsMissing,
    Combined,
    ScoreUnavailable,
    combined,
)
from fsbench_web.core.scoring.profiles.definition import RATIO, Profile, RequiredCell
from fsbench_web.core.scoring.shares import is_unreliable, percent_words
from fsbench_web.core.stats.changes import changes
from fsbench_web.core.stats.intervals import mean
from fsbench_web.core.units import Printed
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.core.workloads import Workload as Kind
from fsbench_web.studies.models import Run
from fsbench_web.studies.scores.cells import TooManyValues
from fsbench_web.studies.scores.profile_values import Repeat, SeriesValues, profile_values
from fsbench_web.studies.scores.shares import SeriesCeilings, is_of_time, read_probes

MOST_NAMED = 3
UNKNOWN = 0
"""Stands for the workload of runs that name none."""


class ProfileScoreUnavailable(ValueError):
    """Why a line has no score of a profile, in a sentence."""


@dataclass(frozen=True)
class WorkPoint:
    """What the runs of one kernel or day measured, and their score, with that of each repeat."""

    cells: MeasuredCells
    score: Combined

    def repeats(self) -> list[tuple[set[int], float]]:
        """The runs and the level of each repeat; of all runs where no repeat has every cell."""
        names = self.cells.repeat_names()
        if not self.score.of_repeats:
            return [(set(names), self.score.level)]
        return [
            ({run for run, own_name in names.items() if own_name == name}, level)
            for name, level in self.score.of_repeats.items()
        ]


@dataclass(frozen=True)
class WorkLine:
    """A line by a work profile, in the dimension's own unit; one ``printed`` is ``factor``.

    ``lower``: whether less is better, by test. Each source of a cell is a workload.
    """

    profile: Profile
    points: dict[Any, WorkPoint]
    printed: Printed
    factor: float
    lower: Mapping[str, bool]

    @property
    def workloads(self) -> set[int]:
        """Those that gave any cell; ``UNKNOWN`` is one that nobody named."""
        return {
            source.series_id
            for point in self.points.values()
            for demand in self.profile.demands
            if (source := point.cells.source(demand)) is not None
        }


def work_line(
    groups: Mapping[Any, Sequence[int]],
    tools: Mapping[int, str | None],
    profile: Profile,
    own_workload: int | None,
) -> WorkLine:
    """The points of a line: each group of runs that has every cell. Five queries.

    A group is scored like a contender, with one source for each workload; of equal ones
    ``own_workload`` counts. Raises ProfileScoreUnavailable.
    """
    rows = Run.objects.filter(pk__in=list(tools))
    series_of = {pk: rest for pk, *rest in rows.values_list("pk", "series", "series__workload")}
    tool_of = {series: tools[pk] or "" for pk, (series, _) in series_of.items()}
    workload_of = {series: workload or UNKNOWN for series, workload in series_of.values()}
    try:
        series_values = profile_values(set(tool_of), profile.demands, tool_of)
    except TooManyValues:
        raise ProfileScoreUnavailable(
            "The runs of this line have too many numbers to be scored at once."
        ) from None
    by_workload: dict[int, list[SeriesValues]] = defaultdict(list)
    for pk, series in series_values.items():
        by_workload[workload_of[pk]].append(series)
    measured = [_together(workload, series) for workload, series in by_workload.items()]
    sources = ranked_sources(
        measured, profile.demands, lambda workload: (workload == own_workload, -workload)
    )
    whole = MeasuredCells(sources, profile.demands)
    measures = {
        test: measure for test in profile.tests if (measure := whole.measure(test)) is not None
    }
    lower = {test: measure.lower_is_better for test, measure in measures.items()}
    if profile.together != RATIO and len({measure.dimension for measure in measures.values()}) > 1:
        raise ProfileScoreUnavailable(
            f"The parts of {profile.label} have several units here, which make no amount of work."
        )
    points: dict[Any, WorkPoint] = {}
    reason = ""
    for name, runs in groups.items():
        cells = part_of(whole, set(runs))
        try:
            points[name] = WorkPoint(cells, combined(profile, cells.values(), lower))
        except ScoreUnavailable as error:
            reason = "" if isinstance(error, CellsMissing) else str(error)
    if not points:
        raise ProfileScoreUnavailable(_missing_sentence(profile, whole, measured, reason))
    if profile.together == RATIO:
        return WorkLine(profile, points, (units.RATIO, None), 1.0, lower)
    measure = measures[profile.tests[0]]
    kind = next(kind for kind in sources if kind.test == profile.tests[0])
    of_kind = by_workload[sources[kind][0].series_id]
    first = next(series for series in of_kind if kind.test in series.measures)
    printed = (measure.unit, tool_of[first.series_id] or None)
    return WorkLine(profile, points, printed, measure.factor, lower)


def _together(workload: int, members: Sequence[SeriesValues]) -> SeriesValues:
    """What one workload measured in all series of a line, in the first one's dimension."""
    whole = SeriesValues(workload, members[-1].measurement)
    repeats: dict[int, Repeat] = {}
    for series in members:
        repeats |= series.repeats
        for test, measure in series.measures.items():
            if whole.measures.setdefault(test, measure).dimension != measure.dimension:
                continue
            for kind, seen in series.cells.items():
                if kind.test == test:
                    whole.cells.setdefault(kind, set()).update(seen)
            for demand, values in series.values.items():
                if demand.test == test:
                    whole.values.setdefault(demand, {}).update(values)
    whole.repeats = dict(sorted(repeats.items()))
    return whole


def part_of(whole: MeasuredCells, runs: Collection[int]) -> MeasuredCells:
    """What some of the runs measured."""
    parts = {source.series_id: _of_runs(source, runs) for source in whole.series}
    sources = {
        kind: [parts[source.series_id] for source in ranked]
        for kind, ranked in whole.sources.items()
    }
    return MeasuredCells(sources, whole.demands)


def _of_runs(source: SeriesValues, runs: Collection[int]) -> SeriesValues:
    values = {
        demand: {run: value for run, value in of_runs.items() if run in runs}
        for demand, of_runs in source.values.items()
    }
    measuring = {run for of_runs in values.values() for run in of_runs}
    repeats = {run: repeat for run, repeat in source.repeats.items() if run in measuring}
    return replace(source, repeats=repeats, values=values)


def _missing_sentence(
    profile: Profile, whole: MeasuredCells, measured: Sequence[SeriesValues], reason: str
) -> str:
    """What no group of runs has. One query where workloads cannot be combined.

    ``reason``: why the last group has no score; "" if cells are missing.
    """
    measured_by: dict[RequiredCell, set[int]] = defaultdict(set)
    for source in measured:
        for demand in source.values:
            measured_by[demand].add(source.series_id)
    missing = [demand.words for demand in profile.demands if demand not in measured_by]
    text = f"No run of this line has all {len(profile.demands)} data points of {profile.label}"
    if missing:
        return f"{text}: nobody measured {cells_in_words(missing)}."
    apart = whole.missing
    if apart:
        titles = titles_of({workload for demand in apart for workload in measured_by[demand]})
        return (
            f"{text} in one way: {cells_in_words([demand.words for demand in apart])} "
            f"{'was' if len(apart) == 1 else 'were'} measured by another workload alone "
            f"({cells_in_words(titles) or 'not known'}), which measures in another way or does not "
            "say how."
        )
    return f"{text}: {reason}." if reason else f"{text} together."


def cells_in_words(cells: Sequence[str]) -> str:
    """Cells in words, which have commas: MOST_NAMED of them."""
    more = len(cells) - MOST_NAMED
    return "; ".join(cells[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def titles_of(workloads: Collection[int]) -> tuple[str, ...]:
    """In their order. One query."""
    rows = Workload.objects.filter(pk__in=list(workloads))
    return tuple(rows.order_by("title").values_list("title", flat=True))


# The line of the LUN, to tell whether the disk got slower, or what is on it. Each run is compared
# with the probe of its block, a work profile with the ceilings of its cells.

Values = tuple[float, ...]
Pair = tuple[float, float]
"""(what the LUN did by itself, the score in percent of it)"""
NOT_MEASURED = (
    "No probe measured the LUN itself with these runs. fsbench cannot say whether a change is "
    "the disk."
)


@dataclass(frozen=True)
class LunLine:
    """What the LUN did without a file system, in the unit of the scores, at each point.

    ``points`` and ``shares`` (scores in percent) have values for each run with a probe. ``of``: the
    requests. ``why``: why there is no line. ``is_of_time``: less is better.
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
        """The mean score of a point in percent, of the means and not of each run's share."""
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
        if place in _changes(self.shares, margin_percent):
            return (
                f"It is not the disk: the score went from {was} to {is_now} of the LUN's own speed."
            )
        if place in _changes(self.points, margin_percent):
            return (
                "It is the disk: the LUN itself changed too, and the score stayed at "
                f"{was} and {is_now} of it."
            )
        return (
            f"It may be the disk: the score was {was} of the LUN's own before and {is_now} after. "
            "Neither that nor the LUN changed for sure."
        )

    def changes(self, margin_percent: float) -> list[tuple[int, float]]:
        """Where the LUN itself changed its level: (place of the point, percent)."""
        return list(_changes(self.points, margin_percent).items())


def _changes(values: Sequence[Values], margin_percent: float) -> dict[int, float]:
    """Where values change their level: percent by the place of the point."""
    places = [place for place, of_point in enumerate(values) if of_point]
    steps = changes([values[place] for place in places], margin_percent) if places else []
    return {places[step.place]: step.change_percent for step in steps}


def _lun_line(of: str, pairs: Iterable[Sequence[Pair]], is_of_time: bool) -> LunLine:
    """The line of (level, percent) pairs, one for each run or repeat of each point."""
    listed = list(pairs)
    return LunLine(
        of,
        tuple(tuple(level for level, _ in point) for point in listed),
        tuple(tuple(percent for _, percent in point) for point in listed),
        is_of_time=is_of_time,
    )


def lun_line_of_runs(
    workload: int | None,
    points: Sequence[Sequence[int]],
    probe_of: Mapping[int, int],
    scores: Mapping[int, float],
    score_key: tuple[str, str, str],
) -> LunLine:
    """The LUN's line for the runs of each point. Two queries; none without a probe.

    ``probe_of`` and ``scores``: by run. ``score_key``: test, category, and unit of the scores.
    """
    kind = _kinds([workload]).get(workload) if probe_of and workload is not None else None
    if kind is None:
        return LunLine()
    test, category, unit = score_key
    by_probe = {
        pk: SeriesCeilings(kind, [probe])
        for pk, probe in read_probes(set(probe_of.values())).items()
    }
    by_run: dict[int, Pair] = {}
    of = ""
    for run, probe_id in probe_of.items():
        ceilings = by_probe.get(probe_id)
        share = ceilings and ceilings.share(scores[run], unit, test, category)
        if share:
            by_run[run] = (share.ceiling, share.percent)
            of = share.of
    pairs = ([by_run[run] for run in runs if run in by_run] for runs in points)
    return _lun_line(of, pairs, is_of_time(unit))


def lun_line_of_work(line: WorkLine, names: Sequence[Any], probe_of: Mapping[int, int]) -> LunLine:
    """The LUN's line for the points ``names`` of a work profile. Two queries at most.

    A pair stands for each repeat, or for all runs where no repeat has every cell.
    """
    used = {run for name in names for run in line.points[name].cells.run_ids}
    probe_ids = {run: probe_id for run, probe_id in probe_of.items() if run in used}
    if not probe_ids:
        return LunLine(why=NOT_MEASURED)
    probes, kinds = read_probes(set(probe_ids.values())), _kinds(line.workloads)
    pairs: list[list[Pair]] = []
    missing: set[RequiredCell] = set()
    of = ""
    for point in map(line.points.__getitem__, names):
        pairs.append([])
        for runs, level in point.repeats():
            cells = part_of(point.cells, runs)
            ceilings = {}
            for source in cells.series:
                beside = [probes[probe_ids[run]] for run in source.repeats if run in probe_ids]
                if beside and source.series_id in kinds:
                    ceilings[source.series_id] = SeriesCeilings(kinds[source.series_id], beside)
            missing |= without_ceilings(cells, ceilings)
            share = share_of_work(cells, level, level, line.profile, line.lower, ceilings)
            if share is not None:
                pairs[-1].append((share.ceiling, share.percent))
                of = share.of
    if not any(pairs):
        return LunLine(why=_why_missing(line, missing))
    return _lun_line(of, pairs, line.profile.is_less_better(line.lower))


def _kinds(workloads: Collection[int]) -> dict[int, Kind]:
    """Those that this release can read."""
    kinds = {}
    for row in Workload.objects.filter(pk__in=list(workloads)):
        with suppress(ParameterError):
            kinds[row.pk] = workload_of(row.tool, row.parameters)
    return kinds


def _why_missing(line: WorkLine, missing: Collection[RequiredCell]) -> str:
    """Why no repeat has a ceiling of every cell."""
    if not missing:
        return (
            "The LUN itself was measured with some of these runs, and with all runs of no repeat: "
            "there is no line of its own."
        )
    demands = line.profile.demands
    cells = [demand.words for demand in demands if demand in missing]
    return (
        f"There is no line of the LUN itself: {len(cells)} of {len(demands)} cells have no "
        f"counterpart among what was measured of it ({cells_in_words(cells)})."
    )
