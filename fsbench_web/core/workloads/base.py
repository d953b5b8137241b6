"""What a workload is; a new one is a subclass in its own module (docs/adding-a-workload.md)."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from fsbench_web.core import formats
from fsbench_web.core.activity.promises import Syncs
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.scoring.ceilings import Request
from fsbench_web.core.workloads.parameters import KB as KB
from fsbench_web.core.workloads.parameters import Kind, Parameter, checked_values
from fsbench_web.core.workloads.parameters import ParameterError as ParameterError
from runner.safety.marks import WORK_NAME

MOUNT_POINT = "/mnt/fsbench"

DATABASE = "Database"
SMALL_FILES = "Small files"
STREAMING = "Streaming"
MAIL = "Mail"
BUILD = "Build and source trees"
MIXED = "Memory and mixed"
UPLOADED_HERE = "Uploaded here"
OTHERS = "Other workloads"
QUESTIONS = (DATABASE, SMALL_FILES, STREAMING, MAIL, BUILD, MIXED, UPLOADED_HERE, OTHERS)
"""What somebody wants to know of, in the order in which the form has a group of workloads each."""

Cell = tuple[int, int]
"""(record size, file size) in KB of 1024 bytes."""


@dataclass(frozen=True)
class Place:
    """Where a workload runs: the folder that is measured, as the tool sees it; or, without one,
    the block ``device`` itself, which may be written to ``from_byte`` on.
    """

    folder: str
    device: str = ""
    from_byte: int = 0

    @property
    def work(self) -> str:
        """The folder that belongs to the workload alone; made by ``mkdir`` before it starts."""
        return f"{self.folder.rstrip('/')}/{WORK_NAME}"


@dataclass(frozen=True)
class BenchmarkCommand:
    """One command of a benchmark, as an argument list; no shell ever sees it.

    ``output`` names what is kept of its standard output for ``parse``; commands without one only
    prepare. ``remount`` unmounts and mounts before it, for cold caches. ``fsbench-NAME`` is
    runner/agent/NAME.py.
    """

    argv: tuple[str, ...]
    output: str = ""
    stdin: str = ""
    remount: bool = False
    timeout_s: float | None = None


@dataclass(frozen=True)
class Limits:
    """What the container of a run may use; None: all there is. ``cpus``: so many, those of
    the device's NUMA node first, then by number.
    """

    memory_bytes: int | None = None
    cpus: int | None = None


@dataclass(frozen=True)
class Preset:
    """A named set of parameters of one workload. The registry adds ``kind``."""

    slug: str
    title: str
    description: str
    parameters: Mapping[str, Any]
    kind: "type[Workload] | None" = None
    question: str = ""

    @property
    def answers(self) -> str:
        """Its group in the form; what names none of QUESTIONS is among the others."""
        question = self.question or (self.kind.question if self.kind else "")
        return question if question in QUESTIONS else OTHERS

    @property
    def tool(self) -> str:
        """How the workload is stored; empty as long as nobody offers the preset."""
        return self.kind.tool if self.kind else ""

    def workload(self) -> "Workload":
        """The workload with these parameters. Raises ParameterError."""
        if self.kind is None:
            raise LookupError(f"the preset {self.slug} is not of the registry")
        return self.kind(**self.parameters)


class Progress(Protocol):
    """Progress of a benchmark, from the lines it prints."""

    def feed(self, line: str) -> bool: ...

    @property
    def share(self) -> float: ...

    def remaining_s(self, elapsed_s: float) -> float | None: ...


@dataclass
class TimedProgress:
    """For tools that print nothing on the way: the commands that are finished, of all."""

    expected_s: float | None = None
    share: float = field(default=0.0)

    def feed(self, line: str) -> bool:
        return False

    def remaining_s(self, elapsed_s: float) -> float | None:
        if self.expected_s is None or elapsed_s >= self.expected_s:
            return None
        return self.expected_s - elapsed_s


TIME_LIMIT = Parameter(
    "time_limit_s",
    "Time limit",
    unit="seconds",
    default=24 * 3600,
    minimum=10,
    maximum=30 * 24 * 3600,
    help="A benchmark whose commands together take longer is stopped, and its run fails",
)


def time_limit(default_s: int) -> Parameter:
    """The parameter that every workload has, with another default."""
    return Parameter(**{**vars(TIME_LIMIT), "default": default_s})


def seed(
    of_what: str, default: int = 42, *, minimum: int = 0, paper: str = "does not say"
) -> Parameter:
    """That of the tool's random numbers."""
    help_text = f"Of {of_what}"
    return Parameter(
        "seed",
        "Seed",
        default=default,
        minimum=minimum,
        maximum=2**31 - 1,
        help=help_text,
        paper=paper,
    )


def include_sync(meaning: str, paper: str = "does not say") -> Parameter:
    """Whether a step ends with the file system's writing, and not with the program's."""
    label = "Write everything within the time"
    return Parameter("include_sync", label, Kind.FLAG, default=False, help=meaning, paper=paper)


def file_bytes(key: str, label: str, default: int, paper: str) -> Parameter:
    """A size of files in bytes."""
    return Parameter(
        key, label, unit="bytes", default=default, minimum=1, maximum=2**31 - 1, paper=paper
    )


