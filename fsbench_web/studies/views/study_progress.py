"""What still comes into a study, for people with its page open."""

from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest

from fsbench_web.platform import clock
from fsbench_web.studies.models import ACTIVE_STATES, UNTRACED, Run, RunState, Study


def progress_of(study: Study, request: HttpRequest, is_empty: bool = False) -> dict[str, Any]:
    """How far the study's runs are, since ``?seen=``. One query, and one for a page that asks
    again.

    ``new_runs`` are the runs that were done since the page was made, at ``seen_at_s``.
    ``shows_nothing_yet``: the page has no table at all, and could have one now.
    """
    runs = Run.objects.filter(series__study=study)
    counted = runs.filter(state__in=[RunState.QUEUED, *ACTIVE_STATES]).aggregate(
        queued=Count("pk", filter=Q(state=RunState.QUEUED)), all=Count("pk")
    )
    since = _time(request.GET.get("seen", ""))
    came = 0
    if since is not None:
        came = runs.filter(state=RunState.DONE, tracing=UNTRACED, ended_at__gt=since).count()
    was_empty = is_empty if since is None else "empty" in request.GET
    return {
        "active": counted["all"] - counted["queued"],
        "queued": counted["queued"],
        "unfinished": counted["all"],
        "new_runs": came,
        "seen_at_s": (since or clock.now()).timestamp(),
        "was_empty": was_empty,
        "shows_nothing_yet": was_empty and came > 0,
    }


def _time(text: str) -> datetime | None:
    """The time of ``seen``; None for nothing and for nonsense."""
    try:
        return datetime.fromtimestamp(float(text), UTC)
    except (ValueError, OverflowError, OSError):
        return None
