"""Verdicts in words, why they are so, and by which rule a table was judged. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from fsbench_web.core import numbers
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.numbers import probability
from fsbench_web.core.stats import verdicts
from fsbench_web.core.stats.freenix import MARGIN, OVERLAP
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS
from fsbench_web.core.stats.verdicts import (
    EQUAL,
    EQUIVALENCE_PERCENT,
    FREENIX,
    LEAST_BLOCKS,
    PAIRED,
    SIGNIFICANT,
    TIE,
    UNKNOWN,
    UNPAIRED,
    Verdict,
    contenders_of,
    least_blocks,
    outlook_words,
)

NAMED_AT_MOST = 3
NOT_KNOWN = "not known"
SAME_SCORE = "same score"
_OPEN = {EQUAL: "equivalent", TIE: "inconclusive", UNKNOWN: NOT_KNOWN}
_METHODS = {PAIRED: "paired", UNPAIRED: "unpaired", FREENIX: "FREENIX rule"}
_PREPOSITIONS = {EQUAL: "to", TIE: "against", UNKNOWN: "against"}


def verdict_words(row: DeltaRow) -> str:
    """The verdict of a row in a few words; empty where there is nothing to stand against."""
    verdict = row.verdict
    if verdict is None:
        return ""
    words = _words(verdict, "faster" if row.best else "slower")
    if verdict.status == SIGNIFICANT or not row.best or not verdict.against:
        return words
    preposition = "as" if _is_same_score(verdict) else _PREPOSITIONS[verdict.status]
    return f"{words} {preposition} {names_in_words(verdict.against)}"


def change_standing(row: DeltaRow) -> str:
    """The same of a row against the baseline."""
    different = "faster" if (row.change_percent or 0) > 0 else "slower"
    return "" if row.change_verdict is None else _words(row.change_verdict, different)


def verdict_with_effect(row: DeltaRow) -> str:
    """The same with how large the difference is, where there is room for it."""
    words, verdict = verdict_words(row), row.verdict
    if verdict is None or _is_same_score(verdict):
        return words
    if verdict.status == UNKNOWN:
        return NOT_KNOWN
    if verdict.status == SIGNIFICANT:
        size = effect(verdict)
        return size + _qualifiers(verdict) if size else words
    return f"{words}, {basis_words(verdict)}"


def pair_verdict(verdict: Verdict | None) -> str:
    """The verdict of two in a word, and what it rests on: ``faster, paired in 5 blocks``."""
    if verdict is None or verdict.status == UNKNOWN:
        return NOT_KNOWN
    if _is_same_score(verdict):
        return SAME_SCORE
    word = _OPEN.get(verdict.status, "faster")
    return f"{word}, {basis_words(verdict)}{_qualifiers(verdict)}"


def verdict_over_others(lead: Verdict) -> str:
    """What a lead over one is not over all: ``inconclusive against 2 others``."""
    others = f"{len(lead.against)} other{'' if len(lead.against) == 1 else 's'}"
    return f"{_OPEN[lead.status]} {_PREPOSITIONS[lead.status]} {others}"


def interval_of(verdict: Verdict | None) -> str:
    """``\u22123.0% to +8.1%``, of 95%; "" where no ratio was judged."""
    if verdict is None or verdict.ratio_low is None or verdict.ratio_high is None:
        return ""
    return f"{signed_percent(verdict.ratio_low)} to {signed_percent(verdict.ratio_high)}"


def signed_percent(ratio: float) -> str:
    """By how much a ratio of speeds is more or less than one: ``+8.1%``, ``\u22123.0%``, ``0%``."""
    text = tenths(100 * (ratio - 1))
    return f"{'+' if ratio > 1 and text != '0' else ''}{text}%"


def _words(verdict: Verdict, different: str) -> str:
    """*Faster* or *slower* with what it rests on, *equivalent*, *inconclusive* or *not known*."""
    if _is_same_score(verdict):
        return SAME_SCORE
    if verdict.status != SIGNIFICANT:
        return _OPEN[verdict.status]
    few = ", few rounds" if blocks_wanted(verdict) else ""
    return f"{different}, {_METHODS[verdict.method]}{few}{_qualifiers(verdict)}"


def _is_same_score(verdict: Verdict) -> bool:
    """Whether the two have just the same score, and nothing else is known of them."""
    return verdict.reasons == (verdicts.SAME_SCORE,)


def effect(verdict: Verdict) -> str:
    """``6.1% faster, 4.8 to 7.3%, paired in 5 blocks``; "" where no ratio was judged."""
    size = size_words(verdict)
    return f"{size}, {basis_words(verdict)}" if size else ""


def size_words(verdict: Verdict) -> str:
    """The same without what it rests on."""
    ratio, low, high = verdict.ratio, verdict.ratio_low, verdict.ratio_high
    if ratio is None or low is None or high is None:
        return ""
    ends, word = (ratio - 1, low - 1, high - 1), "faster"
    if ratio < 1:
        ends, word = (1 - ratio, 1 - high, 1 - low), "slower"
    percent, lowest, highest = (tenths(100 * end) for end in ends)
    return f"{percent}% {word}, {lowest} to {highest}%"


def basis_words(verdict: Verdict) -> str:
    """``paired in 5 blocks``, ``unpaired``; also that blocks are few, or that it is of means."""
    text = _METHODS[verdict.method]
    if verdict.method == PAIRED and verdict.blocks is not None:  # None: against several at once
        text += f" in {verdict.blocks} rounds"
    if blocks_wanted(verdict):
        text += f", few for {contenders_in(verdict)} entries"
    return text + ", of the means of repeats" * (verdicts.OF_MEANS in verdict.reasons)


def blocks_wanted(verdict: Verdict) -> int:
    """How many blocks a difference among so many entries needs; 0 where it has enough."""
    if verdict.status != SIGNIFICANT or verdict.blocks is None or verdict.method != PAIRED:
        return 0
    needed = least_blocks(contenders_in(verdict))
    return needed if verdict.blocks < needed else 0


def contenders_in(verdict: Verdict) -> int:
    """How many contenders were tested together."""
    return contenders_of(verdict.tested or 1)


def what_would_decide(verdict: Verdict) -> str:
    """What would decide an inconclusive verdict, a sentence; "" where nothing is known of it."""
    if verdict.method == FREENIX or not verdict.is_inconclusive:
        return ""
    if {verdicts.SAME_SCORE, verdicts.TICKS, verdicts.ORDER} & set(verdict.reasons):
        return ""  # nothing was tested, or could be; or it is decided, and not as the scores stand
    if verdict.status == UNKNOWN:
        if {verdicts.EMULATED, verdicts.PUBLISHED} & set(verdict.reasons):
            return ""
        return f"Measure both in at least {LEAST_BLOCKS} shared rounds."
    noun = "more round" if verdict.method == PAIRED else "shared round"
    return outlook_words(verdict.outlook, verdict.more_blocks, noun)


def tenths(percent: float) -> str:
    """One decimal and a minus sign; more decimals near 0 and 100, none from a thousand on."""
    size = abs(percent)
    if size < 0.001:
        return "0"
    text = numbers.percent_size(size, 1 if size < 1000 else 0) if size < 1e9 else f"{size:.2e}"
    return f"\u2212{text}" if percent < 0 else text


def _qualifiers(verdict: Verdict) -> str:
    """What a verdict is to be taken with: no scatter at all, or none but that within a run."""
    still = ", no scatter" * (verdicts.NO_SCATTER in verdict.reasons)
    is_within = verdict.status == SIGNIFICANT and verdict.method != FREENIX
    return still + ", within one run" * (is_within and TRIALS in verdict.reasons)


def has_standing(table: DeltaTable) -> bool:
    """Whether any row has a verdict, or a reason why its interval gives none."""
    return any(
        row.verdict and (row.verdict.status != verdicts.UNKNOWN or SAMPLES in row.verdict.reasons)
        for row in table.rows
    )


def has_change_standing(table: DeltaTable) -> bool:
    return any(
        row.change_verdict and row.change_verdict.status != verdicts.UNKNOWN for row in table.rows
    )


def names_in_words(names: Sequence[str], max_names: int = NAMED_AT_MOST) -> str:
    """``a``, ``a and b``, ``a, b, c and 4 others``."""
    if len(names) == 1:
        return names[0]
    if len(names) > max_names:
        others = len(names) - max_names
        return f"{', '.join(names[:max_names])} and {others} other{'s' if others > 1 else ''}"
    return f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def percents(value: float) -> str:
    """``12.34%``; two decimals, as in the tables, and no difference shown as none."""
    if 0 < value < 0.005:
        return "less than 0.01%"
    return numbers.with_minus(f"{numbers.percent(value)}%")


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
    verdicts.ORDER: "The means of the repeats rank them the other way.",
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
        shared = {0: "no round", 1: "one round"}.get(
            verdict.blocks or 0, f"{verdict.blocks} rounds"
        )
        yield f"They share {shared}; pairing needs {LEAST_BLOCKS}."
    if needed := blocks_wanted(verdict):
        yield (
            f"{verdict.blocks} rounds are few for {contenders_in(verdict)} entries: a few slow "
            f"runs can make this difference. Measure {needed} rounds."
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
