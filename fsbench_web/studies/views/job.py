"""Jobs: the list, one with its progress, and what a person can do with it."""

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.core.scoring import testnames
from fsbench_web.figures.over_time import reference_drift
from fsbench_web.platform import clock
from fsbench_web.studies.jobs import listing
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.models import Job, Run, RunState
from fsbench_web.studies.runs import authority, control, races
from fsbench_web.studies.runs.control import ControlRefused
from fsbench_web.studies.runs.listing import listed_runs
from fsbench_web.studies.runs.queue import IN_TURN
from fsbench_web.studies.runs.windows import closing
from fsbench_web.studies.runs.windows import words as windows_words
from fsbench_web.studies.scores.drift import Drift, drift_of

PAGE_SIZE = 50
RUNS_PAGE_SIZE = 100


@never_cache
@require_safe
@requires(Action.READ)
def job_list(request: HttpRequest) -> HttpResponse:
    """All jobs, the newest first."""
    page = Paginator(listing.listed_jobs().defer("document"), PAGE_SIZE).get_page(
        request.GET.get("page")
    )
    rows = [(job, listing.shown_state_of(job)) for job in page]
    context = {
        "page": page,
        "rows": [(job, state, listing.BADGES[state]) for job, state in rows],
        "is_live": any(state in ("running", "waiting") for _, state in rows),
    }
    partial = request.headers.get("HX-Request") == "true"
    return render(request, "studies/job_rows.html" if partial else "studies/jobs.html", context)


@never_cache
@require_safe
@requires(Action.READ)
def job(request: HttpRequest, job_id: int) -> HttpResponse:
    """One job: its plan, how far it is, its runs, and the drift of its reference."""
    return _page(request, job_id)


def _page(request: HttpRequest, job_id: int, problems: list[str] | None = None) -> HttpResponse:
    job = job_or_404(job_id)
    runs = listed_runs().filter(job=job).select_related("retried_as").order_by(*IN_TURN)
    page = Paginator(runs, RUNS_PAGE_SIZE).get_page(request.GET.get("page"))
    if not page.has_other_pages():
        listing.recount(job, ((run.state, run.rerun) for run in page))
    state = listing.state_of(job)
    standstill = listing.standstill_of(job)
    progress = listing.progress_of(job, is_standing_still=bool(standstill))
    waiting = job.runs.filter(state=RunState.QUEUED)
    refusals = authority.refusals(waiting) if job.queued_count else []  # type: ignore[attr-defined]
    context = {
        "refusals": refusals,
        "remedy": authority.remedy(waiting) if refusals else "",
        "job": job,
        "state": state,
        "shown_state": (shown_state := listing.shown_state_of(job)),
        "badge": listing.BADGES[shown_state],
        "progress": progress,
        "standstill": standstill,
        "page": page,
        "is_live": state != "ended",
        "problems": problems or [],
        "starts_later": job.start_at is not None and job.start_at > clock.now(),
        "not_begun": windows_words.left_out(
            (block, label) for _, block, label in closing.expired_runs(job)
        ),
    }
    drift = drift_of(job)
    is_over = closing.is_over(job, clock.now())
    again: dict[str, list[Run]] = {
        "failed": [] if is_over else control.retriable(job, control.RETRIED_STATES),
        "cancelled": [] if is_over else control.retriable(job, [RunState.CANCELLED]),
    }
    context |= {
        "steering": rights.decide(request.user, rights.Action.STEER, job),
        "document": job.document,
        "race": races.report_of(job),
        "drift": drift,
        "drift_figure": _drift_figure(drift),
        "again": again,
        "is_over": is_over,
        "confirmed": control.confirmed_by([*again["failed"], *again["cancelled"]]),
        "seen": control.device_digest([*again["failed"], *again["cancelled"]]),
        "confirmation_text": control.job_confirmation(job),
        "least_priority": control.LEAST_PRIORITY,
        "most_priority": control.MOST_PRIORITY,
    }
    if request.headers.get("HX-Request") == "true":
        return render(request, "studies/job_live.html", context)
    context["order"] = getattr(job, "order", None)
    context["text"] = job_document.write(job.document) if job.document else ""
    return render(request, "studies/job.html", context, status=422 if problems else 200)


