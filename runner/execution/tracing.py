"""The tracers of an extra run: begun with its benchmark, ended with it, stored with its end.

What a tracer cannot do fails no run: it is kept and shown as the reason why there is no trace.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from django.db import transaction

from fsbench_web.core.traces import operations, requests
from fsbench_web.core.traces.operations import OperationTrace, UnreadableOutput
from fsbench_web.core.traces.requests import RequestTrace
from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS, split
from fsbench_web.studies.activity import traces
from fsbench_web.studies.models import Run
from fsbench_web.studies.scores import ingest
from runner.executors.base import Message
from runner.host import blockdev
from runner.host.tracing import block_events, operation_events
from runner.host.tracing.block_events import Trace, TraceError
from runner.host.tracing.operation_events import Operations

logger = logging.getLogger("fsbench.worker")

ARTEFACT = "block-events.txt"
OPERATIONS_ARTEFACT = "operations.json"
NO_DEVICE = {
    REQUESTS: "Its LUN is a folder, and requests are traced of a device.",
    OPERATIONS: "Its LUN is a folder, and operations are traced of the file system on a device.",
}
IN_A_GUEST = "The file system is in the guest, whose kernel does what the host's cannot see."
WITHOUT_FILESYSTEM = "The raw device is measured, which has no file system."
_PHASES = ("benchmark", "sync")


@dataclass
class Tracing:
    """What the tracers of one run have seen; ``problems`` why one saw nothing, by its slug."""

    device_bytes: int = 0
    first_sector: int = 0
    trace: Trace | None = None
    operations: Operations | None = None
    problems: dict[str, str] = field(default_factory=dict)
    is_at_end: bool = False
    """The benchmark has ended: a workload may unmount between its measurements, too."""

    def on_message(self, message: Message) -> None:
        """What the agent says: the trace is of the benchmark, and of what it left in memory."""
        if message.get("type") != "phase":
            return
        phase = message.get("phase")
        if phase in _PHASES:
            self.is_at_end = phase == "sync"
            self._begin()
        elif phase == "unmount" and self.is_at_end:
            for one in (self.trace, self.operations):
                if one is not None:
                    one.end()

    def _begin(self) -> None:
        if self.operations is not None:
            self.operations.begin()
        if self.trace is not None:
            try:
                self.trace.begin()
            except TraceError as error:
                self.problems[REQUESTS] = str(error)


@contextlib.contextmanager
def tracing(
    run: Run,
    number: int | None,
    owner: str,
    filesystem: str = "",
    why_not: str = "",
    has_to_end: Callable[[], bool] = lambda: False,
) -> Iterator[Tracing]:
    """Watch the device while the run uses it, where it is an extra one that asks for it.

    ``number``: of the device; None of a folder. ``why_not``: why this host's kernel does not see
    operations of the file system, or "". ``has_to_end`` is asked while the tracers are made ready.
    """
    found = Tracing()
    wanted = split(run.tracing)
    if number is None:
        found.problems = {slug: NO_DEVICE[slug] for slug in wanted}
        wanted = ()
    name = f"{owner}{run.pk}"
    with contextlib.ExitStack() as stack:
        if REQUESTS in wanted and number is not None:
            found.device_bytes = blockdev.size_bytes(number)
            found.first_sector = block_events.first_sector(number)
            try:
                found.trace = stack.enter_context(block_events.traced(number, name))
            except TraceError as error:
                found.problems[REQUESTS] = str(error)
        if OPERATIONS in wanted and number is not None:
            try:
                if why_not:
                    raise TraceError(why_not)
                found.operations = stack.enter_context(
                    operation_events.counted(number, filesystem, name, has_to_end=has_to_end)
                )
            except TraceError as error:
                found.problems[OPERATIONS] = str(error)
        yield found


def store(run: Run, found: Tracing | None) -> None:
    """Within the transaction that ends the run: the events as they came, and what they say.

    ``found``: None where the worker that saw them is gone. Never fails the run.
    """
    if not run.is_extra:
        return
    for tracer in split(run.tracing):
        try:
            with transaction.atomic():
                _store(run, tracer, found)
        except Exception:
            logger.exception("run %s: its trace of %s cannot be stored", run.pk, tracer)


def _store(run: Run, tracer: str, found: Tracing | None) -> None:
    if found is None:
        why = "The worker was killed before it had stored the trace."
        traces.store(run, tracer, None, why)
    elif tracer == OPERATIONS:
        _store_operations(run, found)
    else:
        _store_requests(run, found)


def _store_requests(run: Run, found: Tracing) -> None:
    if found.trace is None or not found.trace.text:
        why = found.problems.get(REQUESTS)
        why = why or "No request came to the device while the benchmark ran."
        traces.store(run, REQUESTS, None, why)
        return
    text = found.trace.text
    ingest.store_artefact(run, ARTEFACT, text)
    seen = _read(found, text)
    traces.store(run, REQUESTS, seen, "" if seen else "Its events cannot be read.")


def _read(found: Tracing, text: bytes) -> RequestTrace | None:
    assert found.trace is not None
    return requests.traced(
        text.decode("utf-8", "replace").split("\n"),
        found.device_bytes,
        first_sector=found.first_sector,
        is_cut=found.trace.is_cut,
    )


def _store_operations(run: Run, found: Tracing) -> None:
    seen, why = None, found.problems.get(OPERATIONS, "")
    if found.operations is not None and found.operations.seconds:
        ingest.store_artefact(run, OPERATIONS_ARTEFACT, found.operations.text.encode())
        seen, why = _counted(found.operations)
    traces.store(run, OPERATIONS, seen, "" if seen else why or "The benchmark did not begin.")


def _counted(given: Operations) -> tuple[OperationTrace | None, str]:
    """What it counted, or why there is nothing."""
    if given.problem:
        return None, given.problem
    try:
        seen = operations.read(given.text, given.by, given.seconds, is_cut=given.is_cut)
    except UnreadableOutput as error:
        return None, f"What bpftrace printed cannot be read. {error}"
    why = "No read, write, open or sync of the file system was seen while the benchmark ran."
    return seen, "" if seen else why
