"""Why a workload cannot be run on a LUN as things are: for jobs and the form. No HTTP here."""

from collections.abc import Iterator, Mapping, Sequence

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.core.workloads import Workload
from fsbench_web.studies.jobs.checks import room
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec


def tool_problems(workload: Workload, lun: Lun) -> Iterator[str]:
    """The programs it needs that the LUN's worker lacks, a sentence each."""
    for program in workload.needs:
        if missing := availability.missing_tool(lun.worker, program):
            yield missing


def problems(
    workload: Workload,
    lun: Lun,
    configurations: Sequence[ConfigurationSpec],
    guest: GuestSpec | None,
    neighbours: Mapping[str, Lun] = room.NO_NEIGHBOURS,
) -> Iterator[str]:
    """Tools, limits of memory and processors, and room with each of the configurations."""
    yield from tool_problems(workload, lun)
    limits = workload.limits()
    if guest is None:
        yield from availability.limit_problems(lun.worker, limits)
    else:
        yield from availability.guest_limit_problems(guest.cpus, limits)
    if sentence := room.problem(workload, lun, configurations, neighbours):
        yield sentence
