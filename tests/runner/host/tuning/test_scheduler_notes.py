"""The I/O scheduler that a killed worker's run had set is given back, and nobody else's."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner import leftovers, orphans
from runner.execution import places
from runner.host.tuning import scheduler_notes
from runner.host.tuning.scheduler import (
    SchedulerError,
    read_schedulers,
    scheduler_set,
    write_scheduler,
)
from runner.safety import blockdev, locks
from runner.safety.locks import LockedElsewhere
from runner.worker import Host
from tests.runner.conftest import tool

pytestmark = pytest.mark.root

# A run on a device: noted, set, and then it waits to be killed.
RUN = """
import sys
from pathlib import Path
from runner.host.tuning import scheduler_notes
from runner.safety.locks import device_lock
from runner.host.tuning.scheduler import scheduler_set
folder, device, wanted = sys.argv[1:]
number = Path(device).stat().st_rdev
with (
    device_lock(Path(device)),
    scheduler_notes.note_scheduler(Path(folder), number, wanted),
    scheduler_set(number, wanted),
):
    print("set", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def number(other_loop: str) -> Iterator[int]:
    number = Path(other_loop).stat().st_rdev
    before = read_schedulers(number)[0]
    write_scheduler(number, "none")
    yield number
    write_scheduler(number, before)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "schedulers"


def in_effect(number: int) -> str:
    return read_schedulers(number)[0]


def begun(notes: Path, device: str, scheduler: str) -> "subprocess.Popen[str]":
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(notes), device, scheduler],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "set\n"
    return run


def killed(notes: Path, device: str, scheduler: str) -> None:
    run = begun(notes, device, scheduler)
    run.send_signal(signal.SIGKILL)
    run.communicate()


def test_a_killed_runs_scheduler_is_given_back_once(
    notes: Path, other_loop: str, number: int
) -> None:
    killed(notes, other_loop, "mq-deadline")
    assert in_effect(number) == "mq-deadline"
    (sentence,) = scheduler_notes.restore_schedulers(notes)
    assert in_effect(number) == "none"
    name = blockdev.kernel_name(number)
    assert sentence.startswith(f"the I/O scheduler of {name} is none again")
    assert list(notes.iterdir()) == []
    write_scheduler(number, "mq-deadline")
    assert scheduler_notes.restore_schedulers(notes) == []
    assert in_effect(number) == "mq-deadline", "what a person sets is a person's"


def test_while_the_run_goes_on_it_is_left_to_it(notes: Path, other_loop: str, number: int) -> None:
    run = begun(notes, other_loop, "mq-deadline")
    assert scheduler_notes.restore_schedulers(notes) == []
    assert in_effect(number) == "mq-deadline"
    run.communicate()  # the end of its standard input ends it
    assert in_effect(number) == "none"
    assert list(notes.iterdir()) == []


def test_killed_again_and_again_it_is_what_it_was_before_the_first(
    notes: Path, other_loop: str, number: int
) -> None:
    killed(notes, other_loop, "mq-deadline")
    killed(notes, other_loop, "kyber")
    assert in_effect(number) == "kyber"
    scheduler_notes.restore_schedulers(notes)
    assert in_effect(number) == "none"


def test_what_somebody_set_since_stays(notes: Path, other_loop: str, number: int) -> None:
    killed(notes, other_loop, "mq-deadline")
    write_scheduler(number, "kyber")
    (sentence,) = scheduler_notes.restore_schedulers(notes)
    assert "stays kyber: somebody changed it" in sentence
    assert in_effect(number) == "kyber"
    assert list(notes.iterdir()) == []


@pytest.mark.parametrize("changed", [{"disk": "0"}, {"boot": "another"}])
def test_another_disk_of_that_number_is_left_alone(
    notes: Path, other_loop: str, number: int, changed: dict[str, str]
) -> None:
    killed(notes, other_loop, "mq-deadline")
    (path,) = notes.iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    (sentence,) = scheduler_notes.restore_schedulers(notes)
    assert "is gone or is another one now" in sentence
    assert in_effect(number) == "mq-deadline"
    assert list(notes.iterdir()) == []


