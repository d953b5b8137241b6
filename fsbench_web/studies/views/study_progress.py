"""What still comes into a study, for people with its page open."""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Count, Q
from django.http import HttpRequest

from fsbench_web.platform import clock
from fsbench_web.studies.models import ACTIVE_STATES, UNTRACED, Run, RunState, Study


@dataclass(frozen=True)
class StudyProgress:
    """``new_runs`` are the runs that were done since the page was made, at ``seen_at_s``."""

    active: int
    queued: int
    new_runs: int
    seen_at_s: float
    was_empty: bool

    @property
    def unfinished(self) -> int:
        return self.active + self.queued

    @property
    def shows_nothing_yet(self) -> bool:
        """Whether the page has no table at all, and could have one now."""
        return self.was_empty and self.new_runs > 0


def progress_of(study: Study, request: HttpRequest, is_empty: bool = False) -> StudyProgress:
    """How far the study's runs are, since ``?seen=``. One query, and one for a page that asks
    again.
    """
    runs = Run.objects.filter(series__study=study)
    counted = runs.filter(state__in=[RunState.QUEUED, *ACTIVE_STATES]).aggregate(
        queued=Count("pk", filter=Q(state=RunState.QUEUED)), all=Count("pk")
    )
    since = _time(request.GET.get("seen", ""))
    came = 0
    if since is not None:
        came = runs.filter(state=RunState.DONE, tracing=UNTRACED, ended_at__gt=since).count()
    return StudyProgress(
        active=counted["all"] - counted["queued"],
        queued=counted["queued"],
        new_runs=came,
        seen_at_s=(since or clock.now()).timestamp(),
        was_empty=is_empty if since is None else "empty" in request.GET,
    )


def _time(text: str) -> datetime | None:
    """The time of ``seen``; None for nothing and for nonsense."""
    try:
        return datetime.fromtimestamp(float(text), UTC)
    except (ValueError, OverflowError, OSError):
        return None