class Workload(ABC):
    """A benchmark with its parameters. Equal parameters make equal workloads.

    ``tool`` is how it is stored. ``parameters`` include TIME_LIMIT. ``programs`` are executables
    with their Debian packages. ``paper`` is its source. ``question`` is one of QUESTIONS. ``sizes``
    are the keys that say which cells are measured.
    """

    tool: ClassVar[str]
    name: ClassVar[str]
    about: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    question: ClassVar[str] = ""
    parameters: ClassVar[tuple[Parameter, ...]]
    presets: ClassVar[tuple[Preset, ...]] = ()
    programs: ClassVar[Mapping[str, str]] = {}
    sizes: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, **values: Any) -> None:
        self.values = checked_values(self.parameters, values, self.name)
        self.check()

    def __getattr__(self, key: str) -> Any:
        try:
            return self.__dict__["values"][key]
        except KeyError:
            # Not among the values: one that came later, and is as it was before it came.
            for parameter in type(self).parameters:
                if parameter.key == key and parameter.is_late:
                    return parameter.default
            raise AttributeError(key) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{self.tool} {json.dumps(self.values, sort_keys=True)}"

    @property
    def measurement(self) -> str:
        """How it measures a cell, whichever cells it measures: its tool and the parameters that
        are no ``sizes``. Those that are not among the values are as they were before they came.
        """
        values = {
            parameter.key: getattr(self, parameter.key, None) for parameter in self.parameters
        }
        settings = {key: value for key, value in values.items() if key not in self.sizes}
        return f"{self.tool} {json.dumps(settings, sort_keys=True, default=str)}"

    def check(self) -> None:  # noqa: B027 (most have nothing to check)
        """Raise ParameterError where parameters do not go together."""

    def title(self) -> str:
        """What a person needs to tell two sets of parameters apart; at most 200 characters."""
        settings = [
            f"{parameter.label.lower()} {parameter.to_text(self.values[parameter.key])}"
            f"{parameter.unit and ' '}{parameter.unit}"
            for parameter in self.parameters
            if parameter.key != TIME_LIMIT.key and parameter.key in self.values
        ]
        return ", ".join([self.name, *settings])[:200]

    @abstractmethod
    def commands(self, place: Place) -> list[BenchmarkCommand]:
        """The benchmark, command by command."""

    @abstractmethod
    def space_needed_bytes(self) -> int:
        """Room on the file system, with what it adds itself."""

    def estimated_s(self) -> float | None:
        """Seconds that the parameters themselves ask for; None where the disk decides."""
        return None

    def least_s(self) -> float | None:
        """Seconds before which no run ends: ``estimated_s`` without what can go faster or stop."""
        return self.estimated_s()

    @property
    def needs(self) -> Mapping[str, str]:
        """The programs that these parameters need, each with its Debian package."""
        return self.programs

    @property
    def demands(self) -> frozenset[str]:
        """What the file system must have besides plain files and folders (``file_features``)."""
        return frozenset()

    @property
    def takes_device(self) -> bool:
        """Whether it can work on a block device that has no file system (``Place.device``)."""
        return False

    @property
    def is_direct(self) -> bool:
        """Whether it asks to go past the cache in memory (O_DIRECT of open(2))."""
        return False

    @property
    def is_preallocated(self) -> bool:
        """Whether room for its files is taken before they are written (fallocate(2))."""
        return False

    def limits(self) -> Limits:
        return Limits()

    def measures_memory(self, memory_bytes: int) -> bool:
        """Whether its data stay in the page cache of so much memory: buffered I/O that nothing
        flushes, of data that fit. False where nobody knows.
        """
        return False

    def memory_warning(self, memory_bytes: int | None) -> str:
        """A sentence where the data fit into the machine's memory though they should not."""
        if memory_bytes is None or not self.measures_memory(memory_bytes):
            return ""
        return (
            f"{self.name} uses buffered I/O, and {memory_bytes // (1024 * KB):,} MiB of memory can "
            "hold all its data. Choose direct I/O, or more data than memory."
        )

    def data_warning(self) -> str:
        """A sentence where a file system that compresses would write next to nothing of the data;
        "" where they are as good as random, or nobody looked. Measured: zlib level 1 of its files.
        """
        return ""

    def cells(self) -> Iterable[Cell]:
        """The cells of the matrix it measures; empty for tests without sizes."""
        return ()

    def expected(self) -> Iterable[tuple[str, str, int | None, int | None]]:
        """(test, load, record KB, file KB) of every value it must give: a run that lacks one
        failed. Empty where the tool decides itself what it prints.
        """
        return ()

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """What the kept outputs say, by their names. Raises formats.UnreadableFile."""
        return {name: formats.parse(name, data) for name, data in outputs.items()}

    def syncs(self, outputs: Mapping[str, bytes]) -> Mapping[str, Syncs | None]:
        """The syncs of the command of each kept output, by its name; empty where not known."""
        return {}

    def counterpart(self, test: str, record_kb: int | None = None) -> Request | None:
        """What a test asks of the LUN (core.scoring.ceilings), ``test`` with its load; None where
        nothing of one kind does: a mix, a compiler's seconds.
        """
        return None

    def progress(self) -> Progress:
        """A new observer of what the benchmark prints."""
        return TimedProgress(self.estimated_s())
