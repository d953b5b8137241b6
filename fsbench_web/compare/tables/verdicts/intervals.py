"""Intervals and medians in words, as they stand in tables and their details. Pure."""

from fsbench_web.core import numbers
from fsbench_web.core.stats.intervals import REPEATS, TRIALS, Interval, MedianInterval


def half_width(interval: Interval, unit: str) -> str:
    """``± 2.48%``, or in the unit where the mean is zero."""
    relative = interval.relative_percent
    if relative is None:
        return f"± {numbers.with_unit(interval.half_width, unit)}"
    return numbers.half_width(relative)


BELOW_ZERO = (
    "It reaches below zero, where nothing measured can be: with this scatter so few values say no "
    "more than that it may be close to nothing."
)


def interval_sentence(interval: Interval, unit: str, harmonic: float | None = None) -> str:
    """What the interval is, around what, and of what; ``harmonic`` is a mean of the same repeats.

    A rate that was measured over the same time in each repeat has the arithmetic mean, and over the
    same work the harmonic one (Hoefler and Belli, rule 3). An end below zero stays what Student's t
    gives, and is explained.
    """
    sentence = _interval_of(interval, unit, harmonic)
    return f"{sentence} {BELOW_ZERO}" if interval.low < 0 < interval.mean else sentence


def _interval_of(interval: Interval, unit: str, harmonic: float | None) -> str:
    text = (
        f"95% interval {_ends(interval, unit)}, around {numbers.with_unit(interval.mean, unit)}, "
        "the mean"
    )
    if interval.of == REPEATS:
        text += f" of the scores of {interval.count} repeats, each scored by itself."
        if harmonic is None:
            return text
        return (
            f"{text} This arithmetic mean is all work over all time where each repeat ran equally "
            f"long; where each did the same work it is the harmonic mean, "
            f"{numbers.with_unit(harmonic, unit)}."
        )
    kind, values = "interval samples", "samples"
    if interval.of == TRIALS:
        kind = values = "trials"
    text += f" of {interval.count} {kind} of one run, taken as quasi-independent"
    if interval.autocorrelation is None:
        return f"{text}; they are all the same."
    correlation = numbers.with_minus(numbers.number(interval.autocorrelation))
    text += f"; neighbouring {values} correlate by {correlation} (lag 1)"
    if interval.follows:
        return f"{text}, more than chance would have it: the interval is too narrow."
    return f"{text}."


def _ends(interval: Interval, unit: str) -> str:
    return numbers.with_minus(numbers.span(interval.low, interval.high, unit))


def median_sentence(median: MedianInterval, mean: Interval, unit: str) -> str:
    """The median with its interval, and whether the mean says another thing; ``mean`` is of the
    same repeats, in ``unit``.
    """
    text = (
        f"Median {numbers.with_unit(median.median, unit)}, 95% interval "
        f"{numbers.span(median.low, median.high, unit)} (order statistics, which ask nothing of "
        "how repeats are distributed)."
    )
    if not median.low <= mean.mean <= median.high:
        few = "large" if mean.mean > median.median else "small"
        text += f" The mean lies outside of it: the repeats are skewed, a few of them very {few}."
    elif not mean.low <= median.median <= mean.high:
        text += " It lies outside of the interval of the mean: the repeats are skewed."
    return text
