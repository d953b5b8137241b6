"""Where a logarithmic axis of values has its ticks."""

import math

from fsbench_web.core import numbers


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten from ``low`` to ``high``; over long ranges the powers."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(decades) <= 5 else (1,)
    return [
        factor * 10.0**power
        for power in decades
        for factor in factors
        if low <= factor * 10.0**power <= high
    ]


def tick_labels(ticks: list[float]) -> list[str]:
    """The ticks as they are written."""
    return [numbers.compact(tick) for tick in ticks]
