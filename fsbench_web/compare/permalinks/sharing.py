"""Who may see a permalink, until when, and who may change it: the one place that answers."""

import json
from datetime import date, timedelta

from django import forms
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils import timezone

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Team, Visibility
from fsbench_web.compare.models import LinkVisibility, Permalink
from fsbench_web.platform import clock
from fsbench_web.platform.plain_text import lines, one_line
from fsbench_web.studies.models import Study

KEPT_DAYS = 30
"""Days behind its last one in which the author of a permalink may still give it another."""

NOT_YOURS = "Only the author of a permalink, or an administrator, can withdraw or delete it."

AnyUser = AbstractBaseUser | AnonymousUser


def may_see(link: Permalink, user: AnyUser) -> bool:
    """Whether this person may know that the permalink exists, expired or not."""
    if link.visibility == LinkVisibility.PUBLIC or may_withdraw(link, user):
        return True
    if link.visibility != LinkVisibility.TEAM or link.created_by_id is None:
        return False
    shared_teams = Team.objects.filter(members=user.pk).filter(members=link.created_by_id)
    return rights.role_of(user) is not None and shared_teams.exists()


def shows_hidden(link: Permalink) -> bool:
    """Whether it has numbers or names of a study that this person must not see."""
    hidden_ids = rights.hidden_studies()
    if not hidden_ids:
        return False
    hidden_studies = Study._base_manager.filter(pk__in=hidden_ids)
    studies = QueryDict(link.query).getlist("study")
    if studies and hidden_studies.filter(slug__in=studies).exists():
        return True
    runs = json.loads(link.snapshot)["run_ids"]
    return hidden_studies.filter(series__runs__in=runs).exists()


def closed_studies(link: Permalink) -> list[Study]:
    """The studies behind it that not everybody sees, for its author."""
    if link.visibility == LinkVisibility.PRIVATE:
        return []
    closed_studies = Study.objects.exclude(visibility=Visibility.PUBLIC)
    slugs = QueryDict(link.query).getlist("study")
    runs = json.loads(link.snapshot)["run_ids"]
    return list(closed_studies.filter(Q(slug__in=slugs) | Q(series__runs__in=runs)).distinct())


def may_change(link: Permalink, user: AnyUser) -> bool:
    """Whether this person may edit it: its author, or administrators once the account is gone."""
    if not rights.may(user, rights.Action.SHARE):
        return False
    if link.created_by is None or not link.created_by.is_active:
        return rights.is_administrator(user)
    return link.created_by_id == user.pk


def may_withdraw(link: Permalink, user: AnyUser) -> bool:
    """Whether this person may hide or delete it: its author and administrators, always."""
    if not rights.may(user, rights.Action.WITHDRAW):
        return False
    return rights.is_administrator(user) or link.created_by_id == user.pk


def _today() -> date:
    """By the clock of all hosts, in the site's time zone: what is deleted does not come back."""
    return timezone.localdate(clock.now())


def is_over(link: Permalink, today: date | None = None) -> bool:
    """Whether its last day is past, in the site's time zone."""
    return link.expires_on is not None and link.expires_on < (today or _today())


def expired(days: int = KEPT_DAYS) -> QuerySet[Permalink]:
    """The permalinks that expired more than ``days`` ago."""
    return Permalink.objects.filter(expires_on__lt=_today() - timedelta(days=days))


def run_maintenance() -> None:
    """Delete what expired and was not prolonged. Called by `serve`."""
    expired().delete()


class SharingForm(forms.ModelForm):
    """What the author says of a permalink; its numbers are not part of it."""

    class Meta:
        model = Permalink
        fields = ["title", "note", "visibility", "expires_on"]
        labels = {
            "title": "Title",
            "note": "Note",
            "visibility": "Access",
            "expires_on": "Last day",
        }
        help_texts = {
            "title": "Empty: the date on which the numbers were kept.",
            "note": "Plain text, shown above the tables.",
            "visibility": "It holds for the page, its files, its charts and its picture alike. "
            "The account page lists your teams. Access never opens a study: readers need access "
            "to each study too. Only public comparisons can be embedded.",
            "expires_on": "Empty: it never expires. After this day the address says that it has "
            "expired; "
            f"{KEPT_DAYS} days later the numbers are deleted.",
        }
        widgets = {
            "note": forms.Textarea(attrs={"rows": 3}),
            "expires_on": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        }
        error_messages = {
            "title": {"max_length": "A title has at most %(limit_value)d characters."},
            "note": {"max_length": "A note has at most %(limit_value)d characters."},
            "expires_on": {"invalid": "Write the last day as 2026-12-31, or leave it empty."},
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.label_suffix = ""
        self.fields["title"].validators.append(one_line)
        self.fields["note"].validators.append(lines)
        # A plain POST with the comparison alone shares it as it always did.
        self.fields["visibility"].required = False

    def clean_title(self) -> str:
        """One line: a title goes into file names, tables and pictures."""
        return " ".join(str(self.cleaned_data["title"]).split())

    def clean_visibility(self) -> str:
        return self.cleaned_data["visibility"] or LinkVisibility.PUBLIC

    def clean_expires_on(self) -> date | None:
        expires_on: date | None = self.cleaned_data["expires_on"]
        if expires_on is not None and expires_on < _today():
            raise forms.ValidationError(
                f"{expires_on:%Y-%m-%d} is past: nobody could open it. Choose today or a later day."
            )
        return expires_on
