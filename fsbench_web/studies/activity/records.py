"""The activity of runs in the database. Nobody else reads or writes it there."""

from collections.abc import Mapping

from fsbench_web.core.activity import series
from fsbench_web.core.activity.costs import COSTS
from fsbench_web.core.activity.series import Activity
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.studies.models import Run, RunActivity
from fsbench_web.studies.scores import ingest


def store(run: Run, activity: Activity, costs: Mapping[str, float]) -> None:
    """Keep what was sampled of a run, in the caller's transaction; costs become measurements."""
    RunActivity.objects.update_or_create(
        run=run,
        defaults={
            "content": series.encode(activity),
            "samples": len(activity),
            "seconds": activity.seconds,
            "is_whole": activity.is_whole,
            "costs": dict(costs),
        },
    )
    ingest.store_values(
        run, None, [_value(test, value) for test, value in costs.items() if test in COSTS]
    )


def _value(test: str, value: float) -> ParsedValue:
    return ParsedValue(test, None, None, value, COSTS[test].unit, 1)


def of_run(run_id: int) -> RunActivity | None:
    """What is kept of a run, without its block; None where nothing is."""
    return RunActivity.objects.filter(run_id=run_id).defer("content").first()


def activity_of(run_activity: RunActivity) -> Activity:
    """The samples themselves. Raises UnreadableBlock."""
    return series.decode(bytes(run_activity.content))
