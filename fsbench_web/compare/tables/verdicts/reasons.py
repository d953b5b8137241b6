"""Why a verdict is what it is, in sentences, and by which rule a table was judged. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.verdicts.uncertainty import (
    blocks_wanted,
    contenders_in,
    effect,
    percents,
    probability,
    what_would_decide,
)
from fsbench_web.core import numbers
from fsbench_web.core.stats import significance
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS
from fsbench_web.core.stats.significance import (
    EQUIVALENT,
    FREENIX,
    SIGNIFICANT,
    UNKNOWN,
    UNPAIRED,
    Verdict,
)
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT

NO_SCATTER = "Each side came out the same every time: there was no scatter to judge by."
_FEW_BLOCKS = {
    0: "They share no block",
    1: "They share one block, and three are the least",
    2: "They share two blocks, and three are the least",
}
_ZERO_IN_BLOCKS = "One of them has a 0 in the {} blocks they share, and 0 has no logarithm"


def methods_of(tables: Iterable[DeltaTable]) -> set[str]:
    """By which rules the rows of tables were judged."""
    return {row.verdict.method for table in tables for row in table.rows if row.verdict}


def rule(tables: Sequence[DeltaTable]) -> str:
    """By what the tables were judged, and what of them is exploration."""
    verdicts = [row.verdict for table in tables for row in table.rows if row.verdict]
    parts = []
    if any(verdict.method == FREENIX for verdict in verdicts):
        counts = {verdict.tested for verdict in verdicts if verdict.tested}
        pairs = f"{max(counts)} pairs" if len(counts) == 1 else "all pairs of a table"
        holm = f", with p at most 0.05 by Holm's correction over {pairs}" * (
            max(counts, default=1) > 1
        )
        parts.append(
            "A winner is significant when the 95% intervals do not overlap and the means differ by "
            f"at least {verdicts[0].margin_percent:g}%{holm}; otherwise it is a tie (the rule of "
            "FREENIX 2002). Without repeats it is not known."
        )
    ratios = [verdict for verdict in verdicts if verdict.method != FREENIX]
    if ratios:
        within = next(
            (verdict.equivalence_percent for verdict in ratios if verdict.equivalence_percent), None
        )
        margin = EQUIVALENCE_PERCENT if within is None else within
        parts.append(
            "Faster is what differs by more than chance: Student's t of the logarithms of the "
            "ratios, paired where runs share three blocks or more, p at most 0.05 by Holm's "
            f"correction over all pairs of a table. Equivalent is what differs by less than "
            f"{margin:g}% for sure, inconclusive what is not known yet."
        )
        if any(_is_other_than_scores(row) for table in tables for row in table.rows):
            parts.append(
                "A percentage is the mean of the ratios of single repeats; it is not always the "
                "ratio of the two scores beside it, each made of the means of all repeats."
            )
    count = sum(1 for table in tables if any(row.verdict for row in table.rows))
    if ratios and count > 1:
        parts.append(
            f"Each of the {count} tables is a question by itself. The first of each test is the "
            "answer to it; the others are exploration, because of twenty tables without any "
            "difference one shows one by chance."
        )
    return " ".join(parts)


def _is_other_than_scores(row: DeltaRow) -> bool:
    """Whether a row is told to be slower by another percentage than its score is less."""
    verdict = row.verdict
    if verdict is None or verdict.status != SIGNIFICANT or row.best:
        return False
    if verdict.ratio is None or row.delta1_percent is None:
        return False
    return abs(100 * (1 - verdict.ratio) - row.delta1_percent) >= 1


def reason_sentences(verdict: Verdict) -> str:
    """The reasons of a verdict as sentences."""
    if verdict.method != FREENIX:
        return " ".join(_ratio_sentences(verdict))
    parts = [_SENTENCES[reason](verdict) for reason in verdict.reasons if reason in _SENTENCES]
    if verdict.status == SIGNIFICANT:
        parts.insert(0, _significant(verdict))
    return " ".join(parts)


def _ratio_sentences(verdict: Verdict) -> Iterator[str]:
    """What was tested, what came out, and what it rests on."""
    if size := effect(verdict):
        is_one = len(verdict.against) == 1
        yield f"{f'Against {verdict.against[0]}' if is_one else 'The closest call'}: {size} (95%)."
    yield from _outcome(verdict)
    if verdict.method == UNPAIRED and verdict.p_value is not None:
        few = _FEW_BLOCKS.get(verdict.blocks or 0, _ZERO_IN_BLOCKS.format(verdict.blocks))
        yield f"{few}, so that what drifted between their runs counts."
    if few := _few_among_many(verdict):
        yield few
    others = (*_MISSING, significance.EQUAL, significance.NO_SCATTER, TRIALS)
    yield from (_SENTENCES[reason](verdict) for reason in verdict.reasons if reason in others)
    if sentence := what_would_decide(verdict):
        yield sentence


def _outcome(verdict: Verdict) -> Iterator[str]:
    if verdict.status == EQUIVALENT and verdict.p_equivalence is not None:
        corrected, among = verdict.p_equivalence_corrected, ""
        if corrected not in (None, verdict.p_equivalence):
            among = ", corrected for all pairs of this table"
        p_value = probability(verdict.p_equivalence if corrected is None else corrected)
        yield (
            f"The difference is below {verdict.equivalence_percent:g}% for sure (two one-sided "
            f"tests, p is {p_value}{among}), which is none worth a decision."
        )
    if verdict.status == SIGNIFICANT and verdict.p_holm is not None:
        tested = f" by Holm's correction over the {verdict.tested} pairs of this table"
        yield f"p is {probability(verdict.p_holm)}{'' if verdict.tested == 1 else tested}."
    if significance.ORDER in verdict.reasons:
        yield "By what is tested the better score is not the faster one."
    if significance.HOLM in verdict.reasons and verdict.p_holm is not None:
        yield (
            f"Among the {verdict.tested} pairs of this table p is {probability(verdict.p_holm)} by "
            "Holm's correction, above 0.05."
        )
    if significance.SCATTER in verdict.reasons:
        yield "The scatter leaves open whether they differ."
    if significance.ROUNDED in verdict.reasons:
        yield "Rounding to the last digit leaves open whether they differ."
    if significance.TICKS in verdict.reasons:
        yield (
            "What was timed took a few ticks of the tool's timer, and a tick more or less may be "
            "the whole difference: longer measurements can decide, more of them cannot."
        )


def _few_among_many(verdict: Verdict) -> str:
    """What a difference of few blocks among many contenders is to be taken with."""
    needed = blocks_wanted(verdict)
    if not needed:
        return ""
    return (
        f"{verdict.blocks} blocks are few for {contenders_in(verdict)} contenders: where runs are "
        "now and then of another speed, for no reason of the contender's, a difference may be "
        f"chance. {needed} blocks tell."
    )


def no_scatter_sentence(verdict: Verdict) -> str:
    """The sentence for a verdict that rests on no scatter at all; empty for any other."""
    return NO_SCATTER if significance.NO_SCATTER in verdict.reasons else ""


def missing_words(verdict: Verdict) -> str:
    """What is missing to know more, as a phrase."""
    return "; ".join(_MISSING[reason] for reason in verdict.reasons if reason in _MISSING)


def _margin(verdict: Verdict) -> str:
    than = f"less than the {verdict.margin_percent:g}% of the rule"
    if verdict.difference_percent is None:
        return f"Means differ by {than}."
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
    SAMPLES: "the samples of a single run tell nothing of what differs from run to run",
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
    SAMPLES: lambda verdict: (
        f"Not known: {_MISSING[SAMPLES]}."
        if verdict.status == UNKNOWN
        else "An interval is of samples of a single run, taken as quasi-independent: what differs "
        "from run to run is not in it."
    ),
    TRIALS: lambda _: (
        "An interval is of the trials that a single run reports: what differs from run to run is "
        "not in it."
    ),
}
