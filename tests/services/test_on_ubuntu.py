"""What the tests' installer and their services do on Ubuntu: tried as one, on whatever this is."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.services.browser import chromium_path
from tests.services.image import ROOT
from tests.services.process import ServiceFailed, program

# For this program alone the system is another one.
AS_UBUNTU = """
printf 'ID=ubuntu\\nID_LIKE=debian\\n' >"$FOLDER/os-release"
mount --bind "$FOLDER/os-release" /etc/os-release
exec "$@"
"""
APT_GET = """#!/bin/sh
for word in "$@"; do case $word in
  Dir::Etc::sourcelist=*) cat "${word#*=}" >>"$FOLDER/log" ;;
  linux-image-*) touch "${word}_6.1_amd64.deb" ;;
esac; done
"""
APT_CACHE = """#!/bin/sh
echo "  Depends: linux-image-6.1.0-50-amd64"
"""
PYTHON = """#!/bin/sh
case "$*" in *requirements.py*) exec python3 "$@" ;; esac
echo "$@" >>"$FOLDER/installs"
"""
Installed = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    """Run the installer where all is there but a kernel, and Chromium is a snap."""
    programs = tmp_path / "snap/bin"
    programs.mkdir(parents=True)
    nothing = "#!/bin/sh\n"
    there = {"chromium": nothing, "chromium-headless-shell": nothing}
    scripts = {"apt-get": APT_GET, "apt-cache": APT_CACHE, "python": PYTHON}
    for name, text in (scripts | there).items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)

    def run(**env: str) -> "subprocess.CompletedProcess[str]":
        alone = (program("unshare", "util-linux"), "--mount", "sh", "-ec", AS_UBUNTU, "sh")
        return subprocess.run(
            [*alone, str(ROOT / "tests/services/install.sh")],
            env={
                "PATH": f"{programs}:{os.environ['PATH']}",
                "HOME": str(tmp_path),
                "FOLDER": str(tmp_path),
                "XDG_CACHE_HOME": str(tmp_path),
                "PYTHON": str(programs / "python"),
                **env,
            },
            capture_output=True,
            text=True,
        )

    return run


@pytest.mark.root
def test_the_kernel_of_guests_is_debians(installed: Installed, tmp_path: Path) -> None:
    done = installed()
    keys = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
    asked = (tmp_path / "log").read_text()
    assert f"deb [{keys}] http://deb.debian.org/debian bookworm main" in asked, done.stderr
    assert [path.name for path in (tmp_path / "fsbench-test/kernels").iterdir()] == [
        "linux-image-6.1.0-50-amd64_6.1_amd64.deb"
    ]


@pytest.mark.root
def test_a_compose_that_does_not_start_is_none(installed: Installed, tmp_path: Path) -> None:
    """Ubuntu 24.04's docker-compose ends with a module that its Python has not."""
    for name in ("docker", "docker-compose"):
        (tmp_path / "snap/bin" / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "snap/bin" / name).chmod(0o755)
    installed()
    installs = (tmp_path / "installs").read_text()
    assert "--only docker-compose-v2" in installs


@pytest.mark.root
def test_it_says_where_a_chromium_is_to_be_had(installed: Installed, tmp_path: Path) -> None:
    done = installed()
    assert done.returncode == 1
    assert "playwright install --with-deps chromium" in done.stderr
    chrome = tmp_path / "ms-playwright/chromium-1200/chrome-linux64/chrome"
    chrome.parent.mkdir(parents=True)
    chrome.touch()
    assert installed().returncode == 0


def test_chromium_may_be_playwrights_own_and_is_no_snap(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    snap = tmp_path / "snap/bin/chromium"
    chrome = tmp_path / "chromium-1200/chrome-linux/chrome"
    for path in (snap, chrome):
        path.parent.mkdir(parents=True)
        path.touch(0o755)
    monkeypatch.setenv("PATH", str(snap.parent))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    assert chromium_path() == str(chrome)
    chrome.unlink()
    with pytest.raises(ServiceFailed, match="playwright install"):
        chromium_path()
