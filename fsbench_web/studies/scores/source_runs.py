"""The runs behind scores, and what their environments say, by series."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, Max, Min, QuerySet, When
from django.db.models.functions import Coalesce

from fsbench_web.catalog.models import Environment, without_paths
from fsbench_web.core.activity.durability import NOTHING_LOST
from fsbench_web.core.activity.promises import KEPT
from fsbench_web.core.scoring.quality import FAILED_CRASH_POINTS, NOT_FLUSHED
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.studies.models import UNTRACED, Run, RunState, Score

MOST_LISTED = 900
"""Above this many series, runs are read by study and not by a list of series."""


def spans_of(series_ids: Collection[int]) -> dict[int, tuple[datetime, datetime]]:
    """First and last date of each series' finished runs, if all are dated. One query."""
    if len(series_ids) > MOST_LISTED:
        return {}
    began = Case(When(origin=Run.Origin.MEASURED, then=F("started_at")))
    when = Coalesce(F("measured_at"), began)
    rows = (
        _finished(series_ids)
        .values_list("series_id")
        .annotate(first=Min(when), last=Max(when), runs=Count("pk"), known=Count(when))
    )
    return {pk: (first, last) for pk, first, last, runs, known in rows if runs == known}


def page_cached_series(series_ids: Collection[int]) -> frozenset[int]:
    """Series of own workloads with buffered data that fit into memory. One query."""
    if not series_ids or len(series_ids) > MOST_LISTED:
        return frozenset()
    rows = (
        _finished(series_ids)
        .filter(conditions__before__memory_total_bytes__isnull=False)
        .values_list(
            *("series_id", "series__workload__tool", "series__workload__parameters"),
            "conditions__before__memory_total_bytes",
        )
    )
    return frozenset(
        pk
        for pk, tool, parameters, memory in rows
        if tool is not None and _measures_memory(tool, parameters, memory)
    )


def series_without(flag: str, series_ids: Collection[int]) -> frozenset[int]:
    """Series with a finished run that was checked and does not carry the flag: it flushed as its
    syncs need (NOT_FLUSHED), or lost nothing at crash points (FAILED_CRASH_POINTS). One query.
    """
    if not series_ids or len(series_ids) > MOST_LISTED:
        return frozenset()
    shown = {
        NOT_FLUSHED: {"conditions__promise__verdict": KEPT},
        FAILED_CRASH_POINTS: {"conditions__durability__verdict": NOTHING_LOST},
    }
    runs = _finished(series_ids).filter(**shown[flag])
    return frozenset(runs.values_list("series_id", flat=True).distinct())


def _measures_memory(tool: str, parameters: Mapping[str, object], memory_bytes: int) -> bool:
    try:
        return workload_of(tool, parameters).measures_memory(memory_bytes)
    except ParameterError:  # imported, or of a version that had other parameters
        return False


def environments_of(
    series_ids: Collection[int],
) -> dict[int, dict[str, dict[str, frozenset[str]]]]:
    """The environments of finished runs: {series: {section: {label: values}}}. Two queries."""
    if len(series_ids) > MOST_LISTED:
        return {}
    runs = _finished(series_ids).filter(environment__isnull=False)
    return facts_by_group(list(runs.values_list("series_id", "environment_id").distinct()))


def facts_by_group(
    pairs: Collection[tuple[int, int]],
) -> dict[int, dict[str, dict[str, frozenset[str]]]]:
    """The facts of environments, by (group, environment): {group: {section: {label: values}}}.

    One query; none without pairs.
    """
    if not pairs:
        return {}
    facts = dict(
        Environment.objects.filter(pk__in={pk for _, pk in pairs}).values_list("pk", "facts")
    )
    by_group: dict[int, dict[str, dict[str, set[str]]]] = {}
    for group, environment_id in sorted(pairs):
        of_group = by_group.setdefault(group, {})
        for section, rows in without_paths(facts[environment_id]).items():
            for label, value in rows:
                of_group.setdefault(section, {}).setdefault(label, set()).add(value)
    return {
        group: {
            section: {label: frozenset(values) for label, values in rows.items()}
            for section, rows in of_group.items()
        }
        for group, of_group in by_group.items()
    }


def _finished(series: Collection[int] | QuerySet[Any, Any]) -> QuerySet[Run]:
    keys = series if isinstance(series, QuerySet) else list(series)
    runs = Run.objects.filter(state=RunState.DONE, tracing=UNTRACED, series__in=keys)
    return runs.order_by()


def runs_of_scores(scores: QuerySet[Score]) -> QuerySet[Run]:
    return _finished(scores.order_by().values("series"))


def count_runs_of_scores(scores: QuerySet[Score], studies: Collection[str]) -> int:
    """How many finished runs the series of the scores have, in these ``studies``. One query."""
    runs = _finished(scores.order_by().values("series").distinct())
    return (runs.filter(series__study__slug__in=list(studies)) if studies else runs).count()
