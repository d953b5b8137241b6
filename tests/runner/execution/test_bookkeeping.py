"""What a run notes on its host's disk is a safety net: a disk that fails costs no measurement."""

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fsbench_web.studies.causes import Cause
from fsbench_web.studies.runs.leases import LeaseHandle
from runner.execution.spool import Spool
from runner.executors.base import Target
from runner.executors.local import LocalExecutor
from runner.host import control_groups
from runner.host.tuning import processors, scheduler_notes
from runner.host.tuning.processors import Machine
from runner.plan import plan_run
from tests.runner.conftest import SMALL


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call it: from then on nothing is removed, as where a file system became read-only."""

    def refuse(path: Path, **_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    return lambda: monkeypatch.setattr(Path, "unlink", refuse)


def test_a_spool_whose_file_system_becomes_read_only_costs_the_net_alone(
    tmp_path: Path, read_only: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path / "spool", LeaseHandle(1, 1, 1))
    spool.begin(plan_run("ext4", {}, "iozone", SMALL, device="/dev/x"))
    assert spool._file is not None
    full = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 (the spool closes it)
    monkeypatch.setattr(spool, "_file", full)
    read_only()
    spool.add({"type": "phase", "phase": "mkfs"})
    spool.add({"type": "done", "ok": True})
    spool.complete({})
    spool.remove()
    assert spool._file is None


def test_a_spool_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("no folder")
    spool = Spool(tmp_path / "spool", LeaseHandle(1, 1, 1))
    spool.begin(plan_run("ext4", {}, "iozone", SMALL, device="/dev/x"))
    spool.add({"type": "done", "ok": True})
    assert spool._file is None


def test_a_note_of_a_scheduler_that_cannot_be_removed_breaks_no_run(
    tmp_path: Path, read_only: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_notes, "read_schedulers", lambda number: ("none", ["none"]))
    monkeypatch.setattr(scheduler_notes, "disk_of", lambda number: "1")
    with scheduler_notes.note_scheduler(tmp_path, 1, "none"):
        read_only()
    assert list(tmp_path.glob("*.json"))


def test_processors_that_cannot_be_given_back_yet_break_no_run(tmp_path: Path) -> None:
    governor = tmp_path / "cpu/cpu0/cpufreq"
    governor.mkdir(parents=True)
    (governor / "scaling_governor").write_text("powersave\n")
    (governor / "scaling_available_governors").write_text("performance powersave\n")
    machine, notes = Machine(tmp_path / "cpu", tmp_path / "latency"), tmp_path / "notes"
    with processors.hold_steady(notes, machine) as held:
        assert "governor performance" in held
        for name in ("change", "held"):
            (notes / name).unlink()
            (notes / name).mkdir()  # cannot be opened for writing
    for name in ("change", "held"):
        (notes / name).rmdir()
    assert processors.restore_settings(notes)
    assert (governor / "scaling_governor").read_text() == "powersave"


@pytest.mark.parametrize("limit", [{"rates": {"read_bps": 1}}, {"memory_bytes": 1 << 30}])
def test_limits_that_a_host_cannot_hold_are_a_refusal(
    monkeypatch: pytest.MonkeyPatch, limit: dict[str, Any]
) -> None:
    """As those of containers: the benchmark did not fail, it was never begun."""
    monkeypatch.setattr(control_groups, "problem", lambda rates, memory_bytes: "It has none.")
    plan = replace(plan_run("ext4", {}, "iozone", SMALL, device="/dev/x"), **limit)
    outcome = LocalExecutor().run(
        plan, Target(1, "w", "disk", "/dev/x"), lambda message: None, lambda: False
    )
    assert (outcome.reason, outcome.cause) == ("It has none.", Cause.REFUSED)
