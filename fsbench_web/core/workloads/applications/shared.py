"""What several applications share: parameters, rising numbers of clients, a server of the run."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fsbench_web.core.workloads.base import (
    KB,
    BenchmarkCommand,
    Kind,
    Parameter,
    Place,
    Workload,
)
from fsbench_web.core.workloads.fio.data import COMPRESS

MIB = KB * KB


def seconds(default: int = 60) -> Parameter:
    return Parameter(
        "seconds", "Measured time", unit="seconds", default=default, minimum=1, maximum=24 * 3600
    )


def warm_up(default: int = 10) -> Parameter:
    return Parameter(
        "warm_up_s",
        "Warm-up",
        unit="seconds",
        default=default,
        maximum=24 * 3600,
        help="Before the measured time, of the same work; it is not counted.",
    )


FRESH_WARM_UP = Parameter(
    "fresh_warm_up",
    "Other rows in the warm-up",
    Kind.FLAG,
    default=False,
    is_late=True,
    help="The warm-up draws rows of its own. Without it, as in runs of before, the measured time "
    "begins with the very rows that the warm-up had, which are in memory.",
)


def counts(key: str, label: str, default: list[int], help_text: str) -> Parameter:
    """How many work at the same time; each number is a load of its own."""
    return Parameter(
        key, label, Kind.WHOLES, default=default, minimum=1, maximum=1024, help=help_text
    )


def cache_mb(label: str, default: int = 128) -> Parameter:
    return Parameter(
        "cache_mb",
        label,
        unit="MiB",
        default=default,
        minimum=16,
        maximum=1024 * KB,
        help="The server's own. What it does not hold comes from the file system.",
    )


REMOUNT = Parameter(
    "remount",
    "Remount before each load",
    Kind.FLAG,
    default=True,
    help="So that no load begins with what the one before left in the cache.",
)


class TimedWorkload(Workload):
    """Measured for ``seconds`` after a warm-up, once for each value of the parameter ``counted``.

    ``filling_s``: seconds that making the data takes on a usual disk.
    """

    counted: ClassVar[str]

    @property
    @abstractmethod
    def filling_s(self) -> float: ...

    @property
    def loads(self) -> Sequence[Any]:
        loads: list[int] = getattr(self, self.counted)
        return loads

    def estimated_s(self) -> float:
        return self.least_s() + self.filling_s

    def least_s(self) -> float:
        return float(len(self.loads) * (self.seconds + self.warm_up_s))

    @property
    def data_title(self) -> str:
        """For the title, with a comma before it; "" where no compressible data are asked for."""
        return f", {self.compress_percent}% compressible" if COMPRESS in self.values else ""


class ServerWorkload(TimedWorkload):
    """A database server with its data on the measured file system, restarted for each load.

    ``server`` is the module of runner/agent/workloads that starts it.
    """

    server: ClassVar[str]

    @abstractmethod
    def settings(self) -> Mapping[str, str]:
        """The server's settings by name."""

    @abstractmethod
    def creation(self) -> tuple[str, ...]:
        """Options of making the data, without the settings."""

    @abstractmethod
    def measurement_at(self, load: int) -> tuple[str, ...]:
        """Options of measuring with so many clients."""

    def output(self, load: int) -> str:
        return f"{self.server}-{load}.txt"

    @property
    def options(self) -> tuple[str, ...]:
        """The settings as options of the program."""
        settings = self.settings().items()
        return tuple(word for name, value in settings for word in ("--set", f"{name}={value}"))

    @property
    def fresh_seed(self) -> tuple[str, ...]:
        """With FRESH_WARM_UP the warm-up has the next seed, 1 after the last."""
        seed = self.seed % (2**31 - 1) + 1
        return (f"--warm-up-seed={seed}",) if self.fresh_warm_up else ()

    @property
    def warm_up_title(self) -> str:
        """For the title, with a comma before it."""
        return ", other rows in the warm-up" if self.fresh_warm_up else ""

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        program, folder = f"fsbench-{self.server}", f"{place.work}/{self.server}"
        return [
            BenchmarkCommand(("mkdir", place.work)),
            BenchmarkCommand((program, "create", folder, *self.creation(), *self.options)),
            *(
                BenchmarkCommand(
                    (program, "run", folder, *self.measurement_at(load)),
                    output=self.output(load),
                    remount=self.remount,
                )
                for load in self.loads
            ),
        ]
