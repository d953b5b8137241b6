"""A tool's intervals or trials behind a number, for the page of a run. Changes no number."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from fsbench_web.core import numbers
from fsbench_web.core.scoring.steady_state import (
    MOST_RANGE_PERCENT,
    MOST_SLOPE_PERCENT,
    WINDOW,
    steady_state,
)
from fsbench_web.core.scoring.testnames import is_mean_of_samples
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS, Interval, sample_interval
from fsbench_web.studies.scores.measurements import Measurement

MOST_SHOWN = 200


@dataclass(frozen=True)
class Steadiness:
    """One measurement with samples. ``start`` counts intervals from 1; None: not steady, or trials.
    ``interval`` is of the mean of the samples; None: too few.
    """

    measurement: Measurement
    count: int
    start: int | None
    words: str
    interval: Interval | None = None

    @property
    def correlation_words(self) -> str:
        """The lag-1 autocorrelation; "" where there is none."""
        autocorrelation = self.interval.autocorrelation if self.interval else None
        return (
            "" if autocorrelation is None else numbers.with_minus(numbers.number(autocorrelation))
        )


def steadiness(
    measurements: Iterable[Measurement], *, are_trials: bool = False
) -> list[Steadiness]:
    """What the rule says of each measurement that has samples, ``MOST_SHOWN`` at most."""
    judged: list[Steadiness] = []
    for measurement in measurements:
        if measurement.samples and len(judged) < MOST_SHOWN:
            judged.append(_of(measurement, measurement.samples, are_trials))
    return judged


def _of(measurement: Measurement, samples: list[float], are_trials: bool) -> Steadiness:
    if not all(isinstance(sample, int | float) and isfinite(sample) for sample in samples):
        kind = "a trial" if are_trials else "an interval"
        return Steadiness(measurement, len(samples), None, f"{kind} has no number")
    has_mean = is_mean_of_samples(measurement.test)
    interval = sample_interval(samples, TRIALS if are_trials else SAMPLES) if has_mean else None
    if are_trials:
        return Steadiness(measurement, len(samples), None, "", interval)
    state = steady_state(samples)
    if state.start is not None:
        words = f"steady from interval {state.start + 1} on"
        return Steadiness(measurement, state.count, state.start + 1, words, interval)
    if state.last is None:
        words = f"not known: the rule needs {WINDOW} intervals or more"
    elif state.last.range_percent is None or state.last.slope_percent is None:
        words = f"no steady state: the last {WINDOW} intervals have an average of zero"
    else:
        problems = [
            f"{verb} by {percent:.3g}%, and {limit:g}% is the most"
            for verb, percent, limit in (
                ("differ", state.last.range_percent, MOST_RANGE_PERCENT),
                ("rise or fall", state.last.slope_percent, MOST_SLOPE_PERCENT),
            )
            if percent > limit
        ]
        words = f"no steady state: the last {WINDOW} intervals {'; they '.join(problems)}"
    return Steadiness(measurement, state.count, None, words, interval)
