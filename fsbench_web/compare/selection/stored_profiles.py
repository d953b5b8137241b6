"""Work profiles that people made, as whoever asks may see them."""

from django.contrib.auth.models import User
from django.db.models import OuterRef, Q, QuerySet, Subquery

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Visibility
from fsbench_web.compare.models import WorkProfile, WorkProfileVersion
from fsbench_web.core.scoring.profiles.definition import Profile, ProfileError, from_dict

MOST_OFFERED = 200
"""In a list to choose from; any other can be named in an address."""


def visible_profiles() -> QuerySet[WorkProfile]:
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
    rows = WorkProfileVersion.objects.filter(profile__in=visible_profiles(), profile__slug=slug)
    row = (rows.filter(number=version) if version else rows.order_by("-number")).first()
    return None if row is None else profile_of(slug, row)


def profile_of(slug: str, row: WorkProfileVersion) -> Profile | None:
    """None where a later release refuses what an earlier one let through."""
    try:
        return from_dict(row.document, slug=slug, version=row.number)
    except ProfileError:
        return None


def stored_latest() -> list[Profile]:
    """The latest version of each; MOST_OFFERED. Two queries, one where there is none."""
    slugs = dict(visible_profiles().order_by("slug").values_list("pk", "slug")[:MOST_OFFERED])
    if not slugs:
        return []
    newest = Subquery(
        WorkProfileVersion.objects.filter(profile=OuterRef("profile"))
        .order_by("-number")
        .values("number")[:1]
    )
    rows = {
        row.profile_id: row
        for row in WorkProfileVersion.objects.filter(profile__in=slugs, number=newest)
    }
    profiles = (profile_of(slug, rows[pk]) for pk, slug in slugs.items() if pk in rows)
    return [profile for profile in profiles if profile is not None]


def stored_titles() -> dict[str, str]:
    """The latest title of each, by slug. Two queries, one where there is none."""
    return {profile.slug: profile.title for profile in stored_latest()}