def _drift_figure(drift: Drift | None) -> object:
    if drift is None or len(drift.points) < 2:
        return None
    return reference_drift(
        [point.at for point in drift.points],
        {
            testnames.label(test): [point.changes_percent[index] for point in drift.points]
            for index, test in enumerate(drift.tests)
        },
        "Reference over time",
    )


def _steers(act: Callable[[HttpRequest, int, User], str]) -> Callable[..., HttpResponse]:
    """The view that does this to a job, says what happened, and goes back to its page."""

    @login_required
    @require_POST
    @requires(Action.STEER)
    @wraps(act)
    def view(request: HttpRequest, job_id: int) -> HttpResponse:
        assert isinstance(request.user, User)
        try:
            messages.success(request, act(request, job_id, request.user))
        except Job.DoesNotExist:
            raise _missing_job(job_id) from None
        except ControlRefused as refused:
            return _page(request, job_id, refused.problems)
        return redirect("studies:job", job_id=job_id)

    return view


@_steers
def pause(request: HttpRequest, job_id: int, user: User) -> str:
    """No further run of it starts."""
    if control.pause(job_id):
        return f"Job {job_id} is paused: current runs continue, and nothing further starts."
    return f"Job {job_id} was paused already."


@_steers
def resume(request: HttpRequest, job_id: int, user: User) -> str:
    """Its runs start again."""
    if control.resume(job_id):
        return f"Job {job_id} goes on."
    return f"Job {job_id} was not paused."


@_steers
def cancel(request: HttpRequest, job_id: int, user: User) -> str:
    """All that waits is cancelled, what runs is asked to stop."""
    cancelled = control.cancel(job_id, by=user.get_username())
    text = f"{cancelled.at_once} waiting run{'' if cancelled.at_once == 1 else 's'} cancelled."
    if cancelled.asked_to_stop:
        text += (
            f" {cancelled.asked_to_stop} running: the worker is asked to stop and to unmount "
            "the LUN."
        )
    return text


@_steers
def retry(request: HttpRequest, job_id: int, user: User) -> str:
    """Failed and lost runs, and cancelled ones if that is ticked, are submitted once more."""
    states = [*control.RETRIED_STATES]
    if request.POST.get("cancelled") == "yes":
        states.append(RunState.CANCELLED)
    confirmation, seen = request.POST.get("confirmation", ""), request.POST.get("seen", "")
    retried = control.retry(job_id, confirmation, user, states, seen)
    if not retried:
        return "There is nothing to submit again."
    return f"{len(retried)} run{'' if len(retried) == 1 else 's'} submitted again."


@_steers
def priority(request: HttpRequest, job_id: int, user: User) -> str:
    """Let its runs come before or after those of other jobs."""
    text = request.POST.get("priority", "").strip()
    number = text.removeprefix("-")
    if not (number.isascii() and number.isdigit() and len(number) < 6):
        raise ControlRefused([f'"{text}" is not a whole number: say -10 to 10.'])
    control.set_priority(job_id, int(text))
    return f"The priority of job {job_id} is {int(text)}."


@login_required
@require_POST
@requires(Action.STEER)
def retry_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Submit one run that failed, was lost or was cancelled once more."""
    assert isinstance(request.user, User)
    try:
        confirmation, seen = request.POST.get("confirmation", ""), request.POST.get("seen", "")
        new_run = control.retry_run(run_id, confirmation, request.user, seen)
    except Run.DoesNotExist:
        raise Http404(f"There is no run {run_id}. The list of runs shows all.") from None
    except ControlRefused as refused:
        for problem in refused.problems:
            messages.error(request, problem)
        return redirect("studies:run", run_id=run_id)
    if new_run is None:
        messages.info(request, f"Run {run_id} was submitted again already, or did not end badly.")
        return redirect("studies:run", run_id=run_id)
    messages.success(request, f"Run {run_id} is submitted again as run {new_run.pk}.")
    return redirect("studies:run", run_id=new_run.pk)


def job_or_404(job_id: int) -> Job:
    """The job with its counts (jobs.listed_jobs). Raises Http404 with a sentence."""
    job = listing.listed_jobs().select_related("order__trigger").filter(pk=job_id).first()
    if job is None:
        raise _missing_job(job_id)
    return job


def _missing_job(job_id: int) -> Http404:
    return Http404(
        f"There is no job {job_id}. The list of jobs shows all; one that was "
        "deleted with its study does not come back."
    )
