"""The p-values of all pairs that a comparison tests, without its rows. Pure.

Holm's correction is over every pair of a comparison, also where a page shows a part of its tables
(``ComparisonSpec.is_part``). For that it takes the p-values of the others and nothing else of
them: these are the pairs of ``compare.significance``, worked out of a few columns.
"""

import json
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from fsbench_web.scoring.significance import welch_p_values
from fsbench_web.scoring.units import lower_is_better


class Scored(NamedTuple):
    """As much of a score as a test takes. ``interval`` is ``Interval.as_dict`` as JSON text."""

    score_id: int
    series_id: int
    test: str
    category: str
    unit: str
    value: float
    interval: str | None


def p_values(
    scores: Sequence[Scored],
    names: Mapping[int, str],
    baseline: str = "",
    emulated: Container[int] = (),
) -> list[float]:
    """The p-value of each pair that is tested: those that ``significance.judged`` would find.

    ``names`` are the contenders by series, ``emulated`` the series that are no speeds.
    """
    # Decoded at once: one call for each of thousands takes longer than all the tests.
    known = json.loads(f"[{','.join(one.interval or 'null' for one in scores)}]")
    intervals: list[tuple[float, float, int]] = []
    places: list[int | None] = []
    for found in known:
        places.append(len(intervals) if found else None)
        if found:
            intervals.append((found["mean"], found["half_width"], found["count"]))
    ahead: list[int] = []
    behind: list[int] = []
    tables: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, one in enumerate(scores):
        tables[one.test, one.category, one.unit].append(number)
    for (_, _, unit), table in tables.items():
        for against in _against(scores, table, unit, names, baseline):
            place, value = places[against], scores[against].value
            if place is None:
                continue
            is_emulated = scores[against].series_id in emulated
            for number in table:
                other, score = places[number], scores[number]
                # Equal scores tie without a test, also the one with itself.
                if (
                    other is not None
                    and score.value != value
                    and (score.series_id in emulated) == is_emulated
                ):
                    ahead.append(place)
                    behind.append(other)
    return welch_p_values(intervals, ahead, behind)


def _against(
    scores: Sequence[Scored],
    table: Sequence[int],
    unit: str,
    names: Mapping[int, str],
    baseline: str,
) -> list[int]:
    """Whom all others of a table are tested against: the best, and the baseline besides."""
    values = [scores[number].value for number in table]
    if not all(isfinite(value) and value >= 0 for value in values):
        return []  # such values nobody ranks (scoring.deltas)
    try:
        best = min(values) if lower_is_better(unit) else max(values)
    except ValueError:
        return []
    name = {number: names[scores[number].series_id] for number in table}
    first = min((n for n in table if scores[n].value == best), key=name.__getitem__)
    return [first, *(number for number in table if baseline and name[number] == baseline)]
