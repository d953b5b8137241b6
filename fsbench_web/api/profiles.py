"""Work profiles: somebody's work as parts with weights, which ranks like a category."""

from datetime import datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Status
from pydantic import Field

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Team, Visibility
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import Page, PageOut, Strict, page
from fsbench_web.compare.models import WorkProfile, WorkProfileVersion
from fsbench_web.compare.profiles import records
from fsbench_web.compare.profiles.form import teams_of
from fsbench_web.compare.selection.profiles import profile_named, profile_of, visible_profiles
from fsbench_web.core.scoring.profiles.definition import Profile, ProfileError, from_dict
from fsbench_web.core.scoring.profiles.presets import LATEST, VERSIONS

router = Router()


class ProfilePart(Strict):
    """An operation over sizes, in KB of 1024 bytes: [smallest, largest], doubled from the one to
    the other. A test without sizes has neither. ``cached`` and ``flushed`` are how it has to be
    measured, null: either way.
    """

    operation: str = Field(max_length=100, description="a test: random_read", examples=["read"])
    weight: float = Field(1, description="its share of all weights", examples=[65])
    block_sizes_kb: list[int] | None = Field(None, examples=[[8, 16]])
    file_sizes_kb: list[int] | None = Field(None, examples=[[1048576, 4194304]])
    load: str = Field("", max_length=60, examples=["threads=8"])
    cached: bool | None = None
    flushed: bool | None = None


class ProfileDocument(Strict):
    """What a profile is made of. ``together``: ratio, the weighted geometric mean of ratios to a
    baseline; or work, the time that a given amount of work takes (the harmonic mean of rates).
    """

    title: str = Field(max_length=120)
    summary: str = Field("", max_length=1000)
    source: str = Field("", max_length=1000, description="what sizes and weights rest on")
    together: Literal["ratio", "work"] = "ratio"
    parts: list[ProfilePart] = Field(max_length=24)


class ProfileIn(ProfileDocument):
    visibility: Literal["public", "team", "private"] = "public"
    team: str = Field("", max_length=80, description="the name of a team that you are in")


class ProfileOut(ProfileDocument):
    """One version. ``name`` is how addresses have it, as `oltp@1`; ``data_points`` are how many
    cells a contender needs for a score. ``warnings`` are parts that no workload measures and nobody
    imported, a sentence each, where one profile is asked for or saved.
    """

    slug: str
    version: int
    name: str
    versions: list[int]
    is_preset: bool
    data_points: int
    warnings: list[str]
    created_by: str | None
    created_at: datetime | None
    links: dict[str, str]


class ProfilesOut(PageOut):
    """Presets are on the first page, before those that people made."""

    presets: list[ProfileOut]
    profiles: list[ProfileOut]


@router.get("/profiles", response=ProfilesOut, summary="Work profiles")
@requires(Action.READ)
def list_profiles(
    request: HttpRequest, response: HttpResponse, filters: Query[Page]
) -> dict[str, Any]:
    """The latest version of each that you may see."""
    visible = visible_profiles().prefetch_related("versions__created_by").order_by("slug")
    answer = page(request, response, visible, filters, "profiles")
    profiles = []
    for row in answer["profiles"]:
        versions = list(row.versions.all())
        profile = profile_of(row.slug, versions[0]) if versions else None
        if profile is not None:
            profiles.append(_version_answer(profile, versions))
    presets = [] if filters.offset else [_preset(preset) for preset in LATEST.values()]
    return answer | {"presets": presets, "profiles": profiles}


@router.get("/profiles/{str:name}", response=ProfileOut, summary="One work profile")
@requires(Action.READ)
def get_profile(request: HttpRequest, name: str) -> dict[str, Any]:
    """The latest version, or the one that is named: `oltp@1`. It is what a `POST` takes."""
    profile = profile_named(name) if name.partition("@")[2].isdecimal() or "@" not in name else None
    if profile is None:
        raise Http404(f'There is no work profile "{name}" that you may see.')
    if profile.slug in LATEST:
        return _preset(profile)
    row = visible_profiles().prefetch_related("versions__created_by").get(slug=profile.slug)
    warned = {"warnings": records.doubts_of(profile)}
    return _version_answer(profile, list(row.versions.all())) | warned


@router.post("/profiles", response={201: ProfileOut}, summary="Make a work profile")
@requires(Action.DEFINE)
def create_profile(request: HttpRequest, profile: ProfileIn) -> Status[dict[str, Any]]:
    """Its first version, under an address made of its title."""
    user = user_of(request)
    team = _team(request, profile)
    version = records.create(_read(profile), user, visibility=profile.visibility, team=team)
    return Status(201, get_profile(request, version.profile.slug))


@router.post(
    "/profiles/{slug:name}/versions",
    response={201: ProfileOut},
    summary="A further version of a work profile",
)
@requires(Action.DEFINE)
def create_profile_version(
    request: HttpRequest, name: str, profile: ProfileDocument
) -> Status[dict[str, Any]]:
    """The earlier ones stay as they are. What changes nothing makes none."""
    user = user_of(request)
    profiles = visible_profiles().filter(slug=name) if "\x00" not in name else None
    row: WorkProfile | None = profiles.first() if profiles is not None else None
    if row is None:
        raise Http404(f'There is no work profile "{name}" that you may change.')
    rights.require(user, Action.DEFINE, row)
    version = records.change(row, _read(profile), user)
    return Status(201, get_profile(request, f"{name}@{version.number}"))


def _read(document: ProfileDocument) -> Profile:
    fields = ("title", "summary", "source", "together", "parts")
    try:
        profile = from_dict(document.model_dump(include=set(fields)))
    except ProfileError as error:
        raise Refused(422, [("parts", problem) for problem in error.problems]) from None
    if problems := records.problems_of(profile):
        raise Refused(422, [("parts", problem) for problem in problems])
    return profile


def _team(request: HttpRequest, profile: ProfileIn) -> Team | None:
    team: Team | None = teams_of(user_of(request)).filter(name=profile.team).first()
    if profile.team and team is None:
        raise Refused(422, [("team", "You are in no team of this name.")])
    if profile.visibility == Visibility.TEAM and team is None:
        raise Refused(422, [("team", "Say which team is to see it.")])
    return team


def _preset(profile: Profile) -> dict[str, Any]:
    numbers = [preset.version for preset in VERSIONS.values() if preset.slug == profile.slug]
    return _answer_of(profile, numbers[::-1], is_preset=True)


def _version_answer(profile: Profile, versions: list[WorkProfileVersion]) -> dict[str, Any]:
    row = next(version for version in versions if version.number == profile.version)
    return _answer_of(profile, [version.number for version in versions]) | {
        "created_by": row.created_by.get_username() if row.created_by else None,
        "created_at": row.created_at,
    }


def _answer_of(profile: Profile, numbers: list[int], *, is_preset: bool = False) -> dict[str, Any]:
    return profile.as_dict() | {
        "slug": profile.slug,
        "version": profile.version,
        "name": profile.name,
        "versions": numbers,
        "is_preset": is_preset,
        "data_points": len(profile.demands),
        "warnings": [],
        "created_by": None,
        "created_at": None,
        "links": {
            "page": f"/profiles/{profile.slug}/{profile.version}/",
            "deltas": f"/api/v1/deltas?profile={profile.name}",
        },
    }
