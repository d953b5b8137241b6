"""Return what is wrong with a job, all at once, or the runs that it makes. No HTTP here.

This checks what the worker announced; the worker checks again before it erases.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from fsbench_web.accounts import rights
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.core.numbers import duration
from fsbench_web.core.traces.tracers import joined
from fsbench_web.platform import clock
from fsbench_web.platform.names import slug_of
from fsbench_web.studies.jobs import estimates, new_study
from fsbench_web.studies.jobs.checks import clients as client_checks
from fsbench_web.studies.jobs.checks import configuration as configuration_checks
from fsbench_web.studies.jobs.checks import machines
from fsbench_web.studies.jobs.checks import workload as workload_checks
from fsbench_web.studies.jobs.checks.machines import LeftOut
from fsbench_web.studies.jobs.checks.method import check_method, check_repeats, first_of_blocks
from fsbench_web.studies.jobs.checks.race import check_race
from fsbench_web.studies.jobs.planned_runs import Plan, PlannedRun, planned_run, time_limit_s
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.models import Study
from fsbench_web.studies.runs.races.standing import MOST_RUNS
from fsbench_web.studies.runs.windows import forecast, words
from fsbench_web.studies.runs.windows.forecast import Window
from fsbench_web.studies.sequence import Slot, sequence

MOST_AHEAD = timedelta(days=366)
# Whoever reviews a job and types the name of the LUN takes a while.
JUST_PAST = timedelta(minutes=5)


def checked_plan(spec: JobSpec, problems: Problems) -> Plan | None:
    """The plan, or None with at least one problem noted. A plan may come with problems too."""
    lun = _checked_lun(spec, problems)
    neighbours = configuration_checks.neighbours(lun)
    hosts = machines.hosts_of(spec, lun, problems)
    workloads = workload_checks.checked_workloads(spec, lun, neighbours, problems)
    hosts = client_checks.with_clients(hosts, spec, lun, workloads, problems)
    configurations, reference = configuration_checks.checked_configurations(
        spec, lun, neighbours, problems
    )
    study = _checked_study(spec, problems)
    _check_grants(lun, neighbours, [*spec.journals, *spec.members], problems)
    check_method(spec, lun, workloads, problems)
    now = clock.now()
    check_times(spec, now, problems)
    if spec.race is not None:
        check_race(spec, workloads, problems)
    else:
        check_repeats(spec, workloads, problems)
    if lun is None or not workloads or not configurations or problems.by_part:
        return None
    pairs = [(wanted, host) for host in hosts for wanted in configurations]
    left_out: list[LeftOut] = []
    if spec.guest is not None:
        pairs, left_out = machines.pairs(configurations, hosts, lun, problems)
        if reference is not None:
            machines.pairs([reference], hosts[:1], lun, problems)
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
    window = window_of(spec, runs, now)
    check_window(window, runs, problems)
    return Plan(
        lun=lun,
        runs=runs,
        study=study,
        time_limit_s=time_limit_s(spec, runs),
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


def check_times(spec: JobSpec, now: datetime, problems: Problems) -> None:
    """Whether there is a time between the two, and whether it is to come."""
    for place, moment, margin in (
        ("start_at", spec.start_at, JUST_PAST),
        ("stop_before", spec.stop_before, timedelta(0)),
    ):
        if moment is None:
            continue
        if moment <= now - margin:
            leave = "start at once" if place == "start_at" else "have no end"
            problems.add(
                place,
                f"{moment.isoformat()} is in the past (it is {words.time(now)} now): say a later "
                f"time, or leave it out to {leave}.",
            )
        elif moment > now + MOST_AHEAD:
            problems.add(
                place, f"{moment.isoformat()} is more than a year ahead: say a time within a year."
            )
    if spec.start_at and spec.stop_before and spec.stop_before <= spec.start_at:
        problems.add(
            "stop_before",
            "The job would stop before it starts: say a time to stop that is later than the "
            "time to start.",
        )


def window_of(spec: JobSpec, runs: Sequence[PlannedRun], now: datetime) -> Window | None:
    """What the times leave of a plan; None for a job without times. A few queries."""
    if spec.start_at is None and spec.stop_before is None:
        return None
    begins_at = max(now, spec.start_at) if spec.start_at else now
    if spec.stop_before is None:
        return Window(begins_at, None, len(runs), (), 0, ())
    items = _items(runs)
    out = sorted(forecast.left_out(items, (spec.stop_before - begins_at).total_seconds()))
    left = [runs[place] for place in out]
    labels = tuple((run.repeat if run.is_counted else None, _label(run)) for run in left)
    unknown = sum(item.duration_s is None for item in items)
    return Window(begins_at, spec.stop_before, len(runs), tuple(out), unknown, labels)


def check_window(window: Window | None, runs: Sequence[PlannedRun], problems: Problems) -> None:
    """Refuse a time in which nothing of the job would be measured."""
    if window is None or window.stop_before is None:
        return
    places = set(range(len(runs))) - set(window.left_out)
    if any(runs[place].is_counted for place in places):
        return
    items = _items(runs)
    first = next(place for place, run in enumerate(runs) if run.is_counted)
    block = [item.duration_s or 0 for item in items if item.block == items[first].block]
    room = duration((window.stop_before - window.begins_at).total_seconds())
    takes = f"a run takes about {duration(items[first].duration_s)}"
    if len(block) > 1:
        takes += (
            f", and a round of {len(block)} runs, which is begun only as a whole, about "
            f"{duration(sum(block))}"
        )
    problems.add(
        "stop_before",
        f"Nothing of it would be begun: there are {room} from {words.time(window.begins_at)} "
        f"to {words.time(window.stop_before)}; {takes}. Stop later, or measure less.",
    )


def _items(runs: Sequence[PlannedRun]) -> list[forecast.Item]:
    """Runs in turn; without a finished run, what the parameters of the workload ask for."""
    expected = estimates.of_planned(runs)
    return [
        forecast.Item(
            str(run.repeat) if run.is_counted else "",
            run.workload[1].estimated_s() if estimate is None else estimate.duration_s,
        )
        for run, estimate in zip(runs, expected, strict=True)
    ]


def _label(run: PlannedRun) -> str:
    return words.OF_REFERENCE if run.is_reference else run.configuration
