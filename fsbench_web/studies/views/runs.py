"""The list of runs, one run, and cancelling."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.workers import availability
from fsbench_web.platform import clock, limits
from fsbench_web.studies.activity import shown as activity
from fsbench_web.studies.activity import shown_latencies, shown_traces
from fsbench_web.studies.models import UNTRACED, Run, RunState, Series
from fsbench_web.studies.runs import (
    authority,
    control,
    leases,
    listing,
    logs,
    probes,
    queue,
    repeats,
)
from fsbench_web.studies.runs.clients import shown as clients
from fsbench_web.studies.runs.shown import conditions, guest_crash, quality, scores, shown_probe
from fsbench_web.studies.runs.shown.steadiness import steadiness
from fsbench_web.studies.runs.windows import closing
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.views import run_details

PAGE_SIZE = 50
LOG_LINES_SHOWN = 2000


@never_cache
@require_safe
@requires(Action.READ)
def runs(request: HttpRequest) -> HttpResponse:
    """All runs, filtered by the address; htmx asks again while something is unfinished."""
    wanted = listing.RunFilter.from_query(request.GET)
    found = wanted.apply(listing.listed_runs())
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "filter": wanted,
        "query": wanted.to_query(),
        "page": page,
        "is_live": any(not run.has_ended for run in page),
    }
    if request.headers.get("HX-Request") == "true":
        return render(request, "studies/run_rows.html", context)
    context |= {
        "studies": listing.studies(),
        "filesystems": listing.filesystems(),
        "job_id": page[0].job_id if wanted.job and len(page) else None,
        "states": listing.STATES,
    }
    return render(request, "studies/runs.html", context)


@never_cache
@require_safe
@requires(Action.READ)
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Everything about one run: where it is, what it did, what it measured."""
    shown = _get(run_id)
    series = shown.series
    runs_of_series = list(
        series.runs.filter(tracing=UNTRACED)
        .order_by("repeat", "id")
        .values_list("id", "repeat", "state")
    )
    context = {
        "run": shown,
        "steering": rights.decide(request.user, rights.Action.STEER, shown),
        "series": series,
        "steps": run_details.steps(shown),
        "changes": shown.changes.order_by("id"),
        "commands": run_details.commands(shown),
        "planned": run_details.planned_commands(shown) if not shown.has_ended else [],
        "imported": shown.imports.select_related("created_by").first()
        if shown.origin == Run.Origin.IMPORTED
        else None,
        "crash": guest_crash.crash_of(shown),
        "repeats": runs_of_series,
        "done_repeats": sum(state == RunState.DONE for _, _, state in runs_of_series),
        "conditions": conditions.conditions(shown),
        "preparation": preparation.in_words(series.preparation),
        "repeat_rule": repeats.in_words(shown.repeat_rule) if shown.repeat_rule else "",
        "options": run_details.named_options(shown),
        "stack_words": run_details.stack_words(shown),
        "parameters": run_details.named_parameters(shown),
        "environment": list(shown.environment.facts.items()) if shown.environment else [],
        "again": run_details.submit_again(shown),
        "confirmed": control.confirmed_by([shown]),
        "seen": control.seen_of([shown]),
        "time_zone": timezone.get_current_timezone_name(),
        "activity": activity.shown(shown.pk),
        "clients": clients.shown(shown),
        "traces": shown_traces.shown(shown),
        "latencies": shown_latencies.shown(shown.pk),
    }
    context |= _log(shown) | _measured(shown) | _retried(shown)
    if shown.state == RunState.QUEUED:
        context |= _waiting(shown)
    return render(request, "studies/run.html", context)


def _log(shown: Run) -> dict[str, Any]:
    lines = logs.last_lines(shown, LOG_LINES_SHOWN + 1)
    return {
        "log_lines": lines[-LOG_LINES_SHOWN:],
        "log_is_cut": len(lines) > LOG_LINES_SHOWN,
        "last_line": lines[-1].id if lines else 0,
        "log_days": settings.LOG_DAYS if logs.may_be_pruned(shown) else 0,
    }


