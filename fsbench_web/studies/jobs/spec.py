"""What somebody wants to be run, unchecked. No database."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StrictBool,
    StrictInt,
    StrictStr,
)
from pydantic_core import PydanticCustomError

from fsbench_web.catalog.configurations.limits import Limits
from fsbench_web.catalog.configurations.preparation import PLAIN, Preparation
from fsbench_web.catalog.configurations.stacks import PLAIN_STACK, Stack
from fsbench_web.catalog.workers.machines import DEFAULT_CPUS, DEFAULT_MEMORY_BYTES, MIB
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT
from fsbench_web.core.traces.tracers import TRACERS
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN, MOST_RUN_AGAIN
from fsbench_web.studies.sequence import AS_WRITTEN, reference_count

DEFAULT_REPEATS = 2  # as in the Unisys 2005 paper
FORM_REPEATS = 5  # blocks enough for an answer (core.stats.verdicts)
DEFAULT_REFERENCE_EVERY = 10
LEAST_PROBE_S, MOST_PROBE_S = 5, 600
MOST_CLIENTS = 32
ParameterValues = Mapping[str, StrictBool | StrictInt | StrictStr | list[StrictInt]]


_CLOSED = ConfigDict(extra="forbid")
_ISO_8601 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    r"([Zz]|[+-][0-9]{2}:?[0-9]{2})"
)


def _zoned_time(value: object) -> object:
    """Only a text with its zone: a number of seconds is none, and a bare date is no time."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value
    if isinstance(value, str) and _ISO_8601.fullmatch(value.strip()):
        try:
            return datetime.fromisoformat(value.strip().upper())
        except ValueError:  # the 31st of June
            pass
    raise PydanticCustomError("moment", "must be a time with its zone, as ISO 8601 writes it")


Moment = Annotated[
    AwareDatetime, BeforeValidator(_zoned_time, json_schema_input_type=AwareDatetime)
]
"""``2026-11-23T22:00+01:00``: ISO 8601 with the zone, and nothing else."""


@dataclass(frozen=True)
class Configuration:
    """One file system; options left out stay at their tool's defaults."""

    __pydantic_config__ = _CLOSED

    filesystem: Annotated[str, Field(examples=["ext4"])]
    options: Annotated[Mapping[str, StrictInt | str], Field(examples=[{"atime": "noatime"}])] = (
        field(default_factory=dict)
    )
    scheduler: Annotated[
        str, Field(description="one of the LUN's schedulers", examples=["none"])
    ] = ""
    journal: Annotated[
        str,
        Field(
            description="name of the worker's LUN that keeps the journal; it is erased as well. "
            "Empty: the journal is kept on the data LUN"
        ),
    ] = ""
    stack: Annotated[
        Stack,
        Field(description="the other LUNs of the worker that it stands on; empty: none"),
    ] = PLAIN_STACK


@dataclass(frozen=True)
class ConfigurationSpec(Configuration):
    """The same with where it was said: ``places`` are places in a document by part ("" for all)."""

    places: Mapping[str, str] = field(default_factory=dict, compare=False)

    def place(self, part: str = "") -> str:
        """Where problems of this part are shown."""
        usual = {"scheduler": "schedulers", "journal": "journals", "stack": "stacks"}.get(
            part, "configurations"
        )
        return self.places.get(part) or self.places.get("") or usual


@dataclass(frozen=True)
class WorkloadSpec:
    """A preset of ``workloads`` and what replaces its parameters."""

    __pydantic_config__ = _CLOSED

    name: StrictStr
    parameters: ParameterValues = field(default_factory=dict)


@dataclass(frozen=True)
class ReferenceSpec:
    """A configuration that runs first, after every ``every`` runs, and last, with workload one."""

    configuration: ConfigurationSpec
    every: int


@dataclass(frozen=True)
class GuestSpec:
    """A virtual machine with its own kernel, rebooted before every run."""

    __pydantic_config__ = _CLOSED

    kernels: Annotated[
        tuple[StrictStr, ...],
        Field(
            max_length=50,
            description="names of the worker's kernels; every configuration is run with each",
            examples=[["debian-6.1"]],
        ),
    ]
    memory_mib: Annotated[StrictInt, Field(description="MiB")] = DEFAULT_MEMORY_BYTES // MIB
    cpus: StrictInt = DEFAULT_CPUS

    @property
    def memory_bytes(self) -> int:
        return self.memory_mib * MIB


