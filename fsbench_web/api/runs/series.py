"""Series: the repeats of one configuration under the same circumstances."""

from typing import Annotated, Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.protocol.schemas import (
    LARGEST_ID,
    Answer,
    Lookup,
    Page,
    With,
    found,
    page,
    page_of,
    value_at,
)
from fsbench_web.api.results.studies import OfStudy, RunConfiguration
from fsbench_web.api.runs.schemas import ScoreOut, StackLuns
from fsbench_web.platform import limits
from fsbench_web.studies.models import UNTRACED, RunState, Score, Series

router = Router()


class SeriesFilters(Page):
    study: OfStudy = Field("", description="slug of a study")
    filesystem: Annotated[str, Lookup("configuration__filesystem")] = Field(
        "", description="ext4, xfs, ..."
    )


class SeriesOut(Answer):
    """What all of its runs have in common; null and empty where it is not known."""

    id: int
    study: str = value_at("study.slug")
    configuration: RunConfiguration
    workload: str | None = value_at("workload.slug", None)
    hardware: str | None = value_at("hardware.slug", None)
    lun: str | None = value_at("lun.name", None)
    journal: str | None = value_at("journal_lun.name", None)
    stack: StackLuns = value_at("stack_luns")
    worker: str | None = value_at("lun.worker.name", None)
    kernel: str
    distribution: str
    preparation: dict[str, Any]
    runs: int = value_at("run_count")
    runs_done: int = value_at("done_count")
    links: dict[str, str]

    @staticmethod
    def resolve_links(series: Any) -> dict[str, str]:
        return {
            "self": f"/api/v1/series/{series.pk}",
            "study": f"/api/v1/studies/{series.study.slug}",
            "history": f"/api/v1/history?series={series.pk}",
        }


class SeriesWithScores(SeriesOut):
    """``scores`` are over all finished repeats: 2,000 of them from ``offset`` on, of
    ``scores_total``. ``run_ids`` are the first 5,000; `/runs?series=` lists all, extra runs too.
    """

    run_ids: list[int]
    scores: list[ScoreOut]
    scores_total: int


class ScorePart(Schema):
    """Which part of the scores; `Link` leads to the next."""

    offset: int = Field(0, ge=0, le=LARGEST_ID)


@router.get("/series", response=page_of("ManySeries", series=SeriesOut), summary="Series")
@requires(Action.READ)
def list_series(
    request: HttpRequest, response: HttpResponse, filters: Query[SeriesFilters]
) -> dict[str, Any]:
    """All series, or those of one study or file system."""
    return page(request, response, _series_rows().order_by("-id"), filters, "series")


@router.get("/series/{int:series_id}", response=SeriesWithScores, summary="One series")
@requires(Action.READ)
def get_series(
    request: HttpRequest, response: HttpResponse, series_id: int, filters: Query[ScorePart]
) -> With:
    """Its circumstances, its runs and its scores."""
    rows = _series_rows().filter(pk=series_id)
    row = found(rows, f"There is no series {series_id}; /api/v1/series lists them.")
    scores = Score.objects.filter(series=row).order_by("id")
    total, limit, start = scores.count(), limits.MOST_LISTED_SCORES, filters.offset
    if start + limit < total:
        response["Link"] = f'<{request.path}?offset={start + limit}>; rel="next"'
    runs = row.runs.filter(tracing=UNTRACED).order_by("id").values_list("id", flat=True)
    return With(
        row,
        run_ids=list(runs[: limits.MOST_LISTED]),
        scores=list(scores.values(*ScoreOut.model_fields)[start : start + limit]),
        scores_total=total,
    )


def _series_rows() -> Any:
    is_untraced = Q(runs__tracing=UNTRACED)
    return Series.objects.select_related(
        *("study", "configuration", "workload", "hardware", "lun__worker", "journal_lun")
    ).annotate(
        run_count=Count("runs", filter=is_untraced),
        done_count=Count("runs", filter=is_untraced & Q(runs__state=RunState.DONE)),
    )
