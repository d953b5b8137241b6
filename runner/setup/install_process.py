"""One installation in the background: a child process that ends with the worker."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO

# dpkg is let finish what it began: a machine with half a package is worse than waiting.
END_S = 30.0
_KEPT_LINES = 60
_REASON_CHARACTERS = 400
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def _end_with_worker() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class InstallProcess:
    """The child keeps the descriptor ``lock`` open too, so that the lock outlives a killed worker.
    ``ends_as_group``: SIGTERM goes to all its processes.
    """

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        lock: int,
        *,
        ends_as_group: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ends_as_group = ends_as_group
        self.started = clock()
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._lines_lock = threading.Lock()
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, **environment},
            cwd="/",
            pass_fds=[lock],
            start_new_session=True,
            preexec_fn=_end_with_worker,
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), name="setup-output", daemon=True
        )
        self._reader.start()

    def _read(self, output: IO[str]) -> None:
        for line in output:
            with self._lines_lock:
                if line.strip():
                    self._lines.append(line.strip())

    def exit_code(self) -> int | None:
        """None while it runs."""
        code = self._process.poll()
        if code is not None:
            # A grandchild that was left behind may hold the pipe: that is waited for no longer.
            self._reader.join(2)
        return code

    def reason(self) -> str:
        """Why it failed, in the words of whatever failed."""
        with self._lines_lock:
            lines = list(self._lines)
        return reason_in(lines)

    def stop(self) -> None:
        """Ask it to end, and make it when it does not."""
        self._signal(signal.SIGTERM, as_group=self._ends_as_group)
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._signal(signal.SIGKILL, as_group=True)
            self._process.wait()

    def _signal(self, number: int, *, as_group: bool) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if as_group:
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)


def reason_in(lines: Sequence[str]) -> str:
    """apt's and debootstrap's own errors, which stand anywhere, else the last line."""
    lines = [re.sub(r"^#\d+ [\d.]+ ", "", line) for line in lines]
    errors = [line[2:].strip() for line in lines if re.match(r"E: ", line)]
    reason = " ".join(dict.fromkeys(errors[-2:])) or (lines[-1] if lines else "It said nothing.")
    return reason[:_REASON_CHARACTERS].strip()
