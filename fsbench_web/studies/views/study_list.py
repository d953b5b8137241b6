"""Studies as lists show them: in which order, and with how much in each."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, F, IntegerField, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from fsbench_web.studies.models import UNTRACED, Run, RunState, Score, Series, Study


def own_studies() -> QuerySet[Study]:
    """One's own studies, newest first. One query; take a slice of it, never all.

    Each has ``configuration_count``, ``run_count``, ``done_count`` and ``latest``, when its last
    run ended. They are counted for the studies of the slice alone: PostgreSQL puts such columns off
    until it knows which rows it will return. Counts come each from their own table, because a join
    has a row for every pair.
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
