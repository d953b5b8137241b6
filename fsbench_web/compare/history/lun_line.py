"""The LUN's own line beside that of a configuration: whether the disk got slower, or what is on it.

Each run of the line is set against the probe of its block. Where a score changes and its share of
the LUN changes with it, it is what stands on the disk; where the share stays, it is the disk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from fsbench_web.compare.models import Watch
from fsbench_web.core.scoring.ceilings import differ_percent
from fsbench_web.core.scoring.changes import changes
from fsbench_web.core.scoring.scores import mean
from fsbench_web.core.scoring.shares import is_unreliable, percent_words
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores.shares import SeriesCeilings, is_of_time, read_probes

Values = tuple[float, ...]


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
