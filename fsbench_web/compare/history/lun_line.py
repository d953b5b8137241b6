"""The line of the LUN, to tell whether the disk got slower, or what is on it.

Each run is compared with the probe of its block. A work profile is compared with the ceilings of
its cells, combined as the score combines values.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

from fsbench_web.catalog.models import Workload
from fsbench_web.compare.history.profile_line import WorkLine, cells_in_words, part_of
from fsbench_web.compare.tables.work.entries import share_of_work, without_ceilings
from fsbench_web.core.scoring.ceilings import differ_percent
from fsbench_web.core.scoring.profiles.definition import RequiredCell
from fsbench_web.core.scoring.shares import is_unreliable, percent_words
from fsbench_web.core.stats.changes import changes
from fsbench_web.core.stats.intervals import mean
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.core.workloads import Workload as Kind
from fsbench_web.studies.scores.shares import SeriesCeilings, is_of_time, read_probes

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
