"""Whether what a paper printed beside its scores follows from the paper's own tables."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from fsbench_web.core.scoring.deltas import Delta, Published, delta_rows, published_differs
from fsbench_web.core.units import lower_is_better
from fsbench_web.studies.scores.queries import ScoreRow

PUBLISHED_DIFFERS = "published_differs"

PrintKey = tuple[int, str, str]
"""(series, test, category): one score."""


def key_of(row: ScoreRow) -> PrintKey:
    """What names the row's score."""
    return (row.series_id, row.test, row.category)


def check(rows: Iterable[ScoreRow]) -> dict[PrintKey, Published]:
    """What was printed beside each score that has a print, checked against its own table.

    ``rows`` must hold the whole of every table that is asked about. A table is what one study
    printed of one test, category and unit.
    """
    tables: dict[tuple[str, str, str, str], list[ScoreRow]] = defaultdict(list)
    for row in rows:
        if row.published is not None:
            tables[row.study, row.test, row.category, row.unit].append(row)
    checked = {}
    for table in tables.values():
        for row, delta in zip(table, _deltas(table), strict=True):
            checked[key_of(row)] = _published(row.published or {}, delta)
    return checked


def _deltas(table: list[ScoreRow]) -> list[Delta | None]:
    try:
        return [*delta_rows([row.value for row in table], lower_is_better(table[0].unit))]
    except ValueError:
        return [None] * len(table)


def _published(printed: Mapping[str, Any], delta: Delta | None) -> Published:
    best = printed.get("best") in (True, "best", "true", "True")
    first, second = (_decimal(printed.get(f"delta{n}_percent")) for n in (1, 2))
    if delta is None:
        return Published(best, first, second)
    differs = [
        *(["best"] if best != delta.best else []),
        *(["delta1_percent"] if _is_wrong(first, delta.delta1_percent) else []),
        *(["delta2_percent"] if _is_wrong(second, delta.delta2_percent) else []),
    ]
    return Published(
        best,
        first,
        second,
        tuple(differs),
        expected_best=delta.best,
        expected1=delta.delta1_percent,
        expected2=delta.delta2_percent,
    )


def _is_wrong(printed: Decimal | None, recomputed: float | None) -> bool:
    if printed is None:
        return False
    return recomputed is None or published_differs(printed, recomputed)


def _decimal(text: object) -> Decimal | None:
    if text is None or text == "":
        return None
    try:
        number = Decimal(str(text))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
