"""Check a job, and write its runs. No HTTP here.

This checks what the worker announced; the worker checks again before it erases.
"""

import math
import secrets
from collections.abc import Mapping, Sequence

from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.accounts import audit, rights
from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.configurations.stacks import in_words
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workloads.stored import stored_workload
from fsbench_web.core.traces.tracers import joined
from fsbench_web.core.versions import version_key
from fsbench_web.platform import clock
from fsbench_web.platform.names import slug_of
from fsbench_web.studies.jobs import new_study
from fsbench_web.studies.jobs.checks import configuration as configuration_checks
from fsbench_web.studies.jobs.checks import workload as workload_checks
from fsbench_web.studies.jobs.documents.writer import document_of
from fsbench_web.studies.jobs.features import guest, limits
from fsbench_web.studies.jobs.features.probe import first_of_blocks
from fsbench_web.studies.jobs.features.race import measure_of
from fsbench_web.studies.jobs.features.times import check_window, window_of
from fsbench_web.studies.jobs.parts import LeftOut
from fsbench_web.studies.jobs.planned_runs import Plan, PlannedRun, planned_run
from fsbench_web.studies.jobs.problems import JobRefused, Problems
from fsbench_web.studies.jobs.spec import FEATURES, JobSpec
from fsbench_web.studies.models import Job, Race, RepeatRule, Run, Series, Study
from fsbench_web.studies.runs import new_runs, nudges
from fsbench_web.studies.runs.races.standing import MOST_RUNS
from fsbench_web.studies.sequence import RANDOM, Slot, sequence
from fsbench_web.studies.series import next_repeat, series_for

# What a run may take beside its benchmark, where its job sets no limit: mkfs on a large slow
# disk, writing back, waiting for the device.
AROUND_BENCHMARK_S = 6 * 3600
_KEY_TAKEN = (
    "This Idempotency-Key came with another job already (job {}), and this one was not made: "
    "send that job as it was, or this one with a new key."
)


def planned(spec: JobSpec) -> Plan:
    """What ``submit`` would make, repeat after repeat. Raises JobRefused."""
    problems = Problems(spec.unreadable)
    plan = checked_plan(spec, problems)
    problems.refuse_if_any()
    assert plan is not None
    return plan


def submit(
    spec: JobSpec,
    confirmation: str,
    user: User | None,
    token: str = "",
    body_sha256: str = "",
    seen: str = "",
) -> list[Run]:
    """Write the runs as queued and nudge their worker once they are committed.

    ``confirmation`` must equal ``confirmation_text``. A second job with the same ``token`` makes
    nothing and returns the runs of the first; with another ``body_sha256`` it is refused. ``seen``
    is the ``Plan.device_digest`` of the confirmed page. Raises JobRefused, and then writes nothing.
    """
    with transaction.atomic():
        job, is_new = Job.objects.get_or_create(
            token=token or secrets.token_urlsafe(24),
            defaults={"created_by": user, "body_sha256": body_sha256},
        )
        if not is_new:
            if job.created_by_id != (user.pk if user else None):
                raise JobRefused(
                    {"confirmation": ["Somebody else already sent this form: open a new one."]}
                )
            if job.body_sha256 not in ("", body_sha256):
                raise JobRefused({"Idempotency-Key": [_KEY_TAKEN.format(job.pk)]})
            return list(job.runs.order_by("id"))
        problems = Problems(spec.unreadable)
        plan = checked_plan(spec, problems)
        wanted = confirmation_text(spec)
        if wanted is not None and confirmation != wanted:
            names = "names of the LUNs" if len(wanted.split()) > 1 else "name of the LUN"
            problems.add(
                "confirmation",
                f'The confirmation does not match: type the {names}, "{wanted}", '
                "exactly as it is written.",
            )
        if plan is not None and seen and seen != plan.device_digest:
            problems.add(
                "confirmation",
                f"What {' and '.join(plan.lun_names)} stands for changed since this page was "
                f"shown: check it, and type the name again.",
            )
        problems.refuse_if_any()
        assert plan is not None
        runs = _write(plan, spec, user, job)
        audit.note(
            user,
            "job submitted",
            f"job {job.pk}",
            study=runs[0].series.study.slug,
            worker=plan.lun.worker.name,
            luns=plan.lun_names,
            runs=len(runs),
        )
        # One message is enough: who comes for the first run goes on with the next ones.
        nudges.nudge_after_commit(runs[:1])
        return runs


def confirmation_text(spec: JobSpec) -> str | None:
    """The names of all LUNs to erase, which a person types; the data LUN's first. None: unknown."""
    if spec.lun_id is None:
        return None
    name = Lun.objects.filter(pk=spec.lun_id).values_list("name", flat=True).first()
    return " ".join([name, *spec.journals, *spec.members]) if name else None


