"""The traces of extra runs in the database. Nobody else reads or writes them there."""

from collections.abc import Mapping

from fsbench_web.core.traces import operations, requests
from fsbench_web.core.traces.operations import OperationTrace
from fsbench_web.core.traces.requests import RequestTrace, UnreadableBlock
from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS
from fsbench_web.studies.models import Run, RunTrace


def store(
    run: Run, tracer: str, trace: RequestTrace | OperationTrace | None, problem: str = ""
) -> None:
    """Keep what a tracer saw, or why it saw nothing. The caller holds the transaction."""
    RunTrace.objects.create(
        run=run,
        tracer=tracer,
        content=_encoded(trace),
        problem=problem[:2000],
    )


def _encoded(trace: RequestTrace | OperationTrace | None) -> bytes | None:
    if trace is None:
        return None
    if isinstance(trace, OperationTrace):
        return operations.encode(trace)
    return requests.encode(trace)


def of_run(run_id: int) -> Mapping[str, RunTrace]:
    """What is kept of a run, by tracer, without the blocks."""
    return {
        trace.tracer: trace for trace in RunTrace.objects.filter(run_id=run_id).defer("content")
    }


def requests_of(run_id: int) -> RequestTrace | None:
    """What the device was asked for; None where nothing is kept. Raises UnreadableBlock."""
    content = _content(run_id, REQUESTS)
    return requests.decode(content) if content is not None else None


def operations_of(run_id: int) -> OperationTrace | None:
    """What the file system did; None where nothing is kept. Raises UnreadableBlock."""
    content = _content(run_id, OPERATIONS)
    return operations.decode(content) if content is not None else None


def _content(run_id: int, tracer: str) -> bytes | None:
    content = (
        RunTrace.objects.filter(run_id=run_id, tracer=tracer, content__isnull=False)
        .values_list("content", flat=True)
        .first()
    )
    return bytes(content) if content is not None else None


__all__ = ["UnreadableBlock", "of_run", "operations_of", "requests_of", "store"]
