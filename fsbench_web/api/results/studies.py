"""Studies: the list, and one with its configurations and hardware."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.objects import With
from fsbench_web.api.protocol.pages import (
    DEFAULT_LIMIT,
    LARGEST_ID,
    MOST,
    Page,
    PageOut,
    link,
    page,
)
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.protocol.text import is_storable
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile
from fsbench_web.platform import limits
from fsbench_web.studies.models import UNTRACED, Run, RunState, Score, Series, Study

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


class ConfigurationOut(Schema):
    """``is_known`` is false where only the label is known, and not the options behind it."""

    label: str
    filesystem: str
    options: dict[str, str]
    scheduler: str
    external_journal: bool
    stack: dict[str, Any]
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
        rows, paging = page(request, response, studies, part)
        return {**paging, "studies": _summaries(rows)}
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
