"""A published study run again: one click to the preview of a job like the paper's."""

import secrets
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import LEAST_MEMORY_BYTES, MIB, GuestAbility
from fsbench_web.core.formats.values import count_of
from fsbench_web.core.workloads import presets
from fsbench_web.platform.names import slug_of
from fsbench_web.studies.jobs import lookup, reproductions, submitting
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.reproductions import (
    CELL,
    FULL,
    PAPER,
    PLAIN,
    SMALL,
    ReproductionRequest,
)
from fsbench_web.studies.models import Study
from fsbench_web.studies.views.job_review import review_context


@dataclass(frozen=True)
class LunWithGuests:
    """A LUN with the guests of its worker."""

    lun: Lun
    ability: GuestAbility


@login_required
@never_cache
@require_safe
@requires(Action.RUN)
def reproduce(request: HttpRequest, slug: str) -> HttpResponse:
    """The paper's job on a LUN with a worker that boots guests, ready to be confirmed.

    ``?lun= &size= &tuning= &kernel= &memory_mib=`` change it.
    """
    if slug not in reproductions.PAPERS:
        papers = ", ".join(reproductions.PAPERS)
        raise Http404(f'There is no way to run "{slug}" again; there is one for {papers}.')
    paper = get_object_or_404(Study, slug=slug)
    places = _places()
    place = _chosen(places, request.GET.get("lun", ""))
    context: dict[str, Any] = {
        "paper": paper,
        "places": places,
        "place": place,
        "sizes": reproductions.SIZES,
        "tunings": reproductions.TUNINGS,
    }
    if place is None:
        return render(request, "studies/reproduce.html", context)
    wish = _reproduction_request(request.GET, place)
    document, notes = reproductions.unisys_2005(
        wish,
        place.ability,
        study=_title(slug),
        lun=place.lun.name,
        worker=place.lun.worker.name,
        journal=_journal(place.lun),
    )
    spec = lookup.spec_of(document)
    assert spec.document is not None
    text = job_document.write(spec.document)
    context |= {
        "wish": wish,
        "kernels": list(spec.guest.kernels) if spec.guest else [],
        "memory_mib": spec.guest.memory_bytes // MIB if spec.guest else "",
        "least_memory_mib": LEAST_MEMORY_BYTES // MIB,
        "notes": notes,
        "document_text": text,
        "new_study": slug_of(spec.new_study),
    }
    try:
        plan = submitting.planned(spec)
    except JobRefused as refused:
        context["problems"] = refused.problems
        return render(request, "studies/reproduce.html", context, status=422)
    address = reverse("studies:document_job")
    context |= review_context(spec, plan, secrets.token_urlsafe(24)) | {
        "change_url": address,
        "action_url": address,
        "reproduction": True,
    }
    return render(request, "studies/job_review.html", context)


def _places() -> list[LunWithGuests]:
    """The LUNs that a guest can be given now, the largest first."""
    luns = Lun.objects.filter(is_listed=True, role=Lun.Role.DATA).select_related("worker__hardware")
    places = []
    for lun in luns.order_by("worker__name", "name"):
        ability = availability.guest(lun.worker)
        if ability is not None and not [
            *availability.lun_problems(lun),
            *availability.guest_problems(lun),
        ]:
            places.append(LunWithGuests(lun, ability))
    return sorted(places, key=lambda place: -(place.lun.size_bytes or 0))


def _chosen(places: list[LunWithGuests], number: str) -> LunWithGuests | None:
    """The LUN of this number, or the one that most of the paper can be run on."""
    named_one = next((place for place in places if str(place.lun.pk) == number), None)
    return named_one or max(
        places,
        key=lambda place: len(
            {
                slug
                for slug in reproductions.FILESYSTEMS_OF_PAPER
                if any(kernel.mounts(slug) for kernel in place.ability.usable_kernels)
            }
        ),
        default=None,
    )


def _reproduction_request(query: QueryDict, place: LunWithGuests) -> ReproductionRequest:
    """What the address asks for; what makes no sense is as if it were not there."""
    size = query.get("size", "")
    if size not in reproductions.SIZES:
        size = _usual_size(place)
    tuning = query.get("tuning", "")
    if tuning not in reproductions.TUNINGS:
        tuning = PLAIN if size == CELL else FULL
    return ReproductionRequest(
        size,
        tuning,
        tuple(
            kernel.name
            for kernel in place.ability.usable_kernels
            if kernel.name in query.getlist("kernel")
        ),
        memory_mib=count_of(query.get("memory_mib", "")),
    )


def _usual_size(place: LunWithGuests) -> str:
    """The paper's matrix where it fits and speeds mean anything."""
    if place.ability.is_emulated:
        return CELL
    needed = presets()["iozone-paper"].workload().space_needed_bytes()
    return PAPER if (place.lun.size_bytes or 0) >= needed else SMALL


def _journal(lun: Lun) -> str:
    """The first LUN for journals that can be used now."""
    usable = [
        journal.name for journal in availability.journal_luns(lun.worker) if not journal.problem
    ]
    return usable[0] if usable else ""


def _title(slug: str) -> str:
    """The title of the new study; with the day, and the time of day, where it is taken."""
    title, now = reproductions.PAPERS[slug], timezone.localtime()
    for ending in ("", f", {now:%-d %B %Y}", f", {now:%-d %B %Y, %H:%M}"):
        if not Study._base_manager.filter(slug=slug_of(title + ending)).exists():
            return title + ending
    return f"{title}, {now:%-d %B %Y, %H:%M:%S}"
