"""The scores of a test over all repeats, by category (scoring.categories). Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum, isfinite

from fsbench_web.core.scoring.categories import CATEGORIES, SUMMED, Cell
from fsbench_web.core.stats.intervals import mean

UNEQUAL_REPEATS = "unequal_repeats"
"""Some cell of the score was measured in some of the repeats only."""


@dataclass(frozen=True)
class ScoreValue:
    """One score, in the measurements' unit, of so many distinct ``cells`` and ``repeats``."""

    value: float
    cells: int
    repeats: int
    flags: tuple[str, ...] = ()


def harmonic_mean(values: Sequence[float]) -> float | None:
    """The mean of rates over equal work (Hoefler and Belli, SC 2015, rule 3); None for a zero."""
    if not values or min(values) <= 0:
        return None
    if min(values) == max(values):
        return values[0]
    return len(values) / fsum(1 / value for value in values)


def score_repeats(repeats: Sequence[Mapping[Cell, float]]) -> dict[str, ScoreValue]:
    """The scores of one test, by category.

    ``repeats``: {(record KB, file KB): value} of each run. Raises ValueError if not finite.
    """
    values = list(chain.from_iterable(repeat.values() for repeat in repeats))
    if not all(map(isfinite, values)):
        raise ValueError("a value of a cell is not a finite number")
    if not values:
        return {}
    means = repeats[0] if len(repeats) == 1 else _means(repeats)
    scores = {}
    for slug in SUMMED:
        region = CATEGORIES[slug].region
        if region is None:
            value, count = _WHOLE_MATRIX[slug](values), len(means)
            of_repeats = list(map(len, repeats))
        else:
            cells = region.among(means)
            if not cells:
                continue
            value, count = mean([means[cell] for cell in cells]), len(cells)
            of_repeats = [sum(map(repeat.__contains__, cells)) for repeat in repeats]
        scores[slug] = ScoreValue(
            value,
            cells=count,
            repeats=sum(map(bool, of_repeats)),
            flags=() if set(of_repeats) == {count} else (UNEQUAL_REPEATS,),
        )
    if len(scores) == len(SUMMED):
        scores["overall"] = overall(scores)
    return scores


def score_mean(values: Sequence[float]) -> ScoreValue | None:
    """The ``mean`` of one value a repeat; None without any. Raises ValueError if not finite."""
    if not values:
        return None
    if not all(map(isfinite, values)):
        raise ValueError("a value is not a finite number")
    return ScoreValue(mean(values), cells=1, repeats=len(values))


def _means(repeats: Sequence[Mapping[Cell, float]]) -> dict[Cell, float]:
    of_cells: dict[Cell, list[float]] = {}
    for repeat in repeats:
        for cell, value in repeat.items():
            of_cells.setdefault(cell, []).append(value)
    return {cell: mean(values) for cell, values in of_cells.items()}


_WHOLE_MATRIX: dict[str, Callable[[list[float]], float]] = {
    "maximum": max,
    "minimum": min,
    "total_average": mean,
}


def overall(parts: Mapping[str, ScoreValue]) -> ScoreValue:
    """The sum of the six other scores."""
    return ScoreValue(
        value=fsum(part.value for part in parts.values()),
        cells=max(part.cells for part in parts.values()),
        repeats=max(part.repeats for part in parts.values()),
        flags=tuple(dict.fromkeys(flag for part in parts.values() for flag in part.flags)),
    )
