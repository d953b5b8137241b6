"""pause, resume, retry and drain: what was submitted, and workers, are steered from a shell."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from fsbench_web.accounts import tokens
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement
from fsbench_web.studies.models import Job, Run, RunState
from tests.api.conftest import announced
from tests.client.conftest import Command
from tests.client.test_run import DOCUMENT


@pytest.fixture
def submitted(fsbench: Command, tmp_path: Path) -> tuple[int, int, int]:
    """The numbers of a job and of its two runs, ext4 and XFS."""
    announced("bench-1")
    path = tmp_path / "job.yaml"
    path.write_text(DOCUMENT % "lun0")
    done = fsbench("submit", path, "--yes-erase", "lun0", "--json")
    assert done.returncode == 0, done.stderr
    job = json.loads(done.stdout)
    first, second = (run["id"] for run in job["planned"])
    return job["id"], first, second


def test_a_job_is_paused_and_goes_on(fsbench: Command, submitted: tuple[int, int, int]) -> None:
    job, first, _ = submitted
    of_run = fsbench("pause", first)
    assert (of_run.returncode, "fsbench pause --job N" in of_run.stderr) == (2, True)
    assert not Job.objects.exclude(paused_at=None).exists()
    paused = fsbench("pause", "--job", job)
    assert paused.returncode == 0, paused.stderr
    assert f"Job {job} is paused: 2 runs not to start" in paused.stdout
    assert Job.objects.exclude(paused_at=None).count() == 1
    # A number alone could be a run's, a job's or a worker's name: what goes on erases disks.
    assert fsbench("resume", job).returncode == 2
    assert fsbench("resume", "--job", "bench-1").returncode == 2
    again = fsbench("resume", "--job", job)
    assert (again.returncode, again.stdout) == (0, f"Job {job} goes on: 2 runs waiting.\n")
    assert Job.objects.exclude(paused_at=None).count() == 0
    assert fsbench("pause", "--job", 4711).returncode == 3


def test_a_worker_is_drained_and_takes_runs_again(
    fsbench: Command, submitted: tuple[int, int, int], ada: User
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


def test_what_failed_is_submitted_again_when_its_lun_is_named(
    fsbench: Command, submitted: tuple[int, int, int]
) -> None:
    _, first, _ = submitted
    waits = fsbench("retry", first, "--yes-erase", "lun0")
    assert (waits.returncode, f"Run {first} is queued" in waits.stderr) == (6, True)
    Run.objects.filter(pk=first).update(state=RunState.FAILED)
    for names in ((), ("--yes-erase", "lun1")):
        refused = fsbench("retry", first, *names)
        assert refused.returncode == 6, refused.stderr
        assert "ALL DATA WILL BE LOST on: lun0" in refused.stderr
    assert not Run.objects.exclude(retry_of=None).exists()
    code, screen = fsbench.on_terminal("retry", first, typed="lun0")
    assert code == 0, screen
    new = Run.objects.get(retry_of=first)
    assert f"Run {new.pk} is submitted." in screen
    twice = fsbench("retry", first, "--yes-erase", "lun0")
    assert (twice.returncode, "submitted again before" in twice.stdout) == (0, True)


def test_what_failed_of_a_job_is_submitted_again_once(
    fsbench: Command, submitted: tuple[int, int, int]
) -> None:
    job, first, second = submitted
    nothing = fsbench("retry", "--job", job, "--yes-erase", "lun0")
    assert (nothing.returncode, "no run that is failed or lost" in nothing.stderr) == (0, True)
    Run.objects.filter(pk=first).update(state=RunState.LOST)
    Run.objects.filter(pk=second).update(state=RunState.CANCELLED)
    done = fsbench("retry", "--job", job, "--yes-erase", "lun0")
    assert done.returncode == 0, done.stderr
    assert f"Of job {job}, 1 run again:" in done.stderr
    assert f"Job {job}: 1 run submitted again." in done.stdout
    assert list(Run.objects.exclude(retry_of=None).values_list("retry_of", flat=True)) == [first]
    cancelled = fsbench("retry", "--job", job, "--state", "cancelled", "--yes-erase", "lun0")
    assert cancelled.returncode == 0, cancelled.stderr
    assert Run.objects.exclude(retry_of=None).count() == 2
    assert fsbench("retry", first, "--state", "lost").returncode == 2


def test_a_directory_is_named_and_not_said_to_be_erased(fsbench: Command) -> None:
    folder = LunAnnouncement(
        "folder1", "data", "directory", "/srv/bench", 2**33, [["File system", "ext4"]]
    )
    announced("bench-1", "lun0", folder)
    words = ("submit", "--study", "Folder", "--lun", "folder1", "--filesystem", "ext4", "--json")
    submission = fsbench(
        *words, "--workload", "iozone-small", "--repeats", 1, "--yes-erase", "folder1"
    )
    number = json.loads(submission.stdout)["planned"][0]["id"]
    Run.objects.filter(pk=number).update(state=RunState.FAILED)
    done = fsbench("retry", number, "--yes-erase", "folder1")
    assert done.returncode == 0, done.stderr
    assert "LOST" not in done.stderr
    assert "Nothing is erased: folder1 is a directory" in done.stderr
