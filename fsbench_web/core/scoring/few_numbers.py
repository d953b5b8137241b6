"""The scores of scoring.columns for few numbers: the same values without arrays. Pure.

Of a hundred numbers an array costs what it is made, asked and given back for: four fifths of the
time of all scores of a small upload. Sums are exact before they are rounded in both, so that the
way cannot make a difference.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum

from fsbench_web.core.scoring.categories import CATEGORIES, MEAN, SUMMED, Cell
from fsbench_web.core.scoring.scores import UNEQUAL_REPEATS, ScoreValue, mean, overall

MOST = 400
"""So many numbers are scored here."""

_OF_ALL: Mapping[str, Callable[[Sequence[float]], float]] = {
    "maximum": max,
    "minimum": min,
    "total_average": mean,
}


def scores(
    runs: Sequence[int], cells: Sequence[Cell], values: Sequence[float]
) -> dict[str, ScoreValue]:
    """The scores of a matrix by category. Numbers come as columns: run, cell, value."""
    of_cell: dict[Cell, list[float]] = {}
    runs_of: dict[Cell, list[int]] = {}
    for run, cell, value in zip(runs, cells, values, strict=True):
        of_cell.setdefault(cell, []).append(value)
        runs_of.setdefault(cell, []).append(run)
    numbers_of_runs, means = (
        Counter(runs),
        {cell: mean(numbers) for cell, numbers in of_cell.items()},
    )
    by_category = {}
    for slug in SUMMED:
        if slug in _OF_ALL:
            value, count, by_run = _OF_ALL[slug](values), len(of_cell), numbers_of_runs
        else:
            inside = _cells_inside(slug, of_cell)
            if not inside:
                continue
            value, count = mean([means[cell] for cell in inside]), len(inside)
            by_run = Counter(run for cell in inside for run in runs_of[cell])
        is_equal = len(by_run) == len(numbers_of_runs) and set(by_run.values()) == {count}
        flags = () if is_equal else (UNEQUAL_REPEATS,)
        by_category[slug] = ScoreValue(value, cells=count, repeats=len(by_run), flags=flags)
    if len(by_category) == len(SUMMED):
        by_category["overall"] = overall(by_category)
    return by_category


def scores_of_runs(
    runs: Sequence[int], cells: Sequence[Cell] | None, values: Sequence[float]
) -> dict[str, dict[int, float]]:
    """Those of each run by itself: by category, and run in their order. No cells: no matrix."""
    of_run: dict[int, list[int]] = {run: [] for run in sorted(set(runs))}
    for place, run in enumerate(runs):
        of_run[run].append(place)
    if cells is None:
        return {
            MEAN: {run: mean([values[place] for place in places]) for run, places in of_run.items()}
        }
    by_category: dict[str, dict[int, float]] = {}
    for slug in SUMMED:
        if slug in _OF_ALL:
            combine = _OF_ALL[slug]
            by_category[slug] = {
                run: combine([values[place] for place in places]) for run, places in of_run.items()
            }
            continue
        inside = set(_cells_inside(slug, dict.fromkeys(cells)))
        for run, places in of_run.items():
            if numbers := [values[place] for place in places if cells[place] in inside]:
                by_category.setdefault(slug, {})[run] = mean(numbers)
    if len(by_category) == len(SUMMED):
        whole = [run for run in of_run if all(run in by_run for by_run in by_category.values())]
        if whole:
            by_category["overall"] = {
                run: fsum(by_run[run] for by_run in by_category.values()) for run in whole
            }
    return by_category


def _cells_inside(slug: str, cells: Iterable[Cell]) -> list[Cell]:
    """Those in the region of a category that has one."""
    region = CATEGORIES[slug].region
    assert region is not None
    least_record, most_record = region.minimum_record_kb, region.maximum_record_kb
    least_file, most_file = region.minimum_file_kb, region.maximum_file_kb
    return [
        (record, file)
        for record, file in cells
        if least_record <= record <= most_record and least_file <= file <= most_file
    ]
