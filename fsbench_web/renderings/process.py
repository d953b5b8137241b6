"""A process that makes files: threads of the web process compute one at a time.

It starts when it is needed, ends when idle, and starts again after it died.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from django.conf import settings

from fsbench_web.renderings.worker import FAILED, LENGTH, MADE, TOO_LARGE

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
                answer = self._exchange(message)
            except _ProcessEnded as ended:
                # One that was idle may have ended in this very moment.
                if ended.took_too_long or not is_used or self._has_ended:
                    raise RendererUnavailable from None
                try:
                    answer = self._exchange(message)
                except _ProcessEnded:
                    raise RendererUnavailable from None
        kind, body = answer[:1], answer[1:]
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

    def _exchange(self, message: bytes) -> bytes:
        """The answer. Raises _ProcessEnded."""
        if self._has_ended:
            raise _ProcessEnded(took_too_long=False)
        process = self._process = self._process or _start_worker()
        assert process.stdin is not None
        assert process.stdout is not None
        took_too_long = threading.Event()

        def give_up() -> None:
            took_too_long.set()
            process.kill()

        too_long = threading.Timer(self._longest_s, give_up)
        too_long.daemon = True
        too_long.start()
        try:
            process.stdin.write(LENGTH.pack(len(message)) + message)
            process.stdin.flush()
            head = process.stdout.read(LENGTH.size)
            count = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else 0
            answer = process.stdout.read(count) if count else b""
        except OSError:
            count, answer = 0, b""
        finally:
            too_long.cancel()
        if count and len(answer) == count:
            return answer
        self._forget()
        raise _ProcessEnded(took_too_long.is_set())

    def _forget(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        pipe: IO[bytes] | None
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def _start_worker() -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(settings.BASE_DIR)}
    environment.pop("PROMETHEUS_MULTIPROC_DIR", None)  # it answers nobody and counts nothing
    return subprocess.Popen(
        [sys.executable, "-m", "fsbench_web.renderings.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        # Ctrl-C is for the supervisor. It ends when its input does, however this process ends.
        start_new_session=True,
    )