def _as_list(value: object) -> object:
    """A single number is a list of one."""
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


_Several = Annotated[
    tuple[StrictInt, ...],
    BeforeValidator(_as_list, json_schema_input_type=tuple[StrictInt, ...] | StrictInt),
]


@dataclass(frozen=True)
class LimitsSpec:
    """Limits of a run's control group; 0 is no limit. Everything is run with each combination."""

    __pydantic_config__ = _CLOSED

    read_mib_s: Annotated[
        _Several, Field(max_length=8, description="MiB/s read", examples=[[0, 100]])
    ] = ()
    write_mib_s: Annotated[_Several, Field(max_length=8, description="MiB/s written")] = ()
    read_iops: Annotated[_Several, Field(max_length=8, description="reads a second")] = ()
    write_iops: Annotated[_Several, Field(max_length=8, description="writes a second")] = ()
    memory_mib: Annotated[
        _Several, Field(max_length=8, description="memory with the page cache, MiB")
    ] = ()
    cpus: Annotated[_Several, Field(max_length=8, description="processors")] = ()

    @property
    def count(self) -> int:
        return math.prod(len(getattr(self, limit.name)) or 1 for limit in fields(self))

    def combinations(self) -> list[Limits]:
        """All combinations, in the order of the values."""
        names = [limit.name for limit in fields(self)]
        values = [getattr(self, name) or (0,) for name in names]
        return [
            Limits(**dict(zip(names, combination, strict=True))) for combination in product(*values)
        ]


@dataclass(frozen=True)
class RaceSpec:
    """Find the best of the configurations within hours or a number of runs: one of both.

    To find a *change* is to halve the range of the guest's kernels with one configuration.
    """

    __pydantic_config__ = _CLOSED

    find: Annotated[
        Literal["best", "change"],
        Field(description="the best of all, or the kernel at which speed changed"),
    ] = "best"
    hours: Annotated[
        Annotated[float, Strict()] | None, Field(description="of runs in all", examples=[8])
    ] = None
    runs: Annotated[StrictInt | None, Field(description="in all")] = None
    test: Annotated[
        StrictStr, Field(description="what decides, with its load; empty: the workload's main one")
    ] = ""
    category: Annotated[
        StrictStr, Field(description="of that test; empty: total_average of a matrix, else mean")
    ] = ""
    margin_percent: Annotated[float, Strict(), Field(description="less is no difference")] = (
        EQUIVALENCE_PERCENT
    )


