"""The home page: what there is, what runs, and what to do next."""

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from fsbench_web.catalog.worker_states import worker_states
from fsbench_web.studies.models import RunState, Study
from fsbench_web.studies.run_list import listed_runs

LATEST_RUNS = 8


@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Studies, latest runs, workers and LUNs; for everybody."""
    is_done = Q(series__runs__state=RunState.DONE)
    studies = list(
        Study.objects.annotate(
            configuration_count=Count("series__configuration", distinct=True),
            run_count=Count("series__runs", distinct=True),
            done_count=Count("series__runs", filter=is_done, distinct=True),
        ).order_by("-is_published", "-created_at", "title")
    )
    latest = list(listed_runs()[:LATEST_RUNS])
    context = {
        "published": [study for study in studies if study.is_published],
        "own": [study for study in studies if not study.is_published],
        "runs": latest,
        "is_live": any(not run.has_ended for run in latest),
        "workers": worker_states(),
    }
    return render(request, "home.html", context)
