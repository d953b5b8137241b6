"""The tracers of an extra run. What a tracer cannot do fails no run, but is shown."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from fsbench_web.core.traces import operations, requests
from fsbench_web.core.traces.operations import OperationTrace, UnreadableOutput
from fsbench_web.core.traces.requests import RequestTrace
from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS, split
from fsbench_web.studies.activity import traces
from fsbench_web.studies.models import Artefact, Run
from fsbench_web.studies.scores import ingest
from runner.executors.base import Message
from runner.host.tracing import block_events, operation_events
from runner.host.tracing.block_events import Trace, TraceError
from runner.host.tracing.operation_events import Operations
from runner.safety import blockdev

logger = logging.getLogger("fsbench.worker")

ARTEFACT = "block-events.txt"
OPERATIONS_ARTEFACT = "operations.json"
NO_DEVICE = {
    REQUESTS: "Its LUN is a folder, and requests are traced of a device.",
    OPERATIONS: "Its LUN is a folder, and operations are traced of the file system on a device.",
}
IN_A_GUEST = "The file system is in the guest: the host's kernel cannot see what the guest's does."
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
            for tracer in (self.trace, self.operations):
                if tracer is not None:
                    tracer.end()

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
    """Watch the device (``number``; None: a folder) during an extra run. ``why_not``: why the
    kernel shows no operations. ``has_to_end`` is asked while tracers are made ready.
    """
    run_tracing = Tracing()
    wanted = split(run.tracing)
    if number is None:
        run_tracing.problems = {slug: NO_DEVICE[slug] for slug in wanted}
        wanted = ()
    name = f"{owner}{run.pk}"
    with contextlib.ExitStack() as stack:
        if REQUESTS in wanted and number is not None:
            run_tracing.device_bytes = blockdev.size_bytes(number)
            run_tracing.first_sector = block_events.first_sector(number)
            try:
                run_tracing.trace = stack.enter_context(block_events.trace_device(number, name))
            except TraceError as error:
                run_tracing.problems[REQUESTS] = str(error)
        if OPERATIONS in wanted and number is not None:
            try:
                if why_not:
                    raise TraceError(why_not)
                run_tracing.operations = stack.enter_context(
                    operation_events.count_operations(
                        number, filesystem, name, has_to_end=has_to_end
                    )
                )
            except TraceError as error:
                run_tracing.problems[OPERATIONS] = str(error)
        yield run_tracing


@dataclass(frozen=True)
class Seen:
    """What a tracer saw as it came and as it is kept, or why it saw nothing."""

    tracer: str
    trace: RequestTrace | OperationTrace | None = None
    problem: str = ""
    output: Artefact | None = None


def seen(run_tracing: Tracing | None, tracers: str) -> list[Seen]:
    """What there is to ``store`` of the tracers; ``run_tracing`` None: its worker is gone."""
    found = []
    for tracer in split(tracers):
        try:
            found.append(_seen(tracer, run_tracing))
        except Exception:
            logger.exception("a trace of %s cannot be read", tracer)
    return found


def store(run: Run, found: Sequence[Seen]) -> None:
    """Within the transaction that ends the run. Never fails the run."""
    for one in found:
        try:
            with transaction.atomic():
                if one.output is not None:
                    ingest.store_packed(run, one.output)
                traces.store(run, one.tracer, one.trace, one.problem)
        except Exception:
            logger.exception("run %s: its trace of %s cannot be stored", run.pk, one.tracer)


def _seen(tracer: str, run_tracing: Tracing | None) -> Seen:
    if run_tracing is None:
        why = "The worker was killed before it had stored the trace."
        return Seen(tracer, problem=why)
    return _operations(run_tracing) if tracer == OPERATIONS else _requests(run_tracing)


def _requests(run_tracing: Tracing) -> Seen:
    if run_tracing.trace is None or not run_tracing.trace.text:
        why = run_tracing.problems.get(REQUESTS)
        why = why or "No request came to the device while the benchmark ran."
        return Seen(REQUESTS, problem=why)
    text = run_tracing.trace.text
    trace = _read(run_tracing, text)
    why = "" if trace else "Its events cannot be read."
    return Seen(REQUESTS, trace, why, ingest.packed_artefact(ARTEFACT, text))


def _read(run_tracing: Tracing, text: bytes) -> RequestTrace | None:
    assert run_tracing.trace is not None
    return requests.traced(
        text.decode("utf-8", "replace").split("\n"),
        run_tracing.device_bytes,
        first_sector=run_tracing.first_sector,
        is_cut=run_tracing.trace.is_cut,
    )


def _operations(run_tracing: Tracing) -> Seen:
    trace, output, why = None, None, run_tracing.problems.get(OPERATIONS, "")
    if run_tracing.operations is not None and run_tracing.operations.seconds:
        text = run_tracing.operations.text.encode()
        output = ingest.packed_artefact(OPERATIONS_ARTEFACT, text)
        trace, why = _counted(run_tracing.operations)
    return Seen(OPERATIONS, trace, "" if trace else why or "The benchmark did not begin.", output)


def _counted(counter: Operations) -> tuple[OperationTrace | None, str]:
    """What it counted, or why there is nothing."""
    if counter.problem:
        return None, counter.problem
    try:
        seen = operations.read(counter.text, counter.way, counter.seconds, is_cut=counter.is_cut)
    except UnreadableOutput as error:
        return None, f"What bpftrace printed cannot be read. {error}"
    why = "No read, write, open or sync of the file system was seen while the benchmark ran."
    return seen, "" if seen else why
