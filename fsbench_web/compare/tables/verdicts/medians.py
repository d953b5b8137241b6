"""Medians of repeats in words, beside the mean of which a score's interval is. Pure."""

from fsbench_web.core import numbers
from fsbench_web.core.scoring.confidence import Interval
from fsbench_web.core.scoring.median import MedianInterval, RepeatsFor


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
