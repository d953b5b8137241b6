"""What a job is made of: configurations, workloads, machines. No database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from fsbench_web.catalog.configurations.labels import configuration_label
from fsbench_web.catalog.configurations.stacks import PLAIN_STACK, Stack
from fsbench_web.catalog.workers.machines import OWN_MACHINE, GuestKernel, Machine

ParameterValues = Mapping[str, StrictBool | StrictInt | StrictStr | list[StrictInt]]
LeftOut = tuple[str, str, str]
"""(place, combination, why)"""
CLOSED = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Configuration:
    """One file system; options left out stay at their tool's defaults."""

    __pydantic_config__ = CLOSED

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

    @property
    def label(self) -> str:
        """As tables show it."""
        options = {key: str(value) for key, value in self.options.items()}
        return configuration_label(
            *(self.filesystem, options, self.scheduler, bool(self.journal)), self.stack.shape
        )


@dataclass(frozen=True)
class WorkloadSpec:
    """A preset of ``workloads`` and what replaces its parameters."""

    __pydantic_config__ = CLOSED

    name: StrictStr
    parameters: ParameterValues = field(default_factory=dict)


@dataclass(frozen=True)
class ReferenceSpec:
    """A configuration that runs first, after every ``every`` runs, and last, with workload one."""

    configuration: ConfigurationSpec
    every: int


@dataclass(frozen=True)
class Host:
    """A machine of a job with the kernel behind it; None is the worker's own executor."""

    machine: Machine = OWN_MACHINE
    kernel: GuestKernel | None = None
    boot_s: tuple[float, bool] | None = None


THIS_HOST = Host()


class JobParts(BaseModel):
    """What every job says: where it is run, what, and into which study.

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
