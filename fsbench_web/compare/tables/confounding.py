"""Which entries ran at different times, so that time may explain a difference. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from fsbench_web.core.comparison.rows import DeltaTable

LEAST_APART = timedelta(days=1)
Span = tuple[datetime, datetime]
"""First and last."""


@dataclass(frozen=True)
class MeasuredPeriod:
    contender: str
    first: datetime
    last: datetime


@dataclass(frozen=True)
class OrderOverTime:
    """``turns``: the entries in the order they ran, if each had its own time, else ()."""

    turns: tuple[MeasuredPeriod, ...] = ()
    is_known: bool = True


def order_over_time(
    tables: Sequence[DeltaTable], spans_of: Callable[[Collection[int]], Mapping[int, Span]]
) -> OrderOverTime:
    """Whether each entry had its own time: no overlap, no shared block, more than a day in all."""
    if _shares_block(tables):
        return OrderOverTime()
    rows = [row for table in tables for row in table.rows]
    measured = [row for row in rows if row.origin != "published"]
    spans = spans_of({row.series_id for row in measured if row.series_id is not None})
    periods: dict[str, Span] = {}
    for row in rows:
        span = None if row.series_id is None else spans.get(row.series_id)
        if span is None:
            return OrderOverTime(is_known=False)
        first, last = periods.get(row.contender, span)
        periods[row.contender] = min(first, span[0]), max(last, span[1])
    turns = sorted(
        (MeasuredPeriod(name, *span) for name, span in periods.items()), key=lambda turn: turn.first
    )
    is_apart = all(turn.last < following.first for turn, following in pairwise(turns))
    if len(turns) < 2 or not is_apart:
        return OrderOverTime()
    is_long = turns[-1].last - turns[0].first > LEAST_APART
    return OrderOverTime(tuple(turns) if is_long else ())


def _shares_block(tables: Iterable[DeltaTable]) -> bool:
    first: dict[tuple[str, str], str] = {}
    return any(
        block and first.setdefault((row.study, block), row.contender) != row.contender
        for table in tables
        for row in table.rows
        for block, _ in row.repeat_scores or ()
    )
