"""The time window of a job: when its runs may begin, and when they have to be through."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from fsbench_web.catalog.models import Lun
from fsbench_web.core.numbers import duration
from fsbench_web.platform import clock
from fsbench_web.studies.jobs import estimates
from fsbench_web.studies.jobs.features.base import STEERING, TIME, Feature, FormField, Workloads
from fsbench_web.studies.jobs.planned_runs import PlannedRun
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.runs.windows import forecast, words
from fsbench_web.studies.runs.windows.forecast import Window

MOST_AHEAD = timedelta(days=366)
# Whoever reviews a job and types the name of the LUN takes a while.
JUST_PAST = timedelta(minutes=5)
_ASKED = (
    "say a day and a time, as 2026-11-23T22:00, and its zone too (+01:00) in an hour in which "
    "clocks are changed"
)
_ISO_8601 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    r"([Zz]|[+-][0-9]{2}:?[0-9]{2})"
)


def _zoned_time(value: object) -> object:
    """Only a text with its zone: a number of seconds is none, and a bare date is no time."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value
    if isinstance(value, str) and _ISO_8601.fullmatch(value.strip()):
        try:
            return datetime.fromisoformat(value.strip().upper())
        except ValueError:  # the 31st of June
            pass
    raise PydanticCustomError("moment", "must be a time with its zone, as ISO 8601 writes it")


Moment = Annotated[
    AwareDatetime, BeforeValidator(_zoned_time, json_schema_input_type=AwareDatetime)
]
"""``2026-11-23T22:00+01:00``: ISO 8601 with the zone, and nothing else."""


class Times(Feature):
    shown = STEERING
    form_fields = [
        FormField("start_at", _ASKED, "start at {}", TIME),
        FormField("stop_before", _ASKED, "stop before {}", TIME),
    ]

    start_at: Moment | None = Field(
        default=None,
        description="ISO 8601 with its zone: no run begins before; null: at once",
        examples=["2026-11-23T22:00:00+01:00"],
    )
    stop_before: Moment | None = Field(
        default=None,
        description="ISO 8601 with its zone: no run, and no round as a whole, begins that would "
        "not end before; what is left is cancelled. null: no end",
        examples=["2026-11-24T06:00:00+01:00"],
    )

    def check(self, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
        """Whether there is a time between the two, and whether it is to come."""
        now = clock.now()
        for place, moment, margin in (
            ("start_at", self.start_at, JUST_PAST),
            ("stop_before", self.stop_before, timedelta(0)),
        ):
            if moment is None:
                continue
            if moment <= now - margin:
                leave = "start at once" if place == "start_at" else "have no end"
                problems.add(
                    place,
                    f"{moment.isoformat()} is in the past (it is {words.time(now)} now): say a "
                    f"later time, or leave it out to {leave}.",
                )
            elif moment > now + MOST_AHEAD:
                problems.add(
                    place,
                    f"{moment.isoformat()} is more than a year ahead: say a time within a year.",
                )
        if self.start_at and self.stop_before and self.stop_before <= self.start_at:
            problems.add(
                "stop_before",
                "The job would stop before it starts: say a time to stop that is later than the "
                "time to start.",
            )


def window_of(times: Times, runs: Sequence[PlannedRun], now: datetime) -> Window | None:
    """What the times leave of a plan; None for a job without times. A few queries."""
    if times.start_at is None and times.stop_before is None:
        return None
    begins_at = max(now, times.start_at) if times.start_at else now
    if times.stop_before is None:
        return Window(begins_at, None, len(runs), (), 0, ())
    items = _items(runs)
    out = sorted(forecast.left_out(items, (times.stop_before - begins_at).total_seconds()))
    left = [runs[place] for place in out]
    labels = tuple((run.repeat if run.is_counted else None, _label(run)) for run in left)
    unknown = sum(item.duration_s is None for item in items)
    return Window(begins_at, times.stop_before, len(runs), tuple(out), unknown, labels)


def check_window(window: Window | None, runs: Sequence[PlannedRun], problems: Problems) -> None:
    """Refuse a time in which nothing of the job would be measured."""
    if window is None or window.stop_before is None:
        return
    places = set(range(len(runs))) - set(window.left_out)
    if any(runs[place].is_counted for place in places):
        return
    items = _items(runs)
    first = next(place for place, run in enumerate(runs) if run.is_counted)
    block = [item.duration_s or 0 for item in items if item.block == items[first].block]
    room = duration((window.stop_before - window.begins_at).total_seconds())
    takes = f"a run takes about {duration(items[first].duration_s)}"
    if len(block) > 1:
        takes += (
            f", and a round of {len(block)} runs, which is begun only as a whole, about "
            f"{duration(sum(block))}"
        )
    problems.add(
        "stop_before",
        f"No run would start: there are {room} from {words.time(window.begins_at)} "
        f"to {words.time(window.stop_before)}; {takes}. Set a later end, or measure less.",
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
