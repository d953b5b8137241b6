"""What the tracers of an extra run saw, as CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TypeVar

from django.http import Http404, HttpRequest, HttpResponse

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.description import binary
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.runs.routes import run_or_404
from fsbench_web.core.traces.operations import OperationTrace
from fsbench_web.core.traces.requests import RequestTrace
from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS
from fsbench_web.studies.activity import traces

router = Router()
Trace = TypeVar("Trace", RequestTrace, OperationTrace)
MEDIA_TYPE = "text/csv; charset=utf-8"
_CSV = binary("text/csv", description="text/csv")


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
    return _answer(run_id, tracer, "latency", head, rows)


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
    return _answer(run_id, tracer, "summary", head, operations.summary_rows())


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
    return _answer(run_id, tracer, "map", head, requests.map_rows())


def _answer(
    run_id: int, tracer: str, part: str, head: Sequence[str], rows: Iterable[Sequence[object]]
) -> HttpResponse:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows(rows)
    name = f"run-{run_id}-{tracer}-{part}.csv"
    return HttpResponse(
        out.getvalue(),
        content_type=MEDIA_TYPE,
        headers={"Content-Disposition": f'inline; filename="{name}"'},
    )


def _requests(run_id: int, tracer: str) -> RequestTrace:
    return _trace_or_404(run_id, tracer, traces.requests_of(run_id) if tracer == REQUESTS else None)


def _trace_or_404(run_id: int, tracer: str, trace: Trace | None) -> Trace:
    if trace is None:
        raise Http404(f"Run {run_id} has no trace of {tracer}; its page says why.")
    return trace
