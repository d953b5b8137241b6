"""One number of the cells of a work profile, of a contender and of each of its repeats. Pure.

Formulas and sources: docs/method.md#work-profiles.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite, log
from typing import Any, TypeVar

from fsbench_web.core.scoring.profiles.definition import RATIO, Profile, RequiredCell
from fsbench_web.core.stats.intervals import Interval, interval, mean

Values = Mapping[RequiredCell, Mapping[str, float]]
"""What repeats measured of each cell, by the repeat: in one unit for all contenders."""


@dataclass(frozen=True)
class Combined:
    """``level``: the score, not yet divided by the baseline's. ``of_repeats``: of complete ones."""

    level: float
    of_repeats: Mapping[str, float]

    def against(self, baseline: float) -> "Combined":
        """In multiples of the baseline's level."""
        return Combined(
            self.level / baseline,
            {repeat: value / baseline for repeat, value in self.of_repeats.items()},
        )

    @property
    def interval(self) -> Interval | None:
        """Of the repeats' own scores; None for fewer than two."""
        return interval(list(self.of_repeats.values()))


class ScoreUnavailable(ValueError):
    """A contender that has no score, and why: a sentence without its end."""


class CellsMissing(ScoreUnavailable):
    """A contender that was not measured at every cell."""


def combined(profile: Profile, values: Values, lower_is_better: Mapping[str, bool]) -> Combined:
    """The level of one contender. Raises ScoreUnavailable where a cell is missing or no speed."""
    missing = [demand for demand in profile.demands if not values.get(demand)]
    if missing:
        raise CellsMissing(f"{len(missing)} of {len(profile.demands)} cells were not measured")
    for demand in profile.demands:
        for value in values[demand].values():
            _refuse_no_speed(demand, value)  # Also of a repeat that lacks another cell.
    repeats = set.intersection(*(set(values[demand]) for demand in profile.demands))
    means = {demand: mean(list(values[demand].values())) for demand in profile.demands}
    order = dict.fromkeys(repeat for by_repeat in values.values() for repeat in by_repeat)
    of_repeats = {
        repeat: level_of(
            profile, {demand: values[demand][repeat] for demand in means}, lower_is_better
        )
        for repeat in order
        if repeat in repeats
    }
    return Combined(level_of(profile, means, lower_is_better), of_repeats)


def level_of(
    profile: Profile, values: Mapping[RequiredCell, float], lower_is_better: Mapping[str, bool]
) -> float:
    """The level of one value of each cell. Raises ScoreUnavailable."""
    for demand, value in values.items():
        _refuse_no_speed(demand, value)
    shares = profile.shares
    if profile.together == RATIO:
        return exp(
            fsum(
                share * log(values[demand]) * (-1 if lower_is_better[demand.test] else 1)
                for demand, share in shares.items()
            )
        )
    lower = {lower_is_better[demand.test] for demand in shares}
    if len(lower) > 1:
        raise ScoreUnavailable("its parts are rates and times, and no amount of work is either")
    if lower == {True}:
        return fsum(share * values[demand] for demand, share in shares.items())
    return 1 / fsum(share / values[demand] for demand, share in shares.items())


def _refuse_no_speed(demand: RequiredCell, value: float) -> None:
    if not isfinite(value) or value <= 0:
        raise ScoreUnavailable(f"{demand.words} is {value:g}, which has no ratio")


def repeat_names(
    sources: Sequence[Mapping[int, str]], cells: Iterable[Collection[int]]
) -> dict[int, str]:
    """The repeat of each run. ``sources``: {run: block}; ``cells``: the runs of each cell.

    Runs of a block are one repeat if they gave each cell once, else each is one. Of several sources
    without shared blocks the n-th runs are one.
    """
    block_of = {run: block for source in sources for run, block in source.items()}
    twice = {
        block
        for runs in cells
        for block, count in Counter(block_of[run] for run in runs).items()
        if count > 1
    }
    alone = {run for run, block in block_of.items() if not block or block in twice}
    if len(sources) < 2:
        return {run: f"#{run}" if run in alone else block for run, block in block_of.items()}
    if not alone and set.intersection(*(set(source.values()) for source in sources)):
        return block_of
    return {run: f"#{place}" for source in sources for place, run in enumerate(source, start=1)}


Source = TypeVar("Source", bound=Hashable)


def put_together(
    able: Iterable[Source],
    wanted: Collection[RequiredCell],
    cells_of: Callable[[Source], Collection[RequiredCell]],
    measurement_of: Callable[[Source], str],
    preferred: Callable[[Source], Any],
) -> list[Source]:
    """The sources of one measurement, in the order in which a cell is taken from them.

    ``able``: measured the operation at any size. Of equal ones the ``preferred``. Sources without a
    wanted cell are left out, but for one.
    """
    by_way: dict[str, list[Source]] = defaultdict(list)
    for source in able:
        by_way[measurement_of(source)].append(source)
    if not by_way:
        return []

    def count(source: Source) -> int:
        return sum(demand in cells_of(source) for demand in wanted)

    def standing(sources: list[Source]) -> tuple[int, Any]:
        giving = [source for source in sources if count(source)] or sources
        covered = sum(any(demand in cells_of(source) for source in giving) for demand in wanted)
        return covered, max(preferred(source) for source in giving)

    best = max(by_way.values(), key=standing)
    ranked = sorted(best, key=lambda source: (count(source), preferred(source)), reverse=True)
    givers = {
        next((source for source in ranked if demand in cells_of(source)), None) for demand in wanted
    }
    return [source for source in ranked if source in givers] or ranked[:1]
