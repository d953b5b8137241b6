"""How sure a mean of repeats is, and whether to measure once more. Pure.

The half-width of the 95% confidence interval of the mean of n values with sample standard
deviation s is ``t * s / sqrt(n)``, with t the 0.975 quantile of Student's distribution with n - 1
degrees of freedom. As a stop rule it is that of "Filesystem Performance and Scalability in Linux
2.4.17", FREENIX 2002: repeat until the 95% half-width is at most 10% of the mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum, isfinite, sqrt
from typing import Annotated, Any

from pydantic import ConfigDict, Field, Strict, StrictInt

from fsbench_web.core.distributions import stdtrit
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.scores import mean

LEVEL = 0.95
LEAST_REPEATS = 2  # one value has no interval
REPEATS = "repeats"
SAMPLES = "samples"
TRIALS = "trials"


@dataclass(frozen=True)
class Interval:
    """The interval ``mean`` ± ``half_width``, in the unit of the ``count`` values behind it.

    ``of`` says what these values are: the scores of repeats, each scored by itself, the samples of
    intervals of one run, or the trials of which one run is the mean. ``autocorrelation`` is that of
    neighbouring samples (lag 1); None for repeats, and where the samples do not differ.
    """

    mean: float
    half_width: float
    count: int
    of: str = REPEATS
    autocorrelation: float | None = None

    @property
    def low(self) -> float:
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        return self.mean + self.half_width

    def scaled(self, times: float) -> "Interval":
        """The same in another unit, of which one of its own is ``times`` as many."""
        return replace(self, mean=self.mean * times, half_width=self.half_width * times)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        # An upload has a dozen of them, and asdict() copies each value apart.
        return {
            "mean": self.mean,
            "half_width": self.half_width,
            "count": self.count,
            "of": self.of,
            "autocorrelation": self.autocorrelation,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Interval":
        """The inverse of ``as_dict``; what another version wrote besides is left out."""
        return cls(
            data["mean"],
            data["half_width"],
            data["count"],
            data.get("of", REPEATS),
            data.get("autocorrelation"),
        )

    @property
    def follows(self) -> bool:
        """Whether neighbouring samples are alike beyond chance: the interval is then too narrow.

        Beyond 2 / sqrt(n), the usual band of a series without any correlation.
        """
        return self.autocorrelation is not None and self.autocorrelation > 2 / sqrt(self.count)

    @property
    def relative_percent(self) -> float | None:
        """The half-width in percent of the mean; None where the mean is zero."""
        return None if self.mean == 0 else 100.0 * self.half_width / abs(self.mean)


def interval(values: Sequence[float], level: float = LEVEL) -> Interval | None:
    """The confidence interval of the mean of independent repeats; None for fewer than two.

    Raises ValueError for a value that is not a finite number.
    """
    count = len(values)
    if count < LEAST_REPEATS:
        return None
    if not all(map(isfinite, values)):
        raise ValueError("a value is not a finite number")
    centre = mean(values)
    deviation = sqrt(fsum((value - centre) ** 2 for value in values) / (count - 1))
    quantile = float(stdtrit(count - 1, 0.5 + level / 2))
    return Interval(centre, quantile * deviation / sqrt(count), count)


def sample_interval(samples: Sequence[float], of: str = SAMPLES) -> Interval | None:
    """The confidence interval of the mean of one run's samples (or TRIALS), in their order.

    They are taken as quasi-independent, as FREENIX 2002 takes them: what one interval measured
    may depend on the one before it, and ``autocorrelation`` tells how much. None for fewer than
    two; raises ValueError for a value that is not a finite number.
    """
    mean_interval = interval(samples)
    return mean_interval and replace(mean_interval, of=of, autocorrelation=autocorrelation(samples))


def autocorrelation(values: Sequence[float]) -> float | None:
    """The lag-1 autocorrelation, between -1 and 1; None where all values are the same."""
    centre = mean(values)
    distances = [value - centre for value in values]
    square = fsum(distance * distance for distance in distances)
    if square == 0:
        return None
    return fsum(a * b for a, b in pairwise(distances)) / square


def intervals_of(scores: Mapping[str, Mapping[int, float]]) -> dict[str, Interval]:
    """The 95% interval of each category's score; ``scores`` are those of each run by itself.

    Categories with fewer than two values have none.
    """
    return {
        category: mean_interval
        for category, of_runs in scores.items()
        if (mean_interval := interval(list(of_runs.values()))) is not None
    }


@dataclass(frozen=True)
class RepeatTarget:
    """Repeat until the half-width is at most ``half_width_percent`` of the mean, in every test.

    The half-width is of the 95% Student-t interval of the overall score. ``least`` finished repeats
    at least, and ``most`` at most, whether they finished or not.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    half_width_percent: Annotated[float, Strict(), Field(description="of the mean", examples=[5])]
    least: Annotated[StrictInt, Field(description="finished repeats at least")] = 3
    most: Annotated[StrictInt, Field(description="repeats at most, failed ones among them")] = 10


