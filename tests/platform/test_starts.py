"""What a start may load. A package that is loaded by the way costs every start of every process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

# `--help` is a command up to its first line of work.
_LOADED = """
import json, runpy, sys
sys.argv = ["manage.py", *sys.argv[1:], "--help"]
try:
    runpy.run_path("manage.py", run_name="__main__")
except SystemExit:
    sys.stderr.write(json.dumps(sorted(sys.modules)))
"""
ASKING = {"jwt", "requests", "cryptography"}  # another server: single sign-on
DRAWING = {"plotly", "xlsxwriter", "markdown"}
PAGES = {"ninja", "fsbench_web.urls", "fsbench_web.api", "fsbench_web.figures", "fsbench_web.pages"}


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        (
            "create_token",
            {"numpy", "scipy", "celery", "docker", "uvicorn"} | ASKING | DRAWING | PAGES,
        ),
        ("prepare", {"numpy", "scipy", "celery", "docker", "uvicorn"} | ASKING | DRAWING | PAGES),
        ("importer", {"scipy", "celery", "docker", "uvicorn"} | ASKING | DRAWING | PAGES),
        ("worker", {"scipy", "uvicorn"} | DRAWING | PAGES),
        ("serve", {"scipy", "docker"} | ASKING | DRAWING | PAGES),
    ],
)
def test_a_command_loads_what_it_works_with(
    command: str, unneeded: set[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, command],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"], "FSBENCH_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert command in done.stdout
    loaded = set(json.loads(done.stderr))
    assert "django.db.models" in loaded
    assert loaded & unneeded == set()
