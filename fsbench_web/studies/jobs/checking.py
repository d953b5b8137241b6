"""Return what is wrong with a job, all at once, or the runs that it makes. No HTTP here.

This checks what the worker announced; the worker checks again before it erases.
"""

import math
from collections.abc import Mapping, Sequence

from fsbench_web.accounts import rights
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.core.traces.tracers import joined
from fsbench_web.platform import clock
from fsbench_web.platform.names import slug_of
from fsbench_web.studies.jobs import new_study
from fsbench_web.studies.jobs.checks import configuration as configuration_checks
from fsbench_web.studies.jobs.checks import workload as workload_checks
from fsbench_web.studies.jobs.features import guest, limits
from fsbench_web.studies.jobs.features.probe import first_of_blocks
from fsbench_web.studies.jobs.features.times import check_window, window_of
from fsbench_web.studies.jobs.parts import LeftOut
from fsbench_web.studies.jobs.planned_runs import Plan, PlannedRun, planned_run
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import FEATURES, JobSpec
from fsbench_web.studies.models import Study
from fsbench_web.studies.runs.races.standing import MOST_RUNS
from fsbench_web.studies.sequence import Slot, sequence

# What a run may take beside its benchmark, where its job sets no limit: mkfs on a large slow
# disk, writing back, waiting for the device.
AROUND_BENCHMARK_S = 6 * 3600


def checked_plan(spec: JobSpec, problems: Problems) -> Plan | None:
    """The plan, or None with at least one problem noted. A plan may come with problems too."""
    lun = _checked_lun(spec, problems)
    neighbours = configuration_checks.neighbours(lun)
    hosts = limits.hosts_of(spec.limits, lun, spec.guest is not None, problems)
    if spec.guest is not None:
        hosts = guest.hosts_of(spec.guest, lun, problems)
    workloads = workload_checks.checked_workloads(spec, lun, neighbours, problems)
    hosts = spec.with_clients(hosts, lun, workloads, problems)
    configurations, reference = configuration_checks.checked_configurations(
        spec, lun, neighbours, problems
    )
    study = _checked_study(spec, problems)
    _check_grants(lun, neighbours, [*spec.journals, *spec.members], problems)
    for feature in sorted(FEATURES, key=lambda feature: feature.is_checked_last):
        feature.check(spec, lun, workloads, problems)
    if lun is None or not workloads or not configurations or problems.by_part:
        return None
    pairs = [(wanted, host) for host in hosts for wanted in configurations]
    left_out: list[LeftOut] = []
    if spec.guest is not None:
        pairs, left_out = guest.pairs(configurations, hosts, lun, problems)
        if reference is not None:
            guest.pairs([reference], hosts[:1], lun, problems)
        if problems.by_part:
            return None
    combinations = [(*pair, workload) for workload in workloads for pair in pairs]
    slots = sequence(
        len(combinations),
        spec.planned_repeats,
        order=spec.order,
        seed=spec.seed or 0,
        reference_every=spec.reference.every if spec.reference else 0,
    )
    probed = first_of_blocks(slots, combinations)
    runs = [
        planned_run(
            slot,
            *(
                (reference, hosts[0], workloads[0])
                if slot.index is None
                else combinations[slot.index]
            ),
            lun,
            spec.preparation,
            neighbours,
            probe_s=spec.probe_s if place in probed else 0,
        )
        for place, slot in enumerate(slots)
    ]
    if spec.tracing:
        extra = [Slot(index, spec.planned_repeats + 1) for index in range(len(combinations))]
        runs += [
            planned_run(
                *(slot, *combinations[slot.index or 0], lun, spec.preparation, neighbours),
                tracing=joined(spec.tracing),
            )
            for slot in extra
        ]
    window = window_of(spec, runs, clock.now())
    check_window(window, runs, problems)
    return Plan(
        lun=lun,
        runs=runs,
        study=study,
        time_limit_s=_time_limit_s(spec, runs),
        left_out=(*spec.left_out, *left_out),
        most_runs=_most_runs(spec, len(combinations), len(runs)),
        window=window,
    )


def _most_runs(spec: JobSpec, combinations: int, runs: int) -> int:
    if spec.race is not None:
        return spec.race.runs or MOST_RUNS
    extra = combinations if spec.tracing else 0
    return combinations * spec.until.most + extra if spec.until else runs


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


def _check_grants(
    lun: Lun | None, neighbours: Mapping[str, Lun], others: Sequence[str], problems: Problems
) -> None:
    """The account must have been granted every LUN that the job erases."""
    used = [("lun", lun), *(("lun", neighbours.get(name)) for name in others)]
    for place, used_lun in used:
        if used_lun is not None and (why := rights.decide_here(rights.Action.RUN, used_lun).why):
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
    elif problem := new_study.title_problem(title):
        problems.add("study", problem)
    elif Study._base_manager.filter(slug=slug_of(title)).exists():  # also one they may not see
        problems.add("study", new_study.study_exists(slug_of(title)))
    return None


def _time_limit_s(spec: JobSpec, runs: Sequence[PlannedRun]) -> int:
    """How long each of these runs may take as a whole, in seconds; at least one run."""
    if spec.time_limit_s:
        return spec.time_limit_s
    longest = max(run.workload[1].time_limit_s for run in runs) + AROUND_BENCHMARK_S
    longest += math.ceil(max(run.boot_s[0] if run.boot_s else 0 for run in runs))
    return longest + sum(feature.longer_s(spec, runs[0].lun) for feature in FEATURES)
