"""The client as pip installs it: from a checkout, and from a source archive without one."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from django.conf import settings

from tests.client.conftest import CLIENT
from tests.client.local_files import folders_of
from tests.core.sealed.conftest import sealed

CORE = Path(settings.BASE_DIR) / "fsbench_web" / "core"
NOT_INSTALLED = {"isal"}
"""What the core loads for a site's blocks of numbers only."""


def checkout(folder: Path) -> Path:
    """A copy of what the client is built from: setuptools writes beside what it builds."""
    left_out = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    shutil.copytree(CORE, folder / "fsbench_web" / "core", ignore=left_out)
    shutil.copy(CORE.parent.parent / "LICENSE", folder)
    return Path(shutil.copytree(CLIENT, folder / "client", ignore=left_out))


def run(*argv: object, **variables: str) -> str:
    done = subprocess.run(
        list(map(str, argv)),
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **variables},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.install
def test_pip_installs_it_from_a_checkout(tmp_path: Path) -> None:
    """What it needs besides is here already, with the tests' own packages."""
    project, target = checkout(tmp_path / "checkout"), tmp_path / "target"
    run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
        *("--no-build-isolation", "--no-index", "--target", target, project),
    )
    command = target / "bin" / "fsbench"
    version = run(command, "--version", PYTHONPATH=str(target))
    assert re.fullmatch(r"fsbench \d+\.\d+\.\d+\n", version)
    assert not (target / "fsbench_web").exists()
    assert "BSD 3-Clause" in (target / "fsbench" / "LICENSE").read_text()
    folders_of("fio-3.33-json.txt", tmp_path / "results")
    answer = run(command, "compare", tmp_path / "results", "--json", PYTHONPATH=str(target))
    assert json.loads(answer)["runs"] == 6
    (tmp_path / "lab.zip").write_bytes(sealed())
    answer = run(command, "verify", tmp_path / "lab.zip", "--json", PYTHONPATH=str(target))
    assert json.loads(answer)["sound"]


@pytest.mark.install
def test_a_source_archive_installs_into_an_empty_environment(tmp_path: Path) -> None:
    project = checkout(tmp_path / "checkout")
    build = "from setuptools import build_meta as b; print(b.build_sdist('../dist'))"
    subprocess.run([sys.executable, "-c", build], cwd=project, check=True, capture_output=True)
    [archive] = (tmp_path / "checkout" / "dist").glob("*.tar.gz")
    shutil.rmtree(tmp_path / "checkout" / "fsbench_web")
    run(sys.executable, "-m", "venv", tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", archive)
    for sample in ("fio-3.33-json.txt", "iozone-3.489-sweep.txt"):
        results = tmp_path / sample
        folders_of(sample, results)
        answer = run(python.with_name("fsbench"), "compare", results, "--json")
        assert json.loads(answer)["runs"] == 6
    names = "import fsbench, sys; fsbench.read(sys.argv[1]); print(*sys.modules)"
    modules = run(python, "-c", names, results).split()
    assert "fsbench.core.formats" in modules
    assert not [name for name in modules if name.split(".")[0] in ("fsbench_web", "django")]


def test_nothing_is_built_without_the_core(tmp_path: Path) -> None:
    alone = shutil.copytree(CLIENT, tmp_path / "client")
    carry = runpy.run_path(str(alone / "setup.py"), run_name="build", init_globals={})
    with pytest.raises(SystemExit):
        carry["carry"](tmp_path / "target" / "fsbench")


def test_it_imports_what_its_package_names() -> None:
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[^a-z]", name)[0] for name in project["dependencies"]}
    carried = runpy.run_path(str(CLIENT / "setup.py"), run_name="build")["is_carried"]
    modules = [*(CLIENT / "fsbench").rglob("*.py"), *filter(carried, CORE.rglob("*.py"))]
    imported = {
        name
        for path in modules
        for name in re.findall(
            r"^ *(?:from|import) (\w+)(?:[\w.]*)(?:\s|$)", path.read_text(), re.M
        )
    }
    ours = {"fsbench", "fsbench_web"} | NOT_INSTALLED | project["optional-dependencies"].keys()
    assert imported - sys.stdlib_module_names - ours == needed
