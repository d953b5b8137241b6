"""What is new on a site: jobs that run, runs that failed, lines that got slower, latest answers."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.cache import cache
from django.db.models import Count, Exists, IntegerField, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import QueryDict
from django.urls import reverse

from fsbench_web.compare.models import WatchMessage
from fsbench_web.compare.tables.delta_tables import answer_of
from fsbench_web.compare.views import shown
from fsbench_web.compare.watches import rights, triage
from fsbench_web.core.comparison.answer_shown import basis, headline
from fsbench_web.core.stats.answers import FASTER
from fsbench_web.platform import clock
from fsbench_web.studies.jobs.listing import BAD_STATES
from fsbench_web.studies.models import ACTIVE_STATES, Run, RunState, Series, Study
from fsbench_web.studies.runs.listing import listed_runs

NEWS_DAYS = 7
MOST_RUNS, MOST_SLOWER, MOST_ANSWERS = 8, 3, 5
# Without new runs an answer changes only if scores are judged again: so late this page says it.
ANSWER_S = 10
_UNFINISHED = (RunState.QUEUED, *ACTIVE_STATES)


def run_news() -> list[Any]:
    """What runs, the first run of each waiting job, and what failed this week. One query.

    ``job_runs`` and ``job_finished`` of each count the runs of its job.
    """
    of_job = Run.objects.filter(job=OuterRef("job"))
    active = Run.objects.filter(job=OuterRef("job"), state__in=ACTIVE_STATES)
    waiting = Run.objects.filter(~Exists(active), job__isnull=False, state=RunState.QUEUED)
    firsts = waiting.order_by().values("job").annotate(first=Min("pk")).values("first")
    failed = Q(
        state__in=BAD_STATES,
        ended_at__gte=clock.now() - timedelta(days=NEWS_DAYS),
        retried_as=None,
    )
    runs = (
        listed_runs()
        .filter(failed | Q(state__in=ACTIVE_STATES) | Q(pk__in=firsts))
        .annotate(
            job_runs=_count(of_job),
            job_finished=_count(of_job.exclude(state__in=_UNFINISHED)),
        )
    )
    return list(runs[:MOST_RUNS])


def _count(runs: QuerySet[Run]) -> Coalesce:
    counted = runs.order_by().values("job").annotate(found=Count("pk")).values("found")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def slower_lines(user: User | AnonymousUser) -> list[WatchMessage]:
    """What this person's watches found slower lately, newest first. No query without a user."""
    if not isinstance(user, User):
        return []
    since = clock.now() - timedelta(days=NEWS_DAYS)
    messages = WatchMessage.objects.filter(
        watch__user=user,
        kind=WatchMessage.Kind.SLOWER,
        state__in=triage.OPEN,
        created_at__gte=since,
    ).select_related("watch")
    return rights.visible_messages(messages[:MOST_SLOWER])


def latest_answers(studies: Iterable[Any]) -> list[dict[str, Any]]:
    """The answers of ``own_studies`` that compare anything, latest run first."""
    with_runs = [study for study in studies if study.done_count > 1 and study.latest]
    newest = sorted(with_runs, key=lambda study: study.latest, reverse=True)[:MOST_ANSWERS]
    return [found for study in newest if (found := _answer_of(study)) is not None]


def _answer_of(study: Any) -> dict[str, Any] | None:
    key = f"answer:{study.pk}:{study.title}:{study.done_count}:{study.latest.timestamp()}"
    key = "".join(letter if letter.isalnum() else "_" for letter in key)[:200]
    stored = cache.get(key)
    if stored is None:
        stored = (_made_answer(study),)
        cache.set(key, stored, ANSWER_S)
    found: dict[str, Any] | None = stored[0]
    return found


def _made_answer(study: Study) -> dict[str, Any] | None:
    """The answer of a study in a line: ``work`` and ``places`` say what was measured, and where."""
    page = shown.read(QueryDict(), study)
    tables = [table for section in page.sections for table in section.tables]
    answer = answer_of(tables, page.spec.baseline)
    if not answer.workloads:
        return None
    luns = Series.objects.filter(study=study, lun__isnull=False).order_by()
    places = sorted(set(luns.values_list("lun__name", flat=True)[:100]))
    works = [work.workload for work in answer.workloads if work.workload]
    return {
        "slug": study.slug,
        "title": study.title,
        "address": reverse("studies:study", args=[study.slug]),
        "headline": headline(answer),
        "names_leader": answer.status == FASTER,
        "work": _named(works) or f"{len(answer.tests)} tests",
        "places": _named(places) or "imported",
        "basis": basis(answer),
        "at": study.latest,  # type: ignore[attr-defined]
    }


def _named(names: list[str]) -> str:
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return ", ".join(names[:2]) + more
