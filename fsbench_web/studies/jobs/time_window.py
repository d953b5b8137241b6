"""When the runs of a job may begin: what is wrong with its times, and what they leave out."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from fsbench_web.core.numbers import duration
from fsbench_web.studies.jobs import estimates
from fsbench_web.studies.jobs.planned_runs import PlannedRun
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.runs.windows import forecast, words
from fsbench_web.studies.runs.windows.forecast import Window

MOST_AHEAD = timedelta(days=366)
# Whoever reviews a job and types the name of the LUN takes a while.
JUST_PAST = timedelta(minutes=5)


def check_times(spec: JobSpec, now: datetime, problems: Problems) -> None:
    """Whether there is a time between the two, and whether it is to come."""
    for place, moment, margin in (
        ("start_at", spec.start_at, JUST_PAST),
        ("stop_before", spec.stop_before, timedelta(0)),
    ):
        if moment is None:
            continue
        if moment <= now - margin:
            leave = "start at once" if place == "start_at" else "have no end"
            problems.add(
                place,
                f"{moment.isoformat()} is in the past (it is {words.time(now)} now): say a later "
                f"time, or leave it out to {leave}.",
            )
        elif moment > now + MOST_AHEAD:
            problems.add(
                place, f"{moment.isoformat()} is more than a year ahead: say a time within a year."
            )
    if spec.start_at and spec.stop_before and spec.stop_before <= spec.start_at:
        problems.add(
            "stop_before",
            "The job would stop before it starts: say a time to stop that is later than the "
            "time to start.",
        )


def window(spec: JobSpec, runs: Sequence[PlannedRun], now: datetime) -> Window | None:
    """What the times leave of a plan; None for a job without times. A few queries."""
    if spec.start_at is None and spec.stop_before is None:
        return None
    begins_at = max(now, spec.start_at) if spec.start_at else now
    if spec.stop_before is None:
        return Window(begins_at, None, len(runs), (), 0, ())
    items = _items(runs)
    out = sorted(forecast.left_out(items, (spec.stop_before - begins_at).total_seconds()))
    left = [runs[place] for place in out]
    labels = tuple((run.repeat if run.is_counted else None, _label(run)) for run in left)
    unknown = sum(item.duration_s is None for item in items)
    return Window(begins_at, spec.stop_before, len(runs), tuple(out), unknown, labels)


def check_window(
    time_window: Window | None, runs: Sequence[PlannedRun], problems: Problems
) -> None:
    """Refuse a time in which nothing of the job would be measured."""
    if time_window is None or time_window.stop_before is None:
        return
    places = set(range(len(runs))) - set(time_window.left_out)
    if any(runs[place].is_counted for place in places):
        return
    items = _items(runs)
    first = next(place for place, run in enumerate(runs) if run.is_counted)
    block = [item.duration_s or 0 for item in items if item.block == items[first].block]
    room = duration((time_window.stop_before - time_window.begins_at).total_seconds())
    takes = f"a run takes about {duration(items[first].duration_s)}"
    if len(block) > 1:
        takes += (
            f", and a block of {len(block)} runs, which is begun only as a whole, about "
            f"{duration(sum(block))}"
        )
    problems.add(
        "stop_before",
        f"Nothing of it would be begun: there are {room} from {words.time(time_window.begins_at)} "
        f"to {words.time(time_window.stop_before)}; {takes}. Stop later, or measure less.",
    )


def _items(runs: Sequence[PlannedRun]) -> list[forecast.Item]:
    """Runs in turn; without a finished run, what the parameters of the workload ask for."""
    expected = estimates.of_planned(runs)
    return [
        forecast.Item(
            str(run.repeat) if run.is_counted else "",
            run.workload[1].estimated_s() if estimate is None else estimate.duration_s,
        )
        for run, estimate in zip(runs, expected, strict=True)
    ]


def _label(run: PlannedRun) -> str:
    return words.OF_REFERENCE if run.is_reference else run.configuration
