"""``./manage.py`` works from a shell, whose ``python3`` knows nothing of the environment."""

import shutil
import subprocess
import sys
from pathlib import Path

from django.conf import settings

MANAGE = Path(settings.BASE_DIR) / "manage.py"


def run(manage: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # -S: a Python without any installed package.
    argv = [sys.executable, "-S", str(manage), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, cwd="/")


def test_a_python_without_django_hands_over_to_that_of_the_environment() -> None:
    done = run(MANAGE, "help", "create_token")
    assert done.returncode == 0, done.stderr
    assert "Make an API token" in done.stdout


def test_where_nothing_is_installed_it_says_what_to_do(tmp_path: Path) -> None:
    copy = Path(shutil.copy(MANAGE, tmp_path))
    done = run(copy, "help")
    assert done.returncode == 1
    assert done.stderr == (
        f"fsbench is not installed: {tmp_path}/.venv has no Django. `make run` makes it.\n"
    )
