"""The settings of a study: who owns and sees it, its tags, and whether it is archived."""

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.models import Team, Visibility
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.studies.models import Study

MOST_TAGS = 10
TAG = re.compile("[a-z0-9][a-z0-9.-]{0,29}")


class AccessForm(forms.ModelForm):
    """Owner, visibility, tags and archive of a study."""

    class Meta:
        model = Study
        fields = ["visibility", "team", "tags", "is_archived"]
        labels = {
            "visibility": "Access",
            "team": "Team that owns it",
            "tags": "Tags",
            "is_archived": "Archived",
        }
        help_texts = {
            "visibility": "It holds for its runs, scores, raw output, uploads, comparisons and the "
            "permalinks of them. Names of hardware, LUNs, workers and workloads are everybody's.",
            "team": "Only its members (and administrators) then add runs and imports.",
            "tags": "Up to ten, separated by blanks or commas: nvme release-6.12",
            "is_archived": "The list of studies and the front page leave it out. Its address, "
            "runs and comparisons stay.",
        }

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        self.initial["tags"] = " ".join(self.instance.tag_names)
        teams = Team.objects.order_by("name")
        if not rights.is_administrator(user):
            # The one that has it stays a choice for its maker, who may have left that team.
            allowed = Q(members=user) | Q(pk=self.instance.team_id)
            teams = teams.filter(allowed).distinct()
        field = self.fields["team"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset, field.empty_label = teams, "No team"
        field.error_messages["invalid_choice"] = (
            "You give a study to a team that you are in; to another one an administrator does."
        )

    def clean_tags(self) -> str:
        tags = sorted(set(self.cleaned_data["tags"].lower().replace(",", " ").split()))
        if bad := [tag for tag in tags if not TAG.fullmatch(tag)]:
            raise forms.ValidationError(
                f"“{bad[0]}” is not a tag. Use letters, digits, dots and hyphens, at most 30."
            )
        if len(tags) > MOST_TAGS:
            raise forms.ValidationError(f"These are {len(tags)} tags; at most {MOST_TAGS} fit.")
        return f",{','.join(tags)}," if tags else ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("visibility") == Visibility.TEAM and cleaned.get("team") is None:
            self.add_error("team", "Choose the team that is to see it.")
        return cleaned


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.OWN)
def access(request: HttpRequest, slug: str) -> HttpResponse:
    """Say who sees the study; its maker, its team and administrators may."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise Http404(f'There is no study "{slug}" that you may see.')
    rights.require(request.user, rights.Action.OWN, study)
    assert isinstance(request.user, User)
    if study.is_published:
        return render(request, "studies/access.html", {"study": study}, status=200)
    form = AccessForm(request.POST or None, instance=study, user=request.user)
    if request.method != "POST" or not form.is_valid():
        context = {"study": study, "form": form}
        return render(
            request, "studies/access.html", context, status=422 if request.method == "POST" else 200
        )
    with transaction.atomic():
        changed = form.save(commit=False)
        changed.save(update_fields=["visibility", "team", "tags", "is_archived"])
        audit.note(
            request.user,
            "study access changed",
            f"study {slug}",
            visibility=changed.visibility,
            team=str(changed.team) if changed.team else None,
            tags=changed.tag_names,
            archived=changed.is_archived,
        )
    messages.success(
        request, f"Saved: {changed.title} is seen by: {changed.get_visibility_display()}."
    )
    return redirect("studies:study", slug=slug)
