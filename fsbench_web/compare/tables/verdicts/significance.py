"""Which differences of delta tables are more than chance. Pure.

Every table asks the same of each row: is the best ahead of it? Where there is a baseline it asks of
each row too whether it and the baseline differ. Who is best is told by the numbers that are tested,
so that any pair of the table may come to be asked about (J. W. Tukey, "The Problem of Multiple
Comparisons", 1953: the best against the worst is the range of all). A table is one question: Holm's
correction is over all pairs of its rows that could be tested, and over nothing else, and a row says
the same on whatever page, with whatever filter of tests and categories or baseline, it is shown.
Who looks at many tables explores: of twenty without any difference one shows one (R. Bender and S.
Lange, J. Clin. Epidemiol. 54, 2001), which findings say. Where two share three blocks or more
(``Run.block``), the verdict is paired; elsewhere it is not, and says so. Samples of the intervals
of a single run make none: what differs from run to run is not in them. By the rule of FREENIX 2002,
which takes them, is judged what was published, and what is asked to be.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring.deltas import is_same
from fsbench_web.core.stats import significance
from fsbench_web.core.stats import verdicts as ratios
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS, mean
from fsbench_web.core.stats.significance import (
    EMULATED,
    EQUAL,
    EQUIVALENT,
    FALSE_ALARM,
    FREENIX,
    HOLM,
    MARGIN_PERCENT,
    NO_INTERVAL,
    NO_SCATTER,
    ONE_RUN,
    ORDER,
    PAIRED,
    PUBLISHED,
    ROUNDED,
    SCATTER,
    SIGNIFICANT,
    TICKS,
    TIE,
    UNKNOWN,
    UNPAIRED,
    Verdict,
)
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT, RatioVerdict


@dataclass(frozen=True)
class Rule:
    """How a comparison is judged: ``name`` is FREENIX, or "" for what the runs allow.

    ``margin_percent`` is of that rule, ``equivalence_percent`` what is no difference by the others.
    """

    name: str = ""
    margin_percent: float = MARGIN_PERCENT
    equivalence_percent: float = EQUIVALENCE_PERCENT


class _Pair(NamedTuple):
    """``ahead``, ``behind`` and ``row`` are places of rows; ``is_change``: against the baseline."""

    ahead: int
    behind: int
    row: int
    is_change: bool
    verdict: Verdict | RatioVerdict

    @property
    def places(self) -> tuple[int, int]:
        """What is asked: the best against the baseline is so twice, and tested once."""
        return self.ahead, self.behind


def with_verdicts(tables: Sequence[DeltaTable], rule: Rule | None = None) -> list[DeltaTable]:
    """The tables, with a verdict in each row that stands against another.

    ``DeltaRow.verdict`` of a best row is of it against all others: a tie when it ties with any
    (``against`` names them, nearest first), unknown when that is the worst of any, equal when it is
    equivalent to any, and significant only against all. Of another row it is that of the best
    against this row. ``DeltaRow.change_verdict`` is of a row against the baseline. Both are None
    where there is nothing to stand against.
    """
    return [_table_with_verdicts(table, rule or Rule()) for table in tables]


def _table_with_verdicts(table: DeltaTable, rule: Rule) -> DeltaTable:
    blocks = [_Repeats(_by_block(row), rounding_of_row(row)) for row in table.rows]
    pairs = list(_pairs(table, blocks, rule))
    contenders = _count_tested(table, pairs)
    all_pairs = significance.pairs_of(contenders)
    factor = ratios.equivalence_factor_of(contenders)
    # What is asked of the best is corrected by itself: no baseline changes what is said of it.
    of_best = [pair for pair in pairs if not pair.is_change]
    adjusted = _adjusted_p_values(pairs, all_pairs) if len(of_best) < len(pairs) else {}
    adjusted |= _adjusted_p_values(of_best, all_pairs)
    against_best: dict[int, Verdict] = {}
    against_baseline: dict[int, Verdict] = {}
    for pair in pairs:
        uncorrected = pair.verdict
        if isinstance(uncorrected, RatioVerdict):
            corrected = ratios.corrected(uncorrected, adjusted[pair.places], all_pairs, factor)
            verdict = _ratio_verdict(table, blocks, pair, corrected, rule)
        elif uncorrected.p_value is not None:
            verdict = significance.corrected(uncorrected, adjusted[pair.places], all_pairs)
        else:
            verdict = uncorrected
        (against_baseline if pair.is_change else against_best)[pair.row] = verdict
    return replace(
        table,
        rows=tuple(
            row.with_verdicts(
                _verdict_of_best(table, place, against_best, rule)
                if row.best
                else against_best.get(place),
                against_baseline.get(place),
            )
            for place, row in enumerate(table.rows)
        ),
    )


def _count_tested(table: DeltaTable, pairs: Sequence[_Pair]) -> int:
    """How many rows were tested against any other."""
    tested = [pair.places for pair in pairs if _is_tested(table, pair)]
    return len({place for places in tested for place in places})


def _is_tested(table: DeltaTable, pair: _Pair) -> bool:
    """Whether it was, or would have been had the two not the same score."""
    verdict = pair.verdict
    if verdict.p_value is not None:
        return True
    if not isinstance(verdict, Verdict) or verdict.reasons != (EQUAL,):
        return False
    rows = [table.rows[place] for place in pair.places]
    return all(row.interval is not None for row in rows) and not (
        verdict.method != FREENIX and any(map(_is_within_one, rows))
    )


def _adjusted_p_values(pairs: Sequence[_Pair], all_pairs: int) -> dict[tuple[int, int], float]:
    """The p-values of what is asked, by Holm's correction over all pairs of the table."""
    p_values = {
        pair.places: pair.verdict.p_value for pair in pairs if pair.verdict.p_value is not None
    }
    holm = significance.holm(list(p_values.values()), all_pairs)
    return dict(zip(p_values, holm, strict=True))


