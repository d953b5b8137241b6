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
    numbers_of_runs, means = Counter(runs), {cell: mean(some) for cell, some in of_cell.items()}
    found = {}
    for slug in SUMMED:
        if slug in _OF_ALL:
            value, count, by_run = _OF_ALL[slug](values), len(of_cell), numbers_of_runs
        else:
            kept = _inside(slug, of_cell)
            if not kept:
                continue
            value, count = mean([means[cell] for cell in kept]), len(kept)
            by_run = Counter(run for cell in kept for run in runs_of[cell])
        is_equal = len(by_run) == len(numbers_of_runs) and set(by_run.values()) == {count}
        flags = () if is_equal else (UNEQUAL_REPEATS,)
        found[slug] = ScoreValue(value, cells=count, repeats=len(by_run), flags=flags)
    if len(found) == len(SUMMED):
        found["overall"] = overall(found)
    return found


def scores_of_runs(
    runs: Sequence[int], cells: Sequence[Cell] | None, values: Sequence[float]
) -> dict[str, dict[int, float]]:
    """Those of each run by itself: by category, and run in their order. No cells: no matrix."""
    of_run: dict[int, list[int]] = {run: [] for run in sorted(set(runs))}
    for place, run in enumerate(runs):
        of_run[run].append(place)
    if cells is None:
        return {MEAN: {run: mean([values[one] for one in some]) for run, some in of_run.items()}}
    found: dict[str, dict[int, float]] = {}
    for slug in SUMMED:
        if slug in _OF_ALL:
            make = _OF_ALL[slug]
            found[slug] = {
                run: make([values[one] for one in places]) for run, places in of_run.items()
            }
            continue
        inside = set(_inside(slug, dict.fromkeys(cells)))
        for run, places in of_run.items():
            if some := [values[one] for one in places if cells[one] in inside]:
                found.setdefault(slug, {})[run] = mean(some)
    if len(found) == len(SUMMED):
        whole = [run for run in of_run if all(run in one for one in found.values())]
        if whole:
            found["overall"] = {run: fsum(one[run] for one in found.values()) for run in whole}
    return found


def _inside(slug: str, cells: Iterable[Cell]) -> list[Cell]:
    """Those in the region of a category that has one."""
    region = CATEGORIES[slug].region
    assert region is not None
    least, most = region.minimum_record_kb, region.maximum_record_kb
    smallest, largest = region.minimum_file_kb, region.maximum_file_kb
    return [
        (record, file)
        for record, file in cells
        if least <= record <= most and smallest <= file <= largest
    ]
