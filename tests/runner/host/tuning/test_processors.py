"""Processors are held while runs are under way, and given back whatever ends these."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from runner.host.tuning import processors
from runner.host.tuning.processors import Machine, hold_steady, is_leftover, restore_settings


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A place as the kernel has it: two processors, powersave, turbo on."""
    cpus = tmp_path / "cpu"
    for number in range(2):
        folder = cpus / f"cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text("powersave\n")
        (folder / "scaling_available_governors").write_text("performance powersave\n")
    (cpus / "intel_pstate").mkdir()
    (cpus / "intel_pstate/no_turbo").write_text("0\n")
    (tmp_path / "latency").touch()
    return Machine(cpus, tmp_path / "latency")


def state(machine: Machine) -> list[str]:
    files = (*sorted(machine.cpus.glob("cpu*/cpufreq/scaling_governor")),)
    return [path.read_text().strip() for path in (*files, machine.cpus / "intel_pstate/no_turbo")]


BEFORE, HELD = ["powersave", "powersave", "0"], ["performance", "performance", "1"]


def test_they_are_held_and_given_back(machine: Machine, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with hold_steady(notes, machine) as messages:
        assert messages == [
            "no turbo",
            "governor performance",
            "idle states of 3 µs to leave at most",
        ]
        assert state(machine) == HELD
        assert machine.latency.read_bytes() == b"\3\0\0\0"
        assert restore_settings(notes) == []  # of the living nothing is given back
        assert state(machine) == HELD
    assert state(machine) == BEFORE
    assert not (notes / "note.json").exists()


def test_the_last_of_several_runs_gives_them_back(machine: Machine, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    first, second = hold_steady(notes, machine), hold_steady(notes, machine)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert state(machine) == HELD
    second.__exit__(None, None, None)
    assert state(machine) == BEFORE


def test_what_somebody_else_set_since_stays(machine: Machine, tmp_path: Path) -> None:
    with hold_steady(tmp_path / "notes", machine):
        (machine.cpus / "intel_pstate/no_turbo").write_text("0")
        (machine.cpus / "cpu0/cpufreq/scaling_governor").write_text("schedutil")
    assert state(machine) == ["schedutil", "powersave", "0"]


def test_after_kill_9_they_are_given_back(machine: Machine, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    program = textwrap.dedent(
        f"""
        import time
        from pathlib import Path
        from runner.host.tuning.processors import Machine, hold_steady
        with hold_steady(Path({str(notes)!r}), Machine(Path({str(machine.cpus)!r}),
                  Path({str(machine.latency)!r}))):
            print("held", flush=True)
            time.sleep(60)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    assert state(machine) == HELD
    assert restore_settings(notes) == []
    assert not is_leftover(notes)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert state(machine) == HELD
    assert is_leftover(notes)
    assert restore_settings(notes) == ["3 settings of processors are again what they were"]
    assert state(machine) == BEFORE
    assert restore_settings(notes) == []
    assert not is_leftover(notes)


def test_after_a_reboot_the_note_says_nothing(machine: Machine, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    path = str(machine.cpus / "intel_pstate/no_turbo")
    note = {"boot": "another", "before": {path: "1"}, "wanted": {path: "0"}}
    (notes / "note.json").write_text(json.dumps(note))
    assert restore_settings(notes) == []
    assert state(machine) == BEFORE
    (notes / "note.json").write_text("half a no")
    assert restore_settings(notes) == []
    assert not (notes / "note.json").exists()


def test_what_cannot_be_held_is_said_and_ends_no_run(tmp_path: Path) -> None:
    empty = Machine(tmp_path / "none", tmp_path / "no-such-file")
    with hold_steady(tmp_path / "notes", empty) as messages:
        assert messages == [
            "neither governor nor turbo can be set: the kernel offers none",
            "idle states not held: No such file or directory",
        ]


def test_where_nothing_may_be_written_it_stays_as_it_is(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, text: str) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", refused)
        with hold_steady(tmp_path / "notes", machine) as messages:
            assert "no_turbo stays 0: Permission denied" in messages
            assert state(machine) == BEFORE
    assert processors.restore_settings(tmp_path / "notes") == []


@pytest.mark.parametrize(
    ("online", "numbers"),
    [("0-3\n", [0, 1, 2, 3]), ("0,2-3\n", [0, 2, 3]), ("0-1,4\n", [0, 1, 4])],
)
def test_processors_that_are_off_leave_holes(
    machine: Machine, online: str, numbers: list[int]
) -> None:
    (machine.cpus / "online").write_text(online)
    assert processors.online(machine.cpus) == numbers


def test_where_the_kernel_says_nothing_processors_are_counted(machine: Machine) -> None:
    assert processors.online(machine.cpus) == list(range(os.cpu_count() or 1))
    assert set(os.sched_getaffinity(0)) <= set(processors.online())
