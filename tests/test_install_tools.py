"""deploy/install_tools.py with an apt that is a script: what is asked of it, and what it may break.

The real one is tried in a bare root by hand and by `.ci/run`.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from deploy import install_tools
from fsbench_web.core import requirements

ROOT = Path(settings.BASE_DIR)
pytestmark = pytest.mark.root
# The machine's own folders stay as they are: another installation may be going on there.
PROGRAM = """
import sys
from pathlib import Path
from deploy import install_tools
folder = Path(sys.argv[1])
install_tools.POLICY = folder / "policy-rc.d"
install_tools.LOCK_FOLDER = folder
sys.exit(install_tools.main(sys.argv[2:]))
"""
APT_GET = """#!/bin/sh
for word in "$@"; do case $word in
  Dir::Etc::sourcelist=*) cp "${word#*=}" "$STUB/sources.list" ;;
  update) does=update ;;
  install) does=install ;;
  --download-only) does=download ;;
esac; done
echo "apt-get $*" >>"$STUB/log"
case $does in
  update) echo "$WARNING" ;;
  install)
    [ -e "$STUB/policy-rc.d" ] && sh "$STUB/policy-rc.d" || echo "policy $?" >>"$STUB/log"
    ;;
esac
[ "$HANG" != "$does" ] || { echo here >"$STUB/reached"; read -r line <"$STUB/go_on"; }
[ "$FAILING" != "$does" ] || { echo "E: The mirror is away."; exit 100; }
echo "$does is done" >>"$STUB/log"
"""
APT_CACHE = """#!/bin/sh
for word in "$@"; do case $word in
  -*|*::*|policy|nosuch*) ;;
  gone) printf 'gone:\\n  Installed: (none)\\n  Candidate: (none)\\n  Version table:\\n' ;;
  *) printf '%s:\\n  Installed: (none)\\n  Candidate: 1.0\\n  Version table:\\n' "$word" ;;
