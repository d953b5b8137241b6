"""The p-values of all pairs that a comparison tests, without its rows. Pure.

Holm's correction is over every pair of a comparison, also where a page shows a part of its tables
(``ComparisonSpec.is_part``). For that it takes the p-values of the others and nothing else of
them: these are the pairs of ``compare.tables.significance``, worked out of a few columns.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from math import isfinite

from fsbench_web.compare.tables.shown_units import Placed, TableKey
from fsbench_web.core.conversion import ONE, converted
from fsbench_web.core.scoring.significance import welch_p_values
from fsbench_web.core.units import lower_is_better

Scored = tuple[int, int, str, str, str, float, str | None]
"""As much of a score as a test takes, plain because there are thousands: its key and its series,
test, category, unit, value, and its ``Interval.as_dict`` as JSON text."""

_Entry = tuple[float, int, int]
"""Value, series, and the place of the interval; -1 where there is none."""


def p_values(
    tables: Sequence[tuple[TableKey, Sequence[Placed[Scored]]]],
    names: Mapping[int, str],
    baseline: str = "",
    emulated: Collection[int] = (),
) -> list[float]:
    """The p-value of each pair that is tested: those that ``significance.judged`` would find.

    ``tables`` as ``shown_units.by_table`` makes them. ``names`` are the contenders by series,
    ``emulated`` the series that are no speeds.
    """
    # Decoded at once: one call for each of thousands takes longer than all the tests.
    texts = [one[-1] or "null" for _, scores in tables for one, _ in scores]
    known = iter(json.loads(f"[{','.join(texts)}]"))
    intervals: list[tuple[float, float, int]] = []
    ahead: list[int] = []
    behind: list[int] = []
    for key, scores in tables:
        table: list[_Entry] = []
        # By its own end: the intervals of all tables are one list.
        for (score, times), found in zip(scores, known, strict=False):
            mean, half_width, value = 0.0, 0.0, score[5]
            if found:
                mean, half_width = found["mean"], found["half_width"]
            if times is not ONE:
                scale, value = float(times), converted(value, times)
                mean, half_width = mean * scale, half_width * scale
            table.append((value, score[1], len(intervals) if found else -1))
            if found:
                intervals.append((mean, half_width, found["count"]))
        for value, series, place in _against(table, key.unit, names, baseline):
            if place < 0:
                continue
            # Equal scores tie without a test, also the one with itself.
            others = [one for one in table if one[2] >= 0 and one[0] != value]
            if emulated:
                is_so = series in emulated
                others = [one for one in others if (one[1] in emulated) == is_so]
            behind += [one[2] for one in others]
            ahead += [place] * len(others)
    return welch_p_values(intervals, ahead, behind)


def _against(
    table: Sequence[_Entry], unit: str, names: Mapping[int, str], baseline: str
) -> list[_Entry]:
    """Whom all others of a table are tested against: the best, and the baseline besides."""
    values = [one[0] for one in table]
    if not all(map(isfinite, values)) or min(values) < 0:
        return []  # such values nobody ranks (scoring.deltas)
    try:
        best = min(values) if lower_is_better(unit) else max(values)
    except ValueError:
        return []
    first = min((one for one in table if one[0] == best), key=lambda one: names[one[1]])
    return [first, *(one for one in table if baseline and names[one[1]] == baseline)]
