"""make where no Python is new enough: it says so, before anything is installed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.services.image import ROOT


@pytest.mark.parametrize("target", ["run", "test", "tools", "lint"])
@pytest.mark.parametrize("system", ["Python 3.10.4", ""])
def test_a_system_whose_python_is_too_old_is_told_first(
    target: str, system: str, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("requirements.txt", "requirements-dev.txt"):
        (tmp_path / name).touch()
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy/environment.sh", tmp_path / "deploy")
    installer = tmp_path / "tests/services/install.sh"
    installer.parent.mkdir(parents=True)
    installer.write_text("#!/bin/sh\ntouch installed\n")
    installer.chmod(0o755)
    python = tmp_path / "bin/python3"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\n[ '{system}' ] && echo '{system}'\n")
    python.chmod(0o755)
    ours = re.compile(r"MAKE|MFLAGS|PYTHON")
    kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
    done = subprocess.run(
        ["make", target, "PYTHON="],
        cwd=tmp_path,
        env=kept | {"PATH": f"{python.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "fsbench needs Python 3.11 or newer" in done.stderr
    assert ("apt install python3.11 python3.11-venv" in done.stderr) == bool(system)
    assert "Permission denied" not in done.stderr
    assert not (tmp_path / "installed").exists()
