"""The ledger of a LUN: for the owner of the disks."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from fsbench_web.accounts import audit
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import HardwareProfile, Lun
from fsbench_web.catalog.views import hardware_page
from fsbench_web.core.activity.costs import InvalidPrice, parsed_price
from fsbench_web.studies.activity import pricing
from fsbench_web.studies.jobs import aa_audit
from fsbench_web.studies.runs import ledger

RUNS_ON_A_PAGE = 50


@never_cache
@require_safe
@requires(Action.READ)
def lun_ledger(request: HttpRequest, lun_id: int) -> HttpResponse:
    """Every run and probe on it, what was written to it, how it does."""
    lun = Lun.objects.select_related("worker__hardware").filter(pk=lun_id).first()
    if lun is None:
        raise Http404(f"There is no LUN {lun_id}. The page of LUNs shows all that were announced.")
    history = ledger.ledger(lun)
    runs = ledger.runs_of(lun).select_related("series__configuration", "series__workload")
    page = Paginator(runs.defer("commands"), RUNS_ON_A_PAGE).get_page(request.GET.get("page"))
    counted = aa_audit.lun_audit(lun)
    context = {
        "lun": lun,
        "audit": counted,
        "audit_query": aa_audit.order_query(lun, counted),
        "ledger": history,
        "times_written": history.totals.times(lun.size_bytes),
        "figure": ledger.chart(history),
        "differing": ledger.differing_figures(history.probes),
        "key_figures": [label for label, *_ in ledger.KEY_FIGURES],
        "page": page,
        "rows": [(run, ledger.written_bytes(run)) for run in page],
    }
    return render(request, "studies/lun.html", context)


@login_required
@require_POST
@requires(Action.PROVIDE)
def state_price(request: HttpRequest, slug: str) -> HttpResponse:
    """Keep a price and price all runs on the hardware by it: administrators alone."""
    profile = HardwareProfile.objects.filter(slug=slug).first()
    if profile is None:
        raise Http404(f'There is no hardware profile "{slug}". The hardware page lists all.')
    texts = [request.POST.get(name, "")[:40] for name in ("price", "currency", "years")]
    try:
        price = parsed_price(*texts)
        with transaction.atomic():
            count = pricing.state_price(profile, price)
            audit.note_here(
                "hardware price stated", f"hardware {slug}", price=vars(price) if price else None
            )
    except (InvalidPrice, pricing.TooManyRuns) as error:
        return hardware_page(request, profile, typed_price=texts, price_problem=str(error))
    runs = f"{count} finished run{'s' * (count != 1)} on it"
    messages.success(
        request,
        f"Kept: {runs} carry the cost now, and those that come."
        if price
        else "Saved: no price, so no run has a cost.",
    )
    return redirect("catalog:hardware", slug=slug)
