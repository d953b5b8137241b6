"""`make test` fails when any of its parts does. The parts are stand-ins: the Makefile is asked."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
PARTS = {
    "types": "-m mypy",
    "imports": "lint-imports",
    "migrations": "manage.py makemigrations",
    "PostgreSQL": "--database",
    "SQLite": "--after-database",
}
PROGRAM = """#!/bin/sh
echo "called: ${0##*/} $* (bytecode is ${PYTHONDONTWRITEBYTECODE:-kept})"
case "${0##*/} $*" in *"$FAILING"*) exit 3 ;; esac
"""
Make = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """``make("test", failing="-m mypy")``: each program of the tree says how it was called.

    So is the Python that virtual environments are made with: looking for one that is new enough
    was most of the work of these tests.
    """
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("requirements.txt", "requirements-dev.txt"):
        (tmp_path / name).touch()
    for name in (".venv/bin/python", ".venv/bin/lint-imports", "tests/services/install.sh"):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(PROGRAM)
        program.chmod(0o755)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy/environment.sh").write_text("true\n")

    def run(target: str, failing: str = "nothing of that name", **more: str) -> Any:
        ours = re.compile(r"MAKE|MFLAGS|PYTHON")
        environment = {name: value for name, value in os.environ.items() if not ours.match(name)}
        return subprocess.run(
            ["make", target],
            cwd=tmp_path,
            env=environment | {"FAILING": failing, "PYTHON": "true"} | more,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def test_everything_is_called(make: Make) -> None:
    done = make("test")
    assert done.returncode == 0, done.stderr
    for part in PARTS.values():
        assert part in done.stdout
    assert "install.sh" in done.stdout


@pytest.mark.parametrize("part", PARTS)
def test_it_fails_when_a_part_fails(make: Make, part: str) -> None:
    done = make("test", failing=PARTS[part])
    assert done.returncode != 0, done.stdout
    assert "make: ***" in done.stderr
    # They run beside each other: both databases are told of, whatever fails.
    assert PARTS["SQLite"] in done.stdout
    assert PARTS["PostgreSQL"] in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_runs_beside_it_is_ended_with_it(
    make: Make, tmp_path: Path, number: signal.Signals
) -> None:
    """By SIGTERM to make alone, as CI does at its limit; by Ctrl-C, which all of its group get."""
    make("test-quick")  # the stamps of the installation are there
    waiting = tmp_path / "waiting"
    program = f"""#!{sys.executable}
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # as tests/conftest.py does
with open({str(waiting)!r}, "a") as file:
    print(os.getpid(), file=file)
time.sleep(600)
"""
    for name in (".venv/bin/python", ".venv/bin/lint-imports"):
        (tmp_path / name).write_text(program)
    started = subprocess.Popen(
        ["make", "test"],
        cwd=tmp_path,
        env=os.environ | {"FAILING": "nothing of that name", "PYTHON": "true"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not waiting.exists() or len(waiting.read_text().split()) < 2:
        assert started.poll() is None
        time.sleep(0.05)
    if number == signal.SIGINT:
        os.killpg(started.pid, number)
    else:
        started.send_signal(number)
    assert started.wait(60) != 0
    while any(Path(f"/proc/{pid}").exists() for pid in waiting.read_text().split()):
        time.sleep(0.05)


def test_what_was_compiled_is_kept(make: Make) -> None:
    done = make("test", PYTHONDONTWRITEBYTECODE="1")
    called = [line for line in done.stdout.splitlines() if "tests.rerun_failed" in line]
    assert len(called) == 2
    assert all(line.endswith("(bytecode is kept)") for line in called)


def test_it_fails_when_a_service_cannot_be_installed(make: Make) -> None:
    done = make("test", failing="install.sh")
    assert done.returncode != 0
    assert "tests.rerun_failed" not in done.stdout
