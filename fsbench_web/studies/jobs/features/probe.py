"""The probe: before the first run of each round fio measures the LUN itself."""

from collections.abc import Sequence

from pydantic import Field, StrictInt

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.jobs.features.base import AMOUNT, Feature, FormField, Workloads
from fsbench_web.studies.jobs.features.guest import Guest
from fsbench_web.studies.jobs.parts import ConfigurationSpec, Host
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.runs import probes
from fsbench_web.studies.sequence import Slot

LEAST_PROBE_S, MOST_PROBE_S = 5, 600


class Probe(Feature):
    form_fields = [
        FormField(
            *("probe_s", f"say {LEAST_PROBE_S} to {MOST_PROBE_S} seconds, or 0 for not at all"),
            *("measure the LUN itself for {} seconds", AMOUNT),
        ),
    ]

    probe_s: StrictInt = Field(
        default=0,
        description="seconds, at most, in which the LUN itself is measured by fio before the first "
        f"run of each round, {LEAST_PROBE_S} to {MOST_PROBE_S}; 0: it is not",
    )

    def longer_s(self, lun: Lun) -> int:
        return 2 * self.probe_s

    def check(self, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
        assert isinstance(self, Guest)
        if self.probe_s == 0 or problems.is_reported("probe_s"):
            return
        if not LEAST_PROBE_S <= self.probe_s <= MOST_PROBE_S:
            problems.add(
                "probe_s",
                f"The probe of the LUN takes {LEAST_PROBE_S} to {MOST_PROBE_S} seconds, or not "
                f"at all (0), and not {self.probe_s}.",
            )
        if lun is None:
            return
        if lun.is_folder:
            problems.add(
                "probe_s",
                f"{lun.name} is a {lun.kind}, and has no device of its own that could be measured: "
                "leave the probe out, or choose a LUN on which file systems are made.",
            )
        elif self.guest is None and (missing := availability.missing_tool(lun.worker, "fio")):
            problems.add("probe_s", f"The LUN itself is measured by fio. {missing}")


def first_of_blocks(
    slots: Sequence[Slot], combinations: Sequence[tuple[ConfigurationSpec, Host, object]]
) -> set[int]:
    """The places of the runs that measure the LUN: first in their block on their machine.

    A reference is in no block. Each stack that is one device is measured alone.
    """
    first_places: dict[tuple[int, Machine, str], int] = {}
    for place, slot in enumerate(slots):
        if slot.index is None:
            continue
        wanted, host, _ = combinations[slot.index]
        if (target := probes.target(wanted.stack)) is not None:
            first_places.setdefault((slot.repeat, host.machine, target), place)
    return set(first_places.values())
