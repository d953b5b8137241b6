"""What CI calls: the command in a bare root, its output and its exit status, and nothing around."""

import os
import subprocess
import sys
from typing import NoReturn

import pytest

from tests.services import bare_ci
from tests.services.image import ROOT, cache_folder


@pytest.mark.root
def test_the_commands_output_and_status_are_passed_on_and_packages_kept() -> None:
    script = """
        pwd; git status --porcelain; echo "CI is $CI"; head -n 1 README.md; command -v fio
        apt-get update >/dev/null
        apt-get install --download-only --yes --no-install-recommends fio >/dev/null
        exit 3
    """
    # Without site-packages, as in a fresh clone.
    done = subprocess.run(
        [sys.executable, "-S", "-m", "tests.services.bare_ci", "sh", "-c", script],
        cwd=ROOT,
        env=os.environ | {"CI": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.endswith("/root/fsbench\nCI is true\n# fsbench\n")
    assert list((cache_folder() / "apt").glob("fio_*.deb"))


def test_without_root_it_runs_here_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []

    def replace(_: str, argv: list[str]) -> NoReturn:
        ran.append(argv)
        raise SystemExit(0)

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "execvp", replace)
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit):
        bare_ci.main([])
    assert ran == [["make", "test"]]
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["Not root: the tests run on this host itself, not in a bare root."]
