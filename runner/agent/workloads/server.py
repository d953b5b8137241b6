"""A database server of a run's own, started for one command and ended. Standard library only."""

import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

START_S = 120.0


class ServerFailed(Exception):
    """A sentence that says what is wrong."""


def run_quietly(argv: list[str], step: str) -> None:
    """Run a command and drop its output. Raises ServerFailed with its last line."""
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace")
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise ServerFailed(f"{step} failed: {lines[-1].strip()[:300] if lines else 'no output'}")


@contextmanager
def server(
    argv_in: Callable[[str], list[str]],
    probe_in: Callable[[str], list[str]],
    end_signal: signal.Signals,
) -> Iterator[str]:
    """Start it; gives the folder of its socket, which goes with it. Raises ServerFailed.

    ``argv_in`` and ``probe_in`` give its command, and one that succeeds once it answers.
    """
    with tempfile.TemporaryDirectory(prefix="fsbench-server-") as folder:
        log = Path(folder, "log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                argv_in(folder), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            _wait_until_ready(process, probe_in(folder), log)
            yield folder
        finally:
            process.send_signal(end_signal)
            process.wait()
        if process.returncode:
            raise ServerFailed(f"the server did not end in order: {_last(log)}")


def _wait_until_ready(process: "subprocess.Popen[bytes]", probe: list[str], log: Path) -> None:
    end = time.monotonic() + START_S
    while subprocess.run(probe, capture_output=True).returncode != 0:
        if process.poll() is not None or time.monotonic() > end:
            raise ServerFailed(f"the server does not start: {_last(log)}")
        time.sleep(0.05)


def _last(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else "it said nothing"
