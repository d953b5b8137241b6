"""The tracers of an extra run: begun with its benchmark, ended with it, stored with its end.

What a tracer cannot do fails no run: it is kept and shown as the reason why there is no trace.
"""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from fsbench_web.core.traces import requests
from fsbench_web.core.traces.requests import RequestTrace
from fsbench_web.core.traces.tracers import REQUESTS, split
from fsbench_web.studies.activity import traces
from fsbench_web.studies.models import Run
from fsbench_web.studies.scores import ingest
from runner.executors.base import Message
from runner.host import block_events, blockdev
from runner.host.block_events import Trace, TraceError

logger = logging.getLogger("fsbench.worker")

ARTEFACT = "block-events.txt"
_PHASES = ("benchmark", "sync")


@dataclass
class Tracing:
    """What the tracers of one run have seen; ``problem`` why they saw nothing."""

    device_bytes: int = 0
    first_sector: int = 0
    trace: Trace | None = None
    problem: str = ""
    is_at_end: bool = False
    """The benchmark has ended: a workload may unmount between its measurements, too."""

    def hear(self, message: Message) -> None:
        """What the agent says: the trace is of the benchmark, and of what it left in memory."""
        if self.trace is None or message.get("type") != "phase":
            return
        phase = message.get("phase")
        if phase in _PHASES:
            self.is_at_end = phase == "sync"
            try:
                self.trace.begin()
            except TraceError as error:
                self.problem = str(error)
        elif phase == "unmount" and self.is_at_end:
            self.trace.end()


@contextlib.contextmanager
def tracing(run: Run, number: int | None, owner: str) -> Iterator[Tracing]:
    """Watch the device while the run uses it, where it is an extra one that asks for it."""
    found = Tracing()
    if REQUESTS not in split(run.tracing):
        yield found
        return
    if number is None:
        found.problem = "Its LUN is a folder, and requests are traced of a device."
        yield found
        return
    found.device_bytes = blockdev.size_bytes(number)
    found.first_sector = block_events.first_sector(number)
    with contextlib.ExitStack() as stack:
        try:
            found.trace = stack.enter_context(block_events.traced(number, f"{owner}{run.pk}"))
        except TraceError as error:
            found.problem = str(error)
        yield found


def store(run: Run, found: Tracing | None) -> None:
    """Within the transaction that ends the run: the events as they came, and what they say.

    ``found``: None where the worker that saw them is gone. Never fails the run.
    """
    if not run.is_extra:
        return
    try:
        with transaction.atomic():
            _store(run, found)
    except Exception:
        logger.exception("run %s: its trace cannot be stored", run.pk)


def _store(run: Run, found: Tracing | None) -> None:
    for tracer in split(run.tracing):
        if found is None:
            traces.store(run, tracer, None, "The worker was killed before it had stored the trace.")
        elif found.trace is None or not found.trace.text:
            why = found.problem or "No request came to the device while the benchmark ran."
            traces.store(run, tracer, None, why)
        else:
            text = found.trace.text
            ingest.store_artefact(run, ARTEFACT, text)
            seen = _read(found, text)
            traces.store(run, tracer, seen, "" if seen else "Its events cannot be read.")


def _read(found: Tracing, text: bytes) -> RequestTrace | None:
    assert found.trace is not None
    return requests.traced(
        text.decode("utf-8", "replace").split("\n"),
        found.device_bytes,
        first_sector=found.first_sector,
        is_cut=found.trace.is_cut,
    )