def nearest_first(table: DeltaTable) -> list[int]:
    """The places of the rows from the best to the worst, however they are sorted for the page."""
    return list(table.nearest_first)


def is_ranked(table: DeltaTable) -> bool:
    """Whether anybody said which direction of the unit is better."""
    return any(row.best for row in table.rows)


class _Repeats(NamedTuple):
    """Of a row: its scores by the block that each was measured in, and what rounding makes of them
    (``ratios.rounding_of``).
    """

    by_block: Mapping[str, float]
    rounding: float


_Blocks = Sequence[_Repeats]
"""Those of each row of a table."""


def _pairs(table: DeltaTable, blocks: _Blocks, rule: Rule) -> Iterator[_Pair]:
    if not is_ranked(table) or len(table.rows) < 2:
        return
    order = nearest_first(table)
    for behind in order[1:]:
        verdict = _verdict(table, blocks, order[0], behind, rule, table.rows[order[0]].contender)
        yield _Pair(order[0], behind, behind, False, verdict)
    base = next((place for place, row in enumerate(table.rows) if row.is_baseline), None)
    if base is None:
        return
    rank = {place: position for position, place in enumerate(order)}
    for place in order:
        if place != base:
            ahead, behind = sorted((place, base), key=rank.__getitem__)
            verdict = _verdict(table, blocks, ahead, behind, rule, table.rows[base].contender)
            yield _Pair(ahead, behind, place, True, verdict)


