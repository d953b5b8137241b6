"""The measured part of a run, the work that was done in it, and how counts grew meanwhile. Pure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # It brings NumPy, and every command knows what costs there are.
    from fsbench_web.core.activity.series import Activity, Step


@dataclass(frozen=True)
class Work:
    """What a benchmark asked for, in bytes and operations, and what its processes took for it.

    ``cpu_s`` are their seconds of user and system time; None: not counted.
    """

    read_bytes: float
    written_bytes: float
    operations: float
    cpu_s: float | None = None


@dataclass(frozen=True)
class Window:
    """The measured part of a run, in seconds of its activity. ``is_settled``: all is written."""

    start_s: float
    end_s: float
    is_settled: bool

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


def window_of(activity: "Activity") -> Window | None:
    """From the first command of the benchmark to the sync behind the last; None without any."""
    steps = [step for step in activity.steps if step.phase == "benchmark"]
    if not steps:
        return None
    sync_steps = [
        step for step in activity.steps if step.phase == "sync" and step.start_s >= steps[-1].end_s
    ]
    return Window(steps[0].start_s, (sync_steps or steps)[-1].end_s, bool(sync_steps))


def work_of(steps: "list[Step]") -> Work | None:
    """What the processes of a benchmark's commands asked for; None where that was not counted."""
    if not steps or any(
        name not in step.processes for step in steps for name in ("rchar", "wchar")
    ):
        return None

    def total(*names: str) -> float:
        return sum(step.processes.get(name, 0) for step in steps for name in names)

    is_timed = all("user_s" in step.processes for step in steps)
    cpu_s = total("user_s", "system_s") if is_timed else None
    return Work(total("rchar"), total("wchar"), total("syscr", "syscw"), cpu_s)


@dataclass(frozen=True)
class WindowedActivity:
    activity: "Activity"
    window: Window

    def grown(self, *names: str) -> float | None:
        """By how much some counts grew together; None where any is not known."""
        growths = [
            self.activity.grown(name, self.window.start_s, self.window.end_s) for name in names
        ]
        return (
            None
            if not growths or None in growths
            else float(sum(growth or 0 for growth in growths))
        )

    def of_devices(self, name: str) -> float | None:
        """Of the data and the journal device together."""
        roles = [
            column.rpartition(".")[0]
            for column in self.activity.columns
            if column.endswith(".writes")
        ]
        return (
            None if self.activity.is_shared else self.grown(*(f"{role}.{name}" for role in roles))
        )


def ratio(
    count: float | None, whole: float | None, least: float = 0.0, times: float = 1.0
) -> float | None:
    if count is None or whole is None or whole <= 0 or whole < least:
        return None
    return count * times / whole
