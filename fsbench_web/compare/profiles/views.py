"""The pages of work profiles: all of them, one version, the form, and reading one from a trace."""

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Visibility
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.models import WorkProfile
from fsbench_web.compare.profiles import form as forms
from fsbench_web.compare.profiles import records
from fsbench_web.compare.profiles.form import ProfileForm
from fsbench_web.compare.profiles.order import measured_by
from fsbench_web.compare.selection.fields import sizes_of
from fsbench_web.compare.selection.profiles import (
    profile_named,
    profile_of,
    stored_profile,
    visible_profiles,
)
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.profiles.definition import RATIO, TOGETHER, Profile
from fsbench_web.core.scoring.profiles.presets import LATEST, VERSIONS
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
from fsbench_web.studies.models import Study

MOST_SHOWN = 200
MOST_STUDIES = 12
WEIGHTS = {
    BY_OPERATIONS: "operations",
    BY_BYTES: "bytes",
    BY_TIME: "time that they took, where the trace says it",
}


@require_safe
@requires(Action.READ)
def listing(request: HttpRequest) -> HttpResponse:
    """The presets, and those that people made."""
    rows = visible_profiles().prefetch_related("versions").select_related("created_by")
    entries = [
        (row, profile)
        for row in rows[:MOST_SHOWN]
        if (versions := list(row.versions.all())) and (profile := profile_of(row.slug, versions[0]))
    ]
    context = {"presets": list(LATEST.values()), "own": entries, "total": rows.count()}
    return render(request, "compare/profiles.html", context)


@require_safe
@requires(Action.READ)
def page(request: HttpRequest, slug: str, version: int = 0) -> HttpResponse:
    """One version, the latest where none is named, and where to rank by it."""
    profile = profile_named(f"{slug}@{version}" if version else slug)
    if profile is None:
        raise Http404(
            f'There is no work profile "{slug}"{f" with version {version}" if version else ""} '
            "that you may see. /profiles/ lists all."
        )
    row = visible_profiles().filter(slug=slug).first()
    numbers = (
        list(row.versions.values_list("number", flat=True))
        if row
        else [preset.version for preset in VERSIONS.values() if preset.slug == slug][::-1]
    )
    chosen, unmeasured = measured_by(profile)
    context = {
        "profile": profile,
        "row": row,
        "measured_by": chosen,
        "unmeasured": sorted(cell.words for cell in unmeasured),
        "parts": [(part, profile.percent_of(part)) for part in profile.parts],
        "method": TOGETHER[profile.together],
        "doubts": records.doubts_of(profile) if row else [],
        "versions": numbers,
        "is_latest": profile.version == max(numbers),
        "may_change": row is not None and rights.may(request.user, Action.DEFINE, row),
        "studies": Study.objects.filter(is_published=False).order_by("-created_at")[:MOST_STUDIES],
    }
    return render(request, "compare/profile.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.DEFINE)
def new(request: HttpRequest) -> HttpResponse:
    """A new profile, from nothing or ``?from=`` another one."""
    assert isinstance(request.user, User)
    if request.method != "POST":
        start = profile_named(request.GET.get("from", "")) if request.GET.get("from") else None
        return form_page(request, forms.of_profile(start) if start else ProfileForm())
    form = forms.read(request.POST, request.user)
    if form.profile is None:
        return form_page(request, form, status=422)
    try:
        version = records.create(
            form.profile, request.user, visibility=form.visibility, team=form.chosen_team
        )
    except records.TooManyNames as error:
        messages.error(request, str(error))
        return form_page(request, form, status=422)
    messages.success(request, f"Saved: {form.profile.title}, version 1.")
    return redirect("compare:profile", slug=version.profile.slug)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.DEFINE)
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    """What is changed makes a further version; the others stay as they are."""
    assert isinstance(request.user, User)
    row = get_object_or_404(visible_profiles(), slug=slug)
    rights.require(request.user, Action.DEFINE, row)
    if request.method != "POST":
        latest = stored_profile(slug)
        if latest is None:
            raise Http404("fsbench can no longer read this version: make a new profile.")
        return form_page(request, forms.of_profile(latest, row), row=row)
    form = forms.read(request.POST, request.user)
    if form.profile is None:
        return form_page(request, form, row=row, status=422)
    version = records.change(
        row, form.profile, request.user, visibility=form.visibility, team=form.chosen_team
    )
    messages.success(request, f"Saved: version {version.number} is the latest.")
    return redirect("compare:profile", slug=slug)


def form_page(
    request: HttpRequest,
    form: ProfileForm,
    *,
    row: WorkProfile | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    """The form, with what was typed."""
    assert isinstance(request.user, User)
    context = {
        "form": form,
        "row": row,
        "operations": [(test, testnames.label(test)) for test in testnames.PAPER_TESTS],
        "together": list(TOGETHER.items()),
        "access": Visibility.choices,
        "teams": list(forms.teams_of(request.user)),
        **more,
    }
    return render(request, "compare/profile_form.html", context, status=status)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.DEFINE)
def read(request: HttpRequest) -> HttpResponse:
    """The trace is read and forgotten: what is in the form is all that is left of it."""
    if request.method != "POST":
        return _trace_form(request)
    by = request.POST.get("by", BY_OPERATIONS)
    try:
        file_kb = _file_kb(request.POST.get("file", ""))
        data = _data(request)
        by = by if by in WEIGHTS else BY_OPERATIONS
        read_parts = reading.call(_parts_or_reason, data, by, file_kb)
    except (TraceError, reading.ReadingStopped) as error:
        return _trace_form(request, str(error))
    if isinstance(read_parts, str):
        return _trace_form(request, read_parts)
    source = " ".join(read_parts.notes)[:1000]
    profile = Profile("Read from a trace", RATIO, read_parts.parts, "", source)
    return form_page(
        request,
        replace(forms.of_profile(profile), title=""),
        notes=read_parts.notes,
        notes_title="Read from the trace, and not saved yet. Correct what is wrong.",
    )


def _parts_or_reason(data: bytes, by: str, file_kb: int | None) -> ReadParts | str:
    try:
        return parts_of(observed(data), by, file_kb)
    except TraceError as error:
        return str(error)


def _trace_form(request: HttpRequest, problem: str = "") -> HttpResponse:
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
