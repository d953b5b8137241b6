"""Which differences of delta tables are more than chance. Pure.

Every table asks the same of each row: is the best ahead of it (scoring.significance)? Where there
is a baseline it asks of each row too whether it and the baseline differ. All these pairs of all
tables are tested at once, and Holm's correction is over all of them: the more is compared, the
more it takes. What passes for one table alone may be a tie among many. A part of the tables is
corrected over all of them too, so that it says the same wherever it is shown.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import significance
from fsbench_web.core.scoring.deltas import is_same
from fsbench_web.core.scoring.significance import (
    EMULATED,
    EQUAL,
    NO_INTERVAL,
    ONE_RUN,
    PUBLISHED,
    TIE,
    UNKNOWN,
    Verdict,
)


class _Pair(NamedTuple):
    """``row`` and ``ahead`` are places of rows; ``is_change``: against the baseline."""

    table: int
    ahead: int
    behind: int
    row: int
    is_change: bool
    verdict: Verdict


def judged(
    tables: Sequence[DeltaTable],
    margin_percent: float = significance.MARGIN_PERCENT,
    among: Collection[float] | None = None,
) -> list[DeltaTable]:
    """The tables, with a verdict in each row that stands against another.

    ``DeltaRow.verdict`` of a best row is of it against all others: a tie when it ties with any
    (``against`` names them, nearest first), unknown when that is the worst of any, and significant
    only against all. Of another row it is that of the best against this row.
    ``DeltaRow.change_verdict`` is of a row against the baseline. Both are None where there is
    nothing to stand against.

    ``among`` are the p-values of all pairs of the comparison (``compare.tables.pairs``) where the
    tables are some of its tables, each of them whole.
    """
    pairs = [
        pair for place, table in enumerate(tables) for pair in _pairs(place, table, margin_percent)
    ]
    final = significance.corrected([pair.verdict for pair in pairs], among)
    against_best: dict[tuple[int, int], Verdict] = {}
    against_baseline: dict[tuple[int, int], Verdict] = {}
    for pair, verdict in zip(pairs, final, strict=True):
        found = against_baseline if pair.is_change else against_best
        found[pair.table, pair.row] = verdict
    return [
        replace(
            table,
            rows=tuple(
                replace(
                    row,
                    verdict=_lead(table, number, place, against_best, margin_percent)
                    if row.best
                    else against_best.get((number, place)),
                    change_verdict=against_baseline.get((number, place)),
                )
                for place, row in enumerate(table.rows)
            ),
        )
        for number, table in enumerate(tables)
    ]


def nearest_first(table: DeltaTable) -> list[int]:
    """The places of the rows from the best to the worst, however they are sorted for the page."""
    return list(table.nearest_first)


def is_ranked(table: DeltaTable) -> bool:
    """Whether anybody said which direction of the unit is better."""
    return any(row.best for row in table.rows)


def _pairs(number: int, table: DeltaTable, margin_percent: float) -> Iterator[_Pair]:
    if not is_ranked(table) or len(table.rows) < 2:
        return
    order = nearest_first(table)
    for behind in order[1:]:
        best = table.rows[order[0]].contender
        verdict = _verdict(table, order[0], behind, margin_percent, best)
        yield _Pair(number, order[0], behind, behind, False, verdict)
    base = next((place for place, row in enumerate(table.rows) if row.is_baseline), None)
    if base is None:
        return
    rank = {place: position for position, place in enumerate(order)}
    for place in order:
        if place != base:
            ahead, behind = sorted((place, base), key=rank.__getitem__)
            against = table.rows[base].contender
            verdict = _verdict(table, ahead, behind, margin_percent, against)
            yield _Pair(number, ahead, behind, place, True, verdict)


def _verdict(
    table: DeltaTable, ahead: int, behind: int, margin_percent: float, against: str
) -> Verdict:
    first, second = table.rows[ahead], table.rows[behind]
    if (EMULATED in first.flags) != (EMULATED in second.flags):
        return significance.unknown(EMULATED, margin_percent=margin_percent, against=(against,))
    if is_same(first.score, second.score):
        return Verdict(TIE, (EQUAL,), 0.0, margin_percent=margin_percent, against=(against,))
    if first.interval is None or second.interval is None:
        return significance.unknown(
            *[_why_missing(row) for row in (first, second) if row.interval is None],
            margin_percent=margin_percent,
            against=(against,),
        )
    return significance.compare(
        first.interval,
        second.interval,
        margin_percent=margin_percent,
        lower_is_better=table.lower_is_better,
        against=(against,),
    )


def _why_missing(row: DeltaRow) -> str:
    if row.origin == "published":
        return PUBLISHED
    return ONE_RUN if row.runs == 1 else NO_INTERVAL


def _lead(
    table: DeltaTable,
    number: int,
    best: int,
    against_best: dict[tuple[int, int], Verdict],
    margin_percent: float,
) -> Verdict | None:
    """Of a best row against all others; of several best rows each ties with the others."""
    others = [
        (table.rows[place].contender, verdict)
        for place in nearest_first(table)
        if place != best
        for verdict in [_of_other(table, number, place, against_best, margin_percent)]
        if verdict is not None
    ]
    if not others:
        return None
    for status in (TIE, UNKNOWN):
        found = [(name, verdict) for name, verdict in others if verdict.status == status]
        if len(found) == 1:
            return replace(found[0][1], against=(found[0][0],))
        if found:
            return Verdict(
                status,
                _reasons(found),
                margin_percent=margin_percent,
                against=tuple(name for name, _ in found),
                tested=next((v.tested for _, v in found if v.tested is not None), None),
            )
    # Of the closest call: it was significant against each of the others as well.
    closest = max((verdict for _, verdict in others), key=lambda one: one.p_holm or 0.0)
    names = tuple(name for name, _ in others)
    return replace(closest, reasons=_reasons(others), against=names)


def _reasons(verdicts: Sequence[tuple[str, Verdict]]) -> tuple[str, ...]:
    """Those of all together, each once."""
    return tuple(dict.fromkeys(why for _, verdict in verdicts for why in verdict.reasons))


def _of_other(
    table: DeltaTable,
    number: int,
    place: int,
    against_best: dict[tuple[int, int], Verdict],
    margin_percent: float,
) -> Verdict | None:
    if table.rows[place].best:
        return Verdict(TIE, (EQUAL,), 0.0, margin_percent=margin_percent)
    return against_best.get((number, place))
