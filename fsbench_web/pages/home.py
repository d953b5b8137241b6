"""The home page: what there is, what runs, and what to do next."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.workers.states import refresh_every_s, worker_states
from fsbench_web.studies.runs.listing import listed_runs
from fsbench_web.studies.views.study_list import own_studies, published_studies

LATEST_RUNS = 8
OWN_STUDIES = 8


@never_cache
@require_safe
@requires(Action.READ)
def home(request: HttpRequest) -> HttpResponse:
    """Studies, latest runs, workers and LUNs; for everybody."""
    latest = list(listed_runs()[:LATEST_RUNS])
    workers = worker_states()
    context = {
        "published": list(published_studies()),
        "own": list(own_studies()[:OWN_STUDIES]),
        "runs": latest,
        "is_live": any(not run.has_ended for run in latest),
        "workers": workers,
        "workers_every_s": refresh_every_s(workers),
    }
    return render(request, "home.html", context)
