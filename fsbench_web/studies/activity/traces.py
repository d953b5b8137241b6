"""The traces of extra runs in the database. Nobody else reads or writes them there."""

from collections.abc import Mapping

from fsbench_web.core.traces import requests
from fsbench_web.core.traces.requests import RequestTrace, UnreadableBlock
from fsbench_web.studies.models import Run, RunTrace


def store(run: Run, tracer: str, trace: RequestTrace | None, problem: str = "") -> None:
    """Keep what a tracer saw, or why it saw nothing. The caller holds the transaction."""
    RunTrace.objects.create(
        run=run,
        tracer=tracer,
        content=requests.encode(trace) if trace is not None else None,
        problem=problem[:2000],
    )


def of_run(run_id: int) -> Mapping[str, RunTrace]:
    """What is kept of a run, by tracer, without the blocks."""
    return {one.tracer: one for one in RunTrace.objects.filter(run_id=run_id).defer("content")}


def trace_of(run_id: int, tracer: str) -> RequestTrace | None:
    """What a tracer saw; None where nothing is kept. Raises UnreadableBlock."""
    content = (
        RunTrace.objects.filter(run_id=run_id, tracer=tracer, content__isnull=False)
        .values_list("content", flat=True)
        .first()
    )
    return requests.decode(bytes(content)) if content is not None else None


__all__ = ["UnreadableBlock", "of_run", "store", "trace_of"]
