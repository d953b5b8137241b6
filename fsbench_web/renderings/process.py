"""A process that makes files: threads of the web process compute one at a time.

It starts when it is needed, ends when idle, and starts again after it died.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from django.conf import settings

from fsbench_web.renderings.worker import FAILED, MADE, TOO_LARGE

LONGEST_S = 120.0


class TooLarge(Exception):
    """It takes more memory than one answer may take."""


class RendererUnavailable(Exception):
    """The process died over it, or took longer than ``LONGEST_S`` and was ended."""


class RenderingFailed(Exception):
    """The function raised an error; its traceback is the text."""


class _ProcessEnded(Exception):
    """The process ended before it answered."""

    def __init__(self, took_too_long: bool) -> None:
        super().__init__()
        self.took_too_long = took_too_long


class Renderer:
    """Calls functions in the process, one after the other; threads wait for each other."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Connection | None = None
        self._has_ended = False

    @property
    def pid(self) -> int | None:
        """Of the process; None where none was started."""
        return self._process.pid if self._process is not None else None

    def __call__(self, function: Callable[..., bytes], *arguments: Any) -> bytes:
        """What the function of a module gives.

        Raises TooLarge, RendererUnavailable, RenderingFailed.
        """
        message = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        with self._lock:
            is_used = self._process is not None
            try:
                kind, body = self._exchange(message)
            except _ProcessEnded as ended:
                # One that was idle may have ended in this very moment.
                if ended.took_too_long or not is_used or self._has_ended:
                    raise RendererUnavailable from None
                try:
                    kind, body = self._exchange(message)
                except _ProcessEnded:
                    raise RendererUnavailable from None
        if kind == TOO_LARGE:
            raise TooLarge
        if kind == FAILED:
            raise RenderingFailed(body.decode())
        assert kind == MADE
        return body

    def end(self) -> None:
        """End the process, if there is one, in the middle of its work, and start no other."""
        self._has_ended = True
        if self._process is not None:
            self._process.kill()
        with self._lock:
            self._forget()

    def _exchange(self, message: bytes) -> tuple[bytes, bytes]:
        """The answer: what it is, and the bytes. Raises _ProcessEnded."""
        if self._has_ended:
            raise _ProcessEnded(took_too_long=False)
        if self._process is None or self._channel is None:
            self._process, self._channel = _start_worker()
        process, took_too_long = self._process, threading.Event()

        def give_up() -> None:
            took_too_long.set()
            process.kill()

        too_long = threading.Timer(self._longest_s, give_up)
        too_long.daemon = True
        too_long.start()
        try:
            self._channel.send_bytes(message)
            return self._channel.recv_bytes(), self._channel.recv_bytes()
        except (OSError, EOFError):
            self._forget()
            raise _ProcessEnded(took_too_long.is_set()) from None
        finally:
            too_long.cancel()

    def _forget(self) -> None:
        process, channel, self._process, self._channel = self._process, self._channel, None, None
        if process is not None and channel is not None:
            process.kill()
            process.wait()
            channel.close()


def _start_worker() -> tuple[subprocess.Popen[bytes], Connection]:
    environment = os.environ | {"PYTHONPATH": str(settings.BASE_DIR)}
    environment.pop("PROMETHEUS_MULTIPROC_DIR", None)  # it answers nobody and counts nothing
    ours, theirs = Pipe()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "fsbench_web.renderings.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a library prints
            env=environment,
            # Ctrl-C is for the supervisor. It ends when its channel does, however this one ends.
            start_new_session=True,
        )
    return process, ours
