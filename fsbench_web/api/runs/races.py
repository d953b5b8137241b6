"""Races as the API answers them."""

from math import isfinite
from typing import Any

from fsbench_web.api.protocol.objects import With
from fsbench_web.core.stats.bisecting import Bisection
from fsbench_web.core.stats.racing import ENDED
from fsbench_web.studies.models import Job
from fsbench_web.studies.runs import races


def race_out(job: Job) -> dict[str, Any] | None:
    """The race of a job as ``RaceOut``; None for a job without one."""
    report = races.report_of(job)
    if report is None:
        return None
    race, of_race = report.race, report.of_race
    return {
        **{name: getattr(race, name) for name in _KEPT},
        "conclusion": report.conclusion,
        "spent_s": report.standing.spent_s,
        "spent_runs": report.standing.spent_runs,
        "phase": report.phase,
        "blocks": report.blocks,
        "leader": report.leader or None,
        "probability": report.probability,
        "before": int(of_race.before) if isinstance(of_race, Bisection) else None,
        "after": int(of_race.after) if isinstance(of_race, Bisection) else None,
        "status": of_race.status if report.phase == ENDED else None,
        "fresh_blocks": of_race.fresh,
        "ratio": of_race.ratio,
        "ratio_low": _finite(of_race.low, of_race.high),
        "ratio_high": _finite(of_race.high, of_race.high),
        "contenders": [
            With(
                row,
                ratio_low=_finite(row.place.low, row.place.high),
                ratio_high=_finite(row.place.high, row.place.high),
            )
            for row in report.rows
        ],
    }


_KEPT = (
    *("find", "test", "category", "unit", "margin_percent", "budget_s", "budget_runs"),
    "ended_at",
)


def _finite(end: float | None, high: float | None) -> float | None:
    """An end of an interval; null where nothing can be said of it."""
    return None if high is None or not isfinite(high) else end
