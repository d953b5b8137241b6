"""Submitting a job from a document, pasted or uploaded; and getting the document of a job."""

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
from fsbench_web.platform import plain_text
from fsbench_web.studies.jobs import lookup, submitting
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.jobs.documents.text import UnreadableDocument
from fsbench_web.studies.jobs.documents.writer import without_times
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.models import Job
from fsbench_web.studies.views.job import job_or_404
from fsbench_web.studies.views.job_review import review_context


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.RUN)
def document_job(request: HttpRequest) -> HttpResponse:
    """Paste or upload a document; POST reviews it, and with a confirmation submits it."""
    if request.method != "POST":
        return _page(request, _prefilled(request.GET.get("job") or request.GET.get("sweep", "")))
    text, too_large = _sent_document(request)
    if too_large:
        return _page(request, "", {"document": [too_large]})
    try:
        spec = lookup.spec_of(job_document.read(text))
    except UnreadableDocument as error:
        return _page(request, text, {"document": [str(error)]})
    written = job_document.write(spec.document)
    is_confirmed = "confirmation" in request.POST
    token = request.POST.get("token", "")[:64] if is_confirmed else secrets.token_urlsafe(24)
    refused = None
    assert isinstance(request.user, User)
    try:
        if is_confirmed:
            confirmation = request.POST.get("confirmation", "")
            seen = request.POST.get("seen", "")
            runs = submitting.submit(spec, confirmation, request.user, token, seen=seen)
            messages.success(
                request, f"{len(runs)} run{'s are' if len(runs) > 1 else ' is'} queued."
            )
            return redirect("studies:job", job_id=runs[0].job_id)
        planned = submitting.planned(spec)
    except JobRefused as error:
        if not is_confirmed or set(error.by_part) != {"confirmation"}:
            return _page(request, text, error.by_part)
        refused, planned = error, submitting.planned(spec)
    address = reverse("studies:document_job")
    context = review_context(spec, planned, token, refused) | {
        "document_text": written,
        "change_url": address,
        "action_url": address,
    }
    return render(request, "studies/job_review.html", context, status=422 if refused else 200)


@never_cache
@require_safe
@requires(Action.READ)
def job_document_file(request: HttpRequest, job_id: int) -> HttpResponse:
    """The job as YAML: sent in again, it is the same job once more."""
    job = job_or_404(job_id)
    return HttpResponse(
        job_document.write(job.document),
        content_type="application/yaml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="job-{job.pk}.yaml"'},
    )


def _sent_document(request: HttpRequest) -> tuple[str, str]:
    """(the text that was sent, why it is not even read)."""
    file = request.FILES.get("file")
    if file is None:
        return request.POST.get("document", ""), ""
    if (file.size or 0) > job_document.MAXIMUM_BYTES:
        name = plain_text.visible(file.name or "")
        return "", (
            f"{name} is larger than {job_document.MAXIMUM_BYTES // 1024} KiB: a list of values in "
            "options stands for many configurations."
        )
    return file.read().decode("utf-8-sig", "replace"), ""


def _prefilled(number: str) -> str:
    """The document of the job with this number, without its times, or nothing."""
    if number.isascii() and number.isdigit() and len(number) < 19:
        job = Job.objects.filter(pk=int(number)).first()
        if job is not None and job.document:
            return job_document.write(without_times(job.document))
    return ""


def _page(
    request: HttpRequest, text: str, problems: dict[str, list[str]] | None = None
) -> HttpResponse:
    lun = Lun.objects.filter(is_listed=True, role=Lun.Role.DATA, problem="").order_by("pk").first()
    context = {
        "text": text,
        "problems": [
            (place, sentence) for place, all_ in (problems or {}).items() for sentence in all_
        ],
        "lun": lun,
        "scheduler": lun.schedulers[0] if lun and lun.schedulers else "",
        "maximum_kb": job_document.MAXIMUM_BYTES // 1024,
    }
    return render(request, "studies/job_document.html", context, status=422 if problems else 200)
