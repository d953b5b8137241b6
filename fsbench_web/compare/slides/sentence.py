"""The sentence of a slide until somebody writes another: what its table says. Pure."""

from fsbench_web.compare.answer_shown import NO_CLEAR_WINNER
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.tables.verdicts.significance import is_ranked, nearest_first
from fsbench_web.core import numbers, readable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.significance import EQUIVALENT, FREENIX, SIGNIFICANT, TIE

LONGEST = 200
NO_WINNER = f"{NO_CLEAR_WINNER.lower()}: the best score is of "


def sentence(table: DeltaTable) -> str:
    """Who is ahead of whom by how much, and how sure that is."""
    rows = [table.rows[place] for place in nearest_first(table)]
    title = testnames.label(table.test)
    if table.category != categories.MEAN:
        title += f", {table.category_in_sentence}"
    if not rows:
        return f"{title}: nothing measured"
    if len(rows) == 1 or not is_ranked(table):
        return f"{title}: {rows[0].contender} {_score(table, rows[0])}"
    best = [row for row in rows if row.best]
    if len(best) > 1:
        names = uncertainty.names_in_words([row.contender for row in best])
        return f"{title}: {names} share the best score"
    return f"{title}: {_comparison_words(rows[0], rows[1])}"


def _comparison_words(best: DeltaRow, second: DeltaRow) -> str:
    leader, verdict = best.contender, second.verdict
    if verdict is not None and verdict.status == EQUIVALENT:
        return f"{leader} and {second.contender} are equivalent"
    if verdict is not None and verdict.status == SIGNIFICANT:
        # What the second is told against the best, turned round.
        effect = uncertainty.size_words(verdict.turned())
        few = f"{verdict.blocks} blocks, few for {uncertainty.contenders_in(verdict)} contenders"
        few = few if uncertainty.blocks_wanted(verdict) else ""
        if "% faster, " not in effect:
            faster = f"{leader} is {_faster_by(second)}faster than {second.contender}"
            return f"{faster} ({few})" if few else faster
        words = effect.replace("% faster, ", f"% faster than {second.contender} (")
        return f"{leader} is {words}{f'; {few}' if few else ''})"
    if verdict is not None and verdict.is_inconclusive and verdict.ratio is not None:
        return f"{NO_WINNER}{leader}; whether it is faster than {second.contender} is open"
    faster = _faster_by(second)
    by = f", {faster}before {second.contender}" if faster else ""
    if verdict is not None and verdict.method == FREENIX and verdict.status == TIE:
        return f"{NO_WINNER}{leader}{by}; a tie with {second.contender}, not significant"
    return f"{NO_WINNER}{leader}{by}; whether by more than chance is not known"


def _faster_by(second: DeltaRow) -> str:
    """By how much the best is faster, before the word: "12.7% "; "" where that is not defined."""
    if second.delta2_percent is None:
        return ""
    return f"{readable.percent(-second.delta2_percent).lstrip('+')}% "


def _score(table: DeltaTable, row: DeltaRow) -> str:
    if table.has_published_rows:
        return numbers.with_unit(row.score, table.unit)
    half_width = row.interval.half_width if row.interval else None
    unit = "" if table.unit == "score" else f" {table.scale.unit}"
    return f"{table.scale.amount(row.score, half_width)}{unit}"
