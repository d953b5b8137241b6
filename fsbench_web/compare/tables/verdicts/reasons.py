"""Why a verdict is what it is, and by which rule a table was judged, in sentences. Pure."""

from collections.abc import Iterable, Iterator

from fsbench_web.compare.tables.verdicts.uncertainty import (
    blocks_wanted,
    contenders_in,
    effect,
    percents,
    probability,
    what_would_decide,
)
from fsbench_web.core import numbers
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.stats import verdicts
from fsbench_web.core.stats.freenix import MARGIN, OVERLAP
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS
from fsbench_web.core.stats.verdicts import (
    EQUAL,
    EQUIVALENCE_PERCENT,
    FREENIX,
    LEAST_BLOCKS,
    SIGNIFICANT,
    UNKNOWN,
    UNPAIRED,
    Verdict,
)

NO_SCATTER = "All repeats of each side were equal, so there was no scatter to judge by."
_MISSING = {
    verdicts.EMULATED: "one of them was emulated",
    verdicts.ONE_RUN: "one run has no scatter",
    verdicts.PUBLISHED: "published without single repeats",
    verdicts.NO_INTERVAL: "the scatter of the repeats was not kept",
    SAMPLES: "samples of one run do not tell the next run",
}
_SENTENCES = {
    verdicts.SAME_SCORE: "The scores are the same.",
    verdicts.ORDER: "The means of the repeats rank the two the other way.",
    verdicts.SCATTER: "The scatter is too large to tell them apart.",
    verdicts.ROUNDED: "Rounding to the last digit may be the whole difference.",
    verdicts.TICKS: "The timer is too coarse: longer runs can decide, more runs cannot.",
    OVERLAP: "The 95% intervals overlap.",
    verdicts.NO_SCATTER: NO_SCATTER,
    verdicts.OF_MEANS: "Ratio and interval are of the means of the repeats, not of the scores.",
    TRIALS: "An interval is of the trials of one run. It lacks what differs from run to run.",
    SAMPLES: "An interval is of the samples of one run. It lacks what differs from run to run.",
    **{code: f"Not known: {words}." for code, words in _MISSING.items() if code != SAMPLES},
}


def rule(tables: Iterable[DeltaTable]) -> str:
    """By what the tables were judged."""
    found = [row.verdict for table in tables for row in table.rows if row.verdict]
    parts = []
    by_freenix = [verdict for verdict in found if verdict.method == FREENIX]
    if by_freenix:
        parts.append(
            "Significant: the 95% intervals are apart and the means differ by at least "
            f"{by_freenix[0].margin_percent:g}% (the rule of FREENIX 2002)."
        )
    of_ratios = [verdict for verdict in found if verdict.method != FREENIX]
    if of_ratios:
        margins = (one.equivalence_percent for one in of_ratios if one.equivalence_percent)
        parts.append(
            f"Equivalent: they differ by less than {next(margins, EQUIVALENCE_PERCENT):g}%."
        )
    if any(verdict.q_value is not None for verdict in found):
        parts.append(
            "The false discovery rate of all differences marked is 5%: about one in twenty of them "
            "may be chance."
        )
    return " ".join(parts)


def reason_sentences(verdict: Verdict) -> str:
    """What was found, the reasons, and what would decide it, as sentences."""
    return " ".join(_sentences(verdict))


def _sentences(verdict: Verdict) -> Iterator[str]:
    if size := effect(verdict):
        is_one = len(verdict.against) == 1
        yield f"{f'Against {verdict.against[0]}' if is_one else 'The closest call'}: {size} (95%)."
    if verdict.status == SIGNIFICANT and verdict.method == FREENIX:
        yield _significant(verdict)
    if verdict.status == EQUAL and verdict.p_equivalence_corrected is not None:
        p_value = probability(verdict.p_equivalence_corrected)
        yield f"They differ by less than {verdict.equivalence_percent:g}% (p is {p_value})."
    if verdict.status == SIGNIFICANT and (among := _among_all(verdict)):
        yield f"{among}."
    for reason in verdict.reasons:
        yield from _reason(verdict, reason)
    if verdict.method == UNPAIRED and verdict.p_value is not None:
        shared = {0: "no block", 1: "one block"}.get(
            verdict.blocks or 0, f"{verdict.blocks} blocks"
        )
        yield f"They share {shared}; pairing needs {LEAST_BLOCKS}."
    if needed := blocks_wanted(verdict):
        yield (
            f"{verdict.blocks} blocks are few for {contenders_in(verdict)} contenders: a few slow "
            f"runs can make this difference. Measure {needed} blocks."
        )
    if sentence := what_would_decide(verdict):
        yield sentence


def _reason(verdict: Verdict, reason: str) -> Iterator[str]:
    if reason == MARGIN:
        yield _margin(verdict)
    elif reason in (verdicts.MANY, "holm"):  # "holm": of permalinks of before
        among = _among_all(verdict) or "p is above 0.05"
        yield f"Significant alone, but not among all pairs shown: {among}."
    elif reason == SAMPLES and verdict.status == UNKNOWN:
        yield f"Not known: {_MISSING[SAMPLES]}."
    elif reason in _SENTENCES:
        yield _SENTENCES[reason]


def _among_all(verdict: Verdict) -> str:
    """The corrected probability; of a permalink of before it is Holm's."""
    if verdict.q_value is not None:
        return f"the false discovery rate is {probability(verdict.q_value)}"
    if verdict.p_holm is not None:
        return f"p is {probability(verdict.p_holm)} by Holm's correction"
    return ""


def missing_words(verdict: Verdict) -> str:
    """What is missing to know more, as a phrase."""
    return "; ".join(_MISSING[reason] for reason in verdict.reasons if reason in _MISSING)


def _significant(verdict: Verdict) -> str:
    difference = ""
    if verdict.difference_percent is not None:
        difference = f" by {percents(verdict.difference_percent)}"
    return f"The 95% intervals are apart, and the means differ{difference}."


def _margin(verdict: Verdict) -> str:
    than = f"less than the rule's {verdict.margin_percent:g}%"
    if verdict.difference_percent is None:
        return f"The means differ by {than}."
    difference = _percents_below(verdict.difference_percent, verdict.margin_percent)
    return f"The means differ by {difference}, {than}."


def _percents_below(value: float, limit: float) -> str:
    """``percents`` of what is less than a limit, with as many decimals as it takes to read so."""
    if value < limit:
        for decimals in (2, 3, 5, 10):
            text = numbers.number(value, decimals)
            if float(text.replace(",", "")) < limit:
                return percents(value) if decimals == 2 else f"{text}%"
    return percents(value)
