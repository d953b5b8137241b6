"""What the agent says, one JSON object a line, and whether it is to stop."""

import json
import os
import select
import signal
import sys
import time
from typing import Any

LOG_LINE_CHARACTERS = 2000
# No character of UTF-8 is longer than 4 bytes.
LOG_LINE_BYTES = 4 * LOG_LINE_CHARACTERS
CHUNK_CHARACTERS = 16 * 1024
# Exit statuses (runner.executors.base).
STOPPED, WORKER_SILENT = 3, 4


class Cancelled(Exception):
    """Somebody asked the run to stop, or the worker is gone."""


class WorkerWatch:
    """Whether the worker lives, by a descriptor that it keeps open and writes to.

    After ``silence_s`` without a byte (0: never) another host may get the disk, so nothing may
    write.
    """

    def __init__(self, descriptor: int, silence_s: float = 0.0) -> None:
        self.silence_s = silence_s
        self.is_gone = self.is_silent = False
        self._descriptor = descriptor
        self._heard_at = _since_boot()

    def must_stop(self) -> bool:
        """Look now; once it is True it stays so."""
        if self.is_gone or self.is_silent:
            return True
        # Not by epoll, which takes no /dev/null: what a container without a connection has.
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        is_readable = bool(poll.poll(0))
        now = _since_boot()
        if is_readable and os.read(self._descriptor, 4096):
            self._heard_at = now
        elif is_readable:
            self.is_gone = True
        else:
            self.is_silent = 0 < self.silence_s < now - self._heard_at
        return self.is_gone or self.is_silent

    @property
    def reason(self) -> str:
        """A sentence where it was silent; of one that is gone nobody is there to hear it."""
        if not self.is_silent:
            return ""
        return (
            f"The worker gave no sign of life for {self.silence_s:g} s, after which another host "
            "may have the LUN: the run was stopped."
        )


def _since_boot() -> float:
    """Seconds, those included in which the host was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Listener:
    """Whether to stop: by SIGTERM or SIGINT, or because the worker is gone or silent."""

    def __init__(self) -> None:
        self.must_stop = False
        self.worker: WorkerWatch | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)

    def _stop(self, *_: object) -> None:
        self.must_stop = True

    def check(self) -> bool:
        if self.worker is not None and self.worker.must_stop():
            self.must_stop = True
        return self.must_stop


LISTENER: Listener | None = None


def must_stop() -> bool:
    return LISTENER is not None and LISTENER.check()


def why_stopped() -> "tuple[int, str]":
    """(exit status, sentence) of a run that was asked to stop."""
    if LISTENER is not None and LISTENER.worker is not None and LISTENER.worker.is_silent:
        return WORKER_SILENT, LISTENER.worker.reason
    return STOPPED, "The run was stopped."


def send(kind: str, **values: Any) -> None:
    """Print one message. A reader that went away counts as a request to stop."""
    try:
        sys.stdout.write(json.dumps({"type": kind, "at": time.time(), **values}) + "\n")
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        if LISTENER is not None:
            LISTENER.must_stop = True


def log(text: str, stream: str = "fsbench") -> None:
    send("log", stream=stream, text=text[:LOG_LINE_CHARACTERS])


def send_output(name: str, data: bytes) -> None:
    """Send a tool's whole output in parts of bounded length; ``output_bytes`` reads one."""
    # A byte that is not UTF-8 becomes a lone surrogate, which JSON can say.
    text = data.decode("utf-8", "surrogateescape")
    parts = [text[i : i + CHUNK_CHARACTERS] for i in range(0, len(text), CHUNK_CHARACTERS)] or [""]
    for number, part in enumerate(parts):
        send("output", name=name, part=number, is_last=number == len(parts) - 1, text=part)


def output_bytes(text: str) -> bytes:
    """The bytes that ``send_output`` sent as this part of an output."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte, from who knows whom
        return text.encode("utf-8", "replace")
