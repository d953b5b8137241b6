"""The activity of a run: the kernel's counts over time as growth, and their block. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fsbench_web.core.measurement_columns import UnreadableBlock, pack, unpack

MAGIC = b"fsba"
NOTHING = -1
"""In a column: the number could not be read, or was less than before."""
MOST_SAMPLES = 4_000
"""More are thinned out to half of them: an hour at once a second stays whole."""
LEVELS = ("in_flight", "_bytes")
"""How the names of numbers end that are levels; all others only grow."""
_MILLISECONDS = 1000

Numbers = npt.NDArray[np.int64]


def is_level(name: str) -> bool:
    """Whether a number is what is there now, and no count."""
    return name.endswith(LEVELS)


@dataclass(frozen=True)
class Step:
    """A command of the run: seconds since the first sample, and what its processes asked for."""

    start_s: float
    end_s: float
    phase: str
    output: str = ""
    processes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Activity:
    """``columns``: by name, as long as ``times_ms``. ``absent``: missing numbers, and why.

    ``is_whole``: sampled to the end. ``is_shared``: the device of a folder. ``space``: of the file
    system. ``every_s``: the sampling interval. ``devices``: write_cache, fua and counts_flushes by
    role; empty of runs from before.
    """

    times_ms: Numbers
    columns: Mapping[str, Numbers]
    steps: Sequence[Step] = ()
    absent: Sequence[tuple[str, str]] = ()
    every_s: float = 1.0
    is_whole: bool = True
    is_shared: bool = False
    space: Mapping[str, Any] = field(default_factory=dict)
    taken: int = 0
    devices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.times_ms)

    @property
    def seconds(self) -> float:
        return float(self.times_ms[-1]) / _MILLISECONDS if len(self) else 0.0

    def place(self, at_s: float) -> int | None:
        """The sample that was taken then."""
        at_ms = round(at_s * _MILLISECONDS)
        index = int(np.searchsorted(self.times_ms, at_ms))
        return index if index < len(self) and self.times_ms[index] == at_ms else None

    def grown(self, name: str, start_s: float, end_s: float) -> int | None:
        """By how much a count grew between two samples; None where that is not known."""
        column, places = self.columns.get(name), (self.place(start_s), self.place(end_s))
        if column is None or places[0] is None or places[1] is None:
            return None
        first, last = int(column[places[0]]), int(column[places[1]])
        return last - first if NOTHING not in (first, last) and last >= first else None

    def rates(self, name: str) -> list[float | None]:
        """The growth a second between each two samples: one less than there are samples."""
        column = self.columns[name]
        growths, durations_ms = np.diff(column), np.diff(self.times_ms)
        is_known = (
            (column[1:] != NOTHING) & (column[:-1] != NOTHING) & (growths >= 0) & (durations_ms > 0)
        )
        return [
            float(growth) * _MILLISECONDS / float(ms) if known else None
            for growth, ms, known in zip(
                growths.tolist(), durations_ms.tolist(), is_known.tolist(), strict=True
            )
        ]

    def levels(self, name: str) -> list[int | None]:
        """What was there at each sample."""
        values: list[int] = self.columns[name].tolist()
        return [None if value == NOTHING else value for value in values]


def encode(activity: Activity) -> bytes:
    """The block of an activity."""
    directory = {
        "names": list(activity.columns),
        "steps": [
            [step.start_s, step.end_s, step.phase, step.output, dict(step.processes)]
            for step in activity.steps
        ],
        "absent": [list(pair) for pair in activity.absent],
        "every_s": activity.every_s,
        "is_whole": activity.is_whole,
        "is_shared": activity.is_shared,
        "space": dict(activity.space),
        "taken": activity.taken,
        "devices": {role: dict(facts) for role, facts in activity.devices.items()},
    }
    arrays = [activity.times_ms, *activity.columns.values()]
    # Counts grow by about as much in each second: their differences are small, and alike.
    return pack(directory, [np.diff(array, prepend=0) for array in arrays], MAGIC)


def decode(block: bytes) -> Activity:
    """The activity of a block. Raises UnreadableBlock."""
    directory, arrays = unpack(block, MAGIC)
    try:
        names = list(directory["names"])
        if len(arrays) != len(names) + 1 or len({len(array) for array in arrays}) != 1:
            raise UnreadableBlock("The block holds other columns than it names.")
        times, *columns = (np.cumsum(array.astype(np.int64), dtype=np.int64) for array in arrays)
        return Activity(
            times,
            dict(zip(names, columns, strict=True)),
            [Step(*fields) for fields in directory["steps"]],
            [(name, reason) for name, reason in directory["absent"]],
            directory["every_s"],
            directory["is_whole"],
            directory["is_shared"],
            directory["space"],
            directory["taken"],
            directory.get("devices", {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, UnreadableBlock):
            raise
        raise UnreadableBlock(f"The block is not made as it should be: {error!r}.") from None


@dataclass
class ActivityBuilder:
    """Takes what a sampler says, in whatever state it breaks off."""

    names: list[str] = field(default_factory=list)
    absent: list[tuple[str, str]] = field(default_factory=list)
    every_s: float = 1.0
    is_shared: bool = False
    devices: dict[str, dict[str, Any]] = field(default_factory=dict)
    space: dict[str, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    taken: int = 0
    _first: list[int | None] = field(default_factory=list)
    _rows: list[tuple[int, bool, list[int]]] = field(default_factory=list)

    def begin(
        self,
        names: Iterable[str],
        absent: Iterable[Sequence[str]] = (),
        every_s: float = 1.0,
        *,
        is_shared: bool = False,
        devices: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """What the samples that follow hold. Raises ValueError for a name that comes twice."""
        self.names = [str(name) for name in names]
        if len(set(self.names)) < len(self.names):
            raise ValueError("a number is named twice")
        self.absent = [(str(name), str(reason)) for name, reason in absent]
        self.every_s, self.is_shared = float(every_s), is_shared
        self.devices = {str(role): dict(facts) for role, facts in (devices or {}).items()}
        self._first, self._rows, self.taken = [None] * len(self.names), [], 0

    def add(self, at_s: float, values: Sequence[int | None], *, is_edge: bool = False) -> None:
        """A sample; ``is_edge``: where a command begins or ends. Raises ValueError."""
        if len(values) != len(self.names):
            raise ValueError("a sample holds another number of values than were named")
        at_ms, row = round(at_s * _MILLISECONDS), []
        if self._rows and at_ms <= self._rows[-1][0]:
            if not is_edge or at_ms < self._rows[-1][0]:
                return
            self._rows.pop()
        for place, (name, value) in enumerate(zip(self.names, values, strict=True)):
            if value is None:
                row.append(NOTHING)
            elif is_level(name):
                row.append(int(value))
            else:
                first = self._first[place]
                if first is None:
                    first = self._first[place] = int(value)
                row.append(max(int(value) - first, NOTHING))
        self.taken += 1
        self._rows.append((at_ms, is_edge, row))
        if len(self._rows) > MOST_SAMPLES:
            last = len(self._rows) - 1
            self._rows = [
                sample
                for place, sample in enumerate(self._rows)
                if sample[1] or place % 2 == 0 or place == last
            ]

    def built(self, *, is_whole: bool) -> Activity | None:
        """What came so far; None where that is no sample."""
        if not self._rows:
            return None
        times, _, rows = zip(*self._rows, strict=True)
        table = np.array(rows, dtype=np.int64).reshape(len(rows), len(self.names))
        return Activity(
            np.array(times, dtype=np.int64),
            {name: table[:, place].copy() for place, name in enumerate(self.names)},
            tuple(self.steps),
            tuple(self.absent),
            self.every_s,
            is_whole,
            self.is_shared,
            dict(self.space),
            self.taken,
            self.devices,
        )
