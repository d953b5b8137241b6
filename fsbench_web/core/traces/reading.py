"""Which format a trace is of, and what it comes to."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fsbench_web.core.traces import blocks, histogram, iolog, strace
from fsbench_web.core.traces.observed import (
    MOST_BYTES,
    MOST_LINE,
    MOST_LINES,
    ObservedWorkload,
    TraceError,
)

_HEAD_LINES = 200


@dataclass(frozen=True)
class TraceFormat:
    """A format by its name, recognised by its first lines."""

    name: str
    recognises: Callable[[list[str]], bool]
    read: Callable[[Iterable[str]], ObservedWorkload]


FORMATS = (
    TraceFormat("fio iolog (version 2 or 3)", iolog.recognises, iolog.read),
    TraceFormat("histogram as CSV", histogram.recognises, histogram.read),
    TraceFormat("biosnoop", blocks.recognises_biosnoop, blocks.read_biosnoop),
    TraceFormat("blkparse", blocks.recognises_blkparse, blocks.read_blkparse),
    TraceFormat("strace -f -T", strace.recognises, strace.read),
)


def observed(data: bytes) -> ObservedWorkload:
    """What a trace saw. Raises TraceError."""
    if len(data) > MOST_BYTES:
        raise TraceError(0, f"A trace has {MOST_BYTES // 1024**2} MiB at most: cut it.")
    if b"\0" in data[:4096]:
        raise TraceError(0, "This is no text: blktrace's own files go through blkparse first.")
    lines = list(_lines(data))
    head = [line for line in lines[:_HEAD_LINES] if line.strip()]
    for trace_format in FORMATS:
        if trace_format.recognises(head):
            return trace_format.read(lines)
    names = "; ".join(trace_format.name for trace_format in FORMATS)
    raise TraceError(1, f"this is none of the formats that are read: {names}.")


def _lines(data: bytes) -> Iterator[str]:
    text = data.decode("utf-8-sig", "replace")
    for number, line in enumerate(text.split("\n"), start=1):
        if number > MOST_LINES:
            raise TraceError(number, f"a trace has {MOST_LINES:,} lines at most: cut it.")
        if len(line) > MOST_LINE:
            raise TraceError(number, f"it has more than {MOST_LINE:,} letters.")
        yield line
