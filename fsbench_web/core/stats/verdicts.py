"""Whether one contender is faster than another: the ratio of speeds and what is sure of it. Pure.

Method and sources: docs/method.md#how-sure-a-difference-is. ``benchmarks/simulations/verdicts.py``
and ``answers.py`` hold what it promises.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from math import exp, fsum, hypot, isfinite, isqrt, log, sqrt
from typing import Any, NamedTuple

from fsbench_web.core.distributions import stdtr, stdtrit
from fsbench_web.core.stats.intervals import LEVEL, TRIALS, Interval, mean

FALSE_ALARM = 0.05
"""1 - LEVEL, without what binary rounding adds to it."""
LEAST_BLOCKS = 3
EQUIVALENCE_PERCENT = 2.0
"""Smaller differences are not worth a decision, unless a reader chooses another margin."""
POWER = 0.8
MOST_ADVISED = 100
"""More further blocks than this are no advice."""
TIE_PERCENT = 10.0
"""An effective tie excludes larger differences. FREENIX 2002 asks for as much to tell two apart."""
_BLOCKS_AMONG = ((3, 3), (12, 5))
_BLOCKS_OF_MORE = 8

# ``Verdict.status``, as the API promises it.
SIGNIFICANT = "significant"
EQUAL = "equal"  # the same within the margin of equivalence
TIE = "tie"  # inconclusive
UNKNOWN = "unknown"  # inconclusive, because nothing could be tested

# ``Verdict.direction``.
FASTER = "faster"
SLOWER = "slower"
EQUIVALENT = "equivalent"
INCONCLUSIVE = "inconclusive"

# ``Verdict.method``.
PAIRED = "paired"  # in the blocks that both were measured in
UNPAIRED = "unpaired"  # the scatter of each by itself
FREENIX = "freenix"  # the rule of FREENIX 2002 (stats.freenix)

# ``Verdict.reasons`` of a tie.
SAME_SCORE = "equal"
ORDER = "order"  # the means of the repeats do not put the better score ahead
MANY = "many"  # significant alone, but not among all pairs shown
TICKS = "clock"  # few ticks of the tool's timer, the same every time
ROUNDED = "rounded"  # nothing scattered, and rounding alone may make the difference
SCATTER = "scatter"  # the interval of the ratio holds 1, and more than the margin
# ``Verdict.outlook``: what further repeats would do for a tie.
MORE_REPEATS = "more_repeats"  # ``more_blocks`` decide it
TIED = "tied"  # more than MOST_ADVISED are needed, and the difference is small for sure
TOO_NOISY = "too_noisy"  # more than MOST_ADVISED are needed, and it may be large
# Of what is not known.
ONE_RUN = "one_run"
PUBLISHED = "published"  # a paper printed one figure and no repeats
EMULATED = "emulated"  # one of them is a speed, the other is not
NO_INTERVAL = "no_interval"  # runs enough, but nothing kept of their scatter
# Remarks; intervals.SAMPLES and TRIALS are others.
NO_SCATTER = "no_scatter"  # neither side scatters at all
OF_MEANS = "of_means"  # ratio and interval are of the means of the repeats, the score is not
_UNDECIDABLE = frozenset({TICKS, ORDER})
_ROUNDING = 1e-9
"""What binary rounding makes of a score at most."""


@dataclass(frozen=True)
class Repeats:
    """What one contender measured in one test: ``score`` and its repeats, (block, value).

    Blocks ("": none) are comparable within one ``study``. ``rounding``: the deviation that rounding
    makes, as a share (``rounding_of``). ``interval``: where the repeats themselves are missing.
    """

    score: float
    repeats: tuple[tuple[str, float | None], ...] = ()
    study: str = ""
    rounding: float = 0.0
    interval: Interval | None = None

    @cached_property
    def values(self) -> list[float]:
        return [value for _, value in self.repeats if value is not None]

    @cached_property
    def mean(self) -> float:
        """The mean of its repeats; its score where they are not known."""
        if values := self.values:
            return mean(values)
        return self.score if self.interval is None else self.interval.mean

    @property
    def repeat_count(self) -> int:
        """How many repeats there are, 1 where nothing is known of any."""
        kept = len(self.values)
        return self.interval.count if kept < 2 and self.interval else max(kept, 1)

    @cached_property
    def blocks(self) -> set[str]:
        return {block for block, value in self.repeats if block and value is not None}


class Verdict(NamedTuple):
    """The speed of one contender relative to another (of a best one: all others). Unknown is None.

    ``ratio`` of the means of their repeats, with its 95% interval. ``blocks``: shared ones, with
    the ``deviation`` of its logarithm. ``p_value``: of no difference; ``q_value``: false discovery
    rate among the pairs shown; ``p_holm``: Holm's over ``tested`` pairs. ``p_equivalence``: of a
    difference of ``equivalence_percent`` or more. ``more_blocks`` would decide a tie, and
    ``outlook`` says whether any reasonable number would.
    ``difference_percent`` and ``margin_percent``: of the rule of FREENIX 2002, which has no ratio.
    """

    status: str
    reasons: tuple[str, ...] = ()
    difference_percent: float | None = None
    p_value: float | None = None
    q_value: float | None = None
    p_holm: float | None = None
    tested: int | None = None
    margin_percent: float = 10.0
    against: tuple[str, ...] = ()
    method: str = FREENIX
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    blocks: int | None = None
    deviation: float | None = None
    more_blocks: int | None = None
    equivalence_percent: float | None = None
    p_equivalence: float | None = None
    p_equivalence_corrected: float | None = None
    outlook: str | None = None

    @property
    def direction(self) -> str:
        """FASTER, SLOWER, EQUIVALENT or INCONCLUSIVE than the other, by the ratio."""
        if self.status == SIGNIFICANT and self.ratio is not None:
            return FASTER if self.ratio > 1 else SLOWER
        return EQUIVALENT if self.status == EQUAL else INCONCLUSIVE

    @property
    def is_inconclusive(self) -> bool:
        return self.status in (TIE, UNKNOWN)

    @property
    def candidate_p(self) -> float:
        """The p-value as its family counts it: 1 of what cannot become significant."""
        if self.p_value is None or self.is_equivalent or _UNDECIDABLE & set(self.reasons):
            return 1.0
        return 1.0 if self.method == FREENIX and self.status != SIGNIFICANT else self.p_value

    @property
    def is_equivalent(self) -> bool:
        """Whether two one-sided tests place the ratio within the margin of equivalence."""
        p = self.p_equivalence_corrected
        return p is not None and p <= FALSE_ALARM

    def turned(self) -> "Verdict":
        """The same said of the other one."""
        return self._replace(
            ratio=_reciprocal(self.ratio),
            ratio_low=_reciprocal(self.ratio_high),
            ratio_high=_reciprocal(self.ratio_low),
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return self._asdict() | {"reasons": list(self.reasons), "against": list(self.against)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Verdict":
        """The inverse of ``as_dict``; what another version wrote besides is left out."""
        values = {name: data[name] for name in cls._fields if name in data}
        verdict = cls(
            **values
            | {"reasons": tuple(data.get("reasons", ())), "against": tuple(data.get("against", ()))}
        )
        is_known = verdict.more_blocks or verdict.ratio_low is not None
        if "outlook" in data or verdict.status != TIE or not is_known:
            return verdict
        return verdict._replace(
            outlook=None
            if _UNDECIDABLE & set(verdict.reasons)
            else outlook(verdict.ratio_low, verdict.ratio_high, verdict.more_blocks)
        )


def compared(
    ahead: Repeats,
    behind: Repeats,
    *,
    lower_is_better: bool,
    margin_percent: float = EQUIVALENCE_PERCENT,
) -> Verdict | None:
    """The verdict of two contenders in one test. As ``compared_over_tests``."""
    verdict = compared_over_tests((ahead,), (behind,), (lower_is_better,), margin_percent)
    is_of_means = any(
        abs(side.mean - side.score) > _ROUNDING * side.mean for side in (ahead, behind)
    )
    if verdict is None or not is_of_means:
        return verdict
    return verdict._replace(reasons=(*verdict.reasons, OF_MEANS))


def compared_over_tests(
    ours: Sequence[Repeats],
    theirs: Sequence[Repeats],
    lower_is_better: Sequence[bool],
    margin_percent: float = EQUIVALENCE_PERCENT,
) -> Verdict | None:
    """The geometric mean over tests of the ratio of speeds of two contenders, with its interval.

    Paired with three blocks that both have in every test; else Welch's. The interval comes from
    blocks or runs, never from the number of tests. None without repeats or for a mean not above
    zero. Raises ValueError for a value that is not finite.
    """
    if not all(isfinite(value) for side in (*ours, *theirs) for value in side.values):
        raise ValueError("a value is not a finite number")
    if any(side.mean <= 0 for side in (*ours, *theirs)):
        return None
    signs = [-1.0 if lower else 1.0 for lower in lower_is_better]
    centre = fsum(
        sign * (log(a.mean) - log(b.mean)) for sign, a, b in zip(signs, ours, theirs, strict=True)
    ) / len(signs)
    blocks = len(_common_blocks(ours, theirs))
    if blocks >= LEAST_BLOCKS:
        spread = _paired_deviation(ours, theirs, signs, blocks)
        deviation = max(spread, hypot(_rounding(ours), _rounding(theirs)))
        error, freedom = deviation / sqrt(blocks), float(blocks - 1)
        is_still = spread == 0
    else:
        errors = [_squared_error(side, signs) for side in (ours, theirs)]
        if errors[0] is None or errors[1] is None:
            return None
        (first, count, is_still), (second, other_count, is_other_still) = errors[0], errors[1]
        error, is_still = sqrt(first + second), is_still and is_other_still
        # Shares instead of variances: the square of a small one would vanish.
        share = first / (first + second) if error else 0.5
        freedom = 1 / (share * share / (count - 1) + (1 - share) ** 2 / (other_count - 1))
        deviation = sqrt(first * count + second * other_count)
    verdict = estimated(centre, error, freedom, margin_percent)
    sides = (*ours, *theirs)
    is_within = any(side.interval is not None and side.interval.of == TRIALS for side in sides)
    remarks = (TRIALS,) * (is_within and blocks < LEAST_BLOCKS)
    remarks += (NO_SCATTER,) * is_still
    verdict = verdict._replace(
        method=PAIRED if blocks >= LEAST_BLOCKS else UNPAIRED,
        blocks=blocks,
        deviation=deviation,
        reasons=remarks,
    )
    return decided(verdict)


def decided(
    verdict: Verdict,
    q_value: float | None = None,
    p_holm: float | None = None,
    tested: int | None = None,
) -> Verdict:
    """A verdict with its status among the pairs shown; alone without a ``q_value``."""
    q = verdict.p_value if q_value is None else q_value
    remarks = tuple(why for why in verdict.reasons if why not in (MANY, ROUNDED, SCATTER))
    verdict = verdict._replace(
        q_value=q_value, p_holm=p_holm, tested=tested, more_blocks=None, outlook=None
    )
    if verdict.p_value is None or q is None:
        return verdict
    if verdict.method == FREENIX:
        is_lost = verdict.status == SIGNIFICANT and q > FALSE_ALARM
        return verdict._replace(status=TIE, reasons=(MANY, *remarks)) if is_lost else verdict
    if _UNDECIDABLE & set(remarks):
        return verdict._replace(status=TIE, reasons=remarks)
    if verdict.is_equivalent:
        return verdict._replace(status=EQUAL, reasons=remarks)
    if q <= FALSE_ALARM:
        return verdict._replace(status=SIGNIFICANT, reasons=remarks)
    why = MANY if verdict.p_value <= FALSE_ALARM else SCATTER
    why = ROUNDED if why == SCATTER and NO_SCATTER in remarks else why
    # The level that is left for this pair among all of its family.
    level = FALSE_ALARM * verdict.p_value / q if q < 1 else FALSE_ALARM / (tested or 1)
    more = blocks_to_decide(verdict, level=level)
    return verdict._replace(
        status=TIE,
        reasons=(why, *remarks),
        more_blocks=more,
        outlook=outlook(verdict.ratio_low, verdict.ratio_high, more),
    )


def outlook(ratio_low: float | None, ratio_high: float | None, more_blocks: int | None) -> str:
    """MORE_REPEATS, TIED or TOO_NOISY: what further repeats would do for an inconclusive ratio."""
    if more_blocks:
        return MORE_REPEATS
    if ratio_low is None or ratio_high is None:
        return TOO_NOISY
    limit = 1 + TIE_PERCENT / 100
    return TIED if 1 / limit <= ratio_low and ratio_high <= limit else TOO_NOISY


_OUTLOOKS = {
    TIED: f"Effectively a tie: less than {TIE_PERCENT:g}% apart, "
    f"and more than {MOST_ADVISED} repeats would be needed.",
    TOO_NOISY: f"Too noisy to tell: more than {MOST_ADVISED} repeats would be needed. "
    "Quiet the machine or run longer, then measure more rounds.",
}


def outlook_words(outlook: str | None, more_blocks: int | None, noun: str = "more repeat") -> str:
    """What would decide it, as pages, files and API say it; "" where nothing is known of it."""
    if outlook == MORE_REPEATS:
        return f"About {more_blocks} {noun}{'' if more_blocks == 1 else 's'} would decide."
    return _OUTLOOKS.get(outlook or "", "")


class Family:
    """The pairs that are shown together: ``pairs`` in all, those with ``p_values`` asked about.

    Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57 (1995). The other pairs count as the last.
    """

    def __init__(self, p_values: Iterable[float], pairs: int | None = None) -> None:
        self._ordered = sorted(p_values)
        self.pairs = max(len(self._ordered), pairs or 0)
        least, self._adjusted = 1.0, [1.0] * len(self._ordered)
        for place in reversed(range(len(self._ordered))):
            least = min(least, self._ordered[place] * self.pairs / (place + 1))
            self._adjusted[place] = least

    def q_value(self, p: float) -> float:
        """The least false discovery rate at which a pair of p-value ``p`` is significant."""
        rank = bisect_right(self._ordered, p)
        own = min(1.0, p * max(self.pairs, 1) / max(rank, 1))
        return min(own, self._adjusted[rank]) if rank < len(self._ordered) else own


def family(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts of pairs that are shown together and were all asked about."""
    shown = Family(verdict.candidate_p for verdict in verdicts)
    adjusted = holm([verdict.p_value or 0.0 for verdict in verdicts])
    return [
        decided(verdict, shown.q_value(verdict.p_value or 0.0), p_holm, len(verdicts))
        for verdict, p_holm in zip(verdicts, adjusted, strict=True)
    ]