def _verdict(
    table: DeltaTable, blocks: _Blocks, ahead: int, behind: int, rule: Rule, against: str
) -> Verdict | RatioVerdict:
    """What is found of one pair by itself."""
    first, second = table.rows[ahead], table.rows[behind]
    lower, margin = table.lower_is_better, rule.margin_percent
    is_freenix = rule.name == FREENIX or "published" in (first.origin, second.origin)
    method = FREENIX if is_freenix else UNPAIRED
    if (EMULATED in first.flags) != (EMULATED in second.flags):
        return significance.unknown_verdict(
            EMULATED, margin_percent=margin, against=(against,), method=method
        )
    of_first, of_second = (
        row.interval if is_freenix or not _is_within_one(row) else None for row in (first, second)
    )
    if not is_freenix:
        rounding = (blocks[ahead].rounding, blocks[behind].rounding)
        ratio_verdict = ratios.paired(
            *_scores_by_block(table, blocks, ahead, behind),
            lower_is_better=lower,
            margin_percent=rule.equivalence_percent,
            rounding=rounding,
        )
        if ratio_verdict is None and of_first is not None and of_second is not None:
            ratio_verdict = ratios.unpaired(
                of_first,
                of_second,
                lower_is_better=lower,
                margin_percent=rule.equivalence_percent,
                rounding=rounding,
            )
        if ratio_verdict is not None:
            return ratio_verdict
    if is_same(first.score, second.score):
        return Verdict(TIE, (EQUAL,), 0.0, margin_percent=margin, against=(against,), method=method)
    if of_first is None or of_second is None:
        sides = ((first, of_first), (second, of_second))
        why = [_why_missing(row) for row, interval in sides if interval is None]
        return significance.unknown_verdict(
            *why, margin_percent=margin, against=(against,), method=method
        )
    return significance.compare(
        of_first,
        of_second,
        margin_percent=margin,
        lower_is_better=lower,
        against=(against,),
    )


def _is_within_one(row: DeltaRow) -> bool:
    """Whether its scatter is that of the samples of a run, which tell nothing of the next run."""
    return row.interval is not None and row.interval.of == SAMPLES


def rounding_of_row(row: DeltaRow) -> float:
    """Of the repeats in the digits that their tool printed, whatever unit they are shown in."""
    if row.printed_score is None or not row.score:
        return ratios.rounding_of(row.repeats)
    times = row.printed_score / row.score
    # What converting there and back leaves is no digit.
    return ratios.rounding_of([float(f"{value * times:.12g}") for value in row.repeats])


