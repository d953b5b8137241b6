"""Workloads that measure points by fio, each until it is steady or its time is over. Pure.

*Slope*: the fitted line changes by at most so many percent of the mean over the window. *Mean*: no
second is farther from the mean. 10% is what SNIA's Solid State Storage Performance Test
Specification 2.0 asks ("Steady State"). fio takes the slope for each second (fio(1)), so the limit
is divided by the steps of the window.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from fsbench_web.core.workloads.base import BenchmarkCommand, Workload
from fsbench_web.core.workloads.fio.data import fio_data
from fsbench_web.core.workloads.parameters import Kind, Parameter, ParameterError

OFF = "off"
# Each is a test of its own: fio's own list would make 17 of each latency. The rest is in its bins.
PERCENTILES = "--percentile_list=50:90:95:99:99.9:99.99"

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


class SteadyFio(Workload):
    """A command of fio for each point; with FIO_DATA, PREALLOCATE, STEADY, ramp_s, runtime_s."""

    @abstractmethod
    def points(self) -> Sequence[Any]:
        """What is measured, each by a command of its own."""

    @property
    def is_preallocated(self) -> bool:
        return bool(self.preallocate)

    def check(self) -> None:
        """Raise ParameterError where no window fits into the measured time."""
        if self.steady_state == OFF:
            return
        before_s = self.ramp_s + self.steady_ramp_s
        least_s = before_s + self.steady_window_s
        if self.runtime_s <= least_s:
            raise ParameterError(
                f"A window of {self.steady_window_s} s after {before_s} s does not fit into a "
                f"measured time of {self.runtime_s} s. Measure for more than {least_s} s, or "
                "make the window shorter."
            )

    def estimated_s(self) -> float:
        return float(len(self.points()) * (self.ramp_s + self.runtime_s))

    def least_s(self) -> float:
        measured_s = self.runtime_s
        if self.steady_state != OFF:
            measured_s = self.steady_ramp_s + self.steady_window_s
        return float(len(self.points()) * (self.ramp_s + measured_s))

    def layout(self, files: Sequence[str], *more: str) -> BenchmarkCommand:
        """Write the files once; ``more`` options come last."""
        return BenchmarkCommand(
            (
                *("fio", "--name=layout", *files, *fio_data(self)),
                *("--rw=write", "--bs=1m", "--ioengine=psync"),
                *(() if self.preallocate else ("--fallocate=none",)),
                *(*more, "--minimal"),
            )
        )

    @property
    def timing(self) -> tuple[str, ...]:
        """fio's options that say how long it measures."""
        timed = ("--time_based", f"--ramp_time={self.ramp_s}", f"--runtime={self.runtime_s}")
        if self.steady_state == OFF:
            return timed
        limit = self.steady_percent
        if self.steady_state.endswith("_slope"):
            limit /= self.steady_window_s - 1
        return (
            *timed,
            f"--steadystate={self.steady_state}:{limit:.6f}%",
            f"--steadystate_duration={self.steady_window_s}",
            # At the end of a warm-up fio sets its counts to zero, which is not a rate.
            f"--steadystate_ramp_time={self.ramp_s + self.steady_ramp_s}",
        )

    @property
    def steady_title(self) -> str:
        """For the title of a workload, with a comma before it; "" where it is off."""
        if self.steady_state == OFF:
            return ""
        rule = f"{self.steady_state.replace('_', ' ')} {self.steady_percent}%"
        return f" at most, until steady ({rule} in {self.steady_window_s} s)"
