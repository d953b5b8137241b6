"""The rule of FREENIX 2002: whether two means with their intervals differ. Pure.

From "Filesystem Performance and Scalability in Linux 2.4.17". Two means differ if their 95%
Student-t intervals do not overlap and they differ by at least 10%, here of the larger one. The
winner must have the better mean: a score need not be a mean. The p-value is Welch's.
"""

from decimal import Decimal
from fractions import Fraction
from math import sqrt

from fsbench_web.core.distributions import stdtr
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS, Interval
from fsbench_web.core.stats.verdicts import (
    NO_SCATTER,
    ORDER,
    SAME_SCORE,
    SIGNIFICANT,
    TIE,
    Verdict,
    quantile,
)

MARGIN_PERCENT = 10.0
"""By how much two means differ at least, unless a reader chooses another margin."""

# Reasons of a tie besides those of stats.verdicts.
OVERLAP = "overlap"  # the intervals overlap
MARGIN = "margin"  # the means differ by less than the margin


def compare(
    ahead: Interval,
    behind: Interval,
    *,
    margin_percent: float,
    lower_is_better: bool,
) -> Verdict:
    """The verdict of one pair, from 95% intervals: whether ``ahead`` is significantly better."""
    reasons = []
    is_still = ahead.half_width == behind.half_width == 0 and ahead.mean != behind.mean
    if not (ahead.mean < behind.mean if lower_is_better else ahead.mean > behind.mean):
        reasons.append(SAME_SCORE if ahead.mean == behind.mean else ORDER)
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
    )


def welch_p(a: Interval, b: Interval) -> float:
    """The two-sided p-value of Welch's test, from 95% intervals; 0 or 1 without scatter."""
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


def _standard_error(mean_interval: Interval) -> float:
    return mean_interval.half_width / quantile(mean_interval.count - 1)


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
    """The decimal that people see, so that 90 is exactly 10% behind 100."""
    return Fraction(Decimal(repr(float(value))))