def holm(p_values: Sequence[float], among: int | None = None) -> list[float]:
    """Holm's corrected p-values, in the order given: S. Holm, Scand. J. Statist. 6 (1979).

    ``among``: of how many hypotheses. Raises ValueError for anything but probabilities.
    """
    if not all(0.0 <= p <= 1.0 for p in p_values):
        raise ValueError("a p-value is not between 0 and 1")
    count = len(p_values) if among is None else among
    if count < len(p_values):
        raise ValueError("fewer hypotheses than are tested")
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, p_values[place] * (count - rank)))
        adjusted[place] = least
    return adjusted


def pairs_of(contenders: int) -> int:
    """How many pairs so many contenders make."""
    return contenders * (contenders - 1) // 2


def contenders_of(pairs: int) -> int:
    """How many contenders make so many pairs."""
    return (1 + isqrt(1 + 8 * pairs)) // 2


def least_blocks(contenders: int) -> int:
    """How many blocks so many contenders need.

    With fewer, occasional slow runs name a best among equals in more than a tenth of the tables.
    """
    return next((blocks for most, blocks in _BLOCKS_AMONG if contenders <= most), _BLOCKS_OF_MORE)


def equivalence_factor_of(contenders: int) -> int:
    """How often a p-value of equivalence counts among so many (Lauzon and Caffo, 2009)."""
    return max(1, contenders * contenders // 4)


def blocks_to_decide(
    verdict: Verdict,
    *,
    have: int | None = None,
    level: float = FALSE_ALARM,
    beyond_margin: bool = False,
) -> int | None:
    """How many further blocks decide a tie with a power of 0.8; None above ``MOST_ADVISED``.

    By ratio and deviation so far. ``beyond_margin``: faster means beyond the margin.
    """
    if verdict.ratio is None or verdict.deviation is None or verdict.equivalence_percent is None:
        return None
    difference, margin = abs(log(verdict.ratio)), log(1 + verdict.equivalence_percent / 100)
    factor = 1.0
    if verdict.p_equivalence and verdict.p_equivalence_corrected:
        factor = max(1.0, verdict.p_equivalence_corrected / verdict.p_equivalence)
    deviation, shared = verdict.deviation, have or 0
    if have is None and verdict.method == PAIRED:
        shared = verdict.blocks or 0

    def decides(count: int) -> bool:
        error, freedom = deviation / sqrt(count), count - 1
        if error == 0:
            return True
        apart = difference - margin * beyond_margin
        if stdtr(freedom, apart / error - stdtrit(freedom, 1 - level / 2)) >= POWER:
            return True
        needed = float(stdtrit(freedom, 1 - FALSE_ALARM / factor))
        inside = stdtr(freedom, (margin - difference) / error - needed)
        outside = stdtr(freedom, (margin + difference) / error - needed)
        return bool(inside + outside - 1 >= POWER)

    low, high = max(shared, LEAST_BLOCKS - 1), shared + MOST_ADVISED
    if not decides(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if decides(middle):
            high = middle
        else:
            low = middle
    return high - shared


def detectable(deviation: float, blocks: int, margin_percent: float = EQUIVALENCE_PERCENT) -> float:
    """The smallest logarithm of a ratio that ``blocks`` call a difference with a power of 0.8.

    It must exceed both chance and what is called equivalent. ``deviation``: as in ``Verdict``.
    """
    error, freedom = deviation / sqrt(blocks), blocks - 1
    power = float(stdtrit(freedom, POWER))
    by_chance = error * (quantile(freedom) + power)
    by_margin = log(1 + margin_percent / 100) - error * (
        float(stdtrit(freedom, 1 - FALSE_ALARM)) - power
    )
    return max(by_chance, by_margin)


def rounding_of(values: Sequence[float]) -> float:
    """The deviation that rounding makes, as a share of the mean; 0 of none, and around 0.

    A twelfth of the squared ``last_digit`` (W. F. Sheppard, Proc. London Math. Soc. 29, 1898).
    """
    centre = fsum(values) / len(values) if values else 0.0
    return last_digit(values) / sqrt(12) / abs(centre) if centre else 0.0


def last_digit(values: Iterable[float]) -> float:
    """The place of the last decimal of any of them: 0.1 of 2.5 and 3; 1 of whole numbers."""
    decimals = [0 if value == int(value) else _decimals(value) for value in values]
    return 10.0 ** -max(decimals) if decimals else 0.0


def ratio_of(value: float) -> float:
    """The ratio of a natural logarithm, bounded to finite numbers."""
    return exp(value if -700.0 <= value <= 700.0 else max(-700.0, min(value, 700.0)))


def estimated(centre: float, error: float, freedom: float, margin_percent: float) -> Verdict:
    """The open verdict of a logarithm of a ratio with its standard error."""
    half_width = quantile(freedom) * error
    p_equivalence = _tail(abs(centre) - log(1 + margin_percent / 100), error, freedom)
    return Verdict(
        TIE,
        p_value=2 * _tail(-abs(centre), error, freedom),
        ratio=ratio_of(centre),
        ratio_low=ratio_of(centre - half_width),
        ratio_high=ratio_of(centre + half_width),
        equivalence_percent=margin_percent,
        p_equivalence=p_equivalence,
        p_equivalence_corrected=p_equivalence,
    )


@lru_cache(maxsize=1024)
def quantile(freedom: float) -> float:
    """How many standard errors a 95% interval reaches to each side."""
    return float(stdtrit(freedom, 0.5 + LEVEL / 2))


def _tail(centre: float, error: float, freedom: float) -> float:
    """The probability of Student's t below ``centre / error``; without scatter its limit."""
    if error == 0:
        return 0.0 if centre < 0 else 0.5 if centre == 0 else 1.0
    return float(stdtr(freedom, centre / error))


def _common_blocks(ours: Sequence[Repeats], theirs: Sequence[Repeats]) -> set[str]:
    """The blocks that both have in every test; runs of two studies were in none together."""
    sides = (*ours, *theirs)
    if len({side.study for side in sides}) > 1:
        return set()
    return set.intersection(*(side.blocks for side in sides))


def _paired_deviation(
    ours: Sequence[Repeats], theirs: Sequence[Repeats], signs: Sequence[float], blocks: int
) -> float:
    """The deviation of the mean log-ratio between blocks; runs outside count alone."""
    parts = _influences(ours, signs, by_block=True)
    for key, influence in _influences(theirs, signs, by_block=True).items():
        place = key if isinstance(key, str) else -1 - key
        parts[place] = parts.get(place, 0.0) - influence
    return blocks * sqrt(fsum(part * part for part in parts.values()) / (blocks - 1))


def _influences(
    column: Sequence[Repeats], signs: Sequence[float], *, by_block: bool
) -> dict[str | int, float]:
    """What each block, or run by its place, adds to the mean logarithm of the means."""
    found: dict[str | int, float] = defaultdict(float)
    for repeats, sign in zip(column, signs, strict=True):
        centre, weight = repeats.mean, sign / (len(repeats.values) * len(column))
        for place, (block, value) in enumerate(repeats.repeats):
            if value is not None:
                found[(by_block and block) or place] += weight * (value / centre - 1)
    return found


def _rounding(column: Sequence[Repeats]) -> float:
    """The deviation that rounding makes of the mean over tests."""
    return hypot(*(repeats.rounding for repeats in column)) / len(column)


def _squared_error(
    column: Sequence[Repeats], signs: Sequence[float]
) -> tuple[float, int, bool] | None:
    """The squared standard error of the mean logarithm of one side, its repeats, and stillness.

    None without repeats and intervals. Errors of tests with different repeats add up as if wholly
    dependent.
    """
    if any(len(repeats.values) < 2 for repeats in column):
        known = [one.interval for one in column if one.interval and one.interval.mean > 0]
        if len(known) < len(column):
            return None
        errors = [one.half_width / quantile(one.count - 1) / one.mean for one in known]
        count = min(one.count for one in known)
    else:
        layouts = {tuple(block for block, _ in repeats.repeats) for repeats in column}
        is_whole = all(value is not None for repeats in column for _, value in repeats.repeats)
        together = [(column, signs)] if len(layouts) == 1 and is_whole else []
        errors = [
            _error_of(tests, of_tests)
            for tests, of_tests in together
            or [((repeats,), (sign,)) for repeats, sign in zip(column, signs, strict=True)]
        ]
        count = min(len(repeats.values) for repeats in column)
    error = fsum(errors) / len(errors)
    return max(error, _rounding(column) / sqrt(count)) ** 2, count, error == 0


def _error_of(column: Sequence[Repeats], signs: Sequence[float]) -> float:
    """The standard error of the mean logarithm over tests that have the same runs."""
    parts = _influences(column, signs, by_block=False)
    return sqrt(fsum(part * part for part in parts.values()) * len(parts) / (len(parts) - 1))


def _decimals(value: float) -> int:
    exponent = Decimal(repr(float(value))).as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _reciprocal(value: float | None) -> float | None:
    return None if value is None else 1 / value
