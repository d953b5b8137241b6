"""The traces of extra runs in the database. Nobody else reads or writes them there."""

from collections.abc import Mapping

from fsbench_web.core.traces import operations, requests
from fsbench_web.core.traces.operations import OperationTrace
from fsbench_web.core.traces.requests import RequestTrace
from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS
from fsbench_web.studies.models import Run, RunTrace


def store(
    run: Run, tracer: str, trace: RequestTrace | OperationTrace | None, problem: str = ""
) -> None:
    """Keep what a tracer saw, or why it saw nothing. The caller holds the transaction."""
    content = None
    if isinstance(trace, OperationTrace):
        content = operations.encode(trace)
    elif trace is not None:
        content = requests.encode(trace)
    RunTrace.objects.create(run=run, tracer=tracer, content=content, problem=problem[:2000])


def of_run(run_id: int) -> Mapping[str, RunTrace]:
    """What is kept of a run, by tracer, without the blocks."""
    return {
        trace.tracer: trace for trace in RunTrace.objects.filter(run_id=run_id).defer("content")
    }


def read(run_id: int, tracer: str) -> RequestTrace | OperationTrace | None:
    """What a tracer saw; None where nothing is kept. Raises UnreadableBlock."""
    kept = RunTrace.objects.filter(run_id=run_id, tracer=tracer, content__isnull=False)
    content = kept.values_list("content", flat=True).first()
    if content is None:
        return None
    decode = operations.decode if tracer == OPERATIONS else requests.decode
    return decode(bytes(content))


def requests_of(run_id: int) -> RequestTrace | None:
    """What the device was asked for, as ``read``."""
    trace = read(run_id, REQUESTS)
    return trace if isinstance(trace, RequestTrace) else None


def operations_of(run_id: int) -> OperationTrace | None:
    """What the file system did, as ``read``."""
    trace = read(run_id, OPERATIONS)
    return trace if isinstance(trace, OperationTrace) else None
