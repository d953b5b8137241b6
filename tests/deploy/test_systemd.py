"""The units are what systemd understands, and give up what they can."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.services.image import ROOT
from tests.services.process import program

pytestmark = pytest.mark.systemd

UNITS = sorted((ROOT / "deploy/systemd").iterdir())
# systemd-analyze security: 0 is a locked box, 10 everything. The worker is root, with devices.
MOST_EXPOSED = {"fsbench-worker": 7.6, "fsbench-web": 2.0, "fsbench-prepare": 4.5}


@pytest.fixture
def units(tmp_path: Path) -> list[Path]:
    """The units with a program and a folder that are there on this machine."""
    for unit in UNITS:
        text = unit.read_text()
        assert unit.suffix == ".socket" or "/opt/fsbench" in text
        text = text.replace("/opt/fsbench/.venv/bin/python", "/bin/true")
        (tmp_path / unit.name).write_text(re.sub("WorkingDirectory=.*", "", text))
    return sorted(tmp_path.iterdir())


def test_systemd_understands_them(units: list[Path]) -> None:
    analyze = program("systemd-analyze", "systemd")
    done = subprocess.run(
        [analyze, "verify", "--man=no", *map(str, units)], capture_output=True, text=True
    )
    about_ours = [line for line in done.stderr.splitlines() if "fsbench" in line]
    assert about_ours == []
    assert done.returncode == 0, done.stderr


def test_systemd_would_find_a_mistake(units: list[Path]) -> None:
    analyze = program("systemd-analyze", "systemd")
    units[0].write_text(units[0].read_text() + "\n[Service]\nProtectSystem=perhaps\n")
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(units[0])], capture_output=True, text=True
    )
    assert "perhaps" in done.stderr


@pytest.mark.parametrize("name", MOST_EXPOSED)
def test_they_are_no_more_exposed_than_the_work_needs(units: list[Path], name: str) -> None:
    (unit,) = [unit for unit in units if unit.name == f"{name}.service"]
    done = subprocess.run(
        [program("systemd-analyze", "systemd"), "security", "--offline=true", str(unit)],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "SYSTEMD_COLORS": "0", "PAGER": "cat"},
    )
    level = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    assert level, done.stdout + done.stderr
    assert float(level[1]) <= MOST_EXPOSED[name]


def test_the_worker_keeps_what_its_work_needs() -> None:
    """Each of these would break it: schedulers in /sys, /proc/sys, modules, devices, mounts."""
    text = (ROOT / "deploy/systemd/fsbench-worker.service").read_text()
    for setting in (
        *("ProtectKernelTunables", "ProtectKernelModules", "PrivateDevices", "DevicePolicy"),
        *("PrivateMounts", "RestrictNamespaces", "PrivateTmp", "ProtectProc", "PrivateUsers"),
        # To systemd before 253 it means: no device but clocks.
        *("MemoryDenyWriteExecute", "ProtectControlGroups", "ProtectClock"),
    ):
        assert f"\n{setting}=" not in text
    assert "\nSystemCallFilter=~@clock\n" in text
    capabilities = {
        "CAP_SYS_ADMIN",
        "CAP_SYS_RAWIO",
        "CAP_MKNOD",
        "CAP_SYS_PTRACE",
        "CAP_SYS_MODULE",
    }
    assert not capabilities & set(re.findall(r"CAP_\w+", text))


def test_a_preparation_that_fails_does_not_end_the_web() -> None:
    """With Requires= the web would not be tried again, and visitors would make systemd close the
    port for good: seen with a real systemd, 252.
    """
    web = (ROOT / "deploy/systemd/fsbench-web.service").read_text()
    assert "\nWants=fsbench-prepare.service\n" in web
    assert "\nRequires=fsbench-web.socket\n" in web
    assert "\nAfter=fsbench-web.socket fsbench-prepare.service\n" in web
    assert "\nRestart=always\n" in web
    for name in ("fsbench-web", "fsbench-prepare"):
        text = (ROOT / f"deploy/systemd/{name}.service").read_text()
        unit = text.partition("[Service]")[0]
        assert "\nStartLimitIntervalSec=0\n" in unit
