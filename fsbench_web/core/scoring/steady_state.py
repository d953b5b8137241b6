"""From which interval on a run was steady, by SNIA's window rule. Pure.

SNIA, Solid State Storage Performance Test Specification, PTS 2.0, "Steady State"; here every window
up to the last must pass (docs/method.md#steady-state).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, isfinite

WINDOW = 5
MOST_RANGE_PERCENT = 20.0
MOST_SLOPE_PERCENT = 10.0
_ROUNDING = 1 + 1e-12
"""What is just at a limit is within it: 1.8 to 2.2 around 2 is more than 20% by binary rounding."""


@dataclass(frozen=True)
class Window:
    """Range of the values and slope of their line, in percent of their average; None around 0."""

    range_percent: float | None
    slope_percent: float | None

    @property
    def is_steady(self) -> bool:
        return (
            self.range_percent is not None
            and self.slope_percent is not None
            and self.range_percent <= MOST_RANGE_PERCENT * _ROUNDING
            and self.slope_percent <= MOST_SLOPE_PERCENT * _ROUNDING
        )


@dataclass(frozen=True)
class SteadyState:
    """``start``: the first steady interval, from 0; None for none. ``last``: the last window."""

    count: int
    start: int | None
    last: Window | None


def window(values: Sequence[float]) -> Window:
    """What the rule asks of the values, which are at least two and in their order."""
    count = len(values)
    mean = fsum(value / count for value in values)
    spread = max(values) - min(values)
    if spread == 0:
        return Window(0.0, 0.0)
    if mean == 0:
        return Window(None, None)
    middle = (count - 1) / 2
    steps = fsum((place - middle) ** 2 for place in range(count))
    slope = fsum((place - middle) * ((value - mean) / steps) for place, value in enumerate(values))
    rise = abs(slope) * (count - 1)
    return Window(100.0 * (spread / abs(mean)), 100.0 * (rise / abs(mean)))


def steady_state(samples: Sequence[float]) -> SteadyState:
    """From where the samples of one run are steady to the end. Raises ValueError if not finite."""
    if not all(map(isfinite, samples)):
        raise ValueError("a sample is not a finite number")
    count = len(samples)
    if count < WINDOW:
        return SteadyState(count, None, None)
    start: int | None = None
    last = window(samples[-WINDOW:])
    for first in range(count - WINDOW, -1, -1):
        if not window(samples[first : first + WINDOW]).is_steady:
            break
        start = first
    return SteadyState(count, start, last)
