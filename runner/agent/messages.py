"""What the agent says, one JSON object a line, and whether it is asked to stop."""

import json
import os
import selectors
import signal
import sys
import time
from typing import Any

LOG_LINE_CHARACTERS = 2000
CHUNK_CHARACTERS = 16 * 1024


class Cancelled(Exception):
    """Somebody asked the run to stop, or the worker is gone."""


class Listener:
    """Whether to stop: by SIGTERM or SIGINT, or because the worker's end of stdin is closed."""

    def __init__(self) -> None:
        self.must_stop = False
        self.watched: int | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)

    def _stop(self, *_: object) -> None:
        self.must_stop = True

    def check(self) -> bool:
        if self.watched is not None and not self.must_stop:
            with selectors.DefaultSelector() as selector:
                selector.register(self.watched, selectors.EVENT_READ)
                if selector.select(0) and not os.read(self.watched, 4096):
                    self.must_stop = True
        return self.must_stop


LISTENER: Listener | None = None


def must_stop() -> bool:
    return LISTENER is not None and LISTENER.check()


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


def send_output(name: str, text: str) -> None:
    """Send a tool's whole output in parts of bounded length."""
    parts = [text[i : i + CHUNK_CHARACTERS] for i in range(0, len(text), CHUNK_CHARACTERS)] or [""]
    for number, part in enumerate(parts):
        send("output", name=name, part=number, is_last=number == len(parts) - 1, text=part)
