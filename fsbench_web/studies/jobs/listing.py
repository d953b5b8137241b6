"""Jobs as pages and the API show them: how far they are, and when they will be through."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from fsbench_web.catalog.workers import availability
from fsbench_web.platform import clock
from fsbench_web.studies.models import ACTIVE_STATES, END_STATES, Job, Race, Run, RunState
from fsbench_web.studies.runs.queue import IN_TURN
from fsbench_web.studies.runs.windows import closing, durations
from fsbench_web.studies.runs.windows.durations import Estimate, Experience, Total, total
from fsbench_web.studies.runs.windows.forecast import Window

BAD_STATES = [RunState.FAILED, RunState.LOST]


def listed_jobs() -> QuerySet[Job]:
    """All jobs with the counts of their runs by state, the newest first. One query.

    ``is_racing``: it is a race that has not ended.
    """
    return (
        Job.objects.filter(study__isnull=False)
        .select_related("study", "lun__worker", "created_by")
        .annotate(
            run_count=Count("runs"),
            queued_count=Count("runs", filter=Q(runs__state=RunState.QUEUED)),
            active_count=Count("runs", filter=Q(runs__state__in=ACTIVE_STATES)),
            done_count=Count("runs", filter=Q(runs__state=RunState.DONE)),
            bad_count=Count("runs", filter=Q(runs__state__in=BAD_STATES)),
            cancelled_count=Count("runs", filter=Q(runs__state=RunState.CANCELLED)),
            rerun_count=Count("runs", filter=Q(runs__rerun__gt=0)),
            is_racing=Exists(Race.objects.filter(job=OuterRef("pk"), ended_at=None)),
        )
        .order_by("-id")
    )


def recount(job: Any, runs: Iterable[tuple[str, int]]) -> None:
    """Count a job of ``listed_jobs`` again by its runs on the page: (state, how often rerun)."""
    counted = list(runs)
    states = Counter(state for state, _ in counted)
    job.run_count = len(counted)
    job.queued_count = states[RunState.QUEUED]
    job.active_count = sum(states[state] for state in ACTIVE_STATES)
    job.done_count = states[RunState.DONE]
    job.bad_count = sum(states[state] for state in BAD_STATES)
    job.cancelled_count = states[RunState.CANCELLED]
    job.rerun_count = sum(rerun > 0 for _, rerun in counted)


def state_of(job: Any) -> str:
    """In a word: paused, running, waiting or ended. ``job`` comes from ``listed_jobs``."""
    if not job.queued_count and not job.active_count:
        return "ended"
    if job.active_count:
        return "running"
    return "paused" if job.paused_at is not None else "waiting"


def shown_state_of(job: Any) -> str:
    """``state_of`` as pages say it: a race without a run to come is held until a person acts."""
    state = state_of(job)
    return "held" if state == "ended" and job.is_racing else state


BADGES = {
    **{"paused": "is-warn", "held": "is-warn", "running": "is-running"},
    **{"waiting": "is-queued", "ended": ""},
}


@dataclass(frozen=True)
class Progress:
    """How far a job is: ``share`` is that of the ended runs, 0 to 1.

    ``ends_at`` is None if unknown, if nothing is left, or if the job is paused or stands still.
    """

    share: float
    remaining: Total
    ends_at: datetime | None
    window: Window | None = None


def unfinished_runs(job: Job) -> list[Run]:
    """What waits or runs, with what an estimate needs. One query."""
    return list(
        job.runs.exclude(state__in=END_STATES)
        .select_related("series__configuration", "series__workload")
        .order_by(*IN_TURN)
    )


def standstill_of(job: Any) -> list[str]:
    """Why nothing of a job that waits can start now, whatever else is before it. No query."""
    if state_of(job) != "waiting" or job.lun is None:
        return []
    return list(availability.worker_problems(job.lun.worker))


def progress_of(
    job: Any, now: datetime | None = None, *, is_standing_still: bool = False
) -> Progress:
    """How far a job of ``listed_jobs`` is. Two queries."""
    now = now or clock.now()
    left = unfinished_runs(job)
    ended = job.run_count - len(left)
    share = ended / job.run_count if job.run_count else 0.0
    seen = Experience(run.series.workload_id for run in left if run.series.workload_id is not None)
    estimates = [_remaining(run, seen, now) for run in left]
    window = closing.window(job, left, durations.in_seconds(left, estimates), now)
    out = set(window.left_out) if window else set()
    remaining = total(estimate for place, estimate in enumerate(estimates) if place not in out)
    duration_s = remaining.duration_s
    is_paused = job.paused_at is not None or is_standing_still
    is_going = bool(left) and not is_paused and duration_s is not None
    begins_at = window.begins_at if window else now
    ends_at = begins_at + timedelta(seconds=duration_s or 0) if is_going else None
    return Progress(share, remaining, ends_at, window)


def _remaining(run: Run, seen: Experience, now: datetime) -> Estimate | None:
    """What is left of a run, judged by others; a run that takes longer than they did has 0 left."""
    whole = durations.estimate_of(run, seen)
    if whole is None or run.started_at is None:
        return whole
    passed_s = (now - run.started_at).total_seconds()
    return Estimate(max(whole.duration_s - passed_s, 0.0), whole.runs, whole.basis)
