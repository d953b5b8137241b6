"""Studies as lists show them: which, in which order, and with how much in each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, IntegerField, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from fsbench_web.studies.models import UNTRACED, Run, RunState, Score, Series, Study
from fsbench_web.studies.runs.listing import AddressFilter

MOST_CHOICES = 2000
SORTS = {"": "newest first", "latest": "latest run first", "title": "title"}


@dataclass(frozen=True)
class StudyFilter(AddressFilter):
    """Which studies to list, as the address says it; an empty value takes all."""

    q: str = ""
    owner: str = ""
    team: str = ""
    tag: str = ""
    sort: str = ""
    archived: str = ""

    def apply(self, studies: QuerySet[Study]) -> QuerySet[Study]:
        """The ``own_studies`` that match every filter, in the order that is asked for."""
        for word in self.q.split()[:8]:
            studies = studies.filter(title__icontains=word)
        if self.owner:
            studies = studies.filter(created_by__username=self.owner)
        if self.team:
            studies = studies.filter(team__name=self.team)
        if self.tag:
            studies = studies.filter(tags__contains=f",{self.tag},")
        studies = studies.filter(is_archived=bool(self.archived))
        if self.sort == "latest":
            return studies.order_by(F("latest").desc(nulls_last=True), "title", "pk")
        return studies.order_by("title", "pk") if self.sort == "title" else studies


def filter_choices() -> dict[str, list[str]]:
    """Owners, teams and tags of the studies that the reader may see. One query."""
    own = Study.objects.filter(is_published=False).order_by()
    rows = own.values_list("created_by__username", "team__name", "tags").distinct()[:MOST_CHOICES]
    found: dict[str, set[str]] = {"owners": set(), "teams": set(), "tags": set()}
    for owner, team, tags in rows:
        found["owners"].add(owner or "")
        found["teams"].add(team or "")
        found["tags"].update(tags.split(","))
    return {name: sorted(values - {""}) for name, values in found.items()}


def own_studies() -> QuerySet[Study]:
    """One's own studies with their counts, newest first. One query; take a slice of it.

    Each count is a subquery: a join has a row for every pair, and PostgreSQL counts for the slice
    alone.
    """
    runs = Run.objects.filter(series__study=OuterRef("pk"), tracing=UNTRACED)
    return (
        Study.objects.filter(is_published=False)
        .annotate(
            configuration_count=_number(
                Series.objects.filter(study=OuterRef("pk")),
                "study",
                Count("configuration", distinct=True),
            ),
            run_count=_number(runs, "series__study", Count("pk")),
            done_count=_number(runs.filter(state=RunState.DONE), "series__study", Count("pk")),
            latest=Subquery(_grouped(runs, "series__study", Max("ended_at"))),
        )
        .order_by("-created_at", "title", "pk")
    )


def published_studies() -> QuerySet[Study]:
    """Papers, those with most to compare first; each has ``score_count``. One query."""
    scores = Score.objects.filter(series__study=OuterRef("pk"))
    return (
        Study.objects.filter(is_published=True)
        .annotate(score_count=_number(scores, "series__study", Count("pk")))
        .order_by("-score_count", "-published_on", "title")
    )


def _grouped(rows: QuerySet[Any], by: str, aggregate: Any) -> QuerySet[Any, Mapping[str, Any]]:
    # The models' own orders would become part of the grouping.
    return rows.order_by().values(in_study=F(by)).annotate(found=aggregate).values("found")


def _number(rows: QuerySet[Any], by: str, aggregate: Any) -> Coalesce:
    return Coalesce(Subquery(_grouped(rows, by, aggregate), output_field=IntegerField()), 0)