def _write(plan: Plan, spec: JobSpec, user: User | None, job: Job) -> list[Run]:
    study = plan.study or _new_study(spec.new_study.strip(), user)
    Job.objects.filter(pk=job.pk).update(
        study=study,
        lun=plan.lun,
        document=spec.document
        or document_of(spec, study=study.title, lun=plan.lun.name, worker=plan.lun.worker.name),
        left_out=[list(row) for row in plan.left_out],
        priority=spec.priority,
        time_limit_s=plan.time_limit_s,
        run_again=spec.run_again,
        probe_s=spec.probe_s,
        start_at=spec.start_at,
        stop_before=spec.stop_before,
    )
    workloads = {
        workload: stored_workload(*workload) for workload in {run.workload: 0 for run in plan.runs}
    }
    worker = plan.lun.worker
    series: dict[_Key, Series] = {}
    repeats: dict[_Key, int] = {}
    rules: dict[_Key, RepeatRule] = {}
    # In one order for everybody, and not in that of the runs, which may be random: two jobs of
    # the same configurations at the same moment would wait for each other.
    for key, planned in sorted({_key(run): run for run in plan.runs}.items()):
        series[key] = series_for(
            study,
            configuration_for(
                planned.filesystem,
                planned.options,
                planned.scheduler,
                external_journal=planned.journal is not None,
                shape=planned.shape,
            ),
            workload=workloads[planned.workload],
            hardware=worker.hardware,
            lun=plan.lun,
            journal_lun=planned.journal,
            kernel=planned.kernel if planned.machine.is_guest else availability.kernel(worker),
            distribution=availability.distribution(worker),
            preparation=spec.preparation.stored(),
            machine=planned.machine.stored(),
            members=planned.members,
        )
        if spec.until is not None:
            rules[key] = RepeatRule.objects.create(**vars(spec.until))
    for key in sorted(series, key=lambda key: series[key].pk):  # as control.retry locks them
        repeats[key] = next_repeat(series[key])
    wanted = []
    contenders = _contenders(spec, plan)
    for planned in plan.runs:
        key = _key(planned)
        if spec.is_bisection and key not in (contenders[0], contenders[-1]):
            continue
        confirmed = new_runs.confirmed_of(
            *(plan.lun, planned.journal, [member for _, member in planned.members]),
            series[key].clients,
        )
        # A reference shows how blocks differ, and is in none.
        # An extra run is none of the repeats: no rule counts it either.
        block = new_runs.block_of(job, planned.repeat) if planned.is_counted else ""
        rule = None if planned.tracing else rules.get(key)
        wanted.append(
            Run(
                series=series[key],
                repeat=repeats[key],
                is_reference=planned.is_reference,
                repeat_rule=rule,
                confirmed=confirmed,
                block=block,
                tracing=planned.tracing,
            )
        )
        repeats[key] += 1
    if spec.race is not None:
        _write_race(spec, plan, job, [str(series[key].pk) for key in contenders])
    return new_runs.create_all_queued(wanted, by=user, job=job)


def _contenders(spec: JobSpec, plan: Plan) -> "list[_Key]":
    """Who is in the race, in the order of the first block; of a change by version of the kernel."""
    runs = plan.runs
    if spec.is_bisection:
        runs = sorted(runs, key=lambda run: version_key(run.kernel or run.machine.kernel))
    return [_key(run) for run in runs]


def _write_race(spec: JobSpec, plan: Plan, job: Job, contenders: list[str]) -> None:
    assert spec.race is not None
    test, category = measure_of(spec.race, plan.runs[0].workload[1])
    Race.objects.create(
        job=job,
        find=spec.race.find,
        contenders=contenders,
        seed=spec.seed if spec.order == RANDOM else None,
        test=test,
        category=category,
        budget_s=None if spec.race.hours is None else round(spec.race.hours * 3600),
        budget_runs=spec.race.runs,
        margin_percent=spec.race.margin_percent,
    )


_Key = tuple[str, str, str, str, str]


def _key(planned: PlannedRun) -> _Key:
    """(configuration, where its journal is, other LUNs, workload, machine): these are repeats."""
    journal = planned.journal.name if planned.journal else ""
    preset, workload = planned.workload
    members = in_words((role, member.name) for role, member in planned.members)
    machine = planned.machine.kernel or planned.machine.words
    return planned.configuration, journal, members, f"{preset} {workload!r}", machine


def _new_study(title: str, user: User | None) -> Study:
    try:
        return new_study.create_study(title, user)
    except new_study.StudyExists as error:  # somebody else made it between the check and now
        raise JobRefused({"study": [str(error)]}) from None


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
            crash_points=spec.crash_points if slot.repeat == 1 and slot.index is not None else 0,
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
