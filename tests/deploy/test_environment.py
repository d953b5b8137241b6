"""deploy/environment.sh says what a machine lacks. What it makes: tests/first_start."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.services.image import ROOT

Refusal = Callable[[str], str]


@pytest.fixture
def refusal(tmp_path: Path) -> Refusal:
    """``refusal(script)``: what is said of a Python that answers as the shell script does."""
    ours = re.compile(r"FSBENCH_|MAKE|MFLAGS|VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not ours.match(name)}

    def refused(script: str) -> str:
        python = tmp_path / "python"
        if script:
            python.write_text(f"#!/bin/sh\n{script}\n")
            python.chmod(0o755)
        done = subprocess.run(
            ["sh", str(ROOT / "deploy/environment.sh"), script and str(python), "requirements.txt"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert not (tmp_path / ".venv").exists()
        return done.stderr

    return refused


def test_python_is_too_old(refusal: Refusal) -> None:
    message = refusal('case "$2" in *print*) echo 3.9 ;; *) exit 1 ;; esac')
    assert "is Python 3.9; fsbench needs 3.11 or newer" in message


def test_python_makes_no_virtual_environments(refusal: Refusal) -> None:
    message = refusal('case "$2" in *print*) echo 3.11 ;; *ensurepip*) exit 1 ;; *) exit 0 ;; esac')
    assert "apt install python3.11-venv" in message


def test_there_is_no_python(refusal: Refusal) -> None:
    assert "needs Python 3.11 or newer, and found none" in refusal("")
