"""The list of workloads: presets by question, and uploaded ones."""

from collections import defaultdict

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import OwnWorkload
from fsbench_web.core.workloads import presets
from fsbench_web.core.workloads.base import QUESTIONS
from fsbench_web.studies.models import UNTRACED, Run, RunState


@never_cache
@require_safe
@requires(Action.READ)
def workloads(request: HttpRequest) -> HttpResponse:
    """Every preset with what it needs and its finished runs, and every uploaded version."""
    done = Run.objects.filter(state=RunState.DONE, tracing=UNTRACED, series__workload__isnull=False)
    by_slug = done.order_by().values_list("series__workload__slug").annotate(Count("pk"))
    counts = dict(by_slug)
    groups = defaultdict(list)
    for preset in presets().values():
        workload = preset.workload()
        groups[preset.answers].append((preset, workload, counts.get(preset.slug, 0)))
    uploads = OwnWorkload.objects.select_related("created_by")
    context = {
        "questions": [(question, groups[question]) for question in QUESTIONS if groups[question]],
        "uploads": [(row, counts.get(f"own-{row.slug}-v{row.version}", 0)) for row in uploads],
        "may_upload": rights.may(request.user, rights.Action.UPLOAD),
    }
    return render(request, "studies/workloads.html", context)
