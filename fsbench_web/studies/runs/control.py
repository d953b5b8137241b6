"""Steering a job: pause, resume, cancel, retry, priority. Each call locks the job's row first."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from fsbench_web.accounts import audit, rights
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.platform import clock
from fsbench_web.studies.models import ACTIVE_STATES, Job, Run, RunState, Series, client_luns
from fsbench_web.studies.runs import authority, lifecycle, new_runs, nudges, queue
from fsbench_web.studies.runs.windows import closing, words
from fsbench_web.studies.series import next_repeat
from runner.safety import lun_identity

LEAST_PRIORITY, MOST_PRIORITY = -10, 10
RETRIED_STATES = (RunState.FAILED, RunState.LOST)
RETRIABLE_STATES = (*RETRIED_STATES, RunState.CANCELLED)
_CANCEL_AND_RETRY = (
    "Its runs would be refused: cancel the job, and rerun the cancelled runs yourself."
)
_RELATED = (
    *("series__lun__worker", "series__journal_lun__worker", "series__configuration"),
    *("job", "repeat_rule"),
)


class ControlRefused(Exception):
    """Nothing was changed. ``problems`` are sentences that say what to do, about ``part``.
    ``is_forbidden``: one of them is that the user may not.
    """

    def __init__(
        self, problems: list[str], is_forbidden: bool = False, part: str = "confirm"
    ) -> None:
        self.part = part
        self.problems = problems
        self.is_forbidden = is_forbidden
        super().__init__(" ".join(problems))


@dataclass(frozen=True)
class Cancelled:
    """How many runs were cancelled before they started, and how many were asked to stop."""

    at_once: int
    asked_to_stop: int


def _locked_job(job_id: int) -> Job:
    """The job, locked, if the caller may steer it. Raises Job.DoesNotExist, PermissionDenied."""
    job = Job.objects.select_for_update(no_key=True).get(pk=job_id)
    rights.require_here(rights.Action.STEER, job)
    return job


@transaction.atomic
def pause(job_id: int) -> bool:
    """No further run of the job starts; what runs goes on. False: it was paused already."""
    job = _locked_job(job_id)
    if job.paused_at is not None:
        return False
    Job.objects.filter(pk=job_id).update(paused_at=timezone.now())
    audit.note_here("job paused", f"job {job_id}")
    return True


@transaction.atomic
def resume(job_id: int) -> bool:
    """Let its runs start again; False: it was not paused.

    Raises PermissionDenied if the caller may not erase a LUN, ControlRefused if the author may not.
    """
    job = _locked_job(job_id)
    if job.paused_at is None:
        return False
    waiting = job.runs.filter(state=RunState.QUEUED)
    pairs = waiting.values_list(
        "series__lun", "series__journal_lun", "series__stack__lun"
    ).distinct()
    luns = Lun.objects.filter(pk__in={pk for pair in pairs for pk in pair if pk is not None})
    machines = waiting.filter(series__machine__has_key="clients").values_list("series__machine")
    named = {client for (sentence,) in machines for client in Machine.of(sentence).clients}
    for lun in (*luns.order_by("pk"), *client_luns(named)):
        rights.require_here(rights.Action.RUN, lun)
    if reasons := authority.refusals(waiting):
        raise ControlRefused([f"{why} {_CANCEL_AND_RETRY}" for why in reasons], part="job")
    Job.objects.filter(pk=job_id).update(paused_at=None)
    audit.note_here("job resumed", f"job {job_id}")
    _nudge_luns_of(job)
    return True


@transaction.atomic
def set_priority(job_id: int, priority: int) -> None:
    """Let the job's runs come before those of a lower priority. Raises ControlRefused."""
    if not LEAST_PRIORITY <= priority <= MOST_PRIORITY:
        raise ControlRefused(
            [
                f"A priority is a whole number from {LEAST_PRIORITY} to {MOST_PRIORITY}, not "
                f"{priority}: choose one of them; runs of a higher one start first."
            ],
            part="priority",
        )
    job = _locked_job(job_id)
    Job.objects.filter(pk=job_id).update(priority=priority)
    audit.note_here("job priority", f"job {job_id}", priority=priority)
    _nudge_luns_of(job)


