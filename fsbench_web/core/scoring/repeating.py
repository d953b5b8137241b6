"""Whether to repeat once more. Pure. The rule of FREENIX 2002: 95% half-width below a target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field, Strict, StrictInt

from fsbench_web.core.scoring import testnames
from fsbench_web.core.stats.intervals import Interval, interval


@dataclass(frozen=True)
class RepeatTarget:
    """Repeat until every test's 95% half-width is at most this percent of its mean."""

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
    """Whether to repeat: ``scores`` of finished repeats by test; ``ended`` includes failed ones."""
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
