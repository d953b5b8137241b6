"""LUNs with their workers, and hardware profiles."""

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from fsbench_web.catalog import availability, hardware_use
from fsbench_web.catalog.models import HardwareProfile, Worker
from fsbench_web.catalog.worker_states import luns_with_use, worker_states


@never_cache
@require_safe
def luns(request: HttpRequest) -> HttpResponse:
    """Every worker with what it can do, and its LUNs with their state."""
    return render(request, "catalog/luns.html", {"workers": worker_states(luns_with_use())})


@require_safe
def hardware_list(request: HttpRequest) -> HttpResponse:
    """All hardware profiles with how much was measured on them."""
    profiles = HardwareProfile.objects.annotate(run_count=Count("series__runs")).order_by("name")
    workers: dict[int | None, list[Worker]] = {}
    for worker in Worker.objects.order_by("name"):
        workers.setdefault(worker.hardware_id, []).append(worker)
    studies = hardware_use.study_counts()
    context = {
        "profiles": [
            {
                "profile": profile,
                "workers": workers.get(profile.pk, []),
                "studies": studies.get(profile.pk, 0),
            }
            for profile in profiles
        ]
    }
    return render(request, "catalog/hardware_list.html", context)


@require_safe
def hardware(request: HttpRequest, slug: str) -> HttpResponse:
    """One profile: its facts, the studies on it, the workers that are it."""
    profile = HardwareProfile.objects.filter(slug=slug).first()
    if profile is None:
        raise Http404(
            f'There is no hardware profile "{slug}". The hardware page lists all there are.'
        )
    context = {
        "profile": profile,
        "studies": hardware_use.studies_on(profile),
        "workers": [
            (worker, availability.is_alive(worker))
            for worker in profile.worker_set.order_by("name")
        ],
    }
    return render(request, "catalog/hardware.html", context)