@transaction.atomic
def cancel(job_id: int, by: str) -> Cancelled:
    """Cancel all that waits at once, and ask the workers to stop what runs."""
    job = _locked_job(job_id)
    unfinished = job.runs.filter(state__in=[RunState.QUEUED, *ACTIVE_STATES]).order_by("id")
    at_once = asked = last_id = 0
    # Asked again until nothing is new: a run that ends meanwhile may write its next repeat.
    while run_ids := list(unfinished.filter(pk__gt=last_id).values_list("id", flat=True)):
        for run_id in run_ids:
            state = lifecycle.cancel(run_id, by)
            at_once += state == RunState.CANCELLED
            asked += state in ACTIVE_STATES
        last_id = run_ids[-1]
    audit.note_here("job cancelled", f"job {job_id}", at_once=at_once, asked=asked)
    return Cancelled(at_once, asked)


@transaction.atomic
def cancel_run(run_id: int, by: str) -> RunState:
    """``lifecycle.cancel``, if the user may. Raises Run.DoesNotExist, PermissionDenied."""
    run = Run.objects.select_for_update().get(pk=run_id)
    rights.require_here(rights.Action.STEER, run)
    had_ended = run.has_ended
    state = lifecycle.cancel(run_id, by)
    if not had_ended:  # otherwise nothing was cancelled, and the audit log says what was done
        audit.note_here("run cancelled", f"run {run_id}", state=str(state))
    return state


def retriable(job: Job, states: Collection[str] = RETRIABLE_STATES) -> list[Run]:
    """The runs that ended in one of these states and were not submitted again since, in turn."""
    wanted = set(states) & set(RETRIABLE_STATES)
    runs = job.runs.filter(state__in=wanted, origin=Run.Origin.MEASURED, retried_as=None)
    return list(runs.select_related(*_RELATED).order_by("id"))


@transaction.atomic
def retry(
    job_id: int,
    confirmation: str,
    by: User | None,
    states: Collection[str] = RETRIED_STATES,
    seen: str = "",
) -> list[Run]:
    """Submit the runs that ended in ``states`` once more; returns the new ones, queued.

    Each is a further repeat, and is submitted once. The LUNs are erased again: ``confirmation`` is
    ``job_confirmation``, ``seen`` the ``device_digest`` of the page. Raises ControlRefused.
    """
    job = _locked_job(job_id)
    _refuse_other_devices(seen, retriable(job, [*RETRIED_STATES, RunState.CANCELLED]))
    runs = retriable(job, states)
    retried = _resubmit(runs, confirmation, job_confirmation(job), by) if runs else []
    if retried:
        audit.note(by, "runs retried", f"job {job_id}", runs=[run.pk for run in retried])
    return retried


@transaction.atomic
def retry_run(run_id: int, confirmation: str, by: User | None, seen: str = "") -> Run | None:
    """Submit one run once more; None if it was, or did not end badly. ``seen``: ``device_digest``.
    Raises Run.DoesNotExist and ControlRefused.
    """
    job_id = Run.objects.values_list("job_id", flat=True).get(pk=run_id)
    if job_id is not None:
        _locked_job(job_id)
    else:
        Run.objects.select_for_update().get(pk=run_id)
    run = Run.objects.select_related(*_RELATED).get(pk=run_id)
    rights.require_here(rights.Action.STEER, run)
    if run.state not in RETRIABLE_STATES or run.origin != Run.Origin.MEASURED:
        return None
    if Run.objects.filter(retry_of=run).exists():
        return None
    _refuse_other_devices(seen, [run])
    new_run = _resubmit([run], confirmation, run_confirmation(run), by)[0]
    audit.note(by, "run retried", f"run {run_id}", as_run=new_run.pk)
    return new_run


def job_confirmation(job: Job) -> str:
    """What has to be typed to submit its runs again: all LUNs of the job, data LUNs first."""
    rows = job.runs.order_by("id", "series__stack__place").values_list(
        "series__lun__name", "series__journal_lun__name", "series__stack__lun__name"
    )
    return " ".join(
        dict.fromkeys(name for names in zip(*rows, strict=True) for name in names if name)
    )


def run_confirmation(run: Run) -> str:
    """What has to be typed to submit one run again: the LUNs that it erases."""
    return " ".join(lun.name for lun in run.series.luns)


