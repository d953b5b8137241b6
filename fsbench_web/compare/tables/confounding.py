"""What was measured one after the other, so that nobody can tell it from the day. Pure.

Where each contender has days of its own, whatever changed from day to day (temperature, other
guests, how full the disk is) is in the difference between them, and no test can take it out.
Sharing blocks, or runs that lie between those of the other, can.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from fsbench_web.compare.tables.rows import DeltaTable

LEAST_APART = timedelta(days=1)
Span = tuple[datetime, datetime]
"""First and last."""


@dataclass(frozen=True)
class MeasuredPeriod:
    """When the runs of a contender were measured, first and last."""

    contender: str
    first: datetime
    last: datetime


def in_turn(
    tables: Sequence[DeltaTable], spans_of: Callable[[Collection[int]], Mapping[int, Span]]
) -> tuple[MeasuredPeriod, ...]:
    """The contenders in the order in which they were measured, where each had its own time.

    ``spans_of`` gives the spans of series, and is asked where no two contenders share a block.
    Empty where two overlap or share a block, where all of it took less than a day, and where of
    any contender nobody knows when it was measured.
    """
    if _shares_block(tables):
        return ()
    rows = [row for table in tables for row in table.rows]
    spans = spans_of({row.series_id for row in rows if row.series_id is not None})
    kept: dict[str, Span] = {}
    for row in rows:
        span = None if row.series_id is None else spans.get(row.series_id)
        if span is None:
            return ()
        first, last = kept.get(row.contender, span)
        kept[row.contender] = min(first, span[0]), max(last, span[1])
    turns = sorted(
        (MeasuredPeriod(name, *span) for name, span in kept.items()), key=lambda one: one.first
    )
    is_apart = all(one.last < other.first for one, other in pairwise(turns))
    if len(turns) < 2 or not is_apart:
        return ()
    return tuple(turns) if turns[-1].last - turns[0].first > LEAST_APART else ()


def _shares_block(tables: Iterable[DeltaTable]) -> bool:
    """Whether any two contenders were measured in the same block."""
    first: dict[tuple[str, str], str] = {}
    return any(
        block and first.setdefault((row.study, block), row.contender) != row.contender
        for table in tables
        for row in table.rows
        for block, _ in row.repeat_scores or ()
    )
