"""The pinned requirements are whole on every Python and machine that fsbench says it runs on.

pip-compile sees only what the Python it runs on needs, and --require-hashes refuses the rest.
"""

import re
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pytest
from django.conf import settings
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(settings.BASE_DIR)
PYTHONS = ["3.11.0", "3.11.2", "3.12.3", "3.13.5", "3.14.0"]


def _pinned(*files: str) -> dict[str, str]:
    text = "".join((ROOT / file).read_text() for file in files)
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.M))


@cache  # reading and understanding it is most of the work of these tests
def _needs(name: str) -> list[Requirement]:
    return [Requirement(text) for text in distribution(name).requires or []]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    "files", [("requirements.txt",), ("requirements.txt", "requirements-dev.txt")], ids=len
)
def test_nothing_is_missing(files: tuple[str, ...], python: str, machine: str) -> None:
    pinned = _pinned(*files)
    environment = {
        "python_version": ".".join(python.split(".")[:2]),
        "python_full_version": python,
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "extra": "",
    }
    missing = []
    for name in pinned:
        for needed in _needs(name):
            applies = needed.marker is None or needed.marker.evaluate(environment)
            if applies and canonicalize_name(needed.name) not in pinned:
                missing.append(f"{name} needs {needed}")
    assert missing == []


def test_the_environment_is_the_pinned_one() -> None:
    pinned = _pinned("requirements.txt", "requirements-dev.txt")
    assert {name: distribution(name).version for name in pinned} == pinned


def test_the_installer_is_pinned_with_what_it_installs() -> None:
    """Python's own pip is as old as that Python; setuptools is needed by nothing that runs here."""
    pinned = _pinned("requirements.txt")
    assert pinned["pip"] == _pinned("requirements-dev.txt")["pip"]
    assert "setuptools" not in pinned


def test_every_pin_has_hashes_and_every_requirement_its_purpose() -> None:
    for file in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / file).read_text()
        for block in re.split(r"\n(?=[a-z0-9-]+==)", text)[1:]:
            assert "--hash=sha256:" in block, block.splitlines()[0]
    for file in ("requirements.in", "requirements-dev.in"):
        before = ""
        for line in (ROOT / file).read_text().splitlines():
            if line and not line.startswith(("#", "-")):
                assert "#" in line or before.startswith("#"), f"{file}: {line}"
            before = line
