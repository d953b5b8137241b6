"""Verdicts: whether one contender is ahead of another by more than chance. Pure.

What a verdict says is here, and the rule *freenix*; the other two, of ratios, are in
``stats.verdicts``. It is that of "Filesystem Performance and Scalability in Linux 2.4.17", FREENIX
2002: two means differ significantly when their 95% Student-t intervals do not overlap, and the
means differ by at least 10%. The difference is taken as delta 1 is, in percent of the larger mean,
which is the stricter reading of the two. That the winner is the one with the better mean is asked
too: a score need not be a mean (a maximum is taken over all repeats), and then the two can
disagree.

When several pairs are tested at once some differ by chance alone. So each pair's p-value (Welch's
test, two-sided: the scatter of the two need not be alike) is corrected with Holm's method (1979)
over all pairs that are tested together, or may have been: who is best was seen in the same numbers.
What passes the rule is significant only if the corrected p-value is at most 0.05 as well. Holm
holds whatever the dependence between the pairs is, and scores of one run depend on each other much.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any, NamedTuple

from fsbench_web.core.distributions import stdtr, stdtrit
from fsbench_web.core.stats.intervals import LEVEL, SAMPLES, TRIALS, Interval

MARGIN_PERCENT = 10.0
"""By how much two means differ at least, where nobody says otherwise (FREENIX 2002)."""
FALSE_ALARM = 0.05
"""1 - LEVEL, without what binary rounding adds to it."""

SIGNIFICANT = "significant"  # faster, or slower
EQUIVALENT = "equal"  # the same within the margin of equivalence
TIE = "tie"  # inconclusive
UNKNOWN = "unknown"  # inconclusive, because nothing could be tested

# What a verdict rests on.
PAIRED = "paired"  # the blocks that both were measured in
UNPAIRED = "unpaired"  # the scatter of each by itself
FREENIX = "freenix"  # the rule of FREENIX 2002

# Why a pair is a tie: one or more of these.
EQUAL = "equal"  # the same score
ORDER = "order"  # the means do not put it ahead
OVERLAP = "overlap"  # the intervals overlap
MARGIN = "margin"  # the means differ by less than the margin
HOLM = "holm"  # the corrected p-value is above 0.05
TICKS = "clock"  # few ticks of the tool's timer, which came out the same every time
ROUNDED = "rounded"  # nothing scattered, and what rounding makes holds 1
SCATTER = "scatter"  # the interval of the ratio holds 1, and more than the margin of equivalence
# Why it is not known: one or more of these.
ONE_RUN = "one_run"
PUBLISHED = "published"  # a paper printed one figure and no repeats
EMULATED = "emulated"  # one of them is a speed, the other is not
NO_INTERVAL = "no_interval"  # runs enough, but nothing kept of their scatter
# confidence.SAMPLES: nothing but the scatter within a run is known. Besides, of any verdict that
# rests on such an interval by the rule *freenix*, or on one of a run's trials (TRIALS) by any.
NO_SCATTER = "no_scatter"
"""Besides, of any of two means that differ where neither side scatters at all: p is then 0, or that
of what rounding makes (stats.verdicts)."""


class Verdict(NamedTuple):
    """What is known of one contender against another (or, for a winner, all others).

    ``status`` is significant, equal, tie or unknown, ``reasons`` says why, ``method`` by which
    rule. ``p_value`` is that of no difference, ``p_holm`` corrected over ``tested`` pairs; None
    where no test could be made. ``against`` names whom it is about.

    ``ratio``, between ``ratio_low`` and ``ratio_high`` at 95%, is the speed of the one that it is
    said of over that of the other; they share ``blocks``. ``more_blocks`` that both are in would
    decide it; None where it is decided, or not within reason. ``p_equivalence`` is of a difference
    of ``equivalence_percent`` or more, ``p_equivalence_corrected`` the same for all pairs. All are
    None by the rule of FREENIX 2002, whose are ``margin_percent`` and
    ``difference_percent``, of the means in percent of the larger.
    """

    status: str
    reasons: tuple[str, ...] = ()
    difference_percent: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    tested: int | None = None
    margin_percent: float = MARGIN_PERCENT
    against: tuple[str, ...] = ()
    method: str = FREENIX
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    blocks: int | None = None
    more_blocks: int | None = None
    equivalence_percent: float | None = None
    p_equivalence: float | None = None
    p_equivalence_corrected: float | None = None

    @property
    def is_inconclusive(self) -> bool:
        return self.status in (TIE, UNKNOWN)

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
        return cls(
            **values
            | {"reasons": tuple(data.get("reasons", ())), "against": tuple(data.get("against", ()))}
        )


def compare(
    ahead: Interval,
    behind: Interval,
    *,
    margin_percent: float,
    lower_is_better: bool,
    against: tuple[str, ...] = (),
) -> Verdict:
    """The verdict of one pair by itself: whether ``ahead`` is significantly better.

    Both intervals are of the level 0.95. Intervals that touch overlap.
    """
    reasons = []
    is_still = ahead.half_width == behind.half_width == 0 and ahead.mean != behind.mean
    if not (ahead.mean < behind.mean if lower_is_better else ahead.mean > behind.mean):
        reasons.append(EQUAL if ahead.mean == behind.mean else ORDER)
    if _overlap(ahead, behind):
        reasons.append(OVERLAP)
    difference = _difference_percent(ahead.mean, behind.mean)
    # A negative or zero mean has no percentages; then the margin cannot be reached.
    if difference is None or _is_less(difference, margin_percent, ahead.mean, behind.mean):
        reasons.append(MARGIN)
    return Verdict(
        status=TIE if reasons else SIGNIFICANT,
        reasons=(
            *reasons,
            *(kind for kind in (SAMPLES, TRIALS) if kind in {ahead.of, behind.of}),
            *([NO_SCATTER] if is_still else []),
        ),
        difference_percent=difference,
        p_value=welch_p(ahead, behind),
        margin_percent=margin_percent,
        against=against,
    )


def corrected(verdict: Verdict, p_holm: float, tested: int) -> Verdict:
    """The verdict with the p-value that Holm's correction over ``tested`` pairs gave it.

    One that was significant by itself becomes a tie where that is above 0.05; a tie stays one.
    """
    status, reasons = verdict.status, verdict.reasons
    if status == SIGNIFICANT and p_holm > FALSE_ALARM:
        status, reasons = TIE, (HOLM, *reasons)
    return verdict._replace(status=status, reasons=reasons, p_holm=p_holm, tested=tested)


def _reciprocal(value: float | None) -> float | None:
    return None if value is None else 1 / value


def pairs_of(contenders: int) -> int:
    """How many pairs so many contenders make."""
    return contenders * (contenders - 1) // 2


def holm(p_values: Sequence[float], family: int | None = None) -> list[float]:
    """Holm's corrected p-values, in the order given: S. Holm, Scand. J. Statist. 6 (1979).

    The smallest of m is multiplied by m, the next by m - 1 and so on; none is below the one before
    it, nor above 1. ``family`` is m where these were picked, by what was measured, out of so many
    hypotheses; what the others' p-values are may then stay unknown, because no order of all makes
    one of these larger than the order in which these come first. Raises ValueError for what is no
    probability, or a family smaller than what is tested of it.
    """
    if not all(0.0 <= p <= 1.0 for p in p_values):
        raise ValueError("a p-value is not between 0 and 1")
    count = len(p_values) if family is None else family
    if count < len(p_values):
        raise ValueError("a family is of all that is tested of it")
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, p_values[place] * (count - rank)))
        adjusted[place] = least
    return adjusted


def welch_p(a: Interval, b: Interval) -> float:
    """The two-sided p-value of Welch's test of two means, from their 95% intervals.

    Where neither scatters at all the limit is taken: 0 for different means, 1 for equal ones.
    """
    error_a, error_b = _standard_error(a), _standard_error(b)
    # Products instead of powers here and below: they are the same wherever they are worked out.
    variance_a, variance_b = error_a * error_a, error_b * error_b
    total = variance_a + variance_b
    if total == 0:
        return 1.0 if a.mean == b.mean else 0.0
    # Shares instead of variances: the square of a small one would vanish.
    share_a, share_b = variance_a / total, variance_b / total
    freedom = 1 / (share_a * share_a / (a.count - 1) + share_b * share_b / (b.count - 1))
    return float(2 * stdtr(freedom, -abs(a.mean - b.mean) / sqrt(total)))


def unknown_verdict(
    *reasons: str,
    margin_percent: float = MARGIN_PERCENT,
    against: tuple[str, ...] = (),
    method: str = FREENIX,
) -> Verdict:
    """Nothing can be said, and why."""
    why = tuple(dict.fromkeys(reasons))
    return Verdict(UNKNOWN, why, margin_percent=margin_percent, against=against, method=method)


def _standard_error(mean_interval: Interval) -> float:
    return mean_interval.half_width / _quantile(mean_interval.count)


@lru_cache(maxsize=1024)
def _quantile(count: int) -> float:
    return float(stdtrit(count - 1, 0.5 + LEVEL / 2))


def _overlap(a: Interval, b: Interval) -> bool:
    distance, widths = abs(a.mean - b.mean), a.half_width + b.half_width
    if _is_clear(distance, widths, max(abs(a.mean), abs(b.mean))):
        return distance < widths
    return abs(_exact(a.mean) - _exact(b.mean)) <= _exact(a.half_width) + _exact(b.half_width)


def _difference_percent(a: float, b: float) -> float | None:
    if min(a, b) < 0 or max(a, b) <= 0:
        return None
    return 100 * abs(a - b) / max(a, b)


def _is_less(difference: float, margin_percent: float, a: float, b: float) -> bool:
    if _is_clear(difference, margin_percent, 100.0):
        return difference < margin_percent
    exact = 100 * abs(_exact(a) - _exact(b)) / _exact(max(a, b))
    return exact < _exact(margin_percent)


def _is_clear(first: float, second: float, scale: float) -> bool:
    """Whether binary rounding cannot have decided which of two is larger."""
    return abs(first - second) > 1e-9 * max(first, second, scale)


def _exact(value: float) -> Fraction:
    """The decimal that people see, so that 90 is 10% behind 100 and not a hair less.

    Slow, and needed only where it is a close call.
    """
    return Fraction(Decimal(repr(float(value))))
