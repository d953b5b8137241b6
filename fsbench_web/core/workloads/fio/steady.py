"""A measurement of fio that ends when it is steady. Pure.

fio looks at the rate once a second over a window. *Slope*: the straight line fitted to it by least
squares rises or falls by at most so many percent of the mean, from one end of the window to the
other; *mean*: no second is farther from the mean. 10% of each is what SNIA's Solid State Storage
Performance Test Specification 2.0 asks of its rounds ("Steady State": a slope of 10%, and 20% from
the least to the largest), whose rounds are a minute: seconds scatter more. fio takes the slope for
each second (fio(1), "Steady state"), so the limit is divided by the steps of the window.
"""

from typing import Any

from fsbench_web.core.workloads.parameters import Kind, Parameter, ParameterError

OFF = "off"

STEADY = (
    Parameter(
        "steady_state",
        "Stop at steady state",
        Kind.CHOICE,
        default=OFF,
        choices=(
            (OFF, "no: the measured time is the time"),
            ("iops_slope", "when operations a second neither rise nor fall (slope)"),
            ("iops", "when no second is far from the mean of operations a second"),
            ("bw_slope", "when the rate of data neither rises nor falls (slope)"),
            ("bw", "when no second is far from the mean rate of data"),
        ),
        is_late=True,
        help="fio's steadystate. The measured time is then the most; a test that was not steady by "
        "its end carries a flag.",
    ),
    Parameter(
        "steady_percent",
        "Limit of steady state",
        unit="%",
        default=10,
        minimum=1,
        maximum=100,
        is_late=True,
        help="Of the window's mean: the rise over the window, or how far a second may be from it.",
    ),
    Parameter(
        "steady_window_s",
        "Window of steady state",
        unit="seconds",
        default=60,
        minimum=3,
        maximum=3600,
        is_late=True,
    ),
    Parameter(
        "steady_ramp_s",
        "Before the window",
        unit="seconds",
        default=0,
        maximum=24 * 3600,
        is_late=True,
        help="Measured, but not looked at for a steady state.",
    ),
)


def check_steady(values: Any) -> None:
    """Raise ParameterError where no window fits into the measured time."""
    if values.steady_state == OFF:
        return
    least_s = values.ramp_s + values.steady_ramp_s + values.steady_window_s
    if values.runtime_s <= least_s:
        raise ParameterError(
            f"A window of {values.steady_window_s} s after {values.ramp_s + values.steady_ramp_s} "
            f"s does not fit into a measured time of {values.runtime_s} s: measure for more than "
            f"{least_s} s, which is the most, or make the window shorter."
        )


def least_measured_s(values: Any) -> int:
    """The seconds of warm-up and measurement before which no test of the workload ends."""
    measured_s: int = values.runtime_s
    if values.steady_state != OFF:
        measured_s = values.steady_ramp_s + values.steady_window_s
    return int(values.ramp_s) + measured_s


def fio_steady(values: Any) -> tuple[str, ...]:
    """fio's options for a workload with STEADY; its warm-up is ``ramp_s``."""
    if values.steady_state == OFF:
        return ()
    limit = values.steady_percent
    if values.steady_state.endswith("_slope"):
        limit /= values.steady_window_s - 1
    return (
        f"--steadystate={values.steady_state}:{limit:.6f}%",
        f"--steadystate_duration={values.steady_window_s}",
        # At the end of a warm-up fio sets its counts to zero, which is no rate.
        f"--steadystate_ramp_time={values.ramp_s + values.steady_ramp_s}",
    )


def steady_title(values: Any) -> str:
    """For the title of a workload, with a comma before it; "" where it is off."""
    if values.steady_state == OFF:
        return ""
    rule = values.steady_state.replace("_", " ")
    return f" at most, until steady ({rule} {values.steady_percent}% in {values.steady_window_s} s)"
