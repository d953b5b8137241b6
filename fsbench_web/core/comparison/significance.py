"""Which differences of delta tables are significant. Pure. Method: docs/method.md.

Each row is tested against the best and the baseline. Families control the false discovery rate:
tests that count, further tests, further categories.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fsbench_web.core.comparison.headlines import counted_tables, headline_tables
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring.deltas import is_same
from fsbench_web.core.stats import freenix
from fsbench_web.core.stats.freenix import MARGIN_PERCENT
from fsbench_web.core.stats.intervals import REPEATS, SAMPLES, TRIALS
from fsbench_web.core.stats.verdicts import (
    EMULATED,
    EQUAL,
    EQUIVALENCE_PERCENT,
    FREENIX,
    MORE_REPEATS,
    NO_INTERVAL,
    NO_SCATTER,
    ONE_RUN,
    ORDER,
    PUBLISHED,
    SAME_SCORE,
    SIGNIFICANT,
    TICKS,
    TIE,
    TIED,
    TOO_NOISY,
    UNKNOWN,
    UNPAIRED,
    Family,
    Repeats,
    Verdict,
    compared,
    contenders_of,
    decided,
    equivalence_factor_of,
    holm,
    pairs_of,
    rounding_of,
)


@dataclass(frozen=True)
class Rule:
    """How a comparison is judged; ``name``: FREENIX or "". Margins are in percent."""

    name: str = ""
    margin_percent: float = MARGIN_PERCENT
    equivalence_percent: float = EQUIVALENCE_PERCENT


class _Pair(NamedTuple):
    """Places of two rows, and of the row with the verdict; ``verdict`` is of ``ahead`` alone."""

    ahead: int
    behind: int
    row: int
    is_change: bool
    verdict: Verdict

    @property
    def places(self) -> tuple[int, int]:
        """What is asked: the best against the baseline is so twice, and tested once."""
        return self.ahead, self.behind


class _Asked(NamedTuple):
    """A table with all of its pairs; ``tested`` pairs are those of rows that could be tested."""

    table: DeltaTable
    pairs: Sequence[_Pair]
    tested: int


def with_verdicts(tables: Sequence[DeltaTable], rule: Rule | None = None) -> list[DeltaTable]:
    """The tables with a verdict in each row, against the best and against the baseline.

    A best row is significant only against all others; else it has the weakest verdict of any.
    """
    rule = rule or Rule()
    asked = [_asked(table, rule) for table in tables]
    families = _families(asked)
    return [_with_verdicts(one, family, rule) for one, family in zip(asked, families, strict=True)]


def family_of(tables: Sequence[DeltaTable]) -> Family:
    """The family of tables that have their verdicts, to judge further pairs of them alike."""
    judged = [(row.best, row.verdict) for table in tables for row in table.rows]
    return Family(
        (verdict.candidate_p for is_best, verdict in judged if verdict and not is_best),
        sum(map(_tested, tables)),
    )


def verdict_of_pair(
    table: DeltaTable, row: DeltaRow, other: DeltaRow, family: Family
) -> Verdict | None:
    """The verdict of any two rows, said of ``row``. None without repeats."""
    if (EMULATED in row.flags) != (EMULATED in other.flags):
        return None
    known = [one.verdict for one in table.rows if one.verdict is not None]
    margins = [one.equivalence_percent for one in known if one.equivalence_percent is not None]
    verdict = compared(
        repeats_of(row, with_trials=False),
        repeats_of(other, with_trials=False),
        lower_is_better=table.lower_is_better,
        margin_percent=margins[0] if margins else EQUIVALENCE_PERCENT,
    )
    if verdict is None or verdict.p_value is None:
        return None
    q_value = family.q_value(verdict.p_value)
    verdict = _among(verdict, equivalence_factor_of(contenders_of(_tested(table))))
    return decided(_with_reasons(verdict, row, other), q_value)


def _tested(table: DeltaTable) -> int:
    """How many pairs of a table that has its verdicts could be tested."""
    return max((row.verdict.tested or 0 for row in table.rows if row.verdict), default=0)


def repeats_of(row: DeltaRow, *, with_trials: bool = True) -> Repeats:
    """A row as the statistics take it, without samples of a single run."""
    kinds = (REPEATS, TRIALS) if with_trials else (REPEATS,)
    interval = row.interval if row.interval is not None and row.interval.of in kinds else None
    return Repeats(row.score, row.repeat_scores or (), row.study, _rounding(row), interval)


def _rounding(row: DeltaRow) -> float:
    """Of the repeats in the digits that their tool printed, whatever unit they are shown in."""
    if row.printed_score is None or not row.score:
        return rounding_of(row.repeats)
    times = row.printed_score / row.score
    # What converting there and back leaves is no digit.
    return rounding_of([float(f"{value * times:.12g}") for value in row.repeats])


def _families(asked: Sequence[_Asked]) -> list[Family]:
    """The family of each table: of the tests that count, of other tests, of further categories."""
    tables = [one.table for one in asked]
    counted = {id(table) for table in counted_tables(tables)}
    headlines = {id(table) for table in headline_tables(tables)}
    kinds = [(id(table) in counted, id(table) in headlines) for table in tables]
    p_values: dict[tuple[bool, bool], list[float]] = defaultdict(list)
    pairs: dict[tuple[bool, bool], int] = defaultdict(int)
    for kind, one in zip(kinds, asked, strict=True):
        pairs[kind] += one.tested
        p_values[kind] += [
            pair.verdict.candidate_p
            for pair in one.pairs
            if not pair.is_change and pair.verdict.p_value is not None
        ]
    families = {kind: Family(p_values[kind], pairs[kind]) for kind in set(kinds)}
    return [families[kind] for kind in kinds]


def _asked(table: DeltaTable, rule: Rule) -> _Asked:
    pairs = list(_pairs(table, rule))
    tested = {place for pair in pairs if _is_tested(table, pair) for place in pair.places}
    factor = equivalence_factor_of(len(tested))
    return _Asked(
        table,
        [pair._replace(verdict=_among(pair.verdict, factor)) for pair in pairs],
        pairs_of(len(tested)),
    )


def _among(verdict: Verdict, equivalence_factor: int) -> Verdict:
    p = verdict.p_equivalence
    if p is None:
        return verdict
    return verdict._replace(p_equivalence_corrected=min(1.0, p * equivalence_factor))


def _with_verdicts(asked: _Asked, family: Family, rule: Rule) -> DeltaTable:
    table, pairs = asked.table, asked.pairs
    # Holm's p-values are for programs. No baseline changes what is said of the best.
    of_best = [pair for pair in pairs if not pair.is_change]
    adjusted = _holm(pairs, asked.tested) | _holm(of_best, asked.tested)
    against_best: dict[int, Verdict] = {}
    against_baseline: dict[int, Verdict] = {}
    for pair in pairs:
        verdict = pair.verdict
        if verdict.p_value is not None:
            q_value = family.q_value(verdict.p_value)
            verdict = decided(verdict, q_value, adjusted[pair.places], asked.tested)
        if pair.row == pair.behind:
            verdict = verdict.turned()
        (against_baseline if pair.is_change else against_best)[pair.row] = verdict
    verdicts = against_best | _verdicts_of_best(table, against_best, rule)
    return replace(
        table,
        rows=tuple(
            row._replace(verdict=verdicts.get(place), change_verdict=against_baseline.get(place))
            for place, row in enumerate(table.rows)
        ),
    )


def _holm(pairs: Sequence[_Pair], among: int) -> dict[tuple[int, int], float]:
    p_values = {
        pair.places: pair.verdict.p_value for pair in pairs if pair.verdict.p_value is not None
    }
    return dict(zip(p_values, holm(list(p_values.values()), among), strict=True))


def _is_tested(table: DeltaTable, pair: _Pair) -> bool:
    """Whether it was, or would have been had the two not the same score."""
    verdict = pair.verdict
    if verdict.p_value is not None:
        return True
    if verdict.reasons != (SAME_SCORE,):
        return False
    rows = [table.rows[place] for place in pair.places]
    return all(row.interval is not None for row in rows) and not (
        verdict.method != FREENIX and any(map(_is_within_one, rows))
    )


def _pairs(table: DeltaTable, rule: Rule) -> Iterator[_Pair]:
    if not table.is_ranked or len(table.rows) < 2:
        return
    repeats = [repeats_of(row) for row in table.rows]
    order = table.nearest_first
    for behind in order[1:]:
        verdict = _verdict(table, repeats, order[0], behind, rule)
        yield _Pair(order[0], behind, behind, False, _said(table, verdict, order[0]))
    base = next((place for place, row in enumerate(table.rows) if row.is_baseline), None)
    if base is None:
        return
    rank = {place: position for position, place in enumerate(order)}
    for place in order:
        if place != base:
            ahead, behind = sorted((place, base), key=rank.__getitem__)
            verdict = _verdict(table, repeats, ahead, behind, rule)
            yield _Pair(ahead, behind, place, True, _said(table, verdict, base))


def _said(table: DeltaTable, verdict: Verdict, other: int) -> Verdict:
    return verdict._replace(against=(table.rows[other].contender,))


def _verdict(
    table: DeltaTable, repeats: Sequence[Repeats], ahead: int, behind: int, rule: Rule
) -> Verdict:
    """The verdict of one pair alone, stated for the one that is ahead."""
    first, second = table.rows[ahead], table.rows[behind]
    margin = rule.margin_percent
    is_freenix = rule.name == FREENIX or "published" in (first.origin, second.origin)
    method = FREENIX if is_freenix else UNPAIRED
    if (EMULATED in first.flags) != (EMULATED in second.flags):
        return Verdict(UNKNOWN, (EMULATED,), margin_percent=margin, method=method)
    if not is_freenix:
        verdict = compared(
            repeats[ahead],
            repeats[behind],
            lower_is_better=table.lower_is_better,
            margin_percent=rule.equivalence_percent,
        )
        if verdict is not None:
            verdict = _with_reasons(verdict, first, second)
            if (verdict.ratio or 1.0) < 1 and not is_same(first.score, second.score):
                verdict = verdict._replace(reasons=(ORDER, *verdict.reasons))
            return verdict._replace(margin_percent=margin)
    if is_same(first.score, second.score):
        return Verdict(TIE, (SAME_SCORE,), 0.0, margin_percent=margin, method=method)
    of_first, of_second = (
        row.interval if is_freenix or not _is_within_one(row) else None for row in (first, second)
    )
    if of_first is None or of_second is None:
        sides = ((first, of_first), (second, of_second))
        why = dict.fromkeys(_why_missing(row) for row, interval in sides if interval is None)
        return Verdict(UNKNOWN, tuple(why), margin_percent=margin, method=method)
    return freenix.compare(
        of_first, of_second, margin_percent=margin, lower_is_better=table.lower_is_better
    )


def _with_reasons(verdict: Verdict, first: DeltaRow, second: DeltaRow) -> Verdict:
    """With what takes a difference back: the ticks of a timer."""
    reasons = verdict.reasons
    if NO_SCATTER in reasons and any(TICKS in row.flags for row in (first, second)):
        # That nothing scatters is the timer's doing: a tick more or less may be the difference.
        return verdict._replace(reasons=(TICKS, *reasons))
    return verdict


def _is_within_one(row: DeltaRow) -> bool:
    """Whether its scatter is that of the samples of a run, which tell nothing of the next run."""
    return row.interval is not None and row.interval.of == SAMPLES


def _why_missing(row: DeltaRow) -> str:
    if row.origin == "published":
        return PUBLISHED
    if _is_within_one(row):
        return SAMPLES
    return ONE_RUN if row.runs == 1 else NO_INTERVAL


def _verdicts_of_best(
    table: DeltaTable, against_best: Mapping[int, Verdict], rule: Rule
) -> dict[int, Verdict]:
    """The verdict of each best row against all others: the weakest that it has of any.

    Only the first of several best rows is in a pair with each other row. What was found of the
    rest against it holds for every best row, so thousands that tie are combined once.
    """
    if not against_best:
        return {}
    first, *others = table.nearest_first
    statuses = {verdict.status for verdict in against_best.values()}
    status = next((one for one in (TIE, UNKNOWN, EQUAL) if one in statuses), SIGNIFICANT)
    weakest = [place for place in others if against_best[place].status == status]
    names = tuple(table.rows[place].contender for place in weakest)
    positions = {place: position for position, place in enumerate(weakest)}
    combined: dict[object, Verdict] = {}
    found: dict[int, Verdict] = {}
    for best in table.nearest_first[: sum(row.best for row in table.rows)]:
        against, verdicts = names, list[Verdict]()
        key: object = None
        if best in positions:
            own, position = against_best[best], positions[best]
            against = (table.rows[first].contender, *names[:position], *names[position + 1 :])
            verdicts = [own.turned()]
            key = (own.reasons, own.tested, own.equivalence_percent)
            key = best if status == SIGNIFICANT else key
        if key not in combined:
            verdicts += [against_best[place] for place in weakest if place != best]
            combined[key] = _combined_verdict(status, verdicts, rule)
        found[best] = combined[key]._replace(against=against)
    return found


def _combined_verdict(status: str, verdicts: Sequence[Verdict], rule: Rule) -> Verdict:
    """One verdict of a best row and others, with what it takes to decide them all."""
    if len(verdicts) == 1:
        return verdicts[0].turned()
    if status == SIGNIFICANT:  # against each of the others as well as in the closest call
        closest = max(verdicts, key=lambda verdict: verdict.q_value or 0.0)
        return closest.turned()._replace(reasons=_reasons(verdicts))
    methods = {verdict.method for verdict in verdicts}
    more_blocks = [verdict.more_blocks for verdict in verdicts]
    outlooks = {verdict.outlook for verdict in verdicts}
    return Verdict(
        status,
        _reasons(verdicts),
        margin_percent=rule.margin_percent,
        tested=next((verdict.tested for verdict in verdicts if verdict.tested is not None), None),
        method=methods.pop() if len(methods) == 1 else UNPAIRED,
        equivalence_percent=verdicts[0].equivalence_percent,
        more_blocks=None
        if None in more_blocks
        else max(count for count in more_blocks if count is not None),
        outlook=next(
            (worst for worst in (TOO_NOISY, TIED, MORE_REPEATS) if worst in outlooks), None
        ),
    )


def _reasons(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Those of all together, each once. That nothing scattered is said where none did."""
    reasons = dict.fromkeys(why for verdict in verdicts for why in verdict.reasons)
    if not all(NO_SCATTER in verdict.reasons for verdict in verdicts):
        reasons.pop(NO_SCATTER, None)
    return tuple(reasons)
