"""Whether one contender is ahead of another, by the ratio of their speeds. Pure.

*Paired*: both were measured in the same blocks. A block is everything once before anything again,
so whatever drifts between blocks falls on both contenders alike and leaves their ratio alone. The
verdict is of the logarithms of these ratios, one a block: their mean is the ratio of the geometric
means, and Student's t gives its interval and its p-value (paired t-test; Hoefler and Belli,
"Scientific Benchmarking of Parallel Computing Systems", SC 2015, rules 4 to 7, on ratios and on
saying what the interval rests on). Ratios are of speed: a time is taken reciprocally, so that above
1 is always faster.

*Unpaired*: they share too few blocks, so all that scatters counts. The logarithm of the ratio of
the two means has, by the delta method, the sum of their relative variances; its freedom is Welch's
(B. L. Welch, Biometrika 34, 1947). What drifted between the runs of one and of the other is in the
ratio, and no test can tell it apart.

Two contenders are *equivalent* where two one-sided tests at 5% place the ratio within a margin
(TOST: D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987), among many with a correction for
these (``equivalence_factor_of``). That goes before *faster*: what is less than the margin is no
difference, however sure it is. What is neither is *inconclusive*.

``benchmarks/simulations/verdicts.py`` shows all by simulation.

Tools print so many digits, and two that are alike may come to stand a step of the last one apart,
each every time. A value is anywhere within its step, so that its variance is a twelfth of the
square of that (W. F. Sheppard, Proc. London Math. Soc. 29, 1898): scatter is never taken for less.

A test of three blocks rests on its promise that runs scatter normally. Runs that are now and then a
quarter slower, as on a disk that collects its garbage, make a difference by chance in few blocks,
and the more contenders, the more often. From so many blocks on at most one in ten tables of alike
contenders calls the best faster where that befalls every second run, the worst of what
``benchmarks/simulations/verdicts.py`` simulates.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from math import exp, fsum, hypot, isfinite, isqrt, log, sqrt
from typing import NamedTuple

from fsbench_web.core.distributions import stdtr, stdtrit
from fsbench_web.core.stats.intervals import LEVEL, Interval, mean
from fsbench_web.core.stats.significance import FALSE_ALARM, holm

FASTER = "faster"
SLOWER = "slower"
EQUIVALENT = "equivalent"
INCONCLUSIVE = "inconclusive"

LEAST_BLOCKS = 3
EQUIVALENCE_PERCENT = 2.0
"""What is not worth a decision, where nobody says otherwise."""
_LEAST = ((3, 3), (12, 5))
_OF_MORE = 8
POWER = 0.8
MOST_ADVISED = 100
"""More further blocks than this are no advice: the two are effectively tied."""
EFFECTIVELY_TIED = f"Effectively a tie: more than {MOST_ADVISED} repeats would be needed."


class RatioVerdict(NamedTuple):
    """What is known of one contender's speed against another's.

    Over ``blocks`` that they share ``ratio`` is the geometric mean of their ratios of speed; of
    unpaired ones, whose ``blocks`` is 0, the ratio of their means. It is between ``low`` and
    ``high`` at 95%; its logarithm has ``deviation`` between blocks and ``freedom`` degrees of it.
    ``p_value`` is of no difference at all, ``p_holm`` corrected over ``tested`` pairs (None: this
    one alone). ``p_equivalence`` is of a difference of ``margin_percent`` or more, and counts
    ``equivalence_factor`` times (``equivalence_factor_of``). ``is_still``: nothing scattered, so
    that only rounding is left; without rounding p-values are 0 or 1. ``more_blocks`` of both would
    decide an inconclusive one with a power of 0.8, if ratio and scatter are as estimated; None
    above ``MOST_ADVISED``.
    """

    ratio: float
    low: float
    high: float
    blocks: int
    deviation: float
    freedom: float
    p_value: float
    p_equivalence: float
    margin_percent: float
    p_holm: float | None = None
    tested: int | None = None
    equivalence_factor: int = 1
    is_still: bool = False

    @property
    def p_equivalence_corrected(self) -> float:
        return min(1.0, self.p_equivalence * self.equivalence_factor)

    @property
    def status(self) -> str:
        """FASTER, SLOWER, EQUIVALENT or INCONCLUSIVE."""
        if self.p_equivalence_corrected <= FALSE_ALARM:
            return EQUIVALENT
        if (self.p_value if self.p_holm is None else self.p_holm) <= FALSE_ALARM:
            return FASTER if self.ratio > 1 else SLOWER
        return INCONCLUSIVE

    @property
    def more_blocks(self) -> int | None:
        if self.status != INCONCLUSIVE:
            return None
        return _more_blocks(self, self._level, FALSE_ALARM / self.equivalence_factor)

    @property
    def _level(self) -> float:
        """The level that Holm's method left for this pair among all: that of the first where the
        corrected p-value says no more than 1.
        """
        if self.p_holm is None:
            return FALSE_ALARM
        if self.p_holm >= 1:
            return FALSE_ALARM / (self.tested or 1)
        return FALSE_ALARM * self.p_value / self.p_holm


def paired(
    ahead: Mapping[str, float],
    behind: Mapping[str, float],
    *,
    lower_is_better: bool,
    margin_percent: float = EQUIVALENCE_PERCENT,
    rounding: tuple[float, float] = (0.0, 0.0),
) -> RatioVerdict | None:
    """The verdict over the blocks that both have; ``ahead`` and ``behind`` are values by block.

    ``rounding`` is how much of a value of either its rounding makes (``rounding_of``). None where
    they share fewer than three, or where a value of these is not above zero: it has no logarithm.
    Raises ValueError for a value that is not a finite number.
    """
    shared = sorted(ahead.keys() & behind.keys())
    ours, theirs = [ahead[block] for block in shared], [behind[block] for block in shared]
    if not (all(map(isfinite, ours)) and all(map(isfinite, theirs))):
        raise ValueError("a value is not a finite number")
    if len(shared) < LEAST_BLOCKS or min(ours) <= 0 or min(theirs) <= 0:
        return None
    sign = -1.0 if lower_is_better else 1.0
    logarithms = [sign * (log(a) - log(b)) for a, b in zip(ours, theirs, strict=True)]
    return of_logarithms(logarithms, margin_percent, hypot(*rounding))


def of_logarithms(
    logarithms: Sequence[float],
    margin_percent: float = EQUIVALENCE_PERCENT,
    least_deviation: float = 0.0,
) -> RatioVerdict:
    """The verdict of the logarithms of ratios of speed, one a block, three at least."""
    count = len(logarithms)
    centre = mean(logarithms)
    spread = sqrt(fsum([(logarithm - centre) ** 2 for logarithm in logarithms]) / (count - 1))
    deviation = max(spread, least_deviation)
    return of_estimate(
        *(centre, deviation / sqrt(count), count - 1, margin_percent, deviation),
        blocks=count,
        is_still=spread == 0,
    )


def unpaired(
    ahead: Interval,
    behind: Interval,
    *,
    lower_is_better: bool,
    margin_percent: float = EQUIVALENCE_PERCENT,
    rounding: tuple[float, float] = (0.0, 0.0),
) -> RatioVerdict | None:
    """The verdict of two means with their 95% intervals, of what was not measured side by side.

    ``rounding`` as of ``paired``. None where a mean is not above zero: it has no logarithm.
    """
    if min(ahead.mean, behind.mean) <= 0:
        return None
    variances = []
    for side, least in zip((ahead, behind), rounding, strict=True):
        error = side.half_width / _quantile(side.count - 1, 0.5 + LEVEL / 2) / side.mean
        error = max(error, least / sqrt(side.count))
        variances.append(error * error)
    total = fsum(variances)
    # Shares instead of variances: the square of a small one would vanish.
    counts = (ahead.count, behind.count)
    shares = [variance / total if total else 0.5 for variance in variances]
    freedom = 1 / fsum(s * s / (n - 1) for s, n in zip(shares, counts, strict=True))
    centre = (-1.0 if lower_is_better else 1.0) * (log(ahead.mean) - log(behind.mean))
    of_one = fsum(variance * n for variance, n in zip(variances, counts, strict=True))
    is_still = ahead.half_width == behind.half_width == 0
    error, deviation = sqrt(total), sqrt(of_one)
    return of_estimate(centre, error, freedom, margin_percent, deviation, is_still=is_still)


def rounding_of(values: Sequence[float], step: float | None = None) -> float:
    """The deviation that rounding makes of such values, as a share of their mean.

    They were rounded to multiples of ``step``; where nobody says, to the last digit that any has.
    0 for none, and around 0.
    """
    centre = fsum(values) / len(values) if values else 0.0
    step = last_digit(values) if step is None else step
    return step / sqrt(12) / abs(centre) if centre else 0.0


def last_digit(values: Iterable[float]) -> float:
    """The place of the last decimal that any of them has: 0.1 of 2.5 and 3; 1 of whole numbers.

    Whole numbers may have been rounded to tens or more, which nobody can tell. 0 of no numbers.
    """
    decimals = [0 if value == int(value) else _decimals(value) for value in values]
    return 10.0 ** -max(decimals) if decimals else 0.0


def _decimals(value: float) -> int:
    exponent = Decimal(repr(float(value))).as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def of_estimate(
    centre: float,
    error: float,
    freedom: float,
    margin_percent: float,
    deviation: float,
    *,
    blocks: int = 0,
    is_still: bool = False,
) -> RatioVerdict:
    """Of the logarithm of a ratio, with its standard error."""
    half_width = _quantile(freedom, 0.5 + LEVEL / 2) * error
    margin = log(1 + margin_percent / 100)
    return RatioVerdict(
        ratio=ratio_of(centre),
        low=ratio_of(centre - half_width),
        high=ratio_of(centre + half_width),
        blocks=blocks,
        deviation=deviation,
        freedom=freedom,
        p_value=2 * _tail(-abs(centre), error, freedom),
        p_equivalence=_tail(abs(centre) - margin, error, freedom),
        margin_percent=margin_percent,
        is_still=is_still,
    )


def ratio_of(value: float) -> float:
    """The ratio whose natural logarithm this is, of finite size: the ends of an interval, and
    ratios to the smallest numbers, may be beyond all numbers.
    """
    return exp(value if -700.0 <= value <= 700.0 else max(-700.0, min(value, 700.0)))


def family(verdicts: Sequence[RatioVerdict]) -> list[RatioVerdict]:
    """The verdicts of pairs that are tested together, with Holm's correction over all of them.

    It is of differences: what is equivalent by itself stays so.
    """
    adjusted = holm([verdict.p_value for verdict in verdicts])
    return [
        corrected(verdict, p_holm, len(verdicts))
        for verdict, p_holm in zip(verdicts, adjusted, strict=True)
    ]


def corrected(
    verdict: RatioVerdict, p_holm: float, tested: int, equivalence_factor: int = 1
) -> RatioVerdict:
    """The verdict with the p-value that Holm's correction over ``tested`` pairs gave it, and how
    often that of equivalence counts: ``_replace`` in a third of its time, of which a page has
    hundreds.
    """
    fields = (
        *verdict[:_CORRECTED],
        *(p_holm, tested, equivalence_factor),
        *verdict[_CORRECTED + 3 :],
    )
    return RatioVerdict._make(fields)


_CORRECTED = RatioVerdict._fields.index("p_holm")
assert RatioVerdict._fields[_CORRECTED + 1 :][:2] == ("tested", "equivalence_factor")


def equivalence_factor_of(contenders: int) -> int:
    """How often a p-value of equivalence counts where any pair of so many may be called equivalent.

    So many pairs at most can all be just the margin apart at once: those of two halves (C. Lauzon
    and B. Caffo, The American Statistician 63, 2009, with their correction in 67, 2013).
    """
    return max(1, contenders * contenders // 4)


@lru_cache(maxsize=1024)
def _quantile(freedom: float, level: float) -> float:
    return float(stdtrit(freedom, level))


def _tail(centre: float, error: float, freedom: float) -> float:
    """The probability of Student's t below ``centre / error``; without scatter its limit."""
    if error == 0:
        return 0.0 if centre < 0 else 0.5 if centre == 0 else 1.0
    return float(stdtr(freedom, centre / error))


