"""What was measured, as a job that measures it once more. No HTTP here."""

import secrets
from collections.abc import Iterator, Sequence

from fsbench_web.catalog.configurations.preparation import Preparation, PreparationError
from fsbench_web.catalog.configurations.stacks import LunCounts, members_in, stack_of
from fsbench_web.catalog.workers.machines import MIB
from fsbench_web.catalog.workloads.own_workloads import preset_of
from fsbench_web.core.workloads import presets
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec, LimitsSpec
from fsbench_web.studies.models import Series
from fsbench_web.studies.sequence import MAXIMUM_SEED, RANDOM


def repeating_job(serieses: Sequence[Series], repeats: int) -> JobSpec | None:
    """The job that runs these configurations in so many blocks, or None.

    They must be of one study, LUN, workload, preparation and machine.
    """
    series = serieses[0]
    workload = series.workload
    names = ("study_id", "lun_id", "workload_id", "preparation", "machine")
    if any(getattr(other, name) != getattr(series, name) for other in serieses for name in names):
        return None
    if workload is None or series.lun_id is None:
        return None
    # The preset itself, or any of its tool: the parameters are all given.
    own_preset = preset_of(workload.slug)
    preset = (
        own_preset.slug
        if own_preset is not None and own_preset.tool == workload.tool
        else next(
            (slug for slug, candidate in presets().items() if candidate.tool == workload.tool), ""
        )
    )
    configurations = tuple(
        configuration
        for each_series in serieses
        for configuration in configurations_of(each_series)
    )
    if not preset or len(configurations) < len(serieses):
        return None
    try:
        preparation = Preparation.of(series.preparation)
    except PreparationError:
        return None
    machine = series.runs_on
    return JobSpec(
        lun_id=series.lun_id,
        # Always one before the other would be part of what is compared.
        order=RANDOM,
        seed=secrets.randbelow(MAXIMUM_SEED + 1),
        configurations=configurations,
        workload=preset,
        parameters=workload.parameters,
        repeats=repeats,
        preparation=preparation,
        guest=GuestSpec((machine.kernel,), machine.memory_bytes // MIB, machine.cpus)
        if machine.is_guest
        else None,
        limits=LimitsSpec(**{name: (value,) for name, value in machine.limits.stored().items()}),
        clients=tuple(worker for worker, _ in machine.clients),
        study=series.study.slug,
    )


def configurations_of(series: Series) -> Iterator[ConfigurationSpec]:
    """Nothing where what was measured cannot be made again."""
    configuration, journal = series.configuration, series.journal_lun
    is_whole = all(member.lun is not None for member in series.members)
    is_whole &= journal is not None or not configuration.external_journal
    if configuration.is_known and is_whole:
        yield ConfigurationSpec(
            configuration.filesystem,
            configuration.options,
            configuration.scheduler,
            journal.name if journal else "",
            stack_of(members_in(series.stack_luns), LunCounts.of(configuration.stack).layers),
        )
