"""The list of runs, one run, and cancelling."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from fsbench_web.catalog import availability
from fsbench_web.studies import lifecycle, run_details, run_list
from fsbench_web.studies.models import Run, RunState, Study

PAGE_SIZE = 50
LOG_LINES_SHOWN = 2000


@never_cache
@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """All runs, filtered by the address; htmx asks again while something is unfinished."""
    wanted = run_list.RunFilter.from_query(request.GET)
    found = wanted.apply(run_list.listed_runs())
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
        "studies": Study.objects.filter(series__runs__isnull=False)
        .distinct()
        .order_by("title")
        .values_list("slug", "title"),
        "filesystems": run_list.filesystems(),
        "states": run_list.STATES,
    }
    return render(request, "studies/runs.html", context)


@never_cache
@require_safe
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Everything about one run: where it is, what it did, what it measured."""
    shown = _get(run_id)
    series, lun = shown.series, shown.series.lun
    lines = list(shown.log_lines.order_by("-id")[: LOG_LINES_SHOWN + 1])[::-1]
    repeats = list(series.runs.order_by("repeat", "id").values_list("id", "repeat", "state"))
    is_queued = shown.state == RunState.QUEUED
    is_done = shown.state == RunState.DONE
    measured = shown.measurements.count()
    too_many = measured if measured > run_details.MAX_MEASUREMENTS_SHOWN else 0
    context = {
        "run": shown,
        "series": series,
        "steps": run_details.steps(shown),
        "changes": shown.changes.order_by("id"),
        "log_lines": lines[-LOG_LINES_SHOWN:],
        "log_is_cut": len(lines) > LOG_LINES_SHOWN,
        "last_line": lines[-1].pk if lines else 0,
        "commands": run_details.commands(shown),
        "planned": run_details.planned_commands(shown) if not shown.has_ended else [],
        "matrices": run_details.test_matrices(shown) if not too_many else [],
        "too_many": too_many,
        "scores": run_details.score_table(shown) if is_done else None,
        "imported": shown.imports.select_related("created_by").first()
        if shown.origin == Run.Origin.IMPORTED
        else None,
        "artefacts": run_details.artefacts(shown),
        "repeats": repeats,
        "done_repeats": sum(state == RunState.DONE for _, _, state in repeats),
        "options": run_details.named_options(shown),
        "parameters": run_details.named_parameters(shown),
        "environment": list(shown.environment.facts.items()) if shown.environment else [],
        "again": run_details.order_again(shown),
        "waits_for": run_list.count_before(shown) if is_queued else 0,
        "worker_problems": list(availability.lun_problems(lun)) if lun and is_queued else [],
        "time_zone": timezone.get_current_timezone_name(),
    }
    return render(request, "studies/run.html", context)


@login_required
@require_POST
def cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    """Cancel a queued run, or ask the worker to stop it."""
    try:
        state = lifecycle.cancel(run_id, by=request.user.get_username())
    except Run.DoesNotExist:
        raise _not_there(run_id) from None
    if state == RunState.CANCELLED:
        messages.success(request, f"Run {run_id} is cancelled.")
    elif state in run_list.UNFINISHED_STATES:
        messages.info(request, f"The worker is asked to stop run {run_id} and to unmount the LUN.")
    else:
        messages.info(request, f"Run {run_id} had already ended: {state}.")
    return redirect("studies:run", run_id=run_id)


def _not_there(run_id: int) -> Http404:
    return Http404(
        f"There is no run {run_id}. The list of runs shows all there are; a run that was deleted "
        "with its study does not come back."
    )


def _get(run_id: int) -> Run:
    found = (
        Run.objects.select_related(
            "series__study",
            "series__configuration",
            "series__workload",
            "series__hardware",
            "series__lun__worker",
            "environment",
            "created_by",
        )
        .filter(pk=run_id)
        .first()
    )
    if found is None:
        raise _not_there(run_id)
    return found
