"""Verdicts in words, as they stand in tables, captions and findings. Pure."""

from collections.abc import Sequence

from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core import numbers
from fsbench_web.core.stats import verdicts
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS
from fsbench_web.core.stats.verdicts import (
    EFFECTIVELY_TIED,
    EQUAL,
    FALSE_ALARM,
    FREENIX,
    LEAST_BLOCKS,
    PAIRED,
    SIGNIFICANT,
    TIE,
    UNKNOWN,
    Verdict,
    contenders_of,
    least_blocks,
)

NAMED_AT_MOST = 3
NOT_KNOWN = "not known"
EQUIVALENT_WORD, INCONCLUSIVE = "equivalent", "inconclusive"
SAME_SCORE = "same score"
_OPEN = {EQUAL: EQUIVALENT_WORD, TIE: INCONCLUSIVE, UNKNOWN: NOT_KNOWN}
"""What is said of who is not told to be faster."""


def verdict_words(row: DeltaRow) -> str:
    """The verdict of a row in a few words; empty where there is nothing to stand against."""
    verdict = row.verdict
    if verdict is None:
        return ""
    if verdict.method != FREENIX:
        return _word(verdict, "faster" if row.best else "slower", names_others=row.best)
    if verdict.status == TIE:
        return f"tie with {names_in_words(verdict.against)}"
    if verdict.status == SIGNIFICANT:
        text = "significantly ahead" if row.best else "significantly slower"
        return f"{text}{_qualifiers(verdict)}"
    return NOT_KNOWN


def verdict_with_effect(row: DeltaRow) -> str:
    """The same with how large the difference is, where there is room for it."""
    verdict = row.verdict
    if verdict is None or verdict.method == FREENIX:
        return verdict_words(row)
    if verdict.status == UNKNOWN:
        return NOT_KNOWN
    if _is_same_score(verdict):
        return verdict_words(row)
    size = effect(verdict)
    if verdict.status == SIGNIFICANT and size:
        return size + _qualifiers(verdict)
    return f"{verdict_words(row)}, {basis_words(verdict)}"


def pair_verdict(verdict: Verdict | None) -> str:
    """The verdict of two in a word, and what it rests on: ``faster, paired in 5 blocks``."""
    if verdict is None:
        return NOT_KNOWN
    if verdict.method == FREENIX:
        words = {TIE: "tie", SIGNIFICANT: "significantly ahead"}
        return words.get(verdict.status, NOT_KNOWN) + _qualifiers(verdict)
    if verdict.status == UNKNOWN:
        return NOT_KNOWN
    if _is_same_score(verdict):
        return SAME_SCORE
    word = EQUIVALENT_WORD if verdict.status == EQUAL else INCONCLUSIVE
    word = "faster" if verdict.status == SIGNIFICANT else word
    return f"{word}, {basis_words(verdict)}{_qualifiers(verdict)}"


def verdict_over_others(lead: Verdict) -> str:
    """What a lead over one is not over all: ``inconclusive against 2 others``."""
    others = f"{len(lead.against)} other{'' if len(lead.against) == 1 else 's'}"
    if lead.status == EQUAL:
        return f"{EQUIVALENT_WORD} to {others}"
    if lead.method == FREENIX and lead.status == TIE:
        return f"tie with {others}"
    return f"{NOT_KNOWN if lead.status == UNKNOWN else INCONCLUSIVE} against {others}"


def interval_of(verdict: Verdict | None) -> str:
    """``\u22123.0% to +8.1%``, of 95%; "" where no ratio was judged."""
    if verdict is None or verdict.ratio_low is None or verdict.ratio_high is None:
        return ""
    return f"{signed_percent(verdict.ratio_low)} to {signed_percent(verdict.ratio_high)}"


def signed_percent(ratio: float) -> str:
    """By how much a ratio of speeds is more or less than one: ``+8.1%``, ``\u22123.0%``, ``0%``."""
    text = tenths(100 * (ratio - 1))
    return f"{'+' if ratio > 1 and text != '0' else ''}{text}%"


