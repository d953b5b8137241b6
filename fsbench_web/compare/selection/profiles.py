"""The work profiles that a comparison ranks by: one of a name, or a range of its address."""

import re
from collections import Counter
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import QueryDict

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Visibility
from fsbench_web.compare.models import WorkProfile, WorkProfileVersion
from fsbench_web.compare.selection.fields import WORK_PARAMETERS, sizes_of, unknown
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.profiles.definition import (
    MOST_CELLS,
    RATIO,
    WORK,
    Part,
    Profile,
    ProfileError,
    from_dict,
)
from fsbench_web.core.scoring.profiles.presets import LATEST, VERSIONS

ANSWER = {"": None, "yes": True, "no": False}
RANGE_WORDS = (
    "A range needs both sizes: block=8k-16k and file=1g-4g, for example. Its operations are "
    "operation=random_read and the like; none: those of IOzone's six tests."
)


@dataclass(frozen=True)
class RequestedProfile:
    """A profile, and the test and category that its table stands under."""

    profile: Profile
    test: str
    category: str


def profile_named(name: str) -> Profile | None:
    """The version that is named, the latest where none is; None where there is no such profile."""
    preset = VERSIONS.get(name) or LATEST.get(name)
    slug, _, version = name.partition("@")
    if preset is None and ("\x00" in slug or not re.fullmatch(r"[0-9]{0,9}", version)):
        return None
    return preset or stored_profile(slug, int(version or 0))


def label_of(category: str) -> str:
    """A category as people read it; a stored profile by its title. One query for such a one."""
    if not category.startswith(categories.PROFILE):
        return categories.label(category)
    profile = profile_named(category.removeprefix(categories.PROFILE))
    return categories.label(category, profile.title if profile else "")


def titles() -> dict[str, str]:
    """The latest title of each profile, by slug; of equal titles each with its slug. One query."""
    by_slug = {profile.slug: profile.title for profile in latest()}
    times = Counter(by_slug.values())
    return {
        slug: title if times[title] == 1 else f"{title} ({slug})" for slug, title in by_slug.items()
    }


def latest() -> list[Profile]:
    """The latest version of each, presets first. One query; two where some are stored."""
    return [*LATEST.values(), *stored_latest()]


def requested_profiles(spec: ComparisonSpec) -> list[RequestedProfile]:
    """What ``spec`` ranks by. Raises SpecError for a profile that is not there, or no range."""
    if spec.profile and spec.has_range:
        raise SpecError(["A comparison ranks by a profile or by a range of sizes: leave one out."])
    if not spec.profile:
        return _ranges(spec)
    profile = profile_named(spec.profile)
    if profile is None:
        raise SpecError(unknown("profile", [spec.profile], titles()), "profile")
    return [RequestedProfile(profile, testnames.WORK, f"{categories.PROFILE}{profile.name}")]


def of_query(spec: ComparisonSpec, query: QueryDict) -> ComparisonSpec:
    """What the address of a study or its report ranks besides its tables. Raises SpecError."""
    work_query = QueryDict(mutable=True)
    for name in (*WORK_PARAMETERS, "baseline", "cells"):
        work_query.setlist(name, query.getlist(name))
    work_spec = ComparisonSpec.of_address(work_query)
    return replace(work_spec, studies=spec.studies, by=spec.by, units=spec.units)


def with_version(spec: ComparisonSpec) -> ComparisonSpec:
    """The same with the version of the profile named, so that it stays what it is."""
    profile = profile_named(spec.profile) if spec.profile else None
    return spec if profile is None else spec.with_profile(profile.name)


def _ranges(spec: ComparisonSpec) -> list[RequestedProfile]:
    """A table for each operation, and one of all of them together before these."""
    if not (spec.block and spec.file):
        raise SpecError([RANGE_WORDS])
    operations = spec.operations or testnames.PAPER_TESTS
    blocks, files = sizes_of(spec.block), sizes_of(spec.file)
    if blocks.least > files.doublings[-1]:
        raise SpecError(["The blocks of the range are larger than its files."], "block")
    parts = []
    for operation in operations:
        name, load = testnames.parts(operation)
        cached, flushed = ANSWER[spec.cached], ANSWER[spec.flushed]
        parts.append(Part(name, 1.0, blocks, files, load, cached, flushed))
    try:
        single = [_range(part) for part in parts]
    except ProfileError as error:
        raise SpecError(error.problems) from None
    if sum(len(profile.demands) for profile in single) > MOST_CELLS:
        raise SpecError([f"The range has more than {MOST_CELLS} cells: make it narrower."])
    requested = [
        RequestedProfile(profile, profile.tests[0], categories.RANGE) for profile in single
    ]
    if spec.operations and len(single) > 1:
        together = Profile("All operations of the range, alike", RATIO, tuple(parts))
        requested.insert(0, RequestedProfile(together, testnames.WORK, categories.RANGE))
    return requested


def _range(part: Part) -> Profile:
    if part.blocks is None or part.files is None:  # a range has both
        raise ProfileError([RANGE_WORDS])
    return Profile(part.words, WORK, (part,))


# Work profiles that people made, as whoever asks may see them.

MOST_OFFERED = 200
"""In a list to choose from; any other can be named in an address."""


def visible_profiles() -> QuerySet[WorkProfile]:
    """Those that this person may see; a worker or a command sees all."""
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
