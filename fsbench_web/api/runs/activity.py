"""What devices, processors and memory did during a run, its costs, latencies and traces."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Schema

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.router import Router, binary
from fsbench_web.api.protocol.schemas import Derived, With, value_at
from fsbench_web.api.runs.routes import run_or_404
from fsbench_web.core.activity.costs import COSTS, Cost
from fsbench_web.core.activity.series import Activity, Step
from fsbench_web.core.latency_over_time import PERCENTS
from fsbench_web.core.traces.operations import OperationTrace
from fsbench_web.core.traces.requests import RequestTrace
from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS
from fsbench_web.studies.activity import latencies, records, traces
from fsbench_web.studies.models import RunActivity

router = Router()
Trace = TypeVar("Trace", RequestTrace, OperationTrace)
_CSV = binary("text/csv", description="text/csv")


class CostOut(Derived, of=Cost, without=("floor",)):
    """``better`` is lower, higher or neither."""

    value: float


class StepOut(Derived, of=Step):
    """A command: seconds since the first sample, what its processes asked the kernel for."""


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
    openapi_extra=_CSV,
)
@requires(Action.READ)
def get_activity_csv(request: HttpRequest, run_id: int) -> HttpResponse:
    """One line a sample: its second, and the columns of the JSON; what is missing is empty."""
    _, activity = _activity_or_404(run_id)
    columns = [activity.levels(name) for name in activity.columns]
    rows = (
        [ms / 1000, *("" if column[place] is None else column[place] for column in columns)]
        for place, ms in enumerate(activity.times_ms.tolist())
    )
    return _csv_answer(run_id, "activity", ["seconds", *activity.columns], rows)


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
    """Counts by value, merged over jobs of one name; none where the tool printed none."""
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


@router.get(
    "/runs/{int:run_id}/trace/{slug:tracer}/latency.csv",
    response=str,
    summary="How long the requests or operations of an extra run took",
    openapi_extra=_CSV,
)
@requires(Action.READ)
def get_latency_csv(request: HttpRequest, run_id: int, tracer: str) -> HttpResponse:
    """By operation: requests of the device by power of two of microseconds, operations of the file
    system by power of two of nanoseconds; bins without any are left out.
    """
    run_or_404(run_id)
    if tracer == OPERATIONS:
        head = ("operation", "from_ns", "below_ns", "operations")
        rows = _trace_or_404(run_id, tracer, traces.operations_of(run_id)).latency_rows()
    else:
        head = ("operation", "from_us", "below_us", "requests")
        rows = _requests(run_id, tracer).latency_rows()
    return _csv_answer(run_id, f"{tracer}-latency", head, rows)


@router.get(
    "/runs/{int:run_id}/trace/{slug:tracer}/summary.csv",
    response=str,
    summary="How many operations of the file system an extra run had",
    openapi_extra=_CSV,
)
@requires(Action.READ)
def get_summary_csv(request: HttpRequest, run_id: int, tracer: str) -> HttpResponse:
    """By operation: how many ended, their time together, bytes, how many failed, and how many were
    handed on to be done later and have no latency. Of the tracer operations alone.
    """
    run_or_404(run_id)
    if tracer != OPERATIONS:
        raise Http404(f"{tracer} has no summary; its numbers are in latency.csv and map.csv.")
    operations = _trace_or_404(run_id, tracer, traces.operations_of(run_id))
    head = ("operation", "operations", "total_ns", "bytes", "failed", "queued")
    return _csv_answer(run_id, f"{tracer}-summary", head, operations.summary_rows())


@router.get(
    "/runs/{int:run_id}/trace/{slug:tracer}/map.csv",
    response=str,
    summary="Where the requests of an extra run went when",
    openapi_extra=_CSV,
)
@requires(Action.READ)
def get_map_csv(request: HttpRequest, run_id: int, tracer: str) -> HttpResponse:
    """Requests by operation, time and place, each in 256 equal parts; those without any are left
    out.
    """
    run_or_404(run_id)
    if tracer == OPERATIONS:
        raise Http404("Operations of a file system have no place on a LUN, and no map.")
    requests = _requests(run_id, tracer)
    head = ("operation", "from_s", "to_s", "from_byte", "to_byte", "requests")
    return _csv_answer(run_id, f"{tracer}-map", head, requests.map_rows())


def _csv_answer(
    run_id: int, name: str, head: Sequence[str], rows: Iterable[Sequence[object]]
) -> HttpResponse:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows(rows)
    return HttpResponse(
        out.getvalue(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'inline; filename="run-{run_id}-{name}.csv"'},
    )


def _requests(run_id: int, tracer: str) -> RequestTrace:
    return _trace_or_404(run_id, tracer, traces.requests_of(run_id) if tracer == REQUESTS else None)


def _trace_or_404(run_id: int, tracer: str, trace: Trace | None) -> Trace:
    if trace is None:
        raise Http404(f"Run {run_id} has no trace of {tracer}; its page says why.")
    return trace
