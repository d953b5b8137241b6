"""`manage.py … | head`: whoever reads what a command prints may have seen enough."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
# More than a pipe holds, and less than Python keeps before it writes.
LONG = "[print('x' * 200) for _ in range(2000)]"
SHORT = "print('x')"
ELSEWHERE = "a, b = __import__('socket').socketpair(); b.close(); a.send(b'x')"


def without_reader(code: str) -> "subprocess.CompletedProcess[str]":
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [sys.executable, "manage.py", "shell", "--no-imports", "--command", code],
            cwd=ROOT,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        )
    finally:
        os.close(writing)


@pytest.mark.parametrize("code", [LONG, SHORT], ids=["long", "short"])
def test_a_command_ends_quietly_when_nobody_reads_it(code: str) -> None:
    done = without_reader(code)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_connection_that_breaks_is_still_told() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "--command", ELSEWHERE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
    )
    assert done.returncode == 1
    assert "BrokenPipeError" in done.stderr
