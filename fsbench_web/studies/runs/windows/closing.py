"""What of a job is not begun because it would not end before its time, and its end."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from fsbench_web.core.numbers import duration
from fsbench_web.platform import clock
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import ACTIVE_STATES, Job, Run, RunState
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.runs.lifecycle import UnstartedRuns
from fsbench_web.studies.runs.queue import IN_TURN
from fsbench_web.studies.runs.windows import durations, forecast, words
from fsbench_web.studies.runs.windows.forecast import Window


def is_over(job: Job | None, now: datetime) -> bool:
    """Whether no run of the job may begin any more."""
    return job is not None and job.stop_before is not None and job.stop_before <= now


def not_begun(run: Run, job: Job | None, now: datetime) -> UnstartedRuns | None:
    """What is left out where this run is in turn, with its block if that does not fit; None: it may
    begin. Four queries for a job with an end, none for others.
    """
    if job is None or job.stop_before is None:
        return None
    if is_over(job, now):
        return UnstartedRuns([run.pk], late_reason(job))
    begun = begun_blocks(job)
    is_whole = run.block != "" and run.block not in begun
    queued = _with_series(job.runs.filter(state=RunState.QUEUED)).order_by(*IN_TURN)
    waiting = _waiting_from(run, list(queued), is_whole=is_whole)
    items = [
        forecast.Item(other.block, duration_s)
        for other, duration_s in zip(waiting, durations.of_runs(waiting), strict=True)
    ]
    room_s = (job.stop_before - now).total_seconds()
    if 0 not in forecast.left_out(items, room_s, begun):
        return None
    same = [place for place, other in enumerate(waiting) if other.block == run.block]
    places = same if is_whole else [0]
    needed_s = sum(items[place].duration_s or 0 for place in places)
    subject = f"this round of {len(places)} runs" if len(places) > 1 else "this run"
    reason = (
        f"Left out: its job stops before {words.time(job.stop_before)}, and {subject} would take "
        f"about {duration(needed_s)} of the {duration(room_s)} that were left."
    )
    return UnstartedRuns([waiting[place].pk for place in places], reason)


def late_reason(job: Job) -> str:
    """Why what still waits is not begun."""
    assert job.stop_before is not None
    return f"Left out: its job stops before {words.time(job.stop_before)}, and that time is over."


def end_expired_runs() -> list[int]:
    """End what waits in jobs that are out of time, even if none of it is in turn. Returns them."""
    waiting = Run.objects.filter(state=RunState.QUEUED, job__stop_before__lte=clock.now())
    job_ids = waiting.order_by("job").values_list("job", flat=True).distinct()
    over = [pk for pk in job_ids if pk is not None]
    for job_id in over:
        with transaction.atomic():
            job = Job.objects.select_for_update(no_key=True).get(pk=job_id)
            left = job.runs.filter(state=RunState.QUEUED).order_by("id")
            lifecycle.leave_out(
                UnstartedRuns(list(left.values_list("id", flat=True)), late_reason(job))
            )
    return over


def begun_blocks(job: Job) -> set[str]:
    """The blocks with a run that is done or under way. One query."""
    runs = job.runs.filter(state__in=[*ACTIVE_STATES, RunState.DONE]).exclude(block="")
    return set(runs.order_by().values_list("block", flat=True).distinct())


def window(
    job: Job, runs: Sequence[Run], remaining_s: Sequence[float | None], now: datetime
) -> Window | None:
    """What the times of a job leave of its unfinished runs, which are in turn; None for a job
    without times. ``remaining_s`` is what is left of each, where it is known. One query.
    """
    if not runs or (job.start_at is None and job.stop_before is None):
        return None
    begins_at = max(now, job.start_at) if job.start_at is not None else now
    if job.stop_before is None:
        return Window(begins_at, None, len(runs), (), 0, ())
    items = [
        forecast.Item(run.block, seconds) for run, seconds in zip(runs, remaining_s, strict=True)
    ]
    room_s = (job.stop_before - begins_at).total_seconds()
    left_out = forecast.left_out(items, room_s, begun_blocks(job))
    out = [place for place in sorted(left_out) if not runs[place].is_active]
    labels = tuple((words.block_number(runs[place].block), label(runs[place])) for place in out)
    unknown = sum(seconds is None for seconds in remaining_s)
    return Window(begins_at, job.stop_before, len(runs), tuple(out), unknown, labels)


def expired_runs(job: Job) -> list[tuple[int, int | None, str]]:
    """(run, its block, its configuration) of what the job's time left out. One query at most."""
    if job.stop_before is None:
        return []
    rows = job.runs.filter(cause=Cause.OUT_OF_TIME).order_by(*IN_TURN)
    return [(run.pk, words.block_number(run.block), label(run)) for run in _with_series(rows)]


def label(run: Run) -> str:
    """What a run is of, in a list of what is left out."""
    return words.OF_REFERENCE if run.is_reference else run.series.configuration.label


def _waiting_from(run: Run, waiting: list[Run], *, is_whole: bool) -> list[Run]:
    """What waits from this run on; all of its block, where that is begun as a whole."""
    turn = next((place for place, other in enumerate(waiting) if other.pk == run.pk), 0)
    before = [other for other in waiting[:turn] if is_whole and other.block == run.block]
    return before + waiting[turn:]


def _with_series(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.select_related("series__configuration", "series__workload")
