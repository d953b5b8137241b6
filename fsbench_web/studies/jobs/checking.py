"""What is wrong with a job, all at once; or the runs that it makes (planned_runs). No HTTP here.

Everything that can be known before a disk is touched is checked here. What is checked is what the
worker announced; before it erases anything the worker checks again on its own (runner.host.checks).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fsbench_web.accounts import rights
from fsbench_web.catalog.configurations.filesystems import OptionError, validated_options
from fsbench_web.catalog.configurations.labels import canonical_scheduler
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workloads.own_workloads import preset_of
from fsbench_web.core.numbers import duration
from fsbench_web.core.traces.tracers import joined
from fsbench_web.core.workloads import ParameterError, Workload, presets, workload_of
from fsbench_web.core.workloads.registry import check_changes
from fsbench_web.platform import clock
from fsbench_web.platform.names import slug_of
from fsbench_web.studies.causes import MOST_RUN_AGAIN
from fsbench_web.studies.jobs import new_study, time_window
from fsbench_web.studies.jobs.checks import (
    clients as client_checks,
)
from fsbench_web.studies.jobs.checks import (
    guest as guest_checks,
)
from fsbench_web.studies.jobs.checks import (
    journal as journal_checks,
)
from fsbench_web.studies.jobs.checks import (
    limits as limit_checks,
)
from fsbench_web.studies.jobs.checks import (
    method,
)
from fsbench_web.studies.jobs.checks import (
    mount as mount_checks,
)
from fsbench_web.studies.jobs.checks import (
    race as race_checks,
)
from fsbench_web.studies.jobs.checks import (
    stack as stack_checks,
)
from fsbench_web.studies.jobs.checks import (
    tracing as tracing_checks,
)
from fsbench_web.studies.jobs.checks import (
    workload as workload_checks,
)
from fsbench_web.studies.jobs.checks.guest import LeftOut
from fsbench_web.studies.jobs.planned_runs import Plan, planned_run, time_limit_s
from fsbench_web.studies.jobs.spec import (
    ConfigurationSpec,
    GuestSpec,
    JobSpec,
    Problems,
    WorkloadSpec,
)
from fsbench_web.studies.models import Study
from fsbench_web.studies.runs.control import LEAST_PRIORITY, MOST_PRIORITY
from fsbench_web.studies.runs.races.standing import MOST_RUNS
from fsbench_web.studies.sequence import MAXIMUM_SEED, ORDERS, RANDOM, Slot, sequence

MAXIMUM_REPEATS = 20
MAXIMUM_RUNS = MOST_RUNS
LEAST_TIME_LIMIT_S, MOST_TIME_LIMIT_S = 60, 60 * 24 * 3600


def checked(spec: JobSpec, problems: Problems) -> Plan | None:
    """The plan, or None with at least one problem noted. A plan may come with problems too."""
    lun = _checked_lun(spec, problems)
    neighbours = journal_checks.neighbours(lun)
    hosts = guest_checks.hosts_of(spec.guest, lun, problems)
    workloads = _checked_workloads(spec, lun, neighbours, problems)
    limited = limit_checks.hosts_of(spec, lun, problems)
    limited = client_checks.with_clients(limited, spec, lun, workloads, problems)
    configurations = _checked_configurations(spec, lun, neighbours, problems)
    reference = _checked_reference(spec, lun, neighbours, problems)
    study = _checked_study(spec, problems)
    _check_grants(lun, neighbours, [*spec.journals, *spec.members], problems)
    _check_steering(spec, problems)
    method.check_preparation(spec.preparation, lun, workloads, problems)
    method.check_raw(spec, problems)
    method.check_probe(spec, lun, problems)
    tracing_checks.check(spec, lun, problems)
    now = clock.now()
    time_window.check_times(spec, now, problems)
    if spec.race is not None:
        race_checks.check(spec, workloads, problems)
    elif spec.until is not None:
        method.check_until(spec, workloads, problems)
    elif not 1 <= spec.repeats <= MAXIMUM_REPEATS:
        if not problems.is_reported("repeats"):
            problems.add(
                "repeats",
                f"Each configuration can be run 1 to {MAXIMUM_REPEATS} times, not "
                f"{spec.repeats}: choose a number between them.",
            )
        return None
    if lun is None or not workloads or not configurations or problems.by_part:
        return None
    pairs = [(wanted, host) for host in limited for wanted in configurations]
    left_out: list[LeftOut] = []
    if spec.guest is not None:
        pairs, left_out = guest_checks.pairs(configurations, hosts, lun, problems)
        if reference is not None:
            guest_checks.pairs([reference], hosts[:1], lun, problems)
        if problems.by_part:
            return None
    else:
        hosts = limited
    things = [(*pair, workload) for workload in workloads for pair in pairs]
    slots = sequence(
        len(things),
        spec.planned_repeats,
        order=spec.order,
        seed=spec.seed or 0,
        reference_every=spec.reference.every if spec.reference else 0,
    )
    probed = method.first_of_blocks(slots, things)
    runs = [
        planned_run(
            slot,
            *((reference, hosts[0], workloads[0]) if slot.index is None else things[slot.index]),
            lun,
            spec.preparation,
            neighbours,
            probe_s=spec.probe_s if place in probed else 0,
        )
        for place, slot in enumerate(slots)
    ]
    if spec.tracing:
        extra = [Slot(index, spec.planned_repeats + 1) for index in range(len(things))]
        runs += [
            planned_run(
                *(slot, *things[slot.index or 0], lun, spec.preparation, neighbours),
                tracing=joined(spec.tracing),
            )
            for slot in extra
        ]
    window = time_window.window(spec, runs, now)
    time_window.check_window(window, runs, problems)
    return Plan(
        lun=lun,
        runs=runs,
        study=study,
        time_limit_s=time_limit_s(spec, runs),
        left_out=(*spec.left_out, *left_out),
        most_runs=_most_runs(spec, len(things), len(runs)),
        window=window,
    )


def _most_runs(spec: JobSpec, things: int, runs: int) -> int:
    """How many runs there will be at most."""
    if spec.race is not None:
        return spec.race.runs or MOST_RUNS
    extra = things if spec.tracing else 0
    return things * spec.until.most + extra if spec.until else runs


def _checked_workloads(
    spec: JobSpec, lun: Lun | None, neighbours: Mapping[str, Lun], problems: Problems
) -> list[tuple[str, Workload]]:
    """(preset, workload) of each; two that come to the same parameters are one too many."""
    found: list[tuple[str, Workload]] = []
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
        if workload in [other for _, other in found]:
            problems.add(
                place,
                f"The workload {wanted.name} is in the job twice with the same parameters: "
                "remove one of them, or change it. To run it more often, raise the repeats.",
            )
        found.append((wanted.name, workload))
    return found


def _check_steering(spec: JobSpec, problems: Problems) -> None:
    """Order, seed, priority, time limit and what is run again."""
    if spec.order not in ORDERS:
        problems.add("order", f'"{spec.order}" is no order: choose one of {", ".join(ORDERS)}.')
    elif (
        spec.order == RANDOM
        and not problems.is_reported("seed")
        and (spec.seed is None or not 0 <= spec.seed <= MAXIMUM_SEED)
    ):
        problems.add(
            "seed",
            f"A random order needs a seed, a whole number from 0 to {MAXIMUM_SEED}, so that it can "
            "be made again.",
        )
    if not LEAST_PRIORITY <= spec.priority <= MOST_PRIORITY:
        problems.add(
            "priority",
            f"A priority is a whole number from {LEAST_PRIORITY} to {MOST_PRIORITY}, not "
            f"{spec.priority}; runs of a higher one start first.",
        )
    limit_s = spec.time_limit_s
    if limit_s is not None and not LEAST_TIME_LIMIT_S <= limit_s <= MOST_TIME_LIMIT_S:
        problems.add(
            "time_limit_s",
            f"The time limit of a run is {duration(LEAST_TIME_LIMIT_S)} to "
            f"{duration(MOST_TIME_LIMIT_S)}, not {limit_s} s.",
        )
    if not problems.is_reported("run_again") and not 0 <= spec.run_again <= MOST_RUN_AGAIN:
        problems.add(
            "run_again",
            f"A run that was interrupted is run again 0 to {MOST_RUN_AGAIN} times, not "
            f"{spec.run_again}: choose a number between them.",
        )


def _checked_lun(spec: JobSpec, problems: Problems) -> Lun | None:
    if spec.lun_id is None:
        if not problems.is_reported("lun"):
            problems.add("lun", "Choose the LUN to run on.")
        return None
    lun = (
        Lun.objects.select_related("worker__hardware")
        .filter(pk=spec.lun_id, worker__isnull=False)
        .first()
    )
    if lun is None:
        problems.add(
            "lun",
            f"No worker has announced a LUN with the number {spec.lun_id}: choose one of the "
            "list on the LUNs page.",
        )
        return None
    for sentence in availability.lun_problems(lun):
        problems.add("lun", sentence)
    return lun


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
    for sentence in workload_checks.problems(workload, lun, configurations, guest, neighbours):
        problems.add(place, sentence)
    return workload


def _checked_configurations(
    spec: JobSpec, lun: Lun | None, neighbours: Mapping[str, Lun], problems: Problems
) -> list[ConfigurationSpec]:
    if not spec.configurations:
        if not problems.is_reported("configurations"):
            problems.add("configurations", "Choose at least one file system.")
        return []
    if spec.run_count > MAXIMUM_RUNS:
        problems.add(
            "configurations",
            f"The job would make {spec.run_count} runs, and {MAXIMUM_RUNS} is the most one "
            "may have: submit them in parts, into the same study.",
        )
        return []
    checked: list[ConfigurationSpec] = []
    seen: set[tuple[str, str, str]] = set()
    for wanted in spec.configurations:
        clean = _checked_configuration(wanted, lun, neighbours, spec.guest is None, problems)
        if clean is None:
            continue
        label = guest_checks.label_of(clean)
        known_by = (label, clean.journal, clean.stack.words)
        if known_by in seen:
            problems.add(
                clean.place(),
                f"{label} is in the job twice: remove one of them, or change its options. To "
                "run it more often, raise the repeats.",
            )
            continue
        seen.add(known_by)
        checked.append(clean)
    return checked


def _checked_reference(
    spec: JobSpec, lun: Lun | None, neighbours: Mapping[str, Lun], problems: Problems
) -> ConfigurationSpec | None:
    if spec.reference is None:
        return None
    every, wanted = spec.reference.every, spec.reference.configuration
    if not 1 <= every <= MAXIMUM_RUNS:
        problems.add(
            "reference.every",
            f"The reference is run after every so many runs, 1 to {MAXIMUM_RUNS}, not {every}.",
        )
    places = {"": "reference.configuration", **wanted.places}
    return _checked_configuration(
        replace(wanted, places=places), lun, neighbours, spec.guest is None, problems
    )


def _with_valid_options(
    wanted: ConfigurationSpec, lun: Lun | None, problems: Problems
) -> ConfigurationSpec | None:
    try:
        options = validated_options(wanted.filesystem, wanted.options)
    except OptionError as error:
        problems.add(wanted.place(), str(error))
        return None
    return mount_checks.as_mounted(replace(wanted, options=options), lun, problems)


def _checked_configuration(
    wanted: ConfigurationSpec,
    lun: Lun | None,
    neighbours: Mapping[str, Lun],
    is_own: bool,
    problems: Problems,
) -> ConfigurationSpec | None:
    """The configuration with its options in their canonical form; None if they cannot be read."""
    clean = _with_valid_options(wanted, lun, problems)
    if clean is None:
        return None
    if not is_own:
        # Old kernels call one and the same scheduler by another name: it is one configuration.
        clean = replace(clean, scheduler=canonical_scheduler(clean.scheduler))
    journal = neighbours.get(clean.journal) if clean.journal else None
    options = {key: str(value) for key, value in clean.options.items()}
    for sentence in option_conflicts(*(clean.filesystem, options, lun, journal), clean.stack.shape):
        problems.add(clean.place(), sentence)
    if lun is not None:
        if is_own:  # with guests it depends on the kernel: guest_checks.pairs
            for sentence in availability.served_problems(lun.worker, clean.options, None):
                problems.add(clean.place(), sentence)
            for sentence in availability.filesystem_problems(lun, clean.filesystem):
                problems.add(clean.place("filesystem"), sentence)
            sentence = availability.scheduler_problem(lun, clean.scheduler)
            if sentence:
                problems.add(clean.place("scheduler"), sentence)
        for sentence in journal_checks.journal_problems(clean, lun, neighbours, is_own):
            problems.add(clean.place("journal"), sentence)
        for sentence in stack_checks.stack_problems(clean, lun, neighbours, is_own):
            problems.add(clean.place("stack"), sentence)
    return clean


def _check_grants(
    lun: Lun | None, neighbours: Mapping[str, Lun], others: Sequence[str], problems: Problems
) -> None:
    """Whoever asks must have been granted every LUN that the job erases."""
    used = [("lun", lun), *(("lun", neighbours.get(name)) for name in others)]
    for place, one in used:
        if one is not None and (why := rights.decide_here(rights.Action.RUN, one).why):
            problems.forbid(place, why)


def _checked_study(spec: JobSpec, problems: Problems) -> Study | None:
    """The existing study; None where a new one is to be made (or a problem was noted)."""
    title = spec.new_study.strip()
    if spec.study and title:
        problems.add("study", "Choose a study or give the title of a new one, not both.")
        return None
    if spec.study:
        study = Study.objects.filter(slug=spec.study).first()
        if study is None:
            problems.add(
                "study",
                f'There is no study "{spec.study}": choose one of the list, or give the title '
                "of a new one.",
            )
        elif why := rights.decide_here(rights.Action.RUN, study).why:
            problems.forbid("study", why)
        elif study.is_published:
            problems.add(
                "study",
                f'"{study.title}" is a published study and takes no further runs: give the title '
                "of a new one; the two can be compared.",
            )
        return study
    if not title:
        if not problems.is_reported("study"):
            problems.add("study", "Choose the study that the runs belong to, or name a new one.")
    elif said := new_study.title_problem(title):
        problems.add("study", said)
    elif Study._base_manager.filter(slug=slug_of(title)).exists():  # also one they may not see
        problems.add("study", new_study.study_exists(slug_of(title)))
    return None
