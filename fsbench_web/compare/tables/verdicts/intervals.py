"""Intervals and medians in words, as they stand in tables and their details. Pure."""

from fsbench_web.core import numbers
from fsbench_web.core.stats.intervals import REPEATS, SAMPLES, Interval, MedianInterval

BELOW_ZERO = "It reaches below zero: with this scatter the value may be close to nothing."


def half_width(interval: Interval, unit: str) -> str:
    """``± 2.48%``, or in the unit where the mean is zero."""
    relative = interval.relative_percent
    if relative is None:
        return f"± {numbers.with_unit(interval.half_width, unit)}"
    return numbers.half_width(relative)


def interval_sentence(interval: Interval, unit: str, harmonic: float | None = None) -> str:
    """What the interval is, and of what; ``harmonic`` is the harmonic mean of the same repeats.

    A rate measured over the same time in each repeat has the arithmetic mean, and over the same
    work the harmonic one (Hoefler and Belli, rule 3).
    """
    ends = numbers.with_minus(numbers.span(interval.low, interval.high, unit))
    centre = numbers.with_unit(interval.mean, unit)
    count = f"{interval.count} {interval.of}"
    if interval.of == REPEATS:
        sentences = [f"95% interval {ends} around {centre}, the mean of {count}."]
        if harmonic is not None:
            other = numbers.with_unit(harmonic, unit)
            sentences.append(f"If each did the same work, the harmonic mean counts: {other}.")
    else:
        sentences = [f"95% interval {ends} around {centre}, the mean of {count} of one run."]
        sentences += _dependence(interval)
    if interval.low < 0 < interval.mean:
        sentences.append(BELOW_ZERO)
    return " ".join(sentences)


def _dependence(interval: Interval) -> list[str]:
    """How much neighbouring values of one run are alike."""
    if interval.autocorrelation is None:
        return ["They are all the same."]
    correlation = numbers.with_minus(numbers.number(interval.autocorrelation))
    values = "samples" if interval.of == SAMPLES else "trials"
    sentence = f"Neighbouring {values} correlate by {correlation} (lag 1)."
    return [sentence, *["So the interval is too narrow."] * interval.follows]


def median_sentence(median: MedianInterval, mean: Interval, unit: str) -> str:
    """The median with its interval, and whether the mean says another thing; ``mean`` is of the
    same repeats, in ``unit``.
    """
    text = (
        f"Median {numbers.with_unit(median.median, unit)}, 95% interval "
        f"{numbers.span(median.low, median.high, unit)} (order statistics)."
    )
    if not median.low <= mean.mean <= median.high:
        few = "large" if mean.mean > median.median else "small"
        text += f" The mean lies outside of it: a few repeats are very {few}."
    elif not mean.low <= median.median <= mean.high:
        text += " It lies outside of the interval of the mean: the repeats are skewed."
    return text
