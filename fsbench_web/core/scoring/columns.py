"""The scores of scoring.scores for very many numbers: the same values from less memory. Pure.

Sums are exact before they are rounded (math.fsum), so that the order of values and the way here
cannot make a difference.
"""

from collections.abc import Mapping, Sequence
from math import isfinite

from fsbench_web.core.scoring.categories import CATEGORIES, SUMMED, Cell, Region
from fsbench_web.core.scoring.scores import ScoreValue, mean, overall


def score_one(
    records: Sequence[int], files: Sequence[int], values: Sequence[float]
) -> dict[str, ScoreValue]:
    """``score_repeats`` of a single repeat whose cells come as columns: sizes in KB, and values.

    Raises ValueError for a value that is not a finite number.
    """
    if not all(map(isfinite, values)):
        raise ValueError("a value is not a finite number")
    scores = {}
    for slug in SUMMED:
        region = CATEGORIES[slug].region
        kept = values if region is None else _inside(region, records, files, values)
        if len(kept):
            scores[slug] = ScoreValue(_summary(slug, kept), cells=len(kept), repeats=1)
    return _with_overall(scores)


def score_cells(cells: Mapping[Cell, Sequence[float]], repeats: int) -> dict[str, ScoreValue]:
    """``score_repeats`` of repeats that all have the same cells; ``cells`` holds their values.

    Raises ValueError for a cell with fewer or more values, and for one that is not finite.
    """
    for cell, values in cells.items():
        if len(values) != repeats or not all(map(isfinite, values)):
            raise ValueError(f"the values of cell {cell} are not {repeats} finite numbers")
    scores = {}
    for slug in SUMMED:
        category = CATEGORIES[slug]
        kept = [values for cell, values in cells.items() if category.holds(cell)]
        if kept:
            flat = (
                [value for values in kept for value in values]
                if category.region is None
                else [mean(values) for values in kept]
            )
            scores[slug] = ScoreValue(_summary(slug, flat), cells=len(kept), repeats=repeats)
    return _with_overall(scores)


def _inside(
    region: Region, records: Sequence[int], files: Sequence[int], values: Sequence[float]
) -> list[float]:
    lowest, highest = region.minimum_record_kb, region.maximum_record_kb
    smallest, largest = region.minimum_file_kb, region.maximum_file_kb
    return [
        value
        for record, file, value in zip(records, files, values, strict=True)
        if lowest <= record <= highest and smallest <= file <= largest
    ]


def _summary(slug: str, values: Sequence[float]) -> float:
    return max(values) if slug == "maximum" else min(values) if slug == "minimum" else mean(values)


def _with_overall(scores: dict[str, ScoreValue]) -> dict[str, ScoreValue]:
    if len(scores) == len(SUMMED):
        scores["overall"] = overall(scores)
    return scores
