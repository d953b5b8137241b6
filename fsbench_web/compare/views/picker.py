"""What the compare page shows before anything is chosen, and that papers are not mixed in unasked.

Printed figures were measured on other machines, often by other rules: beside measurements they are
no contenders. So a page that names no study takes measurements alone, and says what it leaves out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db.models import Count, Exists, OuterRef, Q, Subquery, Sum

from fsbench_web.compare.choices import Choice
from fsbench_web.compare.selection.fields import CONTENDERS
from fsbench_web.compare.selection.properties import PROPERTIES
from fsbench_web.compare.selection.spec import EVERYTHING, ComparisonSpec
from fsbench_web.compare.tables.query import field_of
from fsbench_web.studies.models import UNTRACED, Run, RunState, Score, Series, Study
from fsbench_web.studies.scores.queries import NO_PAPERS, ONLY_PAPERS

MOST_STUDIES = 30
"""Of each kind, the newest: all others are on the page of the studies."""
_USUAL = ("filesystem", "configuration", "kernel", "scheduler", "hardware", "lun", "study")


@dataclass(frozen=True)
class StudyChoice:
    """A study to choose, with the number of its finished runs and what it compares."""

    slug: str
    title: str
    published_on: str
    runs: int
    configurations: int
    filesystems: tuple[str, ...]


@dataclass(frozen=True)
class Picker:
    """``more_studies`` and ``more_papers`` are how many studies with scores are not listed."""

    measured: list[StudyChoice]
    papers: list[StudyChoice]
    more_studies: int
    more_papers: int
    contenders: list[Choice]
    filesystems: list[str]


def picker() -> Picker:
    """Studies that have scores. Six queries, and no score is read."""
    scored = Study.objects.filter(Exists(Score.objects.filter(series__study=OuterRef("pk"))))
    newest = scored.filter(is_published=False).order_by("-created_at", "-pk")
    papers = scored.filter(is_published=True).order_by("-published_on", "title")
    listed = [*newest[:MOST_STUDIES], *papers[:MOST_STUDIES]]
    picked = _study_choices(listed)
    measured = [
        entry for entry, study in zip(picked, listed, strict=True) if not study.is_published
    ]
    printed = [entry for entry, study in zip(picked, listed, strict=True) if study.is_published]
    counts = scored.order_by().aggregate(
        own=Count("pk", filter=Q(is_published=False)), all=Count("pk")
    )
    names = [slug for slug in _USUAL if slug in PROPERTIES]
    return Picker(
        measured,
        printed,
        counts["own"] - len(measured),
        counts["all"] - counts["own"] - len(printed),
        [Choice(slug, CONTENDERS[slug], slug == EVERYTHING.by) for slug in names],
        sorted({name for entry in picked for name in entry.filesystems}),
    )


def _study_choices(studies: Iterable[Study]) -> list[StudyChoice]:
    listed = list(studies)
    ids = [study.pk for study in listed]
    compared: dict[int, set[tuple[int, str]]] = {pk: set() for pk in ids}
    columns = ("study", "configuration", "configuration__filesystem")
    series = Series.objects.filter(study__in=ids).order_by()
    for study, configuration, filesystem in series.values_list(*columns).distinct():
        compared[study].add((configuration, filesystem))
    # Series by series, through their index: together PostgreSQL goes through all runs there are.
    done = Run.objects.filter(
        series=OuterRef("pk"), state=RunState.DONE, tracing=UNTRACED
    ).order_by()
    counted = Subquery(done.values("series").annotate(count=Count("pk")).values("count"))
    runs = dict(series.values_list("study").annotate(count=Sum(counted)))
    return [
        StudyChoice(
            *(study.slug, study.title, study.published_on),
            runs.get(study.pk) or 0,
            len(compared[study.pk]),
            tuple(sorted({filesystem for _, filesystem in compared[study.pk]})),
        )
        for study in listed
    ]


def without_scores(slugs: Iterable[str]) -> list[Study]:
    """Those of the studies that hold no score at all. One query, and none for no study."""
    if not (chosen := list(slugs)):
        return []
    studies = Study.objects.filter(slug__in=chosen).order_by("title")
    return list(studies.exclude(Exists(Score.objects.filter(series__study=OuterRef("pk")))))


def papers_left_out(spec: ComparisonSpec) -> int:
    """How many tables of published papers ``spec`` leaves out that its filters would pass.

    Two queries; none where papers are shown, or where it ranks by cells, which papers do not print.
    """
    if spec.papers != NO_PAPERS or spec.is_of_work:
        return 0
    # Which tables there are does not depend on who competes: configurations are read fastest.
    papers = replace(spec.whole, papers=ONLY_PAPERS, by=EVERYTHING.by)
    considered = field_of(papers).considered
    return considered.order_by().values("test", "category").distinct().count()
