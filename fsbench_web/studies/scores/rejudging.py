"""Judge again: results of older rules, new knowledge of a device, drift of a reference."""

import logging
import time
from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q, QuerySet

from fsbench_web.core.scoring.quality import RULES
from fsbench_web.studies.models import Job, Run, RunState, Series
from fsbench_web.studies.scores import busy, drift, ingest
from fsbench_web.studies.scores.drift import LEAST_DRIFT_PERCENT

logger = logging.getLogger("fsbench.scores")


def waiting(study: str = "", *, everything: bool = False) -> QuerySet[Series]:
    """Series that older rules judged (``everything``: all), but no later version."""
    # Two conditions, because a comparison with a key that is not there is neither true nor false.
    is_old = Q(quality__isnull=True) | ~Q(quality__rules=RULES)
    series = Series.objects.filter(pk__in=Run.objects.filter(state=RunState.DONE).values("series"))
    series = series.exclude(pk__in=judged_later().values("pk"))
    if study:
        series = series.filter(study__slug=study)
    return (series if everything else series.filter(is_old)).order_by("id")


def judged_later(study: str = "") -> QuerySet[Series]:
    """Series that a later version of fsbench judged, by rules that this one does not know."""
    series = Series.objects.filter(quality__rules__gt=RULES)
    return series.filter(study__slug=study) if study else series


def judge(chosen_series: QuerySet[Series]) -> Iterator[Series]:
    """Judge and score each series in its own transaction; yields it. Raises MixedMeasurements."""
    for pk in list(chosen_series.values_list("pk", flat=True)):
        if (series := _judge(pk)) is not None:
            yield series


def judge_waiting(at_most_s: float) -> tuple[int, bool]:
    """Judge ``waiting`` series for so long; returns how many, and whether that was all."""
    end, done = time.monotonic() + at_most_s, 0
    for pk in list(waiting().values_list("pk", flat=True)):
        if time.monotonic() >= end:
            return done, False
        try:
            done += _judge(pk) is not None
        except ingest.MixedMeasurements as error:
            logger.warning("series %d is not judged by the present rules: %s", pk, error)
    return done, True


def _judge(pk: int) -> Series | None:
    series = Series.objects.select_related("workload", "hardware", "lun").filter(pk=pk).first()
    # Another may have deleted it meanwhile.
    if series is not None:
        busy.judge_series(pk)
        ingest.rescore(series)
    return series


def note_drift(job_id: int) -> list[int]:
    """Write how far a job's reference moved around each run; returns the rescored series."""
    job = Job.objects.filter(pk=job_id).first()
    reference_drift = drift.drift_of(job) if job is not None else None
    if job is None or reference_drift is None:
        return []
    runs = list(
        Run.objects.filter(job=job, state=RunState.DONE)
        .exclude(started_at=None)
        .order_by("id")
        .values_list("id", "started_at", "drift_percent", "series_id")
    )
    started: dict[int, datetime] = {
        pk: started_at for pk, started_at, _, _ in runs if started_at is not None
    }
    around = drift.drift_of_runs(reference_drift, started)
    touched = set()
    for pk, _, stored, series_id in runs:
        percent = around.get(pk)
        if percent == stored:
            continue
        Run.objects.filter(pk=pk).update(drift_percent=percent)
        if _has_drifted(percent) != _has_drifted(stored):
            touched.add(series_id)
    for series in Series.objects.filter(pk__in=touched).order_by("id"):
        ingest.rescore(series)
    return sorted(touched)


def jobs_with_references(study: str = "") -> list[int]:
    references = Run.objects.filter(is_reference=True, state=RunState.DONE, job__isnull=False)
    if study:
        references = references.filter(series__study__slug=study)
    return sorted(set(references.values_list("job_id", flat=True)) - {None})


def _has_drifted(percent: float | None) -> bool:
    return percent is not None and abs(percent) >= LEAST_DRIFT_PERCENT