@dataclass(frozen=True)
class Continue:
    """One repeat more; ``reason`` says why, for a log."""

    reason: str


@dataclass(frozen=True)
class Stop:
    """No further repeat; ``reason`` is a phrase for people."""

    reason: str


def repeats_verdict(
    scores: Mapping[str, Sequence[float]], target: RepeatTarget, *, done: int, ended: int
) -> Continue | Stop:
    """Whether to repeat once more.

    ``scores`` are the overall scores of the finished repeats by test, one value a repeat; the
    target must be reached in every test, so that no test's scatter hides behind another's. ``done``
    of the order's repeats finished, and ``ended`` came to an end in any way: a repeat that failed
    counts against ``target.most`` and gives no value.
    """
    worst = _widest(scores)
    if done >= target.least and worst is not None and _is_reached(worst[1], target):
        test, widest = worst
        return Stop(
            f"{widest.count} repeats: half-width {_percent(widest, target)} ≤ "
            f"{target.half_width_percent:g}%{_of(test, scores)}"
        )
    if ended >= target.most:
        failed = f", {ended - done} of them without a result" if ended > done else ""
        head = f"stopped at the most, {target.most}{failed}: "
        if worst is None:
            return Stop(f"{head}too few finished repeats for an interval")
        test, widest = worst
        if _is_reached(widest, target):
            return Stop(
                f"{head}half-width {_percent(widest, target)}, with fewer finished repeats than "
                f"the least, {target.least}"
            )
        return Stop(f"{head}half-width still {_percent(widest, target)}{_of(test, scores)}")
    if done < target.least:
        return Continue(f"{done} of at least {target.least} repeats are finished")
    if worst is None:
        return Continue("too few finished repeats for an interval")
    test, widest = worst
    return Continue(
        f"half-width {_percent(widest, target)} > {target.half_width_percent:g}%{_of(test, scores)}"
    )


def _widest(scores: Mapping[str, Sequence[float]]) -> tuple[str, Interval] | None:
    """The test with the widest interval relative to its mean; None while any has no interval."""
    intervals = []
    for test, values in scores.items():
        mean_interval = interval(values)
        if mean_interval is None:
            return None
        intervals.append((test, mean_interval))
    return max(intervals, key=lambda pair: _relative(pair[1]), default=None)


def _relative(mean_interval: Interval) -> float:
    relative = mean_interval.relative_percent
    return float("inf") if relative is None else relative


def _is_reached(mean_interval: Interval, target: RepeatTarget) -> bool:
    return _relative(mean_interval) <= target.half_width_percent


def _percent(mean_interval: Interval, target: RepeatTarget) -> str:
    relative = mean_interval.relative_percent
    if relative is None:
        return "of a mean of zero"
    # As few digits as do not contradict the comparison: 5.003% is not shown as 5.0% > 5%.
    for digits in (2, 3, 5, 17):
        text = f"{relative:.{digits}g}"
        if (float(text) <= target.half_width_percent) == _is_reached(mean_interval, target):
            break
    return f"{text}%"


def _of(test: str, scores: Mapping[str, Sequence[float]]) -> str:
    if len(scores) < 2:
        return ""
    return f" in the widest of {len(scores)} tests, {testnames.in_sentence(test)}"
