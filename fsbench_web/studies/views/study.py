"""The list of studies, and the matrices of one test of a study."""

from collections import defaultdict
from collections.abc import Iterable
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Count, Exists, Max, Min, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.categories import MEAN
from fsbench_web.core.units import is_known, lower_is_better
from fsbench_web.figures import heatmap
from fsbench_web.studies.models import COMPUTED, UNTRACED, RunState, Score, Series, Study
from fsbench_web.studies.runs.shown import quality
from fsbench_web.studies.scores.cells import Matrix, mean_maps
from fsbench_web.studies.views.study_list import (
    SORTS,
    StudyFilter,
    filter_choices,
    own_studies,
    published_studies,
)

OWN_STUDIES_SHOWN = 48


@require_safe
@requires(Action.READ)
def studies(request: HttpRequest) -> HttpResponse:
    """All studies: own ones as the address filters them, a page at a time; then papers."""
    wanted = StudyFilter.from_query(request.GET)
    studies = wanted.apply(own_studies()).select_related("created_by", "team")
    page = Paginator(studies, OWN_STUDIES_SHOWN).get_page(request.GET.get("page"))
    context = {
        "filter": wanted,
        "query": wanted.to_query(),
        "sorts": SORTS,
        **filter_choices(),
        "published": published_studies(),
        "page": page,
    }
    return render(request, "studies/studies.html", context)


# Of all heat maps of a page together.
MAX_CELLS = 40_000
MAPS_SHOWN = 12


def study_or_404(slug: str, **asked: Exists | Q) -> Study:
    """The study with what is ``asked`` of it, or a 404 that says where all of them are."""
    study = Study.objects.filter(slug=slug).annotate(**asked).first()
    if study is None:
        raise Http404(
            f'There is no study "{slug}". The list of studies, /studies/, has all that there are.'
        )
    return study


@require_safe
@requires(Action.READ)
def matrix(request: HttpRequest, slug: str) -> HttpResponse:
    """Heat maps of one test (``?test=``), MAPS_SHOWN series a page, with one colour scale."""
    study = study_or_404(slug)
    tests = _tests_with_a_matrix(study)
    test = request.GET.get("test") or (tests[0] if tests else "")
    scored = Score.objects.filter(series__study=study, origin=COMPUTED, test=test)
    series_ids = scored.exclude(category=MEAN).order_by("series").values_list("series", flat=True)
    page = Paginator(list(series_ids.distinct()), MAPS_SHOWN).get_page(request.GET.get("page"))
    if test not in tests or not page:
        raise Http404(
            f'The study "{study.title}" has no finished run with a matrix of "{test}". '
            f"Its page, /studies/{study.slug}/, shows what it has."
        )
    series = _series_by_key(page.object_list)
    means = mean_maps(series, test, MAX_CELLS)
    too_many = means is None
    maps = means or []
    block = testnames.block_word(test, is_published=study.is_published)
    limits = _limits(study, test, maps, is_whole=page.paginator.num_pages == 1)
    figures = [
        (
            series[mean_map.series_id],
            heatmap.matrix(
                mean_map.means,
                mean_map.unit,
                f"{testnames.label(test)}: {series[mean_map.series_id].configuration}",
                is_known(mean_map.unit) and lower_is_better(mean_map.unit),
                limits[mean_map.unit],
                flagged=mean_map.flagged,
                edges=quality.edges(series[mean_map.series_id].quality, test),
                block=block,
            ),
        )
        for mean_map in maps
    ]
    context = {
        "study": study,
        "test": test,
        "test_label": testnames.label(test),
        "block_word": block,
        "tests": [(name, testnames.label(name)) for name in tests],
        "maps": figures,
        "page": page,
        "query": urlencode({"test": test}),
        "too_many": too_many,
        "max_cells": MAX_CELLS,
    }
    return render(request, "studies/study_matrix.html", context)


def _tests_with_a_matrix(study: Study) -> list[str]:
    """The tests with cells of any run, in the usual order. Scores are few, numbers many."""
    tests = (
        Score.objects.filter(series__study=study, origin=COMPUTED)
        .exclude(category=MEAN)
        .order_by()
        .values_list("test", flat=True)
        .distinct()
    )
    return sorted(tests, key=testnames.place)


def _series_by_key(series_ids: Iterable[int]) -> dict[int, Series]:
    """The series by key, with how many finished runs each has."""
    series = Series.objects.filter(pk__in=list(series_ids))
    return {
        row.pk: row
        for row in series.select_related("configuration", "workload", "hardware", "lun")
        .annotate(
            done_count=Count("runs", filter=Q(runs__state=RunState.DONE, runs__tracing=UNTRACED))
        )
        .order_by("pk")
    }


def _limits(
    study: Study, test: str, maps: Iterable[Matrix], is_whole: bool
) -> dict[str, tuple[float, float]]:
    """The ends of the colour scale by unit: of these ``maps``, or of all scores of the study."""
    means: dict[str, list[float]] = defaultdict(list)
    for mean_map in maps:
        means[mean_map.unit] += mean_map.means.values()
    limits = {unit: (min(of_unit), max(of_unit)) for unit, of_unit in means.items()}
    if is_whole:
        return limits
    ends = (
        Score.objects.filter(series__study=study, test=test, category__in=("minimum", "maximum"))
        .order_by()
        .values_list("unit")
        .annotate(Min("value"), Max("value"))
    )
    for unit, low, high in ends:
        if unit in limits:
            limits[unit] = (min(low, limits[unit][0]), max(high, limits[unit][1]))
    return limits
