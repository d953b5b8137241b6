"""One child process of the tests: started, waited for, and certain to end."""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


def holds(condition: Callable[[], bool]) -> bool:
    """Whether it is so. Where it is not, nine times as long as the look took have gone by (0.1 to
    1 s): whoever waits by looking at a database, a daemon or all processes leaves the processors to
    what is waited for.
    """
    began = time.monotonic()
    if condition():
        return True
    time.sleep(min(max(0.1, 9 * (time.monotonic() - began)), 1))
    return False


class ServiceFailed(RuntimeError):
    """The service is not installed, did not start or did not become ready; says why."""


def program(name: str, package: str, folders: Sequence[str] = ()) -> str:
    """The program's path, looked for in PATH, sbin and ``folders``. Raises ServiceFailed."""
    places = [*folders, "/usr/local/sbin", "/usr/sbin", "/sbin"]
    path = shutil.which(name) or shutil.which(name, path=":".join(places))
    if path is None:
        raise ServiceFailed(
            f"{name} is not installed (Debian package {package}): run tests/services/install.sh"
        )
    return path


class Service:
    """A running child whose output goes to a file.

    ``setpriv --pdeathsig`` makes the kernel end the child when the tests are killed outright;
    a session of its own keeps Ctrl-C from reaching it before the fixtures have cleaned up.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        prefix = [
            program("setpriv", "util-linux"),
            "--pdeathsig",
            stop_signal.name.removeprefix("SIG"),
        ]
        if user is not None:
            prefix += ["--reuid", user, "--regid", user, "--clear-groups"]
        self.name = Path(argv[0]).name
        self.log = log
        self._stop_signal = stop_signal
        self._argv, self._env = [*prefix, "--", *argv], env
        self.process = self._started()

    def _started(self) -> "subprocess.Popen[bytes]":
        with self.log.open("ab") as output:
            return subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,
            )

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it without a word (or with this signal), as a crash would; ``start`` it again."""
        self.process.send_signal(number)
        self.process.wait(60)

    def start(self) -> None:
        """Start it again, with the same command."""
        assert self.process.poll() is not None
        self.process = self._started()

    def wait_until(self, ready: Callable[[], bool], timeout_s: float = 90) -> None:
        """Return once ``ready()`` is true. Raises ServiceFailed with the end of the log."""
        deadline = time.monotonic() + timeout_s
        while not holds(ready):
            code = self.process.poll()
            if code is not None:
                raise ServiceFailed(f"{self.name} ended with {code}:\n{self.tail()}")
            if time.monotonic() > deadline:
                self.stop()
                raise ServiceFailed(
                    f"{self.name} was not ready after {timeout_s} s:\n{self.tail()}"
                )

    def tail(self, lines: int = 30) -> str:
        """The last lines it printed."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, timeout_s: float = 40) -> None:
        """Ask it to end, and kill it when it does not."""
        if self.process.poll() is not None:
            return
        self.process.send_signal(self._stop_signal)
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
