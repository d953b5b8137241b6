"""By what runs are run, as fields of the job form. No database.

executor=guest    kernel=debian-6.1&kernel=debian-4.19    guest_memory_mib=2048    guest_cpus=2
"""

import re
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from fsbench_web.catalog.workers.machines import (
    DEFAULT_CPUS,
    DEFAULT_MEMORY_BYTES,
    EXECUTORS,
    GUEST,
    HOST,
    MIB,
    GuestAbility,
    GuestKernel,
)
from fsbench_web.studies.jobs.spec import GuestSpec, JobSpec

_NUMBER = re.compile(r"^[0-9]{1,9}$")


@dataclass
class GuestForm:
    """These fields as text, which may be text that will be refused."""

    executor: str = HOST
    kernels: list[str] = field(default_factory=list)
    guest_memory_mib: str = str(DEFAULT_MEMORY_BYTES // MIB)
    guest_cpus: str = str(DEFAULT_CPUS)

    @property
    def is_guest(self) -> bool:
        return self.executor == GUEST

    def chosen_kernels(self, ability: GuestAbility | None) -> list[GuestKernel]:
        """Those of the worker's kernels that the form names; none where no guest is chosen."""
        if ability is None or not self.is_guest:
            return []
        return [one for one in ability.usable_kernels if one.name in self.kernels]

    def fit(self, ability: GuestAbility) -> None:
        """Lower what is still at its default to what this worker can give a guest."""
        usual = GuestForm()
        most = ability.most_memory_bytes
        if self.guest_memory_mib == usual.guest_memory_mib and most is not None:
            self.guest_memory_mib = str(min(DEFAULT_MEMORY_BYTES, most) // MIB)
        if self.guest_cpus == usual.guest_cpus and ability.most_cpus is not None:
            self.guest_cpus = str(min(DEFAULT_CPUS, ability.most_cpus))

    def read_guest(self, unreadable: dict[str, list[str]]) -> GuestSpec | None:
        """The guest that the form asks for; None for the worker's own executor."""
        if self.executor not in EXECUTORS:
            unreadable["executor"] = [
                f'"{self.executor}" is no executor: choose one of {", ".join(EXECUTORS)}.'
            ]
        if not self.is_guest:
            return None

        def number(name: str, usual: int, words: str) -> int:
            text = getattr(self, name)
            if _NUMBER.match(text):
                return int(text)
            unreadable[name] = [f'"{text}" is not a whole number: say {words}.']
            return usual

        memory = number(
            "guest_memory_mib", DEFAULT_MEMORY_BYTES // MIB, "how much memory the guest has, in MiB"
        )
        cpus = number("guest_cpus", DEFAULT_CPUS, "how many CPUs the guest has")
        return GuestSpec(tuple(self.kernels), memory, cpus)

    def write_guest(self, query: QueryDict) -> None:
        """Put into a query string what is not left at its default."""
        if self.executor == HOST:
            return
        query["executor"] = self.executor
        query.setlist("kernel", self.kernels)
        query["guest_memory_mib"] = self.guest_memory_mib
        query["guest_cpus"] = self.guest_cpus


def read_guest_fields(query: QueryDict) -> dict[str, Any]:
    """The fields in a query string, for ``GuestForm``."""
    usual = GuestForm()
    return {
        "executor": query.get("executor", "").strip() or HOST,
        "kernels": list(dict.fromkeys(filter(None, query.getlist("kernel")))),
        "guest_memory_mib": query.get("guest_memory_mib", "").strip() or usual.guest_memory_mib,
        "guest_cpus": query.get("guest_cpus", "").strip() or usual.guest_cpus,
    }


def guest_of(spec: JobSpec) -> dict[str, Any]:
    """The fields that say what a request says."""
    guest = spec.guest
    if guest is None:
        return {}
    return {
        "executor": GUEST,
        "kernels": list(guest.kernels),
        "guest_memory_mib": str(guest.memory_mib),
        "guest_cpus": str(guest.cpus),
    }