def change_standing(row: DeltaRow) -> str:
    """The same of a row against the baseline."""
    verdict = row.change_verdict
    if verdict is None:
        return ""
    if verdict.method != FREENIX:
        return _word(verdict, "faster" if (verdict.ratio or 0) > 1 else "slower")
    if verdict.status == SIGNIFICANT:
        return f"significant{_qualifiers(verdict)}"
    return "tie" if verdict.status == TIE else NOT_KNOWN


def _word(verdict: Verdict, different: str, *, names_others: bool = False) -> str:
    """One of the three words: *faster* (or slower), *equivalent*, *inconclusive*."""
    if verdict.status == SIGNIFICANT:
        few = ", few blocks" if blocks_wanted(verdict) else ""
        return f"{different}, {verdict.method}{few}{_qualifiers(verdict)}"
    is_same = _is_same_score(verdict)
    word = SAME_SCORE if is_same else _OPEN[verdict.status]
    if not names_others or not verdict.against:
        return word
    preposition = "as" if is_same else "to" if verdict.status == EQUAL else "against"
    return f"{word} {preposition} {names_in_words(verdict.against)}"


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
    """``paired in 5 blocks``, ``paired`` against several, ``unpaired``; of a difference among many
    also that its blocks are few: ``paired in 3 blocks, few for 8 contenders``.
    """
    if verdict.method != PAIRED:
        return "unpaired"
    if verdict.blocks is None:  # against several at once: each pair has its own blocks
        return "paired"
    few = f", few for {contenders_in(verdict)} contenders" if blocks_wanted(verdict) else ""
    return f"paired in {verdict.blocks} blocks{few}"


def blocks_wanted(verdict: Verdict) -> int:
    """How many blocks a difference among so many contenders takes, where it has fewer: with these
    it may be chance where runs are now and then of another speed. 0 where it has enough.
    """
    if verdict.status != SIGNIFICANT or verdict.blocks is None or verdict.method != PAIRED:
        return 0
    needed = least_blocks(contenders_in(verdict))
    return needed if verdict.blocks < needed else 0


def contenders_in(verdict: Verdict) -> int:
    """Whose pairs were tested together."""
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
        return f"Measure both in at least {LEAST_BLOCKS} shared blocks."
    if verdict.more_blocks is None:
        return EFFECTIVELY_TIED
    shared = "more" if verdict.method == PAIRED else "shared"
    plural = "" if verdict.more_blocks == 1 else "s"
    return f"About {verdict.more_blocks} {shared} block{plural} would decide."


def tenths(percent: float) -> str:
    """With one decimal and a minus sign; with more where none of it would be left, or it would be
    100 and is not, and with none from a thousand on.
    """
    size = abs(percent)
    if size < 0.001:
        return "0"
    text = numbers.percent_size(size, 1 if size < 1000 else 0) if size < 1e9 else f"{size:.2e}"
    return f"\u2212{text}" if percent < 0 else text


def _qualifiers(verdict: Verdict) -> str:
    """What a difference is to be taken with: no scatter at all, or none but that within a run."""
    still = ", no scatter" if verdicts.NO_SCATTER in verdict.reasons else ""
    is_within = verdict.status == SIGNIFICANT and verdict.method != FREENIX
    return still + ", within one run" * (is_within and TRIALS in verdict.reasons)


def has_standing(table: DeltaTable) -> bool:
    """Whether the table can say of any row whether its difference is more than chance, or why an
    interval that stands beside a score does not tell.
    """
    return any(
        row.verdict and (row.verdict.status != verdicts.UNKNOWN or SAMPLES in row.verdict.reasons)
        for row in table.rows
    )


def has_change_standing(table: DeltaTable) -> bool:
    """The same of any change against the baseline."""
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
    return numbers.with_minus(f"{numbers.percent(value)}%")
