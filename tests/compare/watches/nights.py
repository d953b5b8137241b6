"""Nights of a watched LUN: what tests that measure them share."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from fsbench_web.compare.models import Watch, WatchMessage
from fsbench_web.compare.watches import confirming, watching
from fsbench_web.studies.models import Run, Series


def watched(
    user: User, series: Series, test: str, category: str, url: str, *, rounds: int
) -> Watch:
    """A watch over nights that may confirm a change in so many rounds on the LUN "scratch"."""
    watch = watching.watch(
        user,
        series,
        test=test,
        category=category,
        along=Watch.Along.DATE,
        margin_percent=5,
        email="",
        webhook_url=url,
        site="https://fsbench.example",
    )
    confirming.set_budget(watch, rounds, 8, "scratch")
    return watch


def found(nights: Sequence[Run]) -> WatchMessage:
    """The change that the watch finds over these runs, a day apart; its rounds are ordered."""
    for days, run in enumerate(reversed(nights)):
        Run.objects.filter(pk=run.pk).update(ended_at=timezone.now() - timedelta(days))
    (message,) = watching.run_maintenance()
    assert message.confirmation == "ordered"
    return message


def confirmed(message: WatchMessage, quiet: Sequence[Run], *, rounds: int) -> dict[str, Any]:
    """What the confirmation that has just ended found against the quiet nights."""
    assert watching.run_maintenance() == [message]
    assert watching.run_maintenance() == []
    message.refresh_from_db()
    assert (message.state, message.confirmation) == ("confirmed", "slower")
    assert message.payload["change"]["runs_before"] == [run.pk for run in quiet]
    numbers: dict[str, Any] = message.payload["confirmation"]
    assert (numbers["method"], numbers["rounds"]) == ("unpaired", rounds)
    assert numbers["earlier_runs"] == len(quiet)
    return numbers