def _scores_by_block(
    table: DeltaTable, blocks: _Blocks, ahead: int, behind: int
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Of both rows the scores by block.

    Runs of two studies were never measured beside each other, whatever their blocks are called.
    """
    is_one_study = table.rows[ahead].study == table.rows[behind].study
    return (blocks[ahead].by_block, blocks[behind].by_block) if is_one_study else ({}, {})


def _by_block(row: DeltaRow) -> Mapping[str, float]:
    """Its scores by the block that each was measured in; several repeats in one by their mean."""
    block_scores = [
        (block, score) for block, score in row.repeat_scores or () if block and score is not None
    ]
    single = dict(block_scores)
    if len(single) == len(block_scores):  # as of nearly all
        return single
    by_block: dict[str, list[float]] = defaultdict(list)
    for block, value in block_scores:
        by_block[block].append(value)
    return {block: mean(values) for block, values in by_block.items()}


def _ratio_verdict(
    table: DeltaTable, blocks: _Blocks, pair: _Pair, ratio_verdict: RatioVerdict, rule: Rule
) -> Verdict:
    """The verdict of a ratio, said of the row of its pair."""
    first, second = table.rows[pair.ahead], table.rows[pair.behind]
    status, of_ratio = TIE, ratio_verdict.status
    reasons: tuple[str, ...] = (SCATTER,)
    if of_ratio == ratios.FASTER:
        status, reasons = SIGNIFICANT, ()
    elif of_ratio == ratios.EQUIVALENT:
        status, reasons = EQUIVALENT, ()
    elif of_ratio == ratios.SLOWER:
        reasons = (ORDER,)  # by its score it leads, by what is tested it does not
    elif ratio_verdict.p_value <= FALSE_ALARM:
        reasons = (HOLM,)
    elif ratio_verdict.is_still:
        reasons = (ROUNDED,)
    if ratio_verdict.is_still and any(TICKS in row.flags for row in (first, second)):
        # That nothing scatters is the timer's doing: a tick more or less may be the difference.
        status, reasons = TIE, (TICKS,)
    intervals = [
        row.interval for row in (first, second) if row.interval and not ratio_verdict.blocks
    ]
    reasons += (TRIALS,) if any(interval.of == TRIALS for interval in intervals) else ()
    reasons += (NO_SCATTER,) if ratio_verdict.is_still and ratio_verdict.ratio != 1 else ()
    ahead_scores, behind_scores = _scores_by_block(table, blocks, pair.ahead, pair.behind)
    is_of_ahead = pair.row == pair.ahead
    ratio, low, high = ratio_verdict.ratio, ratio_verdict.low, ratio_verdict.high
    if not is_of_ahead:  # as ``Verdict.turned`` has it
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    return Verdict(
        status,
        reasons,
        p_value=ratio_verdict.p_value,
        p_holm=ratio_verdict.p_holm,
        tested=ratio_verdict.tested,
        margin_percent=rule.margin_percent,
        method=PAIRED if ratio_verdict.blocks else UNPAIRED,
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
        blocks=ratio_verdict.blocks or len(ahead_scores.keys() & behind_scores.keys()),
        more_blocks=ratio_verdict.more_blocks if status == TIE and TICKS not in reasons else None,
        equivalence_percent=ratio_verdict.margin_percent,
        p_equivalence=ratio_verdict.p_equivalence,
        p_equivalence_corrected=ratio_verdict.p_equivalence_corrected,
        against=((second if is_of_ahead else first).contender,),
    )


def _why_missing(row: DeltaRow) -> str:
    if row.origin == "published":
        return PUBLISHED
    if _is_within_one(row):
        return SAMPLES
    return ONE_RUN if row.runs == 1 else NO_INTERVAL


def _verdict_of_best(
    table: DeltaTable, best: int, against_best: dict[int, Verdict], rule: Rule
) -> Verdict | None:
    """Of a best row against all others; of several best rows each ties with the others."""
    others = [
        (table.rows[place].contender, verdict)
        for place in nearest_first(table)
        if place != best
        for verdict in [_verdict_against(place, best, against_best)]
        if verdict is not None
    ]
    if not others:
        return None
    for status in (TIE, UNKNOWN, EQUIVALENT):
        of_status = [(name, verdict) for name, verdict in others if verdict.status == status]
        if len(of_status) == 1:
            return of_status[0][1].turned()._replace(against=(of_status[0][0],))
        if of_status:
            return _combined_verdict(status, of_status, rule)
    # Of the closest call: it was significant against each of the others as well.
    closest = max((verdict for _, verdict in others), key=lambda verdict: verdict.p_holm or 0.0)
    names = tuple(name for name, _ in others)
    return closest.turned()._replace(reasons=_reasons(others), against=names)


def _combined_verdict(status: str, others: Sequence[tuple[str, Verdict]], rule: Rule) -> Verdict:
    """One verdict of a best row and several others, with what it takes to decide them all."""
    verdicts = [verdict for _, verdict in others]
    methods = {verdict.method for verdict in verdicts}
    more_blocks = [verdict.more_blocks for verdict in verdicts]
    return Verdict(
        status,
        _reasons(others),
        margin_percent=rule.margin_percent,
        against=tuple(name for name, _ in others),
        tested=next((verdict.tested for verdict in verdicts if verdict.tested is not None), None),
        method=methods.pop() if len(methods) == 1 else UNPAIRED,
        equivalence_percent=next((verdict.equivalence_percent for verdict in verdicts), None),
        more_blocks=None
        if None in more_blocks
        else max(count for count in more_blocks if count is not None),
    )


def _reasons(verdicts: Sequence[tuple[str, Verdict]]) -> tuple[str, ...]:
    """Those of all together, each once. That nothing scattered is said where none did."""
    reasons = dict.fromkeys(why for _, verdict in verdicts for why in verdict.reasons)
    if not all(NO_SCATTER in verdict.reasons for _, verdict in verdicts):
        reasons.pop(NO_SCATTER, None)
    return tuple(reasons)


def _verdict_against(place: int, best: int, against_best: Mapping[int, Verdict]) -> Verdict | None:
    """What was found of the two, said of ``place``; the first of several best is in no pair."""
    verdict = against_best.get(place)
    return verdict or (against_best[best].turned() if best in against_best else None)