def _more_blocks(verdict: RatioVerdict, level: float, of_equivalence: float) -> int | None:
    """How many blocks beyond those that they share decide it, either way, with a power of 0.8, at
    the levels that are left for a difference and for none.

    The distribution of a shifted t is taken as t around its shift: some blocks too few where there
    are fewer than ten, which the simulation bounds.
    """
    difference = abs(log(verdict.ratio))

    def decides(count: int) -> bool:
        return _decides(
            *(difference, verdict.deviation, count, verdict.margin_percent), level, of_equivalence
        )

    low, high = max(verdict.blocks, LEAST_BLOCKS - 1), verdict.blocks + MOST_ADVISED
    if not decides(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if decides(middle):
            high = middle
        else:
            low = middle
    return high - verdict.blocks


def _decides(
    difference: float,
    deviation: float,
    count: int,
    margin_percent: float,
    level: float,
    of_equivalence: float,
) -> bool:
    error, freedom = deviation / sqrt(count), count - 1
    if error == 0:
        return True
    margin = log(1 + margin_percent / 100)
    power = stdtr(freedom, difference / error - stdtrit(freedom, 1 - level / 2))
    needed = float(stdtrit(freedom, 1 - of_equivalence))
    inside = stdtr(freedom, (margin - difference) / error - needed)
    outside = stdtr(freedom, (margin + difference) / error - needed)
    return bool(power >= POWER or inside + outside - 1 >= POWER)


def least_blocks(contenders: int) -> int:
    """Of so many contenders."""
    return next(
        (blocks for most_contenders, blocks in _LEAST if contenders <= most_contenders), _OF_MORE
    )


def contenders_of(pairs: int) -> int:
    """Whose pairs are so many."""
    return (1 + isqrt(1 + 8 * pairs)) // 2
