"""The list of studies, and the matrices of one test of a study."""

from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Avg, Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from fsbench_web.figures import heatmap
from fsbench_web.scoring import testnames
from fsbench_web.scoring.categories import MEAN
from fsbench_web.scoring.quality import FLAGS
from fsbench_web.scoring.units import UnknownUnit, lower_is_better
from fsbench_web.studies import run_quality
from fsbench_web.studies.cells import Cell
from fsbench_web.studies.models import Measurement, RunState, Score, Series, Study
from fsbench_web.studies.study_list import own_studies, published_studies

OWN_STUDIES_SHOWN = 48


@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    """All studies, own ones first and a page of them at a time."""
    page = Paginator(own_studies(), OWN_STUDIES_SHOWN).get_page(request.GET.get("page"))
    return render(
        request,
        "studies/studies.html",
        {"published": published_studies(), "page": page},
    )


# Of all heat maps of a page together.
MAX_CELLS = 40_000
MAPS_SHOWN = 12


@require_safe
def matrix(request: HttpRequest, slug: str) -> HttpResponse:
    """Heat maps of one test (``?test=``): for each series the mean of its repeats, cell by cell.

    MAPS_SHOWN series a page (``?page=``). The maps of all pages have one colour scale, so that a
    colour means the same speed in each.
    """
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise Http404(
            f'There is no study "{slug}". The list of studies, /studies/, has all that there are.'
        )
    measured = Measurement.objects.filter(
        run__series__study=study,
        run__state=RunState.DONE,
        record_size_kb__isnull=False,
        file_size_kb__isnull=False,
    )
    tests = _tests_with_a_matrix(study)
    test = request.GET.get("test") or (tests[0] if tests else "")
    name, load = testnames.parts(test)
    of_test = measured.filter(test=name, load=load)
    page = Paginator(_series_of(study, of_test), MAPS_SHOWN).get_page(request.GET.get("page"))
    series = {row.pk: row for row in page}
    if test not in tests or not series:
        raise Http404(
            f'The study "{study.title}" has no finished run with a matrix of "{test}". '
            f"Its page, /studies/{study.slug}/, shows what it has."
        )
    of_page = of_test.filter(run__series__in=list(series))
    means = list(
        of_page.values("run__series_id", "unit", "record_size_kb", "file_size_kb")
        .annotate(mean=Avg("value"))
        .order_by("run__series_id", "unit")[: MAX_CELLS + 1]
    )
    too_many = len(means) > MAX_CELLS
    maps: dict[tuple[int, str], dict[tuple[int, int], float | None]] = defaultdict(dict)
    values: dict[str, list[float]] = defaultdict(list)
    for row in means if not too_many else []:
        # measured leaves out what has no sizes, which the type does not know.
        cell = (row["record_size_kb"] or 0, row["file_size_kb"] or 0)
        maps[row["run__series_id"], row["unit"]][cell] = row["mean"]
        values[row["unit"]].append(row["mean"])
    limits = _limits(study, test, values, is_whole=page.paginator.num_pages == 1)
    flagged = _flagged(of_page) if maps else {}
    figures = [
        (
            series[series_id],
            heatmap.matrix_plain(
                cells,
                unit,
                f"{testnames.label(test)}: {series[series_id].configuration}",
                _is_lower_better(unit),
                limits[unit],
                flagged=flagged.get((series_id, unit)),
                edges=run_quality.edges(series[series_id].quality, test),
            ),
        )
        for (series_id, unit), cells in maps.items()
    ]
    context = {
        "study": study,
        "test": test,
        "test_label": testnames.label(test),
        "tests": [(name, testnames.label(name)) for name in tests],
        "maps": figures,
        "page": page,
        "query": urlencode({"test": test}),
        "too_many": too_many,
        "max_cells": MAX_CELLS,
    }
    return render(request, "studies/study_matrix.html", context)


def _tests_with_a_matrix(study: Study) -> list[str]:
    """The tests of which any run has cells, with their loads, in the order of all other pages.

    Their scores are asked: a run has a thousand measurements, and a test a few scores.
    """
    tests = (
        Score.objects.filter(series__study=study, origin="computed")
        .exclude(category=MEAN)
        .order_by()
        .values_list("test", flat=True)
        .distinct()
    )
    return sorted(tests, key=testnames.place)


def _series_of(study: Study, measured: QuerySet[Measurement]) -> QuerySet[Series]:
    """The series of the study that have any of the measurements."""
    return (
        Series.objects.filter(Exists(measured.filter(run__series=OuterRef("pk"))), study=study)
        .select_related("configuration", "workload", "hardware", "lun")
        .annotate(done_count=Count("runs", filter=Q(runs__state=RunState.DONE)))
        .order_by("pk")
    )


def _limits(
    study: Study, test: str, shown: Mapping[str, list[float]], is_whole: bool
) -> dict[str, tuple[float, float]]:
    """The ends of the colour scale by unit; ``shown`` are the means of one page of the maps.

    Where that is not all (not ``is_whole``), the smallest and the largest value of any repeat of
    the study, which are the ``minimum`` and ``maximum`` of its scores.
    """
    found = {unit: (min(means), max(means)) for unit, means in shown.items()}
    if is_whole:
        return found
    ends = (
        Score.objects.filter(series__study=study, test=test, category__in=("minimum", "maximum"))
        .order_by()
        .values_list("unit")
        .annotate(Min("value"), Max("value"))
    )
    for unit, low, high in ends:
        if unit in found:
            found[unit] = (min(low, found[unit][0]), max(high, found[unit][1]))
    return found


def _flagged(measured: QuerySet[Measurement]) -> dict[tuple[int, str], dict[str, set[Cell]]]:
    """The cells of each flag in any repeat, by series and unit, for a heat map."""
    found: dict[tuple[int, str], dict[str, set[Cell]]] = {}
    for series_id, unit, record_kb, file_kb, flags in (
        measured.filter(flags__isnull=False)
        .order_by()
        .values_list("run__series_id", "unit", "record_size_kb", "file_size_kb", "flags")
        .distinct()
    ):
        of_series = found.setdefault((series_id, unit), {})
        for slug in flags or ():
            words = FLAGS[slug].of_cells if slug in FLAGS else slug
            of_series.setdefault(words, set()).add((record_kb or 0, file_kb or 0))
    return found


def _is_lower_better(unit: str) -> bool:
    try:
        return lower_is_better(unit)
    except UnknownUnit:
        return False
