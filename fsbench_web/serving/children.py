"""Child processes that end with this one, however it ends."""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

_PR_SET_PDEATHSIG = 1  # prctl(2)
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _end_with(parent: int) -> None:
    """In the child before exec: ask the kernel for SIGTERM when the parent dies, even by SIGKILL.

    The parent may have died before the question was asked.
    """
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)


class Child:
    """A process that is started again when it ends by itself, more slowly each time.

    ``start_new_session`` keeps Ctrl-C from reaching it directly: the supervisor ends its children
    in order, and each of them once. With ``tells_ready`` its last argument is a descriptor to which
    it writes once it works.
    """

    SLOWEST_RESTART_S = 60.0
    STEADY_AFTER_S = 30.0

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        pass_fds: Sequence[int] = (),
        tells_ready: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._argv = list(argv)
        self._pass_fds = tuple(pass_fds)
        self._tells_ready = tells_ready
        self._ready_pipe: int | None = None
        self._clock = clock
        self._started_at = 0.0
        self._restart_at: float | None = None
        self._delay_s = 1.0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        parent = os.getpid()
        self._started_at = self._clock()
        self._restart_at = None
        descriptors: list[int] = []
        if self._tells_ready:
            self._forget()
            self._ready_pipe, ready_fd = os.pipe()
            descriptors = [ready_fd]
        try:
            self.process = subprocess.Popen(
                [*self._argv, *map(str, descriptors)],
                stdin=subprocess.DEVNULL,
                pass_fds=[*self._pass_fds, *descriptors],
                start_new_session=True,
                preexec_fn=lambda: _end_with(parent),  # safe: this process has one thread
            )
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def is_settled(self) -> bool:
        """Whether it works since its last start, or will not: it ended, or tells nothing."""
        return self._ready_pipe is None or bool(select.select([self._ready_pipe], [], [], 0)[0])

    def _forget(self) -> None:
        if self._ready_pipe is not None:
            os.close(self._ready_pipe)
            self._ready_pipe = None

    def watch(self) -> str | None:
        """Start it again when it is due. Returns a sentence when there is news to tell."""
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

    def end(self, within_s: float) -> bool:
        """Wait for the end, and kill it when it does not come. False: it had to be killed."""
        if self.process is None:
            return True
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        return True


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"