def _measured(shown: Run) -> dict[str, Any]:
    """What it measured, and what came of that once it is done."""
    numbers = run_details.shown_numbers(shown)
    too_many = measurements.count(shown.pk) if numbers is None else 0
    matrices = run_details.test_matrices(shown, numbers or ())
    are_trials = shown.series.samples_are_trials
    found: dict[str, Any] = {
        "matrices": matrices,
        "drawn": [matrix for matrix in matrices if matrix.figure],
        "others": [matrix for matrix in matrices if matrix.others],
        "steadiness": steadiness(
            (one for matrix in matrices for one in matrix.measurements), are_trials=are_trials
        ),
        "are_trials": are_trials,
        "too_many": too_many,
        "artefacts": run_details.artefacts(shown, numbers),
        "most_outputs": limits.MOST_OUTPUTS,
    }
    if shown.state == RunState.DONE and not shown.is_extra:
        count = too_many or len(numbers or ())
        found["scores"] = scores.score_table(shown)
        found["probe"] = _probe(shown)
        found["no_probe"] = probes.why_none(shown)
        found["quality"] = quality.run_quality(shown, count, numbers)
    return found


def _probe(run: Run) -> shown_probe.ShownProbe | None:
    """What its LUN did by itself, and the run before which that was measured, if it may be seen."""
    if run.probe is None:
        return None
    made_by = Run.objects.filter(made_probe=run.probe).values_list("pk", flat=True).first()
    return shown_probe.shown(run.probe, made_by)


def _retried(shown: Run) -> dict[str, Any]:
    """Whether it was ordered again, or may be."""
    again = shown.retried_as if hasattr(shown, "retried_as") else None
    retried_as = again.pk if again else None
    return {
        "retried_as": retried_as,
        "is_rerun": again is not None and again.rerun > 0,
        "retry_confirmation": _retry_confirmation(shown, retried_as),
    }


def _waiting(shown: Run) -> dict[str, Any]:
    """What a run waits for that is queued."""
    lun = shown.series.lun
    waiting = Run.objects.filter(pk=shown.pk, state=RunState.QUEUED)
    refusals = authority.refusals(waiting)
    starts_at = shown.job.start_at if shown.job else None
    return {
        "refusals": refusals,
        "remedy": authority.remedy(waiting) if refusals else "",
        "waits_for": queue.before(shown),
        "starts_at": starts_at if starts_at and starts_at > clock.now() else None,
        "shared_in_use": leases.shared_in_use(shown.series),
        "worker_problems": [
            problem
            for one in ([lun, *shown.series.clients] if lun else [])
            for problem in availability.lun_problems(one)
        ],
    }


@login_required
@require_POST
@requires(Action.STEER)
def cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    """Cancel a queued run, or ask the worker to stop it."""
    try:
        state = control.cancel_run(run_id, by=request.user.get_username())
    except Run.DoesNotExist:
        raise _not_there(run_id) from None
    if state == RunState.CANCELLED:
        messages.success(request, f"Run {run_id} is cancelled.")
    elif state in listing.UNFINISHED_STATES:
        messages.info(request, f"The worker is asked to stop run {run_id} and to unmount the LUN.")
    else:
        messages.info(request, f"Run {run_id} had already ended: {state}.")
    return redirect("studies:run", run_id=run_id)


def _retry_confirmation(run: Run, retried_as: int | None) -> str:
    """What has to be typed to submit the run again; "" where that cannot be."""
    if retried_as is not None or run.state not in control.RETRIABLE_STATES:
        return ""
    if closing.is_over(run.job, clock.now()):
        return ""
    return control.run_confirmation(run) if run.origin == Run.Origin.MEASURED else ""


def _not_there(run_id: int) -> Http404:
    return Http404(
        f"There is no run {run_id}. The list of runs shows all there are; a run that was deleted "
        "with its study does not come back."
    )


def _get(run_id: int) -> Run:
    # Two queries: to plan one join of all these tables takes PostgreSQL three times as long.
    found = (
        Run.objects.select_related(
            "environment", "repeat_rule", "created_by", "job", "retried_as", "probe"
        )
        .filter(pk=run_id)
        .first()
    )
    if found is None:
        raise _not_there(run_id)
    series = (
        Series.objects.select_related(
            "study", "configuration", "workload", "hardware", "lun__worker", "journal_lun"
        )
        .filter(pk=found.series_id)
        .first()
    )
    if series is None:
        raise _not_there(run_id)
    found.series = series
    return found
