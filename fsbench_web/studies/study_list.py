"""Studies as lists show them: in which order, and with how much in each."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, F, IntegerField, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from fsbench_web.studies.models import Run, RunState, Score, Series, Study


def listed_studies() -> tuple[list[Study], list[Study]]:
    """One's own studies, newest first, and published ones, those with most to compare first.

    Each has ``configuration_count``, ``run_count``, ``done_count``, ``score_count`` and ``latest``,
    when its last run ended. Two queries; counts come each from their own table, because a join of
    runs with scores has a row for every pair.
    """
    of_study = {"series__study": OuterRef("pk")}
    runs = Run.objects.filter(**of_study)
    studies = Study.objects.annotate(
        configuration_count=_number(
            Series.objects.filter(study=OuterRef("pk")),
            "study",
            Count("configuration", distinct=True),
        ),
        run_count=_number(runs, "series__study", Count("pk")),
        done_count=_number(runs.filter(state=RunState.DONE), "series__study", Count("pk")),
        score_count=_number(Score.objects.filter(**of_study), "series__study", Count("pk")),
        latest=Subquery(_grouped(runs, "series__study", Max("ended_at"))),
    )
    own = studies.filter(is_published=False).order_by("-created_at", "title")
    published = studies.filter(is_published=True).order_by("-score_count", "-published_on", "title")
    return list(own), list(published)


def _grouped(rows: QuerySet[Any], by: str, what: Any) -> QuerySet[Any, Mapping[str, Any]]:
    # The models' own orders would become part of the grouping.
    return rows.order_by().values(in_study=F(by)).annotate(found=what).values("found")


def _number(rows: QuerySet[Any], by: str, what: Any) -> Coalesce:
    return Coalesce(Subquery(_grouped(rows, by, what), output_field=IntegerField()), 0)
