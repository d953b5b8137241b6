"""How much a page compares at once when nobody said what to compare.

Without a choice of studies a comparison takes all, which with thousands of runs is more than a page
can show or a reader can read. The page then takes the latest studies, and says so. CSV and API
answer what they are asked, however much it is.
"""

from dataclasses import dataclass, replace

from django.db.models import Count

from fsbench_web.compare.spec import ComparisonSpec
from fsbench_web.studies.models import Score, Selection, Study

MOST_SCORES = 5000
LATEST = 8


@dataclass(frozen=True)
class Bounded:
    """The comparison that a page shows; ``studies`` is of how many it shows a part, else None."""

    spec: ComparisonSpec
    studies: int | None = None


def bounded(spec: ComparisonSpec) -> Bounded:
    """``spec`` itself unless it has no studies and more than MOST_SCORES scores.

    Then the latest studies that have scores, as many of LATEST as stay below that, and at least
    one. One query; four where there is too much.
    """
    if spec.studies:
        return Bounded(spec)
    wanted = Score.selections.filter(selection=spec.cells or Selection.ALL).order_by()
    if spec.tests:
        wanted = wanted.filter(test__in=spec.tests)
    if spec.categories:
        wanted = wanted.filter(category__in=spec.categories)
    if not wanted.values_list("pk")[MOST_SCORES : MOST_SCORES + 1]:
        return Bounded(spec)
    latest = list(Study.objects.order_by("-created_at", "-pk").values_list("pk", "slug")[:LATEST])
    counts = dict(
        wanted.filter(series__study__in=[pk for pk, _ in latest])
        .values_list("series__study")
        .annotate(Count("pk"))
    )
    taken: list[str] = []
    together = 0
    for pk, slug in latest:
        together += counts.get(pk, 0)
        if taken and together > MOST_SCORES:
            break
        if counts.get(pk):
            taken.append(slug)
    if not taken:
        return Bounded(spec)
    return Bounded(replace(spec, studies=tuple(taken)), Study.objects.count())
