"""The list of runs, one run, and cancelling."""

from statistics import fmean
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
from fsbench_web.core.scoring.ceilings import RANDOM, SURE_PERCENT, Point, Request, read_probe
from fsbench_web.platform import clock, limits
from fsbench_web.studies.activity import shown as activity
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
from fsbench_web.studies.runs.shown import conditions, quality, scores
from fsbench_web.studies.runs.shown.results import with_results
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
    filtered_runs = wanted.apply(listing.listed_runs())
    page = Paginator(filtered_runs, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "filter": wanted,
        "query": wanted.to_query(),
        "page": page,
        "rows": with_results(page),
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
    shown_run = _run_or_404(run_id)
    series = shown_run.series
    runs_of_series = list(
        series.runs.filter(tracing=UNTRACED)
        .order_by("repeat", "id")
        .values_list("id", "repeat", "state")
    )
    done = [pk for pk, _, state in runs_of_series if state == RunState.DONE]
    repeat, not_repeated = run_details.repeat_import(shown_run, request.user)
    context = {
        "run": shown_run,
        "repeat": repeat,
        "not_repeated": not_repeated,
        "steering": rights.decide(request.user, rights.Action.STEER, shown_run),
        "series": series,
        "steps": run_details.steps(shown_run),
        "changes": shown_run.changes.order_by("id"),
        "commands": run_details.commands(shown_run),
        "planned": run_details.planned_commands(shown_run) if not shown_run.has_ended else [],
        "imported": shown_run.imports.select_related("created_by").first()
        if shown_run.origin == Run.Origin.IMPORTED
        else None,
        "crash": run_details.crash_of(shown_run),
        "repeats": runs_of_series,
        "done_repeats": len(done),
        "place": done.index(run_id) + 1 if run_id in done else None,
        "conditions": conditions.conditions(shown_run),
        "preparation": preparation.in_words(series.preparation),
        "repeat_rule": repeats.in_words(shown_run.repeat_rule) if shown_run.repeat_rule else "",
        "options": run_details.named_options(shown_run),
        "stack_words": run_details.stack_words(shown_run),
        "parameters": run_details.named_parameters(shown_run),
        "environment": list(shown_run.environment.shown_facts.items())
        if shown_run.environment
        else [],
        "again": run_details.submit_again(shown_run),
        "confirmed": control.confirmed_by([shown_run]),
        "seen": control.device_digest([shown_run]),
        "time_zone": timezone.get_current_timezone_name(),
        "activity": activity.activity_of_run(shown_run.pk),
        "clients": clients.of_run(shown_run),
        "traces": activity.traces_of_run(shown_run),
        "latencies": activity.latencies_of_run(shown_run.pk),
    }
    context |= _log(shown_run) | _measured(shown_run) | _retry_context(shown_run)
    if shown_run.state == RunState.QUEUED:
        context |= _waiting(shown_run)
    return render(request, "studies/run.html", context)


def _log(shown_run: Run) -> dict[str, Any]:
    lines = logs.last_lines(shown_run, LOG_LINES_SHOWN + 1)
    return {
        "log_lines": lines[-LOG_LINES_SHOWN:],
        "log_is_cut": len(lines) > LOG_LINES_SHOWN,
        "last_line": lines[-1].id if lines else 0,
        "log_days": settings.LOG_DAYS if logs.may_be_pruned(shown_run) else 0,
    }


def _measured(shown_run: Run) -> dict[str, Any]:
    """What it measured, and what came of that once it is done."""
    numbers = run_details.shown_numbers(shown_run)
    too_many = measurements.count(shown_run.pk) if numbers is None else 0
    matrices = run_details.test_matrices(shown_run, numbers or ())
    are_trials = shown_run.series.samples_are_trials
    context: dict[str, Any] = {
        "matrices": matrices,
        "drawn": [matrix for matrix in matrices if matrix.figure],
        "others": [matrix for matrix in matrices if matrix.without_sizes],
        "steadiness": steadiness(
            (measurement for matrix in matrices for measurement in matrix.measurements),
            are_trials=are_trials,
        ),
        "are_trials": are_trials,
        "too_many": too_many,
        "artefacts": run_details.artefacts(shown_run, numbers),
        "most_outputs": limits.MOST_OUTPUTS,
    }
    if shown_run.state == RunState.DONE and not shown_run.is_extra:
        count = too_many or len(numbers or ())
        run_quality = quality.run_quality(shown_run, count, numbers)
        context["quality"] = run_quality
        context["scores"] = scores.score_table(shown_run, run_quality.flags)
        context["probe"] = _probe(shown_run)
        context["no_probe"] = probes.missing_reason(shown_run)
    return context


def _probe(run: Run) -> dict[str, Any] | None:
    """What its LUN did alone, and the run before which that was measured, if it may be seen.

    ``rows`` are (request, point, mean time of a flush in ns).
    """
    if run.probe is None:
        return None
    reading = read_probe(run.probe.result)
    return {
        "made_by": Run.objects.filter(made_probe=run.probe).values_list("pk", flat=True).first(),
        "target": run.probe.target,
        "state": run.probe.state,
        "reading": reading,
        "region_bytes": reading.to_byte - reading.from_byte,
        "sure": sum((point.spread_percent or 100) <= SURE_PERCENT for point in reading.points),
        "rows": [
            (
                Request(
                    *(point.pattern, point.direction, point.block_bytes, point.depth),
                    is_flushed=point.is_flushed,
                ),
                point,
                fmean(point.flush_ns) if point.flush_ns else None,
            )
            for point in sorted(reading.points, key=_place_of_point)
        ],
    }


def _place_of_point(point: Point) -> tuple[bool, bool, str, int, int]:
    is_random = point.pattern == RANDOM
    return (point.is_flushed, is_random, point.direction, point.block_bytes, point.depth)


def _retry_context(shown_run: Run) -> dict[str, Any]:
    """Whether it was ordered again, or may be."""
    retry = shown_run.retried_as if hasattr(shown_run, "retried_as") else None
    retried_as = retry.pk if retry else None
    return {
        "retried_as": retried_as,
        "is_rerun": retry is not None and retry.rerun > 0,
        "retry_confirmation": _retry_confirmation(shown_run, retried_as),
    }


def _waiting(shown_run: Run) -> dict[str, Any]:
    """What a run waits for that is queued."""
    lun = shown_run.series.lun
    waiting = Run.objects.filter(pk=shown_run.pk, state=RunState.QUEUED)
    refusals = authority.refusals(waiting)
    starts_at = shown_run.job.start_at if shown_run.job else None
    return {
        "refusals": refusals,
        "remedy": authority.remedy(waiting) if refusals else "",
        "waits_for": queue.runs_ahead(shown_run),
        "starts_at": starts_at if starts_at and starts_at > clock.now() else None,
        "shared_in_use": leases.shared_in_use(shown_run.series),
        "worker_problems": [
            problem
            for used_lun in ([lun, *shown_run.series.clients] if lun else [])
            for problem in availability.lun_problems(used_lun)
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
        raise _missing_run(run_id) from None
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


def _missing_run(run_id: int) -> Http404:
    return Http404(
        f"There is no run {run_id}. The list of runs shows all; a run that was deleted "
        "with its study does not come back."
    )


def _run_or_404(run_id: int) -> Run:
    # Two queries: to plan one join of all these tables takes PostgreSQL three times as long.
    shown_run = (
        Run.objects.select_related(
            "environment", "repeat_rule", "created_by", "job", "retried_as", "probe"
        )
        .filter(pk=run_id)
        .first()
    )
    if shown_run is None:
        raise _missing_run(run_id)
    series = (
        Series.objects.select_related(
            "study", "configuration", "workload", "hardware", "lun__worker", "journal_lun"
        )
        .filter(pk=shown_run.series_id)
        .first()
    )
    if series is None:
        raise _missing_run(run_id)
    shown_run.series = series
    return shown_run
