"""Stating what hardware cost. Its page is catalog's; the runs that are priced are here."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from fsbench_web.accounts import audit
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import HardwareProfile
from fsbench_web.catalog.views import hardware_page
from fsbench_web.core.activity.costs import InvalidPrice, parsed_price
from fsbench_web.studies.activity import pricing


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
        else "Kept: no price is stated, and no run carries a cost of it.",
    )
    return redirect("catalog:hardware", slug=slug)
