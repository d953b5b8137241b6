"""Why a workload cannot be run on a LUN as things are: for jobs and the form. No HTTP here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fsbench_web.catalog.configurations.commands.run import RAW_FROM_BYTES, workload_problem
from fsbench_web.catalog.configurations.filesystems import (
    FILESYSTEMS,
    ON_LUNS,
    RAW,
    OptionError,
    validated_options,
)
from fsbench_web.catalog.configurations.journals import MIB
from fsbench_web.catalog.configurations.space import least_taken_bytes
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability, capacity
from fsbench_web.catalog.workloads.own_workloads import preset_of
from fsbench_web.core.numbers import duration, size
from fsbench_web.core.workloads import ParameterError, Workload, presets, workload_of
from fsbench_web.core.workloads.registry import check_changes
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec, WorkloadSpec

NO_NEIGHBOURS: Mapping[str, Lun] = {}


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
    neighbours: Mapping[str, Lun] = NO_NEIGHBOURS,
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
    if sentence := space_problem(workload, lun, configurations, neighbours):
        yield sentence


def space_problem(
    workload: Workload,
    lun: Lun,
    configurations: Iterable[ConfigurationSpec],
    neighbours: Mapping[str, Lun] = NO_NEIGHBOURS,
) -> str:
    """Why the workload cannot fit on the LUN, as a sentence; "" where it may.

    This refuses only what can never fit; the worker looks at the room that is really free.
    """
    needed, size_bytes = workload.space_needed_bytes(), lun.size_bytes
    if size_bytes is None:
        return ""
    configurations = list(configurations)
    alone = [configuration for configuration in configurations if not configuration.stack.luns]
    if needed > size_bytes and len(alone) == len(configurations):
        return (
            f"The files of the workload need {size(needed)} with what they add, and {lun.name} has "
            f"{size(size_bytes)}: make them smaller, or choose a larger LUN."
        )
    if lun.is_folder:
        return ""
    leaves: dict[str, int] = {}
    for name, left in _usable_bytes(lun, configurations, neighbours):
        if needed > left:
            leaves[name] = min(left, leaves.get(name, left))
    if not leaves:
        return ""
    text = "; ".join(f"{name} leaves {_size_words(left, needed)}" for name, left in leaves.items())
    room = (
        f"the {size(size_bytes)} of {lun.name}" if len(alone) == len(configurations) else "its LUNs"
    )
    return (
        f"The files of the workload need {size(needed)} with what they add. Of {room} a new file "
        f"system takes a part for itself, and at most {text}: make the files smaller, or choose a "
        "larger LUN."
    )


def _usable_bytes(
    lun: Lun, configurations: Iterable[ConfigurationSpec], neighbours: Mapping[str, Lun]
) -> Iterator[tuple[str, int]]:
    """What each leaves of its LUNs at most; others are refused elsewhere."""
    for wanted in configurations:
        members = [neighbours.get(name) for name in wanted.stack.luns]
        sizes = [member.size_bytes if member else None for member in (lun, *members)]
        if None in sizes:
            continue
        size_bytes = sum(member_bytes for member_bytes in sizes if member_bytes is not None)
        try:
            options = validated_options(wanted.filesystem, wanted.options)
        except OptionError:
            continue
        if wanted.filesystem == RAW:
            yield ON_LUNS[RAW].name, max(0, size_bytes - RAW_FROM_BYTES)
        if wanted.filesystem not in FILESYSTEMS:
            continue  # made by nobody
        taken = least_taken_bytes(wanted.filesystem, options, size_bytes, bool(wanted.journal))
        yield FILESYSTEMS[wanted.filesystem].name, max(0, size_bytes - taken)


def _size_words(left: int, needed: int) -> str:
    """So many bytes in words, and by how much too few where the words would be the same."""
    if size(left) != size(needed):
        return size(left)
    return f"{size(left)} ({-(-(needed - left) // MIB)} MiB too few)"


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
                f"remove one, or raise the repeats to run it more often.",
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
