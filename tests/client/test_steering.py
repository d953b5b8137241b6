"""pause, resume, retry and drain: what was ordered, and workers, are steered from a shell."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from fsbench_web.accounts import tokens
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement
from fsbench_web.studies.models import Run, RunState, Submission
from tests.api.conftest import announced

from .conftest import Command
from .test_run import ORDER


@pytest.fixture
def ordered(fsbench: Command, tmp_path: Path) -> tuple[int, int, int]:
    """The numbers of a sweep and of its two runs, ext4 and XFS."""
    announced("bench-1")
    path = tmp_path / "order.yaml"
    path.write_text(ORDER % "lun0")
    done = fsbench("run", path, "--yes-erase", "lun0", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    first, second = (run["id"] for run in made["planned"])
    return made["id"], first, second


def test_a_sweep_is_paused_and_goes_on(fsbench: Command, ordered: tuple[int, int, int]) -> None:
    sweep, first, _ = ordered
    of_run = fsbench("pause", first)
    assert (of_run.returncode, "fsbench pause --sweep N" in of_run.stderr) == (2, True)
    assert not Submission.objects.exclude(paused_at=None).exists()
    paused = fsbench("pause", "--sweep", sweep)
    assert paused.returncode == 0, paused.stderr
    assert f"Sweep {sweep} is paused: 2 runs not to start" in paused.stdout
    assert Submission.objects.exclude(paused_at=None).count() == 1
    # A number alone could be a run's, a sweep's or a worker's name: what goes on erases disks.
    assert fsbench("resume", sweep).returncode == 2
    assert fsbench("resume", "--sweep", "bench-1").returncode == 2
    again = fsbench("resume", "--sweep", sweep)
    assert (again.returncode, again.stdout) == (0, f"Sweep {sweep} goes on: 2 runs waiting.\n")
    assert Submission.objects.exclude(paused_at=None).count() == 0
    assert fsbench("pause", "--sweep", 4711).returncode == 3


def test_a_worker_is_drained_and_takes_runs_again(
    fsbench: Command, ordered: tuple[int, int, int], ada: User
) -> None:
    reading = tokens.create(ada, "reads", can_import=False, can_run=False)[1]
    no_right = fsbench("drain", "bench-1", FSBENCH_TOKEN=reading)
    assert (no_right.returncode, "403" in no_right.stderr) == (3, True)
    done = fsbench("drain", "bench-1", "--wait")
    assert (done.returncode, done.stdout) == (0, "Worker bench-1 is drained; 2 runs waiting.\n")
    assert Worker.objects.get().is_drained
    again = fsbench("resume", "--worker", "bench-1")
    assert (again.returncode, "bench-1 is idle" in again.stdout) == (0, True)
    assert not Worker.objects.get().is_drained
    assert fsbench("drain", "../me").returncode == 3


def test_what_failed_is_ordered_again_when_its_lun_is_named(
    fsbench: Command, ordered: tuple[int, int, int]
) -> None:
    _, first, _ = ordered
    waits = fsbench("retry", first, "--yes-erase", "lun0")
    assert (waits.returncode, f"Run {first} is queued" in waits.stderr) == (6, True)
    Run.objects.filter(pk=first).update(state=RunState.FAILED)
    for names in ((), ("--yes-erase", "lun1")):
        refused = fsbench("retry", first, *names)
        assert refused.returncode == 6, refused.stderr
        assert "ALL DATA WILL BE LOST on: lun0" in refused.stderr
    assert not Run.objects.exclude(retry_of=None).exists()
    code, seen = fsbench.on_terminal("retry", first, typed="lun0")
    assert code == 0, seen
    new = Run.objects.get(retry_of=first)
    assert f"Run {new.pk} is ordered." in seen
    twice = fsbench("retry", first, "--yes-erase", "lun0")
    assert (twice.returncode, "ordered again before" in twice.stdout) == (0, True)


def test_what_failed_of_a_sweep_is_ordered_again_once(
    fsbench: Command, ordered: tuple[int, int, int]
) -> None:
    sweep, first, second = ordered
    nothing = fsbench("retry", "--sweep", sweep, "--yes-erase", "lun0")
    assert (nothing.returncode, "no run that is failed or lost" in nothing.stderr) == (0, True)
    Run.objects.filter(pk=first).update(state=RunState.LOST)
    Run.objects.filter(pk=second).update(state=RunState.CANCELLED)
    done = fsbench("retry", "--sweep", sweep, "--yes-erase", "lun0")
    assert done.returncode == 0, done.stderr
    assert f"Of sweep {sweep}, 1 run again:" in done.stderr
    assert f"Sweep {sweep}: 1 run ordered again." in done.stdout
    assert list(Run.objects.exclude(retry_of=None).values_list("retry_of", flat=True)) == [first]
    cancelled = fsbench("retry", "--sweep", sweep, "--state", "cancelled", "--yes-erase", "lun0")
    assert cancelled.returncode == 0, cancelled.stderr
    assert Run.objects.exclude(retry_of=None).count() == 2
    assert fsbench("retry", first, "--state", "lost").returncode == 2


def test_a_directory_is_named_and_not_said_to_be_erased(fsbench: Command) -> None:
    folder = LunAnnouncement(
        "folder1", "data", "directory", "/srv/bench", 2**33, [["File system", "ext4"]]
    )
    announced("bench-1", "lun0", folder)
    order = ("run", "--study", "Folder", "--lun", "folder1", "--filesystem", "ext4", "--json")
    made = fsbench(*order, "--workload", "iozone-small", "--repeats", 1, "--yes-erase", "folder1")
    number = json.loads(made.stdout)["planned"][0]["id"]
    Run.objects.filter(pk=number).update(state=RunState.FAILED)
    done = fsbench("retry", number, "--yes-erase", "folder1")
    assert done.returncode == 0, done.stderr
    assert "LOST" not in done.stderr
    assert "Nothing is erased: folder1 is a directory" in done.stderr
