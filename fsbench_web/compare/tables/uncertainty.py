"""Intervals and verdicts in words, as they stand in tables, captions and findings. Pure."""

from collections.abc import Sequence

from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core import numbers
from fsbench_web.core.scoring import significance
from fsbench_web.core.scoring.confidence import SAMPLES, Interval
from fsbench_web.core.scoring.significance import FALSE_ALARM, SIGNIFICANT, TIE, Verdict

NAMED_AT_MOST = 3
NOT_KNOWN = "not known"
NO_SCATTER = "Each side came out the same every time: there was no scatter to judge by."


def half_width(found: Interval, unit: str) -> str:
    """``± 2.48%``, or in the unit where the mean is zero."""
    relative = found.relative_percent
    if relative is None:
        return f"± {numbers.with_unit(found.half_width, unit)}"
    return numbers.half_width(relative)


def interval_sentence(found: Interval, unit: str) -> str:
    """What the interval is, around what, and of what."""
    said = (
        f"95% interval {_ends(found, unit)}, around {numbers.with_unit(found.mean, unit)}, the mean"
    )
    if found.of != SAMPLES:
        return f"{said} of the scores of {found.count} repeats, each scored by itself."
    said += f" of {found.count} interval samples of one run, taken as quasi-independent"
    if found.autocorrelation is None:
        return f"{said}; they are all the same."
    said += f"; neighbouring samples correlate by {numbers.number(found.autocorrelation)} (lag 1)"
    if found.follows:
        return f"{said}, more than chance would have it: the interval is too narrow."
    return f"{said}."


def standing(row: DeltaRow) -> str:
    """The verdict of a row in a few words; empty where there is nothing to stand against."""
    verdict = row.verdict
    if verdict is None:
        return ""
    if verdict.status == TIE:
        return f"tie with {named(verdict.against)}"
    if verdict.status == SIGNIFICANT:
        said = "significantly ahead" if row.best else "significantly slower"
        return f"{said}{_no_scatter(verdict)}"
    return NOT_KNOWN


def change_standing(row: DeltaRow) -> str:
    """The same of a row against the baseline."""
    verdict = row.change_verdict
    if verdict is None:
        return ""
    if verdict.status == SIGNIFICANT:
        return f"significant{_no_scatter(verdict)}"
    return "tie" if verdict.status == TIE else NOT_KNOWN


def _no_scatter(verdict: Verdict) -> str:
    return ", no scatter" if significance.NO_SCATTER in verdict.reasons else ""


def has_standing(table: DeltaTable) -> bool:
    """Whether the table can say of any row whether its difference is more than chance."""
    return any(row.verdict and row.verdict.status != significance.UNKNOWN for row in table.rows)


def has_change_standing(table: DeltaTable) -> bool:
    """The same of any change against the baseline."""
    return any(
        row.change_verdict and row.change_verdict.status != significance.UNKNOWN
        for row in table.rows
    )


def why(verdict: Verdict) -> str:
    """The reasons of a verdict as sentences."""
    said = [_SENTENCES[reason](verdict) for reason in verdict.reasons if reason in _SENTENCES]
    if verdict.status == SIGNIFICANT:
        said.insert(0, _significant(verdict))
    return " ".join(said)


def nothing_to_judge_by(verdict: Verdict) -> str:
    """The sentence for a verdict that rests on no scatter at all; empty for any other."""
    return NO_SCATTER if significance.NO_SCATTER in verdict.reasons else ""


def missing(verdict: Verdict) -> str:
    """What is missing to know more, as a phrase."""
    return "; ".join(_MISSING[reason] for reason in verdict.reasons if reason in _MISSING)


def named(names: Sequence[str], most: int = NAMED_AT_MOST) -> str:
    """``a``, ``a and b``, ``a, b, c and 4 others``."""
    if len(names) == 1:
        return names[0]
    if len(names) > most:
        others = len(names) - most
        return f"{', '.join(names[:most])} and {others} other{'s' if others > 1 else ''}"
    return f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def probability(p: float) -> str:
    """A p-value, wherever one is written: two significant digits, and no zero.

    ``0.034``, ``below 0.0001``. More where two would not stand on the side of 0.05 where the number
    does: ``0.0501``, ``0.0497``. The command line writes them alike (client/fsbench/terminal.py).
    """
    if p < 0.0001:
        return "below 0.0001"
    texts = (f"{p:.{digits}g}" for digits in (2, 3, 5, 17))
    return next(text for text in texts if _side(float(text)) == _side(p))


def _side(p: float) -> int:
    """Below, at or above the limit."""
    return (p > FALSE_ALARM) - (p < FALSE_ALARM)


def percents(value: float) -> str:
    """``12.34%``; two decimals, as in the tables, and no difference shown as none."""
    if 0 < value < 0.005:
        return "less than 0.01%"
    return f"{numbers.percent(value)}%"


def _ends(found: Interval, unit: str) -> str:
    return numbers.span(found.low, found.high, unit)


def _margin(verdict: Verdict) -> str:
    than = f"less than the {verdict.margin_percent:g}% of the rule"
    if verdict.difference_percent is None:
        return f"Means differ by {than}."
    return (
        f"The means differ by {_less(verdict.difference_percent, verdict.margin_percent)}, {than}."
    )


def _less(value: float, limit: float) -> str:
    """``percents`` of what is less than a limit, with as many decimals as it takes to read so."""
    if value < limit:
        for decimals in (2, 3, 5, 10):
            text = numbers.number(value, decimals)
            if float(text.replace(",", "")) < limit:
                return percents(value) if decimals == 2 else f"{text}%"
    return percents(value)


def _holm(verdict: Verdict) -> str:
    if verdict.p_value is None or verdict.p_holm is None:
        return f"Among the {verdict.tested} pairs tested at once, p is above 0.05 (Holm)."
    return (
        f"Among the {verdict.tested} pairs tested at once p is {probability(verdict.p_holm)} by "
        f"Holm's correction, above 0.05; by itself it would be {probability(verdict.p_value)}."
    )


def _significant(verdict: Verdict) -> str:
    apart = (
        ""
        if verdict.difference_percent is None
        else f" by {percents(verdict.difference_percent)}, at least the {verdict.margin_percent:g}%"
        " of the rule"
    )
    tested = ""
    if verdict.p_holm is not None:
        tested = f", and p is {probability(verdict.p_holm)}"
        if verdict.tested and verdict.tested > 1:
            tested += f" by Holm's correction over the {verdict.tested} pairs tested at once"
    return f"The 95% intervals do not overlap, the means differ{apart}{tested}."


_MISSING = {
    significance.EMULATED: "one of them was emulated, and its speed is that of nothing",
    significance.ONE_RUN: "a single run tells nothing of its scatter",
    significance.PUBLISHED: "published without the single repeats",
    significance.NO_INTERVAL: "nothing was kept of the scatter of the repeats",
}
_SENTENCES = {
    significance.EQUAL: lambda _: "The scores are the same.",
    significance.ORDER: lambda _: "The means of the repeats do not put the better score ahead.",
    significance.OVERLAP: lambda _: "The 95% intervals overlap.",
    significance.MARGIN: _margin,
    significance.HOLM: _holm,
    **{
        reason: lambda _, words=words: f"Not known: {words}."  # type: ignore[misc]
        for reason, words in _MISSING.items()
    },
    significance.NO_SCATTER: lambda _: NO_SCATTER,
    SAMPLES: lambda _: "An interval is of samples of a single run, taken as quasi-independent.",
}
