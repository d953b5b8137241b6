"""What somebody wants to be run, unchecked. No queries."""

from typing import Any

from fsbench_web.studies.jobs.features.base import Feature
from fsbench_web.studies.jobs.features.clients import Clients
from fsbench_web.studies.jobs.features.durability import CrashPoints
from fsbench_web.studies.jobs.features.guest import Guest
from fsbench_web.studies.jobs.features.guest import GuestSpec as GuestSpec
from fsbench_web.studies.jobs.features.limits import Limited
from fsbench_web.studies.jobs.features.limits import LimitsSpec as LimitsSpec
from fsbench_web.studies.jobs.features.order import Order
from fsbench_web.studies.jobs.features.preparation import Prepared
from fsbench_web.studies.jobs.features.probe import Probe
from fsbench_web.studies.jobs.features.race import Race
from fsbench_web.studies.jobs.features.race import RaceSpec as RaceSpec
from fsbench_web.studies.jobs.features.repeats import Repeats
from fsbench_web.studies.jobs.features.repeats import RepeatTarget as RepeatTarget
from fsbench_web.studies.jobs.features.times import Times
from fsbench_web.studies.jobs.features.tracing import Tracing
from fsbench_web.studies.jobs.parts import Configuration as Configuration
from fsbench_web.studies.jobs.parts import ConfigurationSpec as ConfigurationSpec
from fsbench_web.studies.jobs.parts import JobParts
from fsbench_web.studies.jobs.parts import ParameterValues as ParameterValues
from fsbench_web.studies.jobs.parts import ReferenceSpec as ReferenceSpec
from fsbench_web.studies.jobs.parts import WorkloadSpec as WorkloadSpec
from fsbench_web.studies.sequence import reference_count


# The last comes first: pydantic takes the fields of the last base first.
class JobOptions(
    Times, Clients, Tracing, CrashPoints, Probe, Limited, Guest, Prepared, Race, Order, Repeats
):
    """How the runs of a job are run: fields of the API, keys of documents, fields of the form.

    This registers all features. pydantic refuses wrong types; ``submitting`` refuses wrong values.
    """

    def options(self) -> dict[str, Any]:
        """These alone, by name."""
        return {name: getattr(self, name) for name in JobOptions.model_fields}


FEATURES: tuple[type[Feature], ...] = JobOptions.__bases__[::-1]
"""In the order of their fields."""


class JobSpec(JobOptions, JobParts):
    """What somebody wants to be run, unchecked."""

    def workload_place(self, index: int) -> str:
        """Where problems of this workload are shown."""
        return "workload" if self.document is None else f"workloads[{index}]"

    @property
    def is_bisection(self) -> bool:
        """Whether it looks for the kernel at which speed changed."""
        return self.race is not None and self.race.is_change

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