def test_a_loop_device_on_another_file_is_another_disk(
    notes: Path, other_loop: str, number: int, tmp_path: Path
) -> None:
    killed(notes, other_loop, "mq-deadline")
    tool("losetup", "--detach", other_loop)
    tool("losetup", other_loop, str(tmp_path / "other.img"))
    assert "another one now" in scheduler_notes.restore_schedulers(notes)[0]
    assert in_effect(number) == "mq-deadline"


def test_killed_before_it_was_set_there_is_nothing_to_give_back(
    notes: Path, other_loop: str, number: int
) -> None:
    killed(notes, other_loop, "mq-deadline")
    write_scheduler(number, "none")
    assert scheduler_notes.restore_schedulers(notes) == []
    assert list(notes.iterdir()) == []


def test_half_a_note_is_removed(notes: Path) -> None:
    notes.mkdir()
    (notes / "7-0.json").write_text('{"number": 17')
    assert scheduler_notes.restore_schedulers(notes) == []
    assert list(notes.iterdir()) == []


def test_what_cannot_be_noted_is_not_set(tmp_path: Path, number: int) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(SchedulerError, match="stays as it is"),
        scheduler_notes.note_scheduler(tmp_path / "file", number, "mq-deadline"),
        scheduler_set(number, "mq-deadline"),
    ):
        pass
    assert in_effect(number) == "none"


def test_a_worker_gives_back_and_its_orphans_are_told(
    make_host: Callable[..., Host],
    other_loop: str,
    number: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    db: None,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nosuch/docker.sock")
    host = make_host(name=f"notes-{os.getpid()}")
    killed(host.config.scheduler_notes, other_loop, "mq-deadline")
    (orphan,) = [orphan for orphan in orphans.find(host.config) if orphan.kind == "scheduler"]
    assert "mq-deadline" in orphan.description
    with locks.worker_lock(orphans.lock_of(host.name, host.config.site)):
        assert not [orphan for orphan in orphans.find(host.config) if orphan.kind == "scheduler"]
    leftovers.remove_leftovers(host)
    assert in_effect(number) == "none"
    assert "is none again" in caplog.text


@dataclass
class _Place:
    """What ``scheduler_of`` asks of a LUN."""

    number: int
    entry: Any = field(default_factory=lambda: SimpleNamespace(is_directory=False))


def _of(site: Path, number: int, scheduler: str) -> AbstractContextManager[str]:
    host: Any = SimpleNamespace(config=SimpleNamespace(scheduler_notes=site))
    lun: Any = _Place(number)
    return places.scheduler_of(host, [lun], scheduler)


@pytest.mark.parametrize("scheduler", ["none", "mq-deadline", ""])
def test_two_sites_on_partitions_of_a_disk_do_not_set_it_under_each_other(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch, scheduler: str
) -> None:
    """Each would measure with what the other set, and give back what that had made of it."""
    monkeypatch.setattr(places, "LOCK_WAIT_S", 0.0)
    before = in_effect(number)
    with _of(tmp_path / "a", number, "mq-deadline") as effective:
        assert effective == "mq-deadline"
        with (
            pytest.raises(LockedElsewhere, match="another partition of the same disk"),
            _of(tmp_path / "b", number, scheduler),
        ):
            pass
        assert in_effect(number) == "mq-deadline"
    assert in_effect(number) == before
    assert not list(tmp_path.glob("*/*.json"))


def test_runs_that_leave_the_scheduler_alone_are_let_beside_each_other(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "LOCK_WAIT_S", 0.0)
    with _of(tmp_path / "a", number, ""), _of(tmp_path / "b", number, "") as effective:
        assert effective == in_effect(number)
        with pytest.raises(LockedElsewhere), _of(tmp_path / "c", number, "none"):
            pass


def test_data_and_journal_on_one_disk_are_one_run(tmp_path: Path, number: int) -> None:
    host: Any = SimpleNamespace(config=SimpleNamespace(scheduler_notes=tmp_path))
    both: Any = [_Place(number), _Place(number)]
    before = in_effect(number)
    with places.scheduler_of(host, both, "mq-deadline") as effective:
        assert effective == "mq-deadline"
    assert in_effect(number) == before
    assert not list(tmp_path.glob("*.json"))
