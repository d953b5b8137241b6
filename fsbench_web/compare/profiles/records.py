"""Making a work profile, and making a further version of it."""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.models import Team, Visibility
from fsbench_web.accounts.requirements import Action
from fsbench_web.compare.models import WorkProfile, WorkProfileVersion
from fsbench_web.core.scoring.profiles.definition import Profile
from fsbench_web.core.scoring.profiles.presets import LATEST
from fsbench_web.core.workloads.measurable import doubts, score_problems
from fsbench_web.platform import names, plain_text
from fsbench_web.studies.models import Score

LONGEST_SLUG = 50
_TRIES = 50
_RESERVED = frozenset(("new", "read"))


def doubts_of(profile: Profile) -> list[str]:
    """What of it no workload measures and nobody imported, in sentences. One query."""
    rows = Score.objects.filter(test__in=profile.tests).order_by()
    return doubts(profile, set(rows.values_list("test", flat=True).distinct()))


def problems_of(profile: Profile) -> list[str]:
    """Why it cannot be saved: texts with hidden signs, parts without a score; in sentences."""
    texts = {
        "The title": plain_text.problem(profile.title),
        "The summary": plain_text.problem(profile.summary, is_multiline=True),
        "What it rests on": plain_text.problem(profile.source, is_multiline=True),
    }
    of_texts = [f"{name} cannot be so. {problem}" for name, problem in texts.items() if problem]
    return [*of_texts, *score_problems(profile)]


class TooManyNames(ValueError):
    """So many profiles are called this already."""


def create(
    profile: Profile, user: User, *, visibility: str = Visibility.PUBLIC, team: Team | None = None
) -> WorkProfileVersion:
    """A new profile with this as its first version, under a free slug of its title."""
    base_slug = names.slug_of(profile.title)[:LONGEST_SLUG].strip("-") or "profile"
    for place in range(1, _TRIES + 1):
        slug = base_slug if place == 1 else f"{base_slug}-{place}"
        if slug in LATEST or slug in _RESERVED or WorkProfile.objects.filter(slug=slug).exists():
            continue
        try:
            with transaction.atomic():
                row = WorkProfile.objects.create(
                    slug=slug, created_by=user, visibility=visibility, team=team
                )
                version = _add(row, 1, profile, user)
                audit.note(user, "work profile made", f"work profile {slug}", visibility=visibility)
        except IntegrityError:
            continue  # somebody took it meanwhile
        return version
    raise TooManyNames(f"More than {_TRIES} work profiles are called so: choose another title.")


def change(
    row: WorkProfile,
    profile: Profile,
    user: User,
    *,
    visibility: str | None = None,
    team: Team | None = None,
) -> WorkProfileVersion:
    """A further version; none where nothing of it changed. ``visibility`` None: it stays.

    Raises PermissionDenied.
    """
    with transaction.atomic():
        locked = WorkProfile.objects.select_for_update().get(pk=row.pk)
        rights.require(user, Action.DEFINE, locked)
        if visibility is not None and (visibility, team) != (locked.visibility, locked.team):
            locked.visibility, locked.team = visibility, team
            locked.save(update_fields=["visibility", "team"])
            audit.note(
                user, "work profile changed", f"work profile {locked.slug}", visibility=visibility
            )
        latest = locked.versions.order_by("-number")[0]
        if latest.document == profile.as_dict():
            return latest
        version = _add(locked, latest.number + 1, profile, user)
        audit.note(
            user, "work profile changed", f"work profile {locked.slug}", version=version.number
        )
    return version


def _add(row: WorkProfile, number: int, profile: Profile, user: User) -> WorkProfileVersion:
    return WorkProfileVersion.objects.create(
        profile=row, number=number, document=profile.as_dict(), created_by=user
    )
