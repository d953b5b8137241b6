"""Intervals and medians in words, as they stand in tables and their details. Pure."""

from fsbench_web.core import numbers
from fsbench_web.core.scoring.confidence import REPEATS, TRIALS, Interval
from fsbench_web.core.scoring.median import MedianInterval, RepeatsFor


def half_width(found: Interval, unit: str) -> str:
    """``± 2.48%``, or in the unit where the mean is zero."""
    relative = found.relative_percent
    if relative is None:
        return f"± {numbers.with_unit(found.half_width, unit)}"
    return numbers.half_width(relative)


BELOW_ZERO = (
    "It reaches below zero, where nothing measured can be: with this scatter so few values say no "
    "more than that it may be close to nothing."
)


def interval_sentence(found: Interval, unit: str, harmonic: float | None = None) -> str:
    """What the interval is, around what, and of what; ``harmonic`` is a mean of the same repeats.

    A rate that was measured over the same time in each repeat has the arithmetic mean, and over the
    same work the harmonic one (Hoefler and Belli, rule 3). An end below zero stays what Student's t
    gives, and is explained.
    """
    interval = _interval_of(found, unit, harmonic)
    return f"{interval} {BELOW_ZERO}" if found.low < 0 < found.mean else interval


def _interval_of(found: Interval, unit: str, harmonic: float | None) -> str:
    text = (
        f"95% interval {_ends(found, unit)}, around {numbers.with_unit(found.mean, unit)}, the mean"
    )
    if found.of == REPEATS:
        text += f" of the scores of {found.count} repeats, each scored by itself."
        if harmonic is None:
            return text
        return (
            f"{text} This arithmetic mean is all work over all time where each repeat ran equally "
            f"long; where each did the same work it is the harmonic mean, "
            f"{numbers.with_unit(harmonic, unit)}."
        )
    kind, values = "interval samples", "samples"
    if found.of == TRIALS:
        kind = values = "trials"
    text += f" of {found.count} {kind} of one run, taken as quasi-independent"
    if found.autocorrelation is None:
        return f"{text}; they are all the same."
    correlation = numbers.with_minus(numbers.number(found.autocorrelation))
    text += f"; neighbouring {values} correlate by {correlation} (lag 1)"
    if found.follows:
        return f"{text}, more than chance would have it: the interval is too narrow."
    return f"{text}."


def _ends(found: Interval, unit: str) -> str:
    return numbers.with_minus(numbers.span(found.low, found.high, unit))


def median_sentence(found: MedianInterval, mean: Interval, unit: str) -> str:
    """The median with its interval, whether the mean says another thing, and how many repeats it
    takes; ``mean`` is of the same repeats, in ``unit``.
    """
    text = (
        f"Median {numbers.with_unit(found.median, unit)}, 95% interval "
        f"{numbers.span(found.low, found.high, unit)} (order statistics, which ask nothing of how "
        "repeats are distributed)."
    )
    if not found.low <= mean.mean <= found.high:
        few = "large" if mean.mean > found.median else "small"
        text += f" The mean lies outside of it: the repeats are skewed, a few of them very {few}."
    elif not mean.low <= found.median <= mean.high:
        text += " It lies outside of the interval of the mean: the repeats are skewed."
    enough = " and ".join(_needed(one, found.count) for one in found.repeats_for)
    return f"{text} By resampling (CONFIRM) {enough}." if enough else text


def _needed(one: RepeatsFor, count: int) -> str:
    needed = f"more than these {count} repeats" if one.repeats is None else f"{one.repeats} repeats"
    return f"{needed} would give it to ± {one.half_width_percent:g}%"
