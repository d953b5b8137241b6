"""The home page: what runs, what failed or got slower, the latest answers, and the studies."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.workers.states import refresh_every_s, worker_states
from fsbench_web.pages.news import latest_answers, run_news, slower_lines
from fsbench_web.studies.jobs.listing import BAD_STATES
from fsbench_web.studies.models import RunState
from fsbench_web.studies.views.study_list import own_studies, published_studies

OWN_STUDIES = 8


@never_cache
@require_safe
@requires(Action.READ)
def home(request: HttpRequest) -> HttpResponse:
    """News, answers, studies, and the workers with their LUNs; for everybody."""
    runs = run_news()
    own = list(own_studies().filter(is_archived=False)[:OWN_STUDIES])
    workers = worker_states()
    context = {
        "running": (
            running := sorted(
                (run for run in runs if run.state not in BAD_STATES),
                key=lambda run: run.state == RunState.QUEUED,
            )
        ),
        "failed": [run for run in runs if run.state in BAD_STATES],
        "slower": slower_lines(request.user),
        "answers": latest_answers(own),
        "own": own,
        "published": list(published_studies()),
        "is_live": bool(running),
        "workers": workers,
        "workers_every_s": refresh_every_s(workers),
    }
    return render(request, "home.html", context)