esac; done
"""
Install = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    """``install("--only", "fio", HANG="install")`` starts it; it ends with the test."""
    for name, text in (("apt-get", APT_GET), ("apt-cache", APT_CACHE)):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    os.mkfifo(tmp_path / "reached")
    os.mkfifo(tmp_path / "go_on")
    started = []

    def start(*arguments: str, **variables: str) -> "subprocess.Popen[str]":
        path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), *arguments],
            cwd=ROOT,
            env={**os.environ, "PATH": path, "STUB": str(tmp_path), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_packages_come_through_lists_of_its_own(install: Install, tmp_path: Path) -> None:
    done = install("--only", "fio", "iozone3", "--if-known", "nosuch-cli")
    output, problem = done.communicate()
    assert done.returncode == 0, problem
    assert "Installing: fio iozone3\n" in output
    log = (tmp_path / "log").read_text().splitlines()
    update, download, installation = (line for line in log if line.startswith("apt-get"))
    for line in (update, download, installation):
        assert "Dir::State::lists=/tmp/" in line
        assert "Dir::Cache::archives=/tmp/" in line
    assert installation.endswith("--no-install-recommends fio iozone3")
    assert (
        "non-free" in (tmp_path / "sources.list").read_text()
        or "multiverse" in (tmp_path / "sources.list").read_text()
    )
    # No daemon was let start meanwhile, and nothing forbids it any more.
    assert "policy 101" in (tmp_path / "log").read_text()
    assert not (tmp_path / "policy-rc.d").exists()


def test_without_arguments_it_installs_what_workloads_lack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(install_tools, "PATH", str(tmp_path))
    monkeypatch.setattr(requirements, "mountable", lambda: {"ext4", "xfs"})
    packages = install_tools.missing_packages(every_filesystem=False)
    assert {"iozone3", "fio", "postmark", "stress-ng", "fsmark", "xfsprogs"} <= set(packages)
    assert "jfsutils" not in packages
    assert "jfsutils" in install_tools.missing_packages(every_filesystem=True)


@pytest.mark.parametrize("stage", ["update", "download", "install"])
def test_the_reason_of_a_failure_is_apts_own(install: Install, stage: str) -> None:
    done = install("--only", "fio", FAILING=stage)
    _, problem = done.communicate()
    assert done.returncode == 1
    assert problem.splitlines()[-1] == "The mirror is away."


def test_a_package_that_no_mirror_has_is_named_and_the_others_are_installed(
    install: Install, tmp_path: Path
) -> None:
    done = install("--only", "fio", "gone", "nosuch")
    output, problem = done.communicate()
    assert done.returncode == 1
    assert "apt knows no package gone, nosuch" in problem
    assert "Installing: fio\n" in output
    assert "install is done" in (tmp_path / "log").read_text()


def test_a_mirror_that_is_away_is_the_reason_and_not_its_packages(install: Install) -> None:
    """apt-get update warns of it, and succeeds."""
    warning = "W: Failed to fetch http://m/debian/dists/x/InRelease  Could not connect to m:80"
    _, problem = install("--only", "gone", WARNING=warning).communicate()
    assert "Not every mirror of this machine can be reached: Failed to fetch http://m/" in problem
    assert "apt knows no package" not in problem
    done = install("--only", "fio", WARNING=warning)
    _, problem = done.communicate()
    assert (done.returncode, problem) == (0, "")


def test_one_that_only_some_releases_have_is_no_failure(install: Install) -> None:
    optional = requirements.optional_packages()[0]
    script = install("--only", "fio", optional, "--if-known", "gone")
    output, _ = script.communicate()
    assert script.returncode == 0
    assert f"Installing: fio {optional}" in output


@pytest.mark.parametrize(("stage", "code"), [("download", 1), ("install", 0)])
def test_sigterm_ends_a_download_and_lets_dpkg_finish(
    install: Install, tmp_path: Path, stage: str, code: int
) -> None:
    process = install("--only", "fio", HANG=stage)
    (tmp_path / "reached").read_text()
    process.send_signal(signal.SIGTERM)
    if stage == "install":
        # It would have ended by now if it could: only what we write lets it go on.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        (tmp_path / "go_on").write_text("on\n")
    _, problem = process.communicate()
    assert process.returncode == code, problem
    assert ("install is done" in (tmp_path / "log").read_text()) == (code == 0)
    assert not (tmp_path / "policy-rc.d").exists()
    if code:
        assert "start it again" in problem


def test_what_a_killed_one_left_forbids_nothing(install: Install, tmp_path: Path) -> None:
    process = install("--only", "fio", HANG="install")
    (tmp_path / "reached").read_text()
    process.kill()
    process.wait()
    policy = tmp_path / "policy-rc.d"
    assert subprocess.run(["sh", policy], check=False).returncode == 0
    done = install("--only", "fio")
    assert done.wait() == 0
    assert not policy.exists()


def test_the_machines_own_policy_stays(install: Install, tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    assert install("--only", "fio").wait() == 0
    assert policy.read_text() == "#!/bin/sh\nexit 101\n"


def test_two_do_not_install_at_once(install: Install, tmp_path: Path) -> None:
    first = install("--only", "fio", HANG="install")
    (tmp_path / "reached").read_text()
    second = install("--only", "gcc")
    assert second.stdout is not None
    waiting: list[str] = []
    reader = threading.Thread(target=lambda: waiting.append(second.stdout.readline()))
    second_log = (tmp_path / "log").read_text()
    (tmp_path / "go_on").write_text("on\n")
    assert first.wait() == 0
    reader.start()
    assert second.wait() == 0
    reader.join()
    assert "gcc" not in second_log
    log = (tmp_path / "log").read_text()
    assert log.index("install is done") < log.index("no-install-recommends gcc")


def test_sources_are_the_machines_own_mirrors_with_their_keys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(install_tools, "distribution", lambda: ("debian", "bookworm"))
    parts = tmp_path / "apt/sources.list.d"
    parts.mkdir(parents=True)
    (tmp_path / "apt/sources.list").write_text(
        "deb [arch=amd64 signed-by=/k.gpg] http://mirror.lab/debian bookworm main # ours\n"
        "deb-src http://mirror.lab/debian bookworm main\n"
        "deb http://archive.lab/tools bookworm-updates main\n"
        "deb https://packages.vendor.example/apt cloud-sdk main\n"
        "deb http://mirror.lab/debian bookworm contrib\n"
    )
    (parts / "debian.sources").write_text(
        "Types: deb deb-src\nURIs: http://deb.debian.org/debian-security\n"
        "Suites: bookworm-security\nComponents: main\n# a remark\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINB\n\n"
        "Types: deb\nURIs: http://off.example/debian\nSuites: bookworm\nComponents: main\n"
        "Enabled: no\n"
    )
    lines = install_tools.source_list(tmp_path, tmp_path / "apt").splitlines()
    key = tmp_path / "debian-0.asc"
    assert lines == [
        "deb [arch=amd64 signed-by=/k.gpg] http://mirror.lab/debian bookworm main non-free",
        f"deb [signed-by={key}] http://deb.debian.org/debian-security bookworm-security "
        "main non-free",
        "deb http://archive.lab/tools bookworm-updates main non-free",
    ]
    assert key.read_text() == "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINB\n"


def test_another_system_and_a_machine_without_a_mirror_are_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(install_tools, "distribution", lambda: ("ubuntu", "noble"))
    with pytest.raises(install_tools.InstallError, match="No mirror of Ubuntu"):
        install_tools.source_list(tmp_path, tmp_path)
    monkeypatch.setattr(install_tools.os, "geteuid", lambda: 1000)
    assert install_tools.main(["--only", "fio"]) == 1
    assert "sudo make tools" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr(install_tools.shutil, "which", lambda *_, **__: None)
    with pytest.raises(install_tools.InstallError, match="neither Debian nor"):
        install_tools.distribution()
