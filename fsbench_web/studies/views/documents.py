"""Ordering a sweep from a document, pasted or uploaded; and getting the document of an order."""

import secrets

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Submission
from fsbench_web.studies.orders import lookup, submission
from fsbench_web.studies.orders.documents import text as sweep_document
from fsbench_web.studies.orders.documents.text import UnreadableDocument
from fsbench_web.studies.orders.submission import SubmissionRefused
from fsbench_web.studies.views.order_review import review_context
from fsbench_web.studies.views.sweep import order_or_404


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.RUN)
def document_run(request: HttpRequest) -> HttpResponse:
    """Paste or upload a document; POST reviews it, and with a confirmation orders it."""
    if request.method != "POST":
        return _page(request, _prefilled(request.GET.get("sweep", "")))
    text, too_large = _sent(request)
    if too_large:
        return _page(request, "", {"document": [too_large]})
    try:
        order = lookup.order_of(sweep_document.read(text))
    except UnreadableDocument as error:
        return _page(request, text, {"document": [str(error)]})
    written = sweep_document.write(order.document)
    is_confirmed = "confirmation" in request.POST
    token = request.POST.get("token", "")[:64] if is_confirmed else secrets.token_urlsafe(24)
    refused = None
    assert isinstance(request.user, User)
    try:
        if is_confirmed:
            confirmation = request.POST.get("confirmation", "")
            seen = request.POST.get("seen", "")
            runs = submission.submit(order, confirmation, request.user, token, seen=seen)
            messages.success(
                request, f"{len(runs)} run{'s are' if len(runs) > 1 else ' is'} queued."
            )
            return redirect("studies:sweep", order_id=runs[0].submission_id)
        planned = submission.planned(order)
    except SubmissionRefused as error:
        if not is_confirmed or set(error.by_part) != {"confirmation"}:
            return _page(request, text, error.by_part)
        refused, planned = error, submission.planned(order)
    address = reverse("studies:document_run")
    context = review_context(order, planned, token, refused) | {
        "document_text": written,
        "change_url": address,
        "action_url": address,
    }
    return render(request, "studies/run_review.html", context, status=422 if refused else 200)


@never_cache
@require_safe
@requires(Action.READ)
def sweep_document_file(request: HttpRequest, order_id: int) -> HttpResponse:
    """The order as YAML: sent in again, it is the same order once more."""
    order = order_or_404(order_id)
    return HttpResponse(
        sweep_document.write(order.document),
        content_type="application/yaml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="sweep-{order.pk}.yaml"'},
    )


def _sent(request: HttpRequest) -> tuple[str, str]:
    """(the text that was sent, why it is not even read)."""
    file = request.FILES.get("file")
    if file is None:
        return request.POST.get("document", ""), ""
    if (file.size or 0) > sweep_document.MAXIMUM_BYTES:
        return "", (
            f"{file.name} is larger than {sweep_document.MAXIMUM_BYTES // 1024} KiB: a list of "
            "values in options stands for many configurations."
        )
    return file.read().decode("utf-8-sig", "replace"), ""


def _prefilled(number: str) -> str:
    """The document of the sweep with this number, or nothing."""
    if number.isascii() and number.isdigit() and len(number) < 19:
        order = Submission.objects.filter(pk=int(number)).first()
        if order is not None and order.document:
            return sweep_document.write(order.document)
    return ""


def _page(
    request: HttpRequest, text: str, problems: dict[str, list[str]] | None = None
) -> HttpResponse:
    lun = Lun.objects.filter(is_listed=True, role=Lun.Role.DATA, problem="").order_by("pk").first()
    context = {
        "text": text,
        "problems": [(place, said) for place, all_ in (problems or {}).items() for said in all_],
        "lun": lun,
        "scheduler": lun.schedulers[0] if lun and lun.schedulers else "",
        "maximum_kb": sweep_document.MAXIMUM_BYTES // 1024,
    }
    return render(request, "studies/run_document.html", context, status=422 if problems else 200)
