"""Upload, preview, commit, result."""

from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from fsbench_web.catalog.filesystems import FILESYSTEMS
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile
from fsbench_web.imports import uploads
from fsbench_web.imports.models import Import, ImportState
from fsbench_web.imports.plan import Target
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.summary import summary
from fsbench_web.imports.upload_limit import limit_upload
from fsbench_web.studies.models import Study

_FIELDS = ("study", "filesystem", "configuration", "hardware")


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


@limit_upload
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The upload form; a POST keeps the files and goes on to their preview."""
    given = request.POST if request.method == "POST" else request.GET
    target = Target(**{name: given.get(name, "").strip() for name in _FIELDS})
    refused = None
    if request.method == "POST":
        files = [(file.name or "", file.read()) for file in request.FILES.getlist("file")]
        try:
            row = uploads.stash(files, target, _user(request))
        except ImportRefused as error:
            refused = error
        else:
            return redirect("imports:show", import_id=row.pk)
    context = {
        "target": target,
        "problems": refused.problems if refused else [],
        "studies": Study.objects.filter(is_published=False).order_by("title"),
        "filesystems": sorted(
            {*FILESYSTEMS, *FilesystemConfiguration.objects.values_list("filesystem", flat=True)}
        ),
        "hardware": HardwareProfile.objects.order_by("name"),
        "max_upload_bytes": settings.MAX_UPLOAD_BYTES,
        "max_upload_mb": settings.MAX_UPLOAD_BYTES // (1024 * 1024),
    }
    return render(request, "imports/new.html", context, status=422 if refused else 200)


@require_GET
def show(request: HttpRequest, import_id: int) -> HttpResponse:
    """The preview, for who uploaded the files; the result, for everybody."""
    row = Import.objects.select_related("study", "created_by").filter(pk=import_id).first()
    if row is None:
        raise Http404(_gone(import_id))
    if row.state == ImportState.DONE:
        return _result(request, row)
    if row.created_by != request.user:
        raise Http404("Only who uploaded these files sees them before they are imported.")
    return _preview(request, row)


def _gone(import_id: int) -> str:
    return (
        f"There is no import {import_id}. Uploads that nobody imported are deleted after a day; "
        "upload the files again."
    )


def _result(request: HttpRequest, row: Import) -> HttpResponse:
    runs = (
        row.runs.select_related("series__configuration", "series__hardware")
        .annotate(values_stored=Count("measurements"))
        .order_by("id")
    )
    return render(request, "imports/done.html", {"import": row, "runs": runs})


def _preview(request: HttpRequest, row: Import, status: int = 200) -> HttpResponse:
    context: dict[str, object] = {"import": row, "target": row.target}
    try:
        found = uploads.preview_of(row, _user(request))
    except ImportRefused as error:
        context["problems"], status = error.problems, 422
    else:
        context |= {
            "preview": found,
            "runs": [
                {
                    "file": stored.planned.file,
                    "series": stored.run.series,
                    "repeat": stored.run.repeat,
                    "parsed": stored.planned.parsed,
                    "tests": summary(stored.planned.values),
                }
                for stored in found.runs
            ],
        }
    return render(request, "imports/preview.html", context, status=status)


@login_required
@require_POST
def commit(request: HttpRequest, import_id: int) -> HttpResponse:
    """Store the previewed files. Sent twice, it stores them once."""
    try:
        uploads.commit_stashed(import_id, _user(request))
    except Import.DoesNotExist:
        raise Http404(_gone(import_id)) from None
    except ImportRefused:
        # Something came in between; the preview says what.
        return _preview(request, get_object_or_404(Import, pk=import_id), status=422)
    return redirect("imports:show", import_id=import_id)


@login_required
@require_POST
def discard(request: HttpRequest, import_id: int) -> HttpResponse:
    """Delete an upload that was not imported."""
    row = Import.objects.filter(
        pk=import_id, state=ImportState.PREVIEWED, created_by=_user(request)
    ).first()
    if row is None:
        raise Http404(_gone(import_id))
    query = urlencode({name: text for name, text in row.target.items() if text})
    row.delete()
    messages.info(request, "The upload was discarded. Nothing of it was stored.")
    return redirect(f"{reverse('imports:new')}?{query}")
