"""What can be said of the dependencies without asking anybody; the rest is `make audit`."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "tools/audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pins_are_whole_and_installed(audit: ModuleType) -> None:
    assert len(audit.pinned_versions()) > 60
    assert list(audit.wrong_versions()) == []


def test_every_licence_is_a_known_one(audit: ModuleType) -> None:
    assert list(audit.unknown_licences()) == []


def test_another_version_is_found(audit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "pinned_versions", lambda: {"django": "1.0", "no-such-package": "1"})
    problems = list(audit.wrong_versions())
    assert any("pinned is 1.0" in line for line in problems)
    assert any("not installed" in line for line in problems)


def test_an_unknown_licence_is_found(audit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "ACCEPTED", ("Beerware",))
    assert any(line.startswith("django: ") for line in audit.unknown_licences())


def test_what_was_not_looked_for_is_said() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/audit.py"), "--offline"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "Not looked for: yanked versions, known vulnerabilities." in done.stdout


def test_an_audit_that_cannot_be_made_fails(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    assert any("is not installed" in line for line in audit.vulnerabilities())
    assert any("could not be looked up" in line for line in audit.yanked_pins())
