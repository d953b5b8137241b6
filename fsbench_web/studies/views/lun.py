"""The ledger of a LUN: for whoever owns the disks."""

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import Lun
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
    context = {
        "lun": lun,
        "ledger": history,
        "times_written": history.totals.times(lun.size_bytes),
        "figure": ledger.chart(history),
        "differing": ledger.differing_figures(history.probes),
        "key_figures": [label for label, *_ in ledger.KEY_FIGURES],
        "page": page,
        "rows": [(run, ledger.written_bytes(run)) for run in page],
    }
    return render(request, "studies/lun.html", context)
