"""What devices, processors and memory did during a run, and what its work cost."""

import csv
import io
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Schema

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.description import binary
from fsbench_web.api.protocol.objects import With, value_at
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.runs.routes import run_or_404
from fsbench_web.core.activity.costs import COSTS
from fsbench_web.core.activity.series import Activity
from fsbench_web.core.latency_over_time import PERCENTS
from fsbench_web.studies.activity import latencies, records
from fsbench_web.studies.models import RunActivity

router = Router()
MEDIA_TYPE = "text/csv; charset=utf-8"


class CostOut(Schema):
    """``better`` is lower, higher or neither."""

    test: str
    label: str
    value: float
    unit: str
    better: str
    definition: str


class StepOut(Schema):
    """A command: seconds since the first sample, what its processes asked the kernel for."""

    start_s: float
    end_s: float
    phase: str
    output: str
    processes: dict[str, float]


class ActivityOut(Schema):
    """``columns`` are by name, a number a sample: counts since the first sample, and levels (names
    that end in ``in_flight`` or ``_bytes``) as they were; null could not be read. ``is_whole`` is
    false where the run broke off. ``absent`` are [what, why not]. ``taken`` samples were taken;
    of a long run fewer are kept, and none is changed.
    """

    is_whole: bool
    is_shared: bool
    every_s: float
    taken: int
    times_s: list[float]
    columns: dict[str, list[int | None]]
    steps: list[StepOut]
    absent: list[list[str]]
    space: dict[str, int | None]
    costs: list[CostOut]


@router.get(
    "/runs/{int:run_id}/activity",
    response=ActivityOut,
    summary="What device, processors and memory did during a run",
)
@requires(Action.READ)
def get_activity(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """The samples that were kept, and the costs that were worked out of them."""
    record, activity = _activity_or_404(run_id)
    return {
        "is_whole": activity.is_whole,
        "is_shared": activity.is_shared,
        "every_s": activity.every_s,
        "taken": activity.taken,
        "times_s": [ms / 1000 for ms in activity.times_ms.tolist()],
        "columns": {name: activity.levels(name) for name in activity.columns},
        "steps": [With(step, processes=dict(step.processes)) for step in activity.steps],
        "absent": [list(pair) for pair in activity.absent],
        "space": dict(activity.space),
        "costs": [
            With(cost, value=record.costs[cost.test])
            for cost in COSTS.values()
            if cost.test in record.costs
        ],
    }


@router.get(
    "/runs/{int:run_id}/activity.csv",
    response=str,
    summary="The same samples as CSV",
    openapi_extra=binary("text/csv", description="text/csv"),
)
@requires(Action.READ)
def get_activity_csv(request: HttpRequest, run_id: int) -> HttpResponse:
    """One line a sample: its second, and the columns of the JSON; what is missing is empty."""
    _, activity = _activity_or_404(run_id)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["seconds", *activity.columns])
    columns = [activity.levels(name) for name in activity.columns]
    for place, ms in enumerate(activity.times_ms.tolist()):
        cells = (column[place] for column in columns)
        writer.writerow([ms / 1000, *("" if cell is None else cell for cell in cells)])
    return HttpResponse(
        out.getvalue(),
        content_type=MEDIA_TYPE,
        headers={"Content-Disposition": f'inline; filename="run-{run_id}-activity.csv"'},
    )


class LatencyOut(Schema):
    """``values`` rise, in ``unit``, and ``counts`` say how many completions had each: the middles
    of fio's bins. ``least`` and ``most`` are as they were measured.
    """

    test: str
    load: str
    unit: str
    total: int
    values: list[int]
    counts: list[int]
    least: float | None
    most: float | None


class LatencySeriesOut(Schema):
    """Of each interval, which ended at ``ends_s``: how many completions it had, and in ``unit`` the
    percentiles of these alone and the largest, all middles of fio's bins.
    """

    test: str
    load: str
    unit: str
    ends_s: list[float]
    counts: list[int]
    percentiles: dict[str, list[float]]
    most: list[float] = value_at("maxima")


class LatenciesOut(Schema):
    """``over_time`` is there of workloads that have fio log it: a series of up to 300 intervals."""

    latencies: list[LatencyOut]
    over_time: list[LatencySeriesOut]


@router.get(
    "/runs/{int:run_id}/latencies",
    response=LatenciesOut,
    summary="The distributions of a run's latencies",
)
@requires(Action.READ)
def get_latencies(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """Counts by value, merged over jobs of one name; none where the tool told of none."""
    run_or_404(run_id)
    return {
        "latencies": latencies.of_run(run_id),
        "over_time": [
            With(
                series,
                ends_s=[end_ms / 1000 for end_ms in series.ends_ms],
                percentiles=dict(zip(PERCENTS, series.percentiles, strict=True)),
            )
            for series in latencies.series_of_run(run_id)
        ],
    }


def _activity_or_404(run_id: int) -> tuple[RunActivity, Activity]:
    run_or_404(run_id)
    record = records.of_run(run_id)
    if record is None:
        raise Http404(f"Nothing was sampled during run {run_id}.")
    return record, records.activity_of(record)
