"""Children are restarted when they crash, and never outlive the supervisor."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fsbench_web.platform import program_files
from fsbench_web.serving.children import Child
from fsbench_web.serving.supervisor import Supervisor, open_socket

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


def _until(condition: Callable[[], object], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def _crash(child: Child) -> None:
    assert child.process is not None
    child.process.kill()
    child.process.wait()


def test_it_starts_a_crashed_child_again_ever_more_slowly() -> None:
    clock = Clock()
    child = Child("worker", SLEEPER, clock=clock)
    child.start()
    try:
        for wait_s in (1, 2, 4):
            _crash(child)
            assert child.watch() == (
                f"The worker was ended by SIGKILL; it is started again in {wait_s} s."
            )
            clock.now += wait_s - 0.1
            assert child.watch() is None
            assert not child.is_running
            clock.now += 0.2
            assert child.watch() is None
            assert child.is_running
        clock.now += 60
        _crash(child)
        assert "in 1 s" in str(child.watch())
    finally:
        child.terminate()
        child.end()


def test_it_tells_the_exit_code() -> None:
    child = Child("worker", [sys.executable, "-c", "raise SystemExit(3)"])
    child.start()
    _until(lambda: not child.is_running)
    assert "exit code 3" in str(child.watch())


def test_a_child_that_does_not_listen_is_killed() -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    child = Child("worker", [sys.executable, "-c", code], end_within_s=0.3)
    child.start()
    assert child.process is not None
    status = Path(f"/proc/{child.process.pid}/status")
    _until(lambda: _ignores(status.read_text(), signal.SIGTERM))
    child.terminate()
    assert child.end() is False
    assert not child.is_running


def _ignores(status: str, number: signal.Signals) -> bool:
    """Whether a process of this /proc/PID/status ignores the signal."""
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) & 1 << (number - 1))


def test_children_end_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    supervisor = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\n"
            "from fsbench_web.serving.children import Child\n"
            "child = Child('worker', [sys.executable, '-c', 'import time; time.sleep(600)'])\n"
            "child.start()\n"
            f"open({str(pid_file)!r}, 'w').write(str(child.process.pid))\n"
            "time.sleep(600)\n",
        ]
    )
    _until(lambda: pid_file.exists() and pid_file.read_text())
    pid = int(pid_file.read_text())
    os.kill(pid, 0)
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    _until(lambda: not _is_alive(pid))


def _is_alive(pid: int) -> bool:
    """A zombie is dead; whoever inherits it may take its time to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


WEB = """
import os, pathlib, signal, sys, time
log, name = pathlib.Path(sys.argv[1]), sys.argv[2]
def note(line):
    with log.open("a") as file:
        file.write(f"{line} {name}\\n")
def end(*_):
    note("ends")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
note("works")
time.sleep(600)
"""


def test_files_of_another_version_are_told_once_and_nothing_is_renewed_with_them(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new template may want a static file that only a start collects: every page would fail."""
    settings.BASE_DIR = tmp_path
    monkeypatch.setenv("OWN_FILES_AT_START", "")  # and as it was in the end
    messages: list[str] = []
    with open_socket("127.0.0.1", 0) as listening:
        under = Supervisor(listening, processes=1, with_worker=False, echo=messages.append)
    under.webs = under.children = [Child("one", [sys.executable, "-c", "input()"])]
    program_files.note()
    under._check_own_files()
    assert messages == []
    (tmp_path / "runner" / "__pycache__").mkdir(parents=True)
    (tmp_path / "runner" / "__pycache__" / "a.pyc").touch()
    under._check_own_files()
    assert messages == []
    (tmp_path / "runner" / "a.py").touch()
    for _ in range(2):
        under._check_own_files()
    assert len(messages) == 1
    assert "restart it" in messages[0]
    under._renew_webs()
    assert messages[1].startswith("The web processes were not restarted. The files")
    assert under.webs[0].process is None


def test_web_processes_are_restarted_one_after_another(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with open_socket("127.0.0.1", 0) as listening:
        under = Supervisor(listening, processes=2, with_worker=False, echo=lambda line: None)
        argv = [sys.executable, "-c", WEB, str(log)]
        under.webs = under.children = [Child(name, [*argv, name]) for name in ("one", "two")]
        try:
            for number, web in enumerate(under.webs, start=1):
                web.start()
                _until(lambda number=number: log.exists() and _lines(log) == number)  # type: ignore[misc]
            under._renew_webs()
            _until(lambda: _lines(log) == 6)
            ends = [line for line in log.read_text().splitlines() if line.startswith("ends")]
            assert ends == ["ends one", "ends two"]
        finally:
            for web in under.webs:
                web.terminate()
                web.end()


def _lines(log: Path) -> int:
    return len(log.read_text().splitlines())