class JobOptions(BaseModel):
    """How the runs of a job are run: fields of the API, keys of documents, fields of the form.

    pydantic refuses wrong types; ``checking`` refuses wrong values.
    """

    model_config = ConfigDict(frozen=True)

    repeats: StrictInt = Field(
        default=DEFAULT_REPEATS,
        description="how often each configuration is run, unless `until` says so",
    )
    order: StrictStr = Field(
        default=AS_WRITTEN, description="as-written, or random, which needs a seed"
    )
    seed: StrictInt | None = Field(
        default=None, description="of a random order, which it makes again"
    )
    priority: StrictInt = Field(
        default=0, description="-10 to 10; runs of a higher one start first"
    )
    time_limit_s: StrictInt | None = Field(
        default=None, description="of each whole run; null: the usual"
    )
    run_again: StrictInt = Field(
        default=DEFAULT_RUN_AGAIN,
        description="how often in a row fsbench retries an interrupted run (its worker, host or "
        f"daemon died), 0 to {MOST_RUN_AGAIN}",
    )
    until: RepeatTarget | None = Field(
        default=None, description="instead of a fixed number of repeats"
    )
    race: RaceSpec | None = Field(default=None, description="instead of repeats: find the best")
    preparation: Annotated[
        Preparation,
        BeforeValidator(
            lambda value: PLAIN if value is None else value,
            json_schema_input_type=Preparation | None,
        ),
    ] = PLAIN
    guest: GuestSpec | None = Field(default=None, description="null: the worker's own executor")
    limits: LimitsSpec = Field(
        default=LimitsSpec(),
        description="of the run's control group; runs with other limits are no repeats",
    )
    probe_s: StrictInt = Field(
        default=0,
        description="seconds, at most, in which the LUN itself is measured by fio before the first "
        f"run of each round, {LEAST_PROBE_S} to {MOST_PROBE_S}; 0: it is not",
    )

    tracing: tuple[StrictStr, ...] = Field(
        default=(),
        max_length=10,
        description="what one more run of each configuration, after all others, is traced with: "
        f"{', '.join(TRACERS)}; that run counts in no score. Empty: there is none",
    )
    clients: tuple[StrictStr, ...] = Field(
        default=(),
        max_length=MOST_CLIENTS - 1,
        description="other workers that run the same benchmark at the same moment, each on its own "
        "mount of the same export; what counts is what all did together. Empty: the worker alone",
        examples=[["node2", "node3"]],
    )
    start_at: Moment | None = Field(
        default=None,
        description="ISO 8601 with its zone: no run begins before; null: at once",
        examples=["2026-11-23T22:00:00+01:00"],
    )
    stop_before: Moment | None = Field(
        default=None,
        description="ISO 8601 with its zone: no run, and no round as a whole, begins that would "
        "not end before; what is left is cancelled. null: no end",
        examples=["2026-11-24T06:00:00+01:00"],
    )

    def options(self) -> dict[str, Any]:
        """These alone, by name."""
        return {name: getattr(self, name) for name in JobOptions.model_fields}


class JobSpec(JobOptions):
    """What somebody wants to be run, unchecked.

    ``study`` is the slug of an existing study, or ``new_study`` the title of a new one.
    ``parameters`` replace those of the preset ``workload``. ``document`` is the job as written,
    ``left_out`` are its impossible configurations: (place, configuration, why). ``unreadable`` are
    values that could not be read: {part: [sentence]}.
    """

    lun_id: int | None
    lun: str = ""
    worker: str = ""
    configurations: tuple[ConfigurationSpec, ...]
    workload: str
    parameters: Mapping[str, Any] = {}
    study: str = ""
    new_study: str = ""
    more_workloads: tuple[WorkloadSpec, ...] = ()
    reference: ReferenceSpec | None = None
    left_out: tuple[tuple[str, str, str], ...] = ()
    notes: tuple[str, ...] = ()
    document: Mapping[str, Any] | None = None
    unreadable: Mapping[str, list[str]] = {}

    @property
    def workloads(self) -> tuple[WorkloadSpec, ...]:
        return (WorkloadSpec(self.workload, self.parameters), *self.more_workloads)

    def workload_place(self, index: int) -> str:
        """Where problems of this workload are shown."""
        return "workload" if self.document is None else f"workloads[{index}]"

    @property
    def is_bisection(self) -> bool:
        """Whether it looks for the kernel at which speed changed."""
        return self.race is not None and self.race.find == "change"

    @property
    def planned_repeats(self) -> int:
        """How often everything is run before it is known whether that is enough."""
        if self.race:
            return 1
        return self.until.least if self.until else self.repeats

    @property
    def journals(self) -> tuple[str, ...]:
        """The names of all LUNs that keep a journal, each once."""
        return tuple(
            dict.fromkeys(
                configuration.journal
                for configuration in self._all_configurations
                if configuration.journal
            )
        )

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all other LUNs of its stacks, each once."""
        names = (
            name
            for configuration in self._all_configurations
            for _, name in configuration.stack.members
        )
        return tuple(dict.fromkeys(names))

    @property
    def _all_configurations(self) -> list[ConfigurationSpec]:
        return [*self.configurations, *([self.reference.configuration] if self.reference else [])]

    @property
    def run_count(self) -> int:
        """How many runs the job makes at most, references included."""
        repeats = self.until.most if self.until else self.planned_repeats
        kernels = len(self.guest.kernels) if self.guest else self.limits.count
        combinations = len(self.configurations) * len(self.workloads) * kernels
        planned, extra = combinations * repeats, combinations if self.tracing else 0
        return (
            extra
            + planned
            + (reference_count(planned, self.reference.every) if self.reference else 0)
        )
