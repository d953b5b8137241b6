"""Child processes that end with this one, however it ends."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

_PR_SET_PDEATHSIG = 1  # prctl(2)
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _end_with(parent: int) -> None:
    """In the child before exec: get SIGTERM from the kernel when the parent dies."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)


class Child:
    """A process that is restarted when it ends unasked, more slowly each time."""

    SLOWEST_RESTART_S = 60.0
    STEADY_AFTER_S = 30.0

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        end_within_s: float = 45.0,
        pass_fds: Sequence[int] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.end_within_s = end_within_s
        self._argv = list(argv)
        self._pass_fds = tuple(pass_fds)
        self._clock = clock
        self._started_at = 0.0
        self._restart_at: float | None = None
        self._delay_s = 1.0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        parent = os.getpid()
        self._started_at = self._clock()
        self._restart_at = None
        self.process = subprocess.Popen(
            self._argv,
            stdin=subprocess.DEVNULL,
            pass_fds=self._pass_fds,
            # Ctrl-C does not reach it: the supervisor ends its children in order, each once.
            start_new_session=True,
            preexec_fn=lambda: _end_with(parent),
        )

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def watch(self) -> str | None:
        """Restart it when that is due. Returns a sentence when it has just ended."""
        if self.process is None or self.is_running:
            return None
        now = self._clock()
        if self._restart_at is None:
            if now - self._started_at > self.STEADY_AFTER_S:
                self._delay_s = 1.0
            self._restart_at = now + self._delay_s
            wait_s, self._delay_s = self._delay_s, min(self._delay_s * 2, self.SLOWEST_RESTART_S)
            ended = _how_it_ended(self.process.returncode)
            return f"The {self.name} {ended}; it is started again in {wait_s:.0f} s."
        if now >= self._restart_at:
            self.start()
        return None

    def terminate(self) -> None:
        if self.process is not None and self.is_running:
            self.process.terminate()

    def end(self) -> bool:
        """Wait for the end for ``end_within_s``, then kill it. False: it was killed."""
        if self.process is None:
            return True
        try:
            self.process.wait(self.end_within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        return True


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"
