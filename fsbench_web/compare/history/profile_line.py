"""Work profiles over time: what the runs of one kernel or day come to together."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fsbench_web.catalog.models import Workload
from fsbench_web.compare.tables.work.entries import MeasuredCells, ranked_sources
from fsbench_web.core import units
from fsbench_web.core.scoring.profiles.combining import (
    CellsMissing,
    Combined,
    ScoreUnavailable,
    combined,
)
from fsbench_web.core.scoring.profiles.definition import RATIO, Profile, RequiredCell
from fsbench_web.core.units import Printed
from fsbench_web.studies.models import Run
from fsbench_web.studies.scores.cells import TooManyValues
from fsbench_web.studies.scores.profile_values import Repeat, SeriesValues, profile_values

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
