"""A work profile read from a trace: into the form, to be corrected before anything is saved."""

from dataclasses import replace

from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.profiles.form import of_profile
from fsbench_web.compare.profiles.views import form_page
from fsbench_web.compare.selection.fields import sizes_of
from fsbench_web.core.scoring.profiles.definition import RATIO, Profile
from fsbench_web.core.traces.observed import (
    BY_BYTES,
    BY_OPERATIONS,
    BY_TIME,
    MOST_BYTES,
    ReadParts,
    TraceError,
    parts_of,
)
from fsbench_web.core.traces.reading import FORMATS, observed
from fsbench_web.renderings import reading

WEIGHTS = {
    BY_OPERATIONS: "operations",
    BY_BYTES: "bytes",
    BY_TIME: "time that they took, where the trace says it",
}


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.DEFINE)
def page(request: HttpRequest) -> HttpResponse:
    """The trace is read and forgotten: what is in the form is all that is left of it."""
    if request.method != "POST":
        return _form_page(request)
    by = request.POST.get("by", BY_OPERATIONS)
    try:
        file_kb = _file_kb(request.POST.get("file", ""))
        data = _data(request)
        by = by if by in WEIGHTS else BY_OPERATIONS
        read_parts = reading.call(_parts_or_reason, data, by, file_kb)
    except (TraceError, reading.ReadingStopped) as error:
        return _form_page(request, str(error))
    if isinstance(read_parts, str):
        return _form_page(request, read_parts)
    source = " ".join(read_parts.notes)[:1000]
    profile = Profile("Read from a trace", RATIO, read_parts.parts, "", source)
    return form_page(
        request,
        replace(of_profile(profile), title=""),
        notes=read_parts.notes,
        notes_title="Read from the trace, and not saved yet. Correct what is wrong.",
    )


def _parts_or_reason(data: bytes, by: str, file_kb: int | None) -> ReadParts | str:
    try:
        return parts_of(observed(data), by, file_kb)
    except TraceError as error:
        return str(error)


def _form_page(request: HttpRequest, problem: str = "") -> HttpResponse:
    context = {
        "problem": problem,
        "formats": FORMATS,
        "weights": list(WEIGHTS.items()),
        "by": request.POST.get("by", BY_OPERATIONS),
        "file": request.POST.get("file", "1g"),
        "most_mib": MOST_BYTES // 1024**2,
    }
    return render(request, "compare/profile_read.html", context, status=422 if problem else 200)


def _file_kb(text: str) -> int | None:
    if not text.strip():
        return None
    try:
        return sizes_of(text).least
    except ValueError as error:
        raise TraceError(0, f"The size of files is {error}.") from None


def _data(request: HttpRequest) -> bytes:
    file = request.FILES.get("trace")
    if isinstance(file, UploadedFile):
        return file.read(MOST_BYTES + 1)
    text = request.POST.get("text", "")
    if not text.strip():
        raise TraceError(0, "Choose a file, or paste the text of a trace.")
    return text.encode()
