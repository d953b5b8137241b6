"""What was measured one after the other, so that nobody can tell it from the day. Pure.

Where each contender has days of its own, whatever changed from day to day (temperature, other
guests, how full the disk is) is in the difference between them, and no test can take it out.
Sharing blocks, or runs that lie between those of the other, can.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from fsbench_web.compare.tables.rows import DeltaTable

LEAST_APART = timedelta(days=1)
Span = tuple[datetime, datetime]
"""First and last."""


@dataclass(frozen=True)
class Turn:
    """When the runs of a contender were measured, first and last."""

    contender: str
    first: datetime
    last: datetime


def in_turn(tables: Iterable[DeltaTable], spans: Mapping[int, Span]) -> tuple[Turn, ...]:
    """The contenders in the order in which they were measured, where each had its own time.

    ``spans`` are those of series. Empty where two overlap or share a block, where all of it took
    less than a day, and where of any contender nobody knows when it was measured.
    """
    kept: dict[str, Span] = {}
    blocks: dict[tuple[str, str], set[str]] = {}
    for table in tables:
        for row in table.rows:
            span = None if row.series_id is None else spans.get(row.series_id)
            if span is None:
                return ()
            first, last = kept.get(row.contender, span)
            kept[row.contender] = min(first, span[0]), max(last, span[1])
            for block, _ in row.repeat_scores or ():
                if block:
                    blocks.setdefault((row.study, block), set()).add(row.contender)
    turns = sorted((Turn(name, *span) for name, span in kept.items()), key=lambda one: one.first)
    is_apart = all(one.last < other.first for one, other in pairwise(turns))
    shares = any(len(names) > 1 for names in blocks.values())
    if len(turns) < 2 or not is_apart or shares:
        return ()
    return tuple(turns) if turns[-1].last - turns[0].first > LEAST_APART else ()
