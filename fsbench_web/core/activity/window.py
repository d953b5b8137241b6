"""The measured parts of a run, the work done in them, and how counts grew meanwhile. Pure."""

from collections.abc import Iterable
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
    """The measured parts of a run, (from, to) in seconds of its activity.

    ``is_settled``: all that each part left in memory is written within it.
    """

    parts: tuple[tuple[float, float], ...]
    is_settled: bool

    @property
    def seconds(self) -> float:
        return sum(end_s - start_s for start_s, end_s in self.parts)


def measured_steps(steps: "Iterable[Step]") -> "list[Step]":
    """The commands of a benchmark that give its values.

    The others keep no output: they make what is measured (a source tree, a database, a mail
    spool), warm it up, or remove it.
    """
    return [step for step in steps if _is_measured(step)]


def _is_measured(step: "Step") -> bool:
    return step.phase == "benchmark" and bool(step.output)


def window_of(activity: "Activity") -> Window | None:
    """The measured commands, with the sync behind each row of them; None without any."""
    parts: list[tuple[float, float, bool]] = []
    is_open = False
    for step in activity.steps:
        if _is_measured(step):
            start_s = parts.pop()[0] if is_open else step.start_s
            parts.append((start_s, step.end_s, False))
            is_open = True
        elif is_open and step.phase == "sync":
            parts.append((parts.pop()[0], step.end_s, True))
        elif step.phase == "benchmark":
            is_open = False
    if not parts:
        return None
    return Window(
        tuple((start_s, end_s) for start_s, end_s, _ in parts),
        all(is_settled for _, _, is_settled in parts),
    )


def work_of(steps: "list[Step]") -> Work | None:
    """What the processes of measured commands asked for; None where that was not counted."""
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
            self.activity.grown(name, start_s, end_s)
            for name in names
            for start_s, end_s in self.window.parts
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
