"""Write the runs of a checked job. No HTTP here."""

import secrets

from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.accounts import audit
from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.configurations.stacks import in_words
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workloads.stored import stored_workload
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.core.versions import version_key
from fsbench_web.studies.jobs import new_study
from fsbench_web.studies.jobs.checking import checked_plan
from fsbench_web.studies.jobs.documents.writer import document_of
from fsbench_web.studies.jobs.features.race import measure_of
from fsbench_web.studies.jobs.planned_runs import Plan, PlannedRun
from fsbench_web.studies.jobs.problems import JobRefused, Problems
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.models import Job, Race, RepeatRule, Run, Series, Study
from fsbench_web.studies.runs import new_runs, nudges
from fsbench_web.studies.runs.new_runs import NewRun
from fsbench_web.studies.sequence import RANDOM
from fsbench_web.studies.series import next_repeat, series_for

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
                    {"confirmation": ["This form was sent by somebody else: open a new one."]}
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
                f"What {' and '.join(plan.lun_names)} stands for has changed since this page was "
                "shown: look at what it is now, and type the name again.",
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
            rules[key] = _rule(spec.until)
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
            NewRun(
                *(series[key], repeats[key], planned.is_reference, rule, confirmed, block),
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


def _rule(target: RepeatTarget) -> RepeatRule:
    return RepeatRule.objects.create(
        half_width_percent=target.half_width_percent, least=target.least, most=target.most
    )


def _new_study(title: str, user: User | None) -> Study:
    try:
        return new_study.create_study(title, user)
    except new_study.StudyExists as error:  # somebody else made it between the check and now
        raise JobRefused({"study": [str(error)]}) from None
