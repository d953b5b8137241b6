"""Studies: the list, and one with its configurations and hardware."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Schema, Status
from pydantic import Field

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.models import Team
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.answers import IfMatch, require_match
from fsbench_web.api.protocol.errors import Error, Refused
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import (
    DEFAULT_LIMIT,
    LARGEST_ID,
    MOST,
    Answer,
    Lookup,
    Page,
    PageOut,
    Strict,
    With,
    cleaned,
    given_fields,
    is_storable,
    link,
    page,
    value_at,
)
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile
from fsbench_web.platform import limits, plain_text
from fsbench_web.studies.jobs import new_study
from fsbench_web.studies.models import UNTRACED, Run, RunState, Score, Series, Study
from fsbench_web.studies.views.access import AccessForm

router = Router()


class StudyCounts(Schema):
    """``runs`` are all runs; those that are not done, are on their way or entered no score."""

    configurations: int
    runs: int
    runs_done: int
    scores: int


class StudySummary(Schema):
    """``published_on`` is as precise as the paper is; empty texts are not known."""

    slug: str
    title: str
    summary: str
    is_published: bool
    authors: str
    organisation: str
    published_on: str
    created_at: datetime
    counts: StudyCounts
    links: dict[str, str]

    @staticmethod
    def resolve_links(study: Study) -> dict[str, str]:
        return {
            "self": f"/api/v1/studies/{study.slug}",
            "deltas": f"/api/v1/deltas?study={study.slug}",
            "page": f"/studies/{study.slug}/",
        }


class RunConfiguration(Schema):
    label: str
    filesystem: str
    options: dict[str, str]
    scheduler: str
    external_journal: bool
    stack: dict[str, Any]


class ConfigurationOut(RunConfiguration):
    """``is_known`` is false where only the label is known, and not the options behind it."""

    is_known: bool
    runs: int
    runs_done: int


class HardwareOut(Schema):
    """``facts`` are [label, value] in reading order."""

    slug: str
    name: str
    facts: list[tuple[str, str]]
    source: str

    @staticmethod
    def resolve_facts(profile: HardwareProfile) -> list[tuple[str, str]]:
        return [(str(label), str(value)) for label, value in profile.facts]


class StudyOut(StudySummary):
    """``sections`` are what a published study says of itself; empty for other studies."""

    runs_by_state: dict[str, int]
    configurations: list[ConfigurationOut]
    hardware: list[HardwareOut]
    workloads: list[str]
    sections: list[Any]


class StudiesOut(PageOut):
    studies: list[StudySummary]


class WorkFilters(Schema):
    """What is ranked by besides scores: a work profile, or a range of sizes."""

    profile: str = Field(
        "",
        description="a work profile, or a version of it: oltp, oltp@1. Ranked is by that "
        "alone, `work` says what of it was measured, and test and category choose nothing",
    )
    operation: list[str] = Field(
        [],
        description="with block and file: rank by this range of sizes, a table each; random_read",
    )
    block: str = Field("", description="block sizes of the range: 8k-16k")
    file: str = Field("", description="file sizes of the range: 1g-4g")
    cached: str = Field("", description="yes or no: how cells of the range were measured")
    flushed: str = Field("", description="likewise: with fsync within the time")
    baseline: str = Field("", description="a contender; rows then have change_percent")
    cells: str = Field("", description="sound, cached or uncached; none: every cell")


class StudyFilters(Schema):
    """Without them the list is whole."""

    limit: int | None = Field(None, ge=1, le=MOST)
    offset: int = Field(0, ge=0, le=LARGEST_ID)
    format: Literal["list", "page"] = Field(
        "list", description="page: an object with `total` and `studies`, as other lists answer"
    )


def study_or_404(slug: str) -> Study:
    """The study, or a 404 that names those there are."""
    study = Study.objects.filter(slug=slug).first() if is_storable(slug) else None
    if study is None:
        raise Http404(no_study(slug))
    return study


OfStudy = Annotated[str, Lookup("study", study_or_404)]
"""A filter by the slug of a study."""


def no_study(slug: str) -> str:
    """A sentence for a study that does not exist. Names the first studies that do."""
    slugs = list(Study.objects.values_list("slug", flat=True)[:21])
    named = ", ".join(slugs[:20]) + (", …" if len(slugs) > 20 else "")
    short_slug = slug if len(slug) <= 60 else f"{slug[:59]}…"
    return f'There is no study "{short_slug}"; there is {named or "none yet"}.'


@router.get("/studies", response=list[StudySummary] | StudiesOut, summary="All studies")
@requires(Action.READ)
def list_studies(
    request: HttpRequest, response: HttpResponse, filters: Query[StudyFilters]
) -> list[With] | dict[str, Any]:
    """All studies, published ones first, with what is in them. With `limit` a page of them, and
    `Link` to the others. A bare list, as v1 has always answered; with `format=page` an object as
    all other lists are, of 100 studies unless `limit` says otherwise.
    """
    studies = Study.objects.order_by("-is_published", "title", "slug")
    if filters.format == "page":
        part = Page(limit=filters.limit or DEFAULT_LIMIT, offset=filters.offset)
        answer = page(request, response, studies, part, "studies")
        return answer | {"studies": _summaries(answer["studies"])}
    if filters.limit is None:
        return _summaries(studies[filters.offset :])
    link(request, response, studies.count(), filters.limit, filters.offset)
    return _summaries(studies[filters.offset : filters.offset + filters.limit])


def _summaries(studies: Iterable[Study]) -> list[With]:
    configurations = Counter(
        dict(
            Series.objects.order_by()
            .values_list("study")
            .annotate(n=Count("configuration", distinct=True))
        )
    )
    scores = Counter(
        dict(Score.objects.order_by().values_list("series__study").annotate(n=Count("id")))
    )
    states: dict[int, Counter[str]] = {}
    runs = Run.objects.filter(tracing=UNTRACED).order_by()
    counts = runs.values_list("series__study", "state").annotate(n=Count("id"))
    for study_id, state, count in counts:
        states.setdefault(study_id, Counter())[state] = count
    return [
        _summary(study, configurations[study.pk], states.get(study.pk, Counter()), scores[study.pk])
        for study in studies
    ]


@router.get("/studies/{str:slug}", response=StudyOut, summary="One study")
@requires(Action.READ)
def get_study(request: HttpRequest, slug: str) -> With:
    """A study with its configurations, hardware, workloads, and for a paper what it says.

    Of the configurations the first 5,000; `counts` has how many there are, and `/series` lists all.
    """
    study = study_or_404(slug)
    series = list(
        Series.objects.filter(study=study)
        .select_related("configuration", "hardware", "workload")
        .order_by("configuration__filesystem", "configuration__label", "id")
    )
    runs: dict[int, Counter[str]] = {}
    untraced_runs = Run.objects.filter(series__study=study, tracing=UNTRACED)
    for row in untraced_runs.values_list("series", "state"):
        runs.setdefault(row[0], Counter())[row[1]] += 1
    states: Counter[str] = sum(runs.values(), Counter())
    configurations = _configurations(series, runs)
    profiles = {row.hardware.pk: row.hardware for row in series if row.hardware}
    profiles = {profile.pk: profile for profile in study.systems.order_by("id")} | profiles
    scores = Score.objects.filter(series__study=study).count()
    return _summary(
        study,
        len(configurations),
        states,
        scores,
        runs_by_state={str(state): states[state] for state in RunState if states[state]},
        configurations=configurations[: limits.MOST_LISTED],
        hardware=list(profiles.values()),
        workloads=sorted({row.workload.slug for row in series if row.workload}),
    )


def _summary(
    study: Study, configuration_count: int, states: Counter[str], scores: int, **more: Any
) -> With:
    counts = {
        "configurations": configuration_count,
        "runs": states.total(),
        "runs_done": states[RunState.DONE],
        "scores": scores,
    }
    return With(study, counts=counts, **more)


def _configurations(series: list[Series], runs: dict[int, Counter[str]]) -> list[With]:
    """One entry a configuration; its series (another kernel, another LUN) are added up."""
    states: dict[FilesystemConfiguration, Counter[str]] = {}
    for row in series:
        states.setdefault(row.configuration, Counter()).update(runs.get(row.pk, {}))
    return [
        With(configuration, runs=counts.total(), runs_done=counts[RunState.DONE])
        for configuration, counts in states.items()
    ]


class StudyIn(Strict):
    title: str = Field(max_length=400, examples=["Array test"])
    summary: str = Field("", max_length=4000)


class AccessOut(Answer):
    """``team`` is the name of the team that owns it, or null."""

    visibility: str
    team: str | None = value_at("team.name", None)
    created_by: str | None = value_at("created_by.username", None)


class AccessIn(Strict):
    """What is left out stays as it is. ``team``: a name, or null for none."""

    visibility: Literal["public", "team", "private"] | None = None
    team: str | None = None


@router.post("/studies", response={201: StudyOut, 409: Error}, summary="Make a study")
@requires(Action.IMPORT)
def create_study(request: HttpRequest, study: StudyIn) -> Status[With]:
    """An empty study; jobs and imports make theirs by themselves. 409 where its address is
    taken, also by one that you may not see.
    """
    if problem := plain_text.problem(study.summary, is_multiline=True):
        raise Refused(422, [("summary", problem)])
    title = new_study.checked_title(study.title)
    with transaction.atomic():
        row = new_study.create_study(title, user_of(request), summary=study.summary)
    return Status(201, get_study(request, row.slug))


@router.get("/studies/{slug:slug}/access", response=AccessOut, summary="Who sees a study")
@requires(Action.OWN)
def get_study_access(request: HttpRequest, slug: str) -> Study:
    """For its maker, its team and administrators."""
    study = study_or_404(slug)
    rights.require(user_of(request), rights.Action.OWN, study)
    return study


@router.patch("/studies/{slug:slug}/access", response=AccessOut, summary="Say who sees a study")
@requires(Action.OWN)
def change_study_access(
    request: HttpRequest, slug: str, access: AccessIn, if_match: IfMatch = ""
) -> Study:
    """Its visibility, and the team that owns it. With `If-Match`, only if nobody changed it."""
    user = user_of(request)
    unlocked = study_or_404(slug)
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=unlocked.pk)
        rights.require(user, rights.Action.OWN, study)
        if study.is_published:
            raise Refused(422, [("visibility", "A published study is public and stays so.")])
        require_match(request)
        data = given_fields(access)
        values = {
            "visibility": data.get("visibility") or study.visibility,
            "team": _team(data["team"]) if "team" in data else study.team_id,
        }
        form = AccessForm(values, instance=study, user=user)
        cleaned(form)
        changed = form.save(commit=False)
        changed.save(update_fields=["visibility", "team"])
        audit.note(
            user,
            "study access changed",
            f"study {slug}",
            visibility=changed.visibility,
            team=str(changed.team) if changed.team else None,
        )
        return changed


@router.get(
    "/studies/{slug:slug}/report.pdf",
    response={410: Error},
    summary="Gone: the report is a page, which browsers print",
    deprecated=True,
)
@requires(Action.READ)
def get_study_report(
    request: HttpRequest,
    slug: str,
    work: Query[WorkFilters],
    by: str = Query("", description="what its tables rank"),
    units: str = Query("", description="binary, decimal or printed, as of a comparison"),
) -> None:
    """410 with the address of the page; the page takes the same parameters."""
    study_or_404(slug)
    query = request.GET.urlencode()
    path = reverse("report", args=[slug]) + (f"?{query}" if query else "")
    address = request.build_absolute_uri(path)
    raise Refused(410, [(None, f"fsbench makes no PDF. Print the page of the report: {address}")])


def _team(name: str | None) -> int | None:
    if not name:
        return None
    team = Team.objects.filter(name=name).first()
    if team is None:
        raise Refused(422, [("team", f'There is no team "{name[:80]}".')])
    return team.pk
