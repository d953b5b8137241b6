"""A test that fails by chance is told and run again alone; one that fails is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import rerun_failed

REPOSITORY = Path(__file__).parent.parent
FAILS_ONCE = """
import pathlib
def test_it_is_unsure():
    was_here = pathlib.Path(__file__).with_name("was-here")
    is_first = not was_here.exists()
    was_here.touch()
    assert not is_first
"""


def suite(folder: Path, *options: str, **files: str) -> "subprocess.CompletedProcess[str]":
    """What becomes of a suite of these files."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p xdist.plugin\n")
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    return subprocess.run(
        [sys.executable, "-m", "tests.rerun_failed", "-q", *options],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_test_that_passes_alone_is_told_by_its_name(tmp_path: Path, processes: str) -> None:
    done = suite(
        tmp_path, processes, unsure=FAILS_ONCE, well="def test_it_is_well():\n    assert True\n"
    )
    assert done.returncode == 0, done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert "1 passed" in done.stdout.splitlines()[-3]
    assert done.stdout.rstrip().endswith("test_unsure.py::test_it_is_unsure")
    assert "UNSURE TESTS" in done.stdout


def test_a_test_that_fails_alone_too_is_refused(tmp_path: Path) -> None:
    done = suite(
        tmp_path, unsure=FAILS_ONCE, broken="def test_it_is_broken():\n    assert 1 == 2\n"
    )
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout  # the second time
    assert "UNSURE" not in done.stdout


def test_many_failures_are_not_run_again(tmp_path: Path) -> None:
    files = {
        f"unsure{n}": FAILS_ONCE.replace("was-here", f"{n}") for n in range(rerun_failed.FEW + 1)
    }
    done = suite(tmp_path, **files)
    assert done.returncode == 1
    assert "once more" not in done.stdout


def test_what_cannot_be_collected_is_refused_at_once(tmp_path: Path) -> None:
    done = suite(tmp_path, wrong="import nothing_of_this_name\n")
    assert done.returncode == 2
    assert "once more" not in done.stdout


def test_a_suite_that_passes_is_run_once(tmp_path: Path) -> None:
    done = suite(tmp_path, well="def test_it_is_well():\n    assert True\n")
    assert done.returncode == 0
    assert done.stdout.count("passed") == 1
