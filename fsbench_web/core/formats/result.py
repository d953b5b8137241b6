"""What every parser returns, and how it says that it cannot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from fsbench_web.core.latency import Distribution
from fsbench_web.core.latency_over_time import LatencySeries

Parameters = tuple[tuple[str, str], ...]
"""What a problem names, by name: hashable, so that problems can be compared."""


@dataclass(frozen=True)
class Problem:
    """What is wrong, or worth knowing, at one place of a file, from line and column 1.

    ``is_note``: a warning that loses nothing. Programs go by ``code`` and ``parameters``; the
    message is made of both ("" where a kind has no code yet).
    """

    line: int | None
    column: int | None
    message: str
    is_note: bool = False
    code: str = ""
    parameters: Parameters = ()
    count: int = 1
    """How many places have this problem; the row describes the first."""

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        place = f"line {self.line}"
        if self.column is not None:
            place += f", column {self.column}"
        return f"{place}: {self.message}"


MAX_VALUES = 200_000
"""Of one file. IOzone's largest matrix has a few thousand; what has more fills memory."""


MAX_VALUE = 1e30
"""No disk is that fast; up to here every sum and mean is a finite number."""
MIN_VALUE = 1e-30
"""No operation is that short; from here on every ratio is a finite number, and can be drawn."""

MAX_REPEAT = 1_000_000
"""Runs are numbered on from the highest repeat, which must leave room for more."""


def too_many_values(line: int | None) -> Problem:
    return Problem(line, None, f"The file has more than {MAX_VALUES:,} values: split it.")


class UnreadableFile(ValueError):
    """A file that cannot be read, with all its problems.

    ``units`` of readable rows, each with its first line, so wrong units are named along with the
    rest.
    """

    def __init__(
        self, problems: Sequence[Problem], units: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        super().__init__(" ".join(str(problem) for problem in problems))
        self.problems = list(problems)
        self.units = dict(units)


class UnknownFormat(UnreadableFile):
    """What is neither the output of a tool that is read, nor a table: a readme, an empty file."""


class NoSureTable(UnreadableFile):
    """A text that looks like a table by its first lines alone: maybe a log, or a list."""


@dataclass(frozen=True)
class ParsedValue:
    """One number that the file holds.

    ``test`` is a name of the contract (write, rewrite, ...) or the tool's own. Sizes are KB of 1024
    bytes, or None. What the file says of its run is in ``filesystem``, ``configuration``,
    ``hardware``, ``kernel``, ``repeat`` and ``block`` (a round). Repeats of tools' output
    count from 1.

    ``load`` is as ``load_text`` writes it, "" if unknown. ``samples`` are the values of the
    intervals. ``is_steady``: whether the tool says that it reached its steady state; None: it had
    none to reach.
    """

    test: str
    record_size_kb: int | None
    file_size_kb: int | None
    value: float
    unit: str
    line: int
    filesystem: str = ""
    configuration: str = ""
    hardware: str = ""
    repeat: int | None = None
    load: str = ""
    samples: tuple[float, ...] = ()
    block: str = ""
    is_steady: bool | None = None
    kernel: str = ""


TOOLS_OF_TRIALS = frozenset({"ior", "phoronix"})
"""These tools print a mean, and the whole trials that it is the mean of: IOR's iterations, the
Phoronix Test Suite's runs of a test. Samples of all other tools are intervals of one trial.
"""

OwnKey = tuple[str, str, str, int | None, str, str]
"""What a file itself says of a run: file system, configuration, hardware, repeat, block, kernel."""


def own_key(value: ParsedValue) -> OwnKey:
    """What the file itself says the number belongs to."""
    return (
        *(value.filesystem, value.configuration, value.hardware),
        *(value.repeat, value.block, value.kernel),
    )


def stored_key(stored: Sequence[Any]) -> OwnKey:
    """A key as an import keeps it; one of before there were blocks, or kernels, has none."""
    filesystem, configuration, hardware, repeat, block, kernel = (*stored, "", "")[:6]
    return filesystem, configuration, hardware, repeat, block, kernel


def names_kernels(keys: Iterable[OwnKey]) -> bool:
    """Whether an import has kernels; if not, its file is read without that column."""
    return any(kernel for *_, kernel in keys)


@dataclass(frozen=True)
class PrintedDate:
    """A date that a file prints; ``at`` may lack a time zone, and is None for no date."""

    at: datetime | None
    text: str
    line: int


def load_text(**counts: int | None) -> str:
    """A load as measurements keep it, without None: ``load_text(jobs=4, iodepth=16)`` is
    iodepth=16,jobs=4.
    """
    return ",".join(f"{name}={n}" for name, n in sorted(counts.items()) if n is not None)


@dataclass
class ParsedResult:
    """All numbers of one file.

    ``modes`` are settings that change what the numbers mean: only runs with the same are repeats.
    ``complete`` is False when the file ends before the tool did. ``warnings`` are losses and notes.
    """

    format: str
    tool: str
    tool_version: str = ""
    command: str = ""
    modes: tuple[str, ...] = ()
    values: list[ParsedValue] = field(default_factory=list)
    complete: bool = True
    warnings: list[Problem] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    dates: dict[OwnKey, PrintedDate] = field(default_factory=dict)
    """When the runs that the file tells apart were measured, of those where it says so."""
    distributions: list[Distribution] = field(default_factory=list)
    """Latencies as counts by value, where the tool prints them."""
    over_time: list[LatencySeries] = field(default_factory=list)
    """Latencies by interval, where a workload has the tool log them."""
    unread_columns: list[tuple[int, str]] = field(default_factory=list)
    """Columns of a table that nothing reads: the header's line and the name."""
    kernel_columns: list[tuple[int, str]] = field(default_factory=list)
    """Those of a table that its kernels are read from."""
    printed_kernels: tuple[str, ...] = ()
    """Releases of the kernels that a tool says it ran on: a proposal, which parts no series."""

    beside: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """What other files say of fio's jobs: options by job and file (fio.naming)."""
    doubts: list[Problem] = field(default_factory=list)
    """What speaks against its repeats being some, until somebody says that they are."""
    has_several_places: bool = False
    """Its runs name other paths each: the command is that of one of them."""

    @property
    def count(self) -> int:
        return len(self.values)

    def without_kernels(self) -> "ParsedResult":
        """The same where the columns of kernels are some that nothing reads: tables have such."""
        return self
