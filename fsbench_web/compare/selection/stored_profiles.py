"""Work profiles that people made, as whoever asks may see them."""

from django.contrib.auth.models import User
from django.db.models import Max, Q, QuerySet

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Visibility
from fsbench_web.compare.models import WorkProfile, WorkProfileVersion
from fsbench_web.core.scoring.profiles.definition import Profile, ProfileError, from_dict

MOST_OFFERED = 200
"""In a list to choose from; any other can be named in an address."""


def visible() -> QuerySet[WorkProfile]:
    """Those that whoever asks may see; a worker or a command sees all."""
    user = rights.person()
    rows = WorkProfile.objects.all()
    if user is None or rights.is_administrator(user):
        return rows
    seen = Q(visibility=Visibility.PUBLIC)
    if isinstance(user, User):
        seen |= Q(created_by=user)
        seen |= Q(visibility=Visibility.TEAM, team__in=user.teams.values("pk"))
    return rows.filter(seen)


def stored_profile(slug: str, version: int = 0) -> Profile | None:
    """A version of a stored profile, its latest where none is named; None where there is none."""
    rows = WorkProfileVersion.objects.filter(profile__in=visible(), profile__slug=slug)
    row = (rows.filter(number=version) if version else rows.order_by("-number")).first()
    return None if row is None else profile_of(slug, row)


def profile_of(slug: str, row: WorkProfileVersion) -> Profile | None:
    """None where a later release refuses what an earlier one let through."""
    try:
        return from_dict(row.document, slug=slug, version=row.number)
    except ProfileError:
        return None


def stored_titles() -> dict[str, str]:
    """The latest title of each, by slug; MOST_OFFERED. One query."""
    latest = (
        WorkProfileVersion.objects.filter(profile__in=visible())
        .annotate(newest=Max("profile__versions__number"))
        .order_by("profile__slug", "-number")
        .values_list("profile__slug", "document__title", "number", "newest")
    )
    return {
        slug: str(title)
        for slug, title, number, newest in latest[: 5 * MOST_OFFERED]
        if number == newest
    }
