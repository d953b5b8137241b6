"""LUNs, workers and hardware profiles."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog.hardware import device_rate, use
from fsbench_web.catalog.models import HardwareProfile, Worker
from fsbench_web.catalog.workers import availability, guest_kernels, maintenance
from fsbench_web.catalog.workers.states import (
    SETUP_EVERY_S,
    luns_with_use,
    refresh_every_s,
    worker_state,
    worker_states,
)
from fsbench_web.core.activity.costs import CURRENCIES, USUAL_YEARS


@never_cache
@require_safe
@requires(Action.READ)
def luns(request: HttpRequest) -> HttpResponse:
    """The LUNs of every worker with their state."""
    return render(request, "catalog/luns.html", _workers())


@never_cache
@require_safe
@requires(Action.READ)
def workers(request: HttpRequest) -> HttpResponse:
    """Every worker: whether it lives, what it runs, what waits."""
    return render(request, "catalog/workers.html", _workers())


def _workers() -> dict[str, object]:
    states = worker_states(luns_with_use())
    return {"workers": states, "every_s": refresh_every_s(states)}


@never_cache
@require_safe
@requires(Action.READ)
def worker(request: HttpRequest, name: str) -> HttpResponse:
    """One worker: what it can do, its LUNs, what it runs; drained and resumed from here."""
    state = worker_state(name)
    if state is None:
        raise _no_worker(name)
    leases = state.worker.lease_set.filter(run__isnull=False).select_related(
        "lun", "run__series__configuration", "run__series__workload"
    )
    # A run may hold several LUNs, and so several leases.
    running = {
        lease.run_id: lease.run
        for lease in leases.exclude(run__series__study__in=hidden_studies()).order_by("run_id")
    }
    context = {
        "entry": state,
        "every_s": SETUP_EVERY_S
        if request.GET.get("asked") == "kernel"
        else refresh_every_s([state]),
        "runs": running.values(),
        "maintaining": rights.decide(request.user, rights.Action.MAINTAIN),
        "may_fetch": rights.may(request.user, rights.Action.ADMINISTER),
    }
    return render(request, "catalog/worker.html", context)


@login_required
@require_POST
@requires(Action.MAINTAIN)
def set_drained(request: HttpRequest, name: str, is_drained: bool) -> HttpResponse:
    """Drain the worker for maintenance, or let it take runs again."""
    worker = Worker.objects.filter(name=name).first()
    if worker is None:
        raise _no_worker(name)
    changed = maintenance.set_drained(worker, is_drained, by=request.user.get_username())
    if not changed:
        messages.info(request, f"{name} was {'drained' if is_drained else 'in service'} already.")
    elif is_drained:
        messages.success(
            request, f"{name} is drained: it finishes what it runs and takes nothing new."
        )
    else:
        messages.success(request, f"{name} takes runs again.")
    return redirect("catalog:worker", name=name)


@login_required
@require_POST
@requires(Action.ADMINISTER)
def fetch_kernel(request: HttpRequest, name: str) -> HttpResponse:
    """Ask the worker for a kernel for guests. What becomes of it is on its page."""
    worker = Worker.objects.filter(name=name).first()
    if worker is None:
        raise _no_worker(name)
    package = request.POST.get("package", "").strip()
    try:
        guest_kernels.request_kernel(worker, package)
    except guest_kernels.KernelRequestError as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request,
            f"{name} is asked for {package or 'the kernel of its distribution'}. How far it is is "
            "shown below.",
        )
    # What was asked for is announced in a moment: until then nothing else says to look soon.
    return redirect(f"{reverse('catalog:worker', args=[name])}?asked=kernel#guest-head")


def _no_worker(name: str) -> Http404:
    return Http404(
        f'No worker "{name}" has announced itself. The workers page lists all; a worker '
        "appears there when it is started on its host."
    )


@require_safe
@requires(Action.READ)
def hardware_list(request: HttpRequest) -> HttpResponse:
    """All hardware profiles with how much was measured on them."""
    seen = ~Q(series__study__in=hidden_studies())
    profiles = HardwareProfile.objects.annotate(
        run_count=Count("series__runs", filter=seen)
    ).order_by("name")
    workers: dict[int | None, list[Worker]] = {}
    for worker in Worker.objects.order_by("name"):
        workers.setdefault(worker.hardware_id, []).append(worker)
    studies = use.study_counts()
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
@requires(Action.READ)
def hardware(request: HttpRequest, slug: str) -> HttpResponse:
    """One profile: its facts, the studies on it, the workers that are it."""
    return hardware_page(request, _profile(slug))


def hardware_page(
    request: HttpRequest, profile: HardwareProfile, **refused: object
) -> HttpResponse:
    """Its page; ``refused`` is what was typed there and not taken, with the reason."""
    context = {
        "profile": profile,
        "may_provide": rights.may(request.user, rights.Action.PROVIDE),
        "studies": use.studies_on(profile),
        "currencies": CURRENCIES,
        "usual_years": USUAL_YEARS,
        "workers": [
            (worker, availability.is_alive(worker))
            for worker in profile.worker_set.order_by("name")
        ],
    }
    return render(
        request, "catalog/hardware.html", context | refused, status=422 if refused else 200
    )


@login_required
@require_POST
@requires(Action.PROVIDE)
def set_device_rate(request: HttpRequest, slug: str) -> HttpResponse:
    """State what its storage can deliver: administrators alone, as it decides what is flagged."""
    profile = _profile(slug)
    typed = request.POST.get("rate", "").strip()
    try:
        rate = device_rate.parse(typed or device_rate.NOT_KNOWN)
    except ValueError as error:
        return hardware_page(request, profile, typed_rate=typed, rate_problem=str(error))
    with transaction.atomic():
        HardwareProfile.objects.filter(pk=profile.pk).update(deliverable_kb_s=rate)
        audit.note_here("device rate stated", f"hardware {profile.slug}", kb_s=rate)
    messages.success(request, "Kept for results from now on. On the server: manage.py reflag --all")
    return redirect("catalog:hardware", slug=slug)


def _profile(slug: str) -> HardwareProfile:
    profile = HardwareProfile.objects.filter(slug=slug).first()
    if profile is None:
        raise Http404(f'There is no hardware profile "{slug}". The hardware page lists all.')
    return profile