def confirmed_by(runs: Iterable[Run]) -> list[tuple[Lun, str]]:
    """What a user who types these names confirms: each LUN, and what it is now in words."""
    luns = {lun.pk: lun for run in runs for lun in run.series.leased}
    return [(lun, lun_identity.in_words(lun.fingerprint)) for lun in luns.values()]


def device_digest(runs: Iterable[Run]) -> str:
    """One word for the devices that ``confirmed_by`` shows, for the form they are confirmed on."""
    luns = {lun.pk: lun for run in runs for lun in run.series.leased}
    return lun_identity.digest(luns[key].fingerprint for key in sorted(luns))


def _refuse_other_devices(seen: str, runs: Sequence[Run]) -> None:
    """Refuse where a name stands for another device than the page showed. Raises ControlRefused."""
    if seen and runs and seen != device_digest(runs):
        raise ControlRefused(
            [
                "The devices changed since this page was shown: check what would be erased now, "
                "and type the name again."
            ]
        )


def _resubmit(runs: list[Run], confirmation: str, wanted: str, by: User | None) -> list[Run]:
    erased = [lun for run in runs for lun in run.series.leased]
    forbidden = [why for lun in erased if (why := rights.decide_here(rights.Action.RUN, lun).why)]
    problems = [*forbidden, *(sentence for run in runs for sentence in _problems(run))]
    if confirmation != wanted:
        problems.append(
            f'The confirmation does not match: type "{wanted}" exactly as it is written. What is '
            "on it will be erased again."
        )
    if problems:
        raise ControlRefused(list(dict.fromkeys(problems)), is_forbidden=bool(forbidden))
    repeats: dict[int, int] = {}
    resubmitted = []
    for series_id in sorted({run.series_id for run in runs}):  # one order of locks for everybody
        repeats[series_id] = next_repeat(Series.objects.get(pk=series_id))
    blocks = _new_blocks(runs)
    for run in runs:
        resubmitted.append(
            new_runs.create_queued(
                run.series,
                repeats[run.series_id],
                by=by,
                job=run.job,
                retry_of=run,
                repeat_rule=run.repeat_rule,
                block=blocks.get(run.block, ""),
            )
        )
        repeats[run.series_id] += 1
    nudges.nudge_after_commit({run.series.lun_id: run for run in reversed(resubmitted)}.values())
    return resubmitted


def _new_blocks(runs: Sequence[Run]) -> dict[str, str]:
    """The new block of each resubmitted run, by its old one: they run together again."""
    job = runs[0].job
    if job is None:
        return {}
    count = new_runs.blocks_in(job.runs.all())
    olds = dict.fromkeys(run.block for run in runs if run.block)
    return {old: new_runs.block_of(job, count + n) for n, old in enumerate(olds, start=1)}


def _problems(run: Run) -> Iterator[str]:
    """Why this run cannot be submitted again as it was."""
    if run.job is not None and closing.is_over(run.job, clock.now()):
        assert run.job.stop_before is not None
        yield (
            f"Job {run.job.pk} stops before {words.time(run.job.stop_before)}, and that time is "
            "over: submit what is left as a new job, from its job file."
        )
    lun, journal = run.series.lun, run.series.journal_lun
    if lun is None or (run.series.configuration.external_journal and journal is None):
        yield f"The LUN of run {run.pk} is unknown: submit its configuration in a new job."
        return
    yield from availability.lun_problems(lun)
    if len(run.series.clients) < len(run.series.runs_on.clients):
        yield f"A client of run {run.pk} is unknown: submit its configuration in a new job."
    for client in run.series.clients:
        yield from availability.lun_problems(client)
    members = run.series.members
    if any(member.lun is None for member in members):
        yield f"A LUN of run {run.pk}'s stack is unknown: submit its configuration in a new job."
    for member in members:
        if member.lun is not None:
            yield from availability.member_problems(lun, member.lun, member.role)
    if journal is not None:
        slug = run.series.configuration.filesystem
        yield from availability.journal_problems(lun, journal, slug)


def _nudge_luns_of(job: Job) -> None:
    """Tell the workers of the job's LUNs what is next there now."""
    luns = job.runs.filter(state=RunState.QUEUED).values_list("series__lun", flat=True)
    following = [queue.next_run(lun) for lun in set(luns) if lun is not None]
    nudges.nudge_after_commit(run for run in following if run is not None)
