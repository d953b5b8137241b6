"""docs/adding-a-workload.md, carried out: its code is installed as a package and really run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "adding-a-workload.md"


def block(language: str) -> str:
    """The guide's only block of this language."""
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
    return str(code)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder into which pip has installed the guide's package."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "fsbench_renames.py").write_text(block("python"))
    (source / "pyproject.toml").write_text(block("toml"))
    pip("install", "--target", str(tmp_path / "installed"), str(source))
    return tmp_path / "installed"


def pip(*arguments: str) -> None:
    first, *rest = arguments
    offline = ("--no-index", "--no-build-isolation", "--no-deps", "--quiet")
    command = [sys.executable, "-m", "pip", first, *offline, *rest]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def with_package(folder: Path, data: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the package on its path, on a database of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {"PYTHONPATH": f"{folder}:{ROOT}", "FSBENCH_TEST_DATA": str(data)}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True
    )


@pytest.mark.root
def test_the_guides_workload_is_offered_submitted_run_and_scored(
    installed: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    inner = "tests/core/workloads/of_the_guide.py"
    command = (
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "--nomigrations",
        inner,
    )
    done = with_package(installed, data, *command)
    assert done.returncode == 0, done.stdout[-6000:]
    assert re.search(r"\b1 passed", done.stdout)


def test_a_package_that_cannot_be_loaded_takes_nothing_else_away(
    installed: Path, tmp_path: Path
) -> None:
    module = installed / "fsbench_renames.py"
    module.write_text("import no_such_module\n" + module.read_text())
    done = with_package(
        installed,
        tmp_path,
        *("-c", "from fsbench_web.core.workloads import presets; print(*presets())"),
    )
    assert "iozone-paper" in done.stdout
    assert "renames" not in done.stdout
    assert "no_such_module" in done.stderr
