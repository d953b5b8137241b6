"""Why a workload cannot be run on a LUN as things are: for jobs and the form. No HTTP here."""

from collections.abc import Iterator, Mapping, Sequence

from fsbench_web.catalog.configurations.commands.run import workload_problem
from fsbench_web.catalog.configurations.filesystems import RAW
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability, capacity
from fsbench_web.catalog.workloads.own_workloads import preset_of
from fsbench_web.core.numbers import duration
from fsbench_web.core.workloads import ParameterError, Workload, presets, workload_of
from fsbench_web.core.workloads.registry import check_changes
from fsbench_web.studies.jobs.checks import space
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec, WorkloadSpec


def time_problem(workload: Workload) -> str:
    """Why its parameters contradict its time limit, as a sentence; "" where they do not."""
    asked_s = workload.estimated_s()
    if asked_s is None or asked_s <= workload.time_limit_s:
        return ""
    return (
        f"{workload.name}: its parameters ask for {duration(asked_s)}, and its time limit is "
        f"{duration(workload.time_limit_s)}: it would be stopped. Raise the limit, or measure less."
    )


def problems_of(
    workload: Workload,
    lun: Lun,
    configurations: Sequence[ConfigurationSpec],
    guest: GuestSpec | None,
    neighbours: Mapping[str, Lun] = space.NO_NEIGHBOURS,
) -> Iterator[str]:
    """Tools, limits of memory and processors, and room with each of the configurations."""
    yield from availability.missing_tools(lun.worker, workload.needs)
    if not workload.takes_device and any(
        configuration.filesystem == RAW for configuration in configurations
    ):
        yield (
            f"{workload.name} needs a file system, and the raw device has none: choose fio by "
            "queue depth, or leave the raw device out."
        )
    for slug in dict.fromkeys(configuration.filesystem for configuration in configurations):
        if sentence := workload_problem(slug, workload):
            yield sentence
    if sentence := time_problem(workload):
        yield sentence
    limits = workload.limits()
    if guest is None:
        yield from capacity.limit_problems(lun.worker, limits)
    else:
        yield from capacity.guest_limit_problems(guest.cpus, limits)
    if sentence := space.problem(workload, lun, configurations, neighbours):
        yield sentence


def checked_workloads(
    spec: JobSpec, lun: Lun | None, neighbours: Mapping[str, Lun], problems: Problems
) -> list[tuple[str, Workload]]:
    """(preset, workload) of each; two that come to the same parameters are one too many."""
    checked: list[tuple[str, Workload]] = []
    # The reference is run with the first workload alone.
    reference = [spec.reference.configuration] if spec.reference else []
    for index, wanted in enumerate(spec.workloads):
        configurations = [*spec.configurations, *(reference if index == 0 else ())]
        place = spec.workload_place(index)
        workload = _checked_workload(
            *(wanted, place, lun, neighbours, configurations, spec.guest, problems)
        )
        if workload is None:
            continue
        if workload in [other for _, other in checked]:
            problems.add(
                place,
                f"The workload {wanted.name} is in the job twice with the same parameters: "
                "remove one of them, or change it. To run it more often, raise the repeats.",
            )
        checked.append((wanted.name, workload))
    return checked


def _checked_workload(
    wanted: WorkloadSpec,
    place: str,
    lun: Lun | None,
    neighbours: Mapping[str, Lun],
    configurations: Sequence[ConfigurationSpec],
    guest: GuestSpec | None,
    problems: Problems,
) -> Workload | None:
    preset = preset_of(wanted.name)
    if not wanted.name:
        if not problems.is_reported("workloads"):
            problems.add(place, "Choose at least one workload.")
        return None
    if preset is None:
        problems.add(
            place,
            f'There is no workload "{wanted.name}": choose one of {", ".join(presets())}.',
        )
        return None
    try:
        check_changes(preset.tool, wanted.parameters)
        workload = workload_of(preset.tool, {**preset.parameters, **wanted.parameters})
    except ParameterError as error:
        problems.add(place, str(error))
        return None
    if lun is None:
        return workload
    for sentence in problems_of(workload, lun, configurations, guest, neighbours):
        problems.add(place, sentence)
    return workload
