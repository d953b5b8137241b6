"""Uploaded workloads: operators add versions, administrators withdraw them."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import OwnWorkload
from fsbench_web.catalog.workloads.own_workloads import add_version, callable_programs, warning
from fsbench_web.core import formats
from fsbench_web.core.workloads import ParameterError
from fsbench_web.core.workloads.fio.jobs import FLAGS, MOST_BYTES, OPTIONS


class UploadForm(forms.Form):
    """The upload, without its text: that is checked where it becomes a workload."""

    title = forms.CharField(max_length=100)
    kind = forms.ChoiceField(choices=OwnWorkload.Kind.choices, initial=OwnWorkload.Kind.FIO)
    file = forms.FileField(required=False, allow_empty_file=False)
    text = forms.CharField(required=False, strip=False, widget=forms.Textarea)
    parser = forms.ChoiceField(choices=[(name, name) for name in formats.FORMATS], required=False)
    space_mb = forms.IntegerField(min_value=1, max_value=2**30, initial=1024)

    def clean(self) -> dict[str, object]:
        data = super().clean() or {}
        upload = data.get("file")
        if upload is not None:
            if data.get("text", "").strip():
                raise forms.ValidationError("Give a file or text, not both.")
            if upload.size > MOST_BYTES:
                raise forms.ValidationError(f"The file has more than {MOST_BYTES // 1024} KiB.")
            try:
                data["text"] = upload.read().decode()
            except UnicodeDecodeError:
                raise forms.ValidationError("The file is not UTF-8 text.") from None
        if not str(data.get("text", "")).strip() and not self.errors:
            raise forms.ValidationError("Give a file, or write the text.")
        if "\x00" in str(data.get("text", "")):
            raise forms.ValidationError("The text has NUL characters.")
        return data


@never_cache
@require_safe
@requires(Action.READ)
def own_workload(request: HttpRequest, workload_id: int) -> HttpResponse:
    """One version with its text."""
    row = own_workload_or_404(workload_id)
    context = {
        "workload": row,
        "may_provide": rights.may(request.user, rights.Action.PROVIDE),
        "warning": warning(row, callable_programs()),
    }
    return render(request, "catalog/own_workload.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.UPLOAD)
def new_own_workload(request: HttpRequest) -> HttpResponse:
    """Upload a workload, or a new version of one."""
    assert isinstance(request.user, User)
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            row = add_version(
                data["title"],
                data["kind"],
                data["text"],
                parser=data["parser"],
                space_mb=data["space_mb"],
                by=request.user,
            )
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{row} is saved and offered for new runs.")
            return redirect("catalog:own_workload", workload_id=row.pk)
    context = {"form": form, "formats": formats.FORMATS, "options": sorted(OPTIONS), "flags": FLAGS}
    status = 422 if request.method == "POST" else 200
    return render(request, "catalog/own_workload_form.html", context, status=status)


@login_required
@require_POST
@requires(Action.PROVIDE)
def withdraw(request: HttpRequest, workload_id: int) -> HttpResponse:
    """Offer it no more. Its text stays, and so do the runs made of it."""
    row = own_workload_or_404(workload_id)
    with transaction.atomic():
        if OwnWorkload.objects.filter(slug=row.slug, is_withdrawn=False).update(is_withdrawn=True):
            audit.note_here("workload withdrawn", row.title)
    messages.success(request, f"{row.title} is withdrawn. A new version brings it back.")
    return redirect("studies:workloads")


def own_workload_or_404(workload_id: int) -> OwnWorkload:
    """One version with who uploaded it. Raises Http404."""
    row = None
    if workload_id < 2**63:
        row = OwnWorkload.objects.select_related("created_by").filter(pk=workload_id).first()
    if row is None:
        raise Http404("There is no such uploaded workload; the list shows all of them.")
    return row
