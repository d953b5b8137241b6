"""``fsbench run``, ``watch`` and ``cancel``, with a worker that plays its benchmarks."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.platform import clock
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import Job, Run, RunState
from fsbench_web.studies.runs.windows import closing
from runner.execution import execute
from runner.worker import Host
from tests.api.conftest import announced
from tests.client.conftest import Command
from tests.runner.fake import FakeExecutor

DOCUMENT = """
study: Command line
lun: %s
configurations: [ext4, {filesystem: xfs, schedulers: [none]}]
schedulers: [none]
workloads: [{name: iozone-small, parameters: {maximum_file_kb: 128}}]
repeats: 1
"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(DOCUMENT % "lun0")
    return path


@contextmanager
def worker(host: Host) -> Iterator[None]:
    """Carries out whatever is submitted while it lives, as the worker process does."""
    stopping = threading.Event()

    def work() -> None:
        while not stopping.wait(0.1):
            for run in Run.objects.filter(state=RunState.QUEUED).order_by("id"):
                execute.work_on(run.pk, host)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(60)


def test_nothing_is_erased_without_the_name_of_the_lun(fsbench: Command, document: Path) -> None:
    announced("bench-1")
    for arguments in ((), ("--yes-erase", "lun1"), ("--yes-erase", "lun0", "--yes-erase", "b")):
        done = fsbench("submit", document, *arguments)
        assert done.returncode == 6, done.stderr
        assert "ALL DATA WILL BE LOST on: lun0" in done.stderr
        assert "Nothing was submitted" in done.stderr
    code, screen = fsbench.on_terminal("submit", document, typed="yes")
    assert (code, "Nothing was submitted" in screen) == (6, True)
    look = fsbench("submit", document, "--dry-run")
    assert (look.returncode, "2 runs" in look.stdout) == (0, True)
    assert not Run.objects.exists()
    code, screen = fsbench.on_terminal("submit", document, typed="lun0")
    assert code == 0, screen
    assert 'Type "lun0" to go on' in screen
    assert Run.objects.count() == 2


def test_a_job_starts_at_a_time_and_stops_before_one(fsbench: Command) -> None:
    announced("bench-1")
    begin = clock.now().replace(microsecond=0) + timedelta(hours=1)
    command = ("submit", "--study", "Night", "--lun", "lun0", "--filesystem", "ext4")
    command += ("--scheduler", "none", "--workload", "iozone-small")
    times = ("--start-at", begin.isoformat(), "--stop-before")
    end = begin + timedelta(hours=8)
    done = fsbench(*command, *times, end.isoformat(), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "No run begins before" in done.stdout
    assert f"By {end:%Y-%m-%d %H:%M} UTC all 2 runs." in done.stdout
    refused = fsbench(*command, *times, "2026-11-24 06:00", "--dry-run")
    assert refused.returncode != 0
    assert "a time with its zone" in refused.stderr
    done = fsbench(*command, *times, end.isoformat(), "--yes-erase", "lun0")
    assert done.returncode == 0, done.stderr
    job = Job.objects.get()
    assert (job.start_at, job.stop_before) == (begin, end)
    status = fsbench("show", "--job", job.pk)
    assert f"starts at (UTC)     {begin:%Y-%m-%d %H:%M}" in status.stdout
    Job.objects.update(stop_before=clock.now())
    closing.end_expired_runs()
    status = fsbench("show", "--job", job.pk)
    assert "not begun, for lack of time: ext4_none, block 1: run" in status.stdout


def test_a_directory_is_not_said_to_be_erased(fsbench: Command) -> None:
    folder = LunAnnouncement(
        "folder1", "data", "directory", "/srv/bench", 2**33, [["File system", "ext4"]]
    )
    announced("bench-1", "lun0", folder)
    words = ("submit", "--study", "Folder", "--lun", "folder1", "--filesystem", "ext4")
    done = fsbench(*words, "--workload", "iozone-small", "--repeats", 1, "--yes-erase", "folder1")
    assert done.returncode == 0, done.stderr
    assert "LOST" not in done.stderr
    assert "1 run, duration not known; 0 erasures." in done.stderr
    assert "0 erasures.\nNothing is erased: folder1 is a directory" in done.stderr


def test_a_job_says_where_it_is_seen_and_how_it_is_followed(
    fsbench: Command, document: Path
) -> None:
    announced("bench-1")
    done = fsbench("submit", document, "--yes-erase", "lun0")
    job = Job.objects.get()
    first, second = job.runs.order_by("pk").values_list("pk", flat=True)
    assert done.stdout.splitlines() == [
        f"Job {job.pk}: 2 runs submitted, {first} to {second}.",
        f"{fsbench.site}/jobs/{job.pk}/",
    ]
    assert f"fsbench watch --job {job.pk}\n" in done.stderr


def test_options_make_the_same_job_as_a_document(fsbench: Command) -> None:
    announced("bench-1")
    done = fsbench(
        *("submit", "--study", "Options", "--lun", "lun0", "--filesystem", "ext4:atime=noatime"),
        *("--filesystem", "xfs:agcount=4", "--scheduler", "none", "--workload", "iozone-small"),
        *("--parameter", "maximum_file_kb=1024", "--repeats", 3),
        *("--yes-erase", "lun0", "--json"),
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["planned"]) == 6
    assert {run.series.configuration.label for run in Run.objects.all()} == {
        "ext4_noatime_none",
        "xfs_ag4_none",
    }
    refused = fsbench(
        *("submit", "--study", "Options", "--lun", "lun0", "--filesystem", "ext5"),
        *("--workload", "iozone-small", "--yes-erase", "lun0"),
    )
    assert (refused.returncode, "configurations[0]" in refused.stderr) == (3, True)
    both = fsbench("submit", "-", "--study", "x", stdin="study: x")
    assert (both.returncode, "leave --study out" in both.stderr) == (2, True)


def test_a_run_is_submitted_and_followed_to_its_end(
    fsbench: Command, make_host: Callable[..., Host], tmp_path: Path
) -> None:
    host = make_host(FakeExecutor(), name="bench-1")
    announce(host.announcement(has_started=True))
    path = tmp_path / "job.yaml"
    path.write_text(DOCUMENT % "scratch")
    with worker(host):
        done = fsbench(*("submit", path, "--yes-erase", "scratch", "--watch", "--interval", "0.1"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "2 runs submitted" in done.stdout
        assert "2 of 2 runs" in done.stdout.splitlines()[-1]
        code, screen = fsbench.on_terminal(
            *("submit", path, "--yes-erase", "scratch", "--watch", "--interval", "0.1")
        )
    assert code == 0, screen
    assert "█" in screen
    assert "\r" in screen
    run = Run.objects.order_by("pk").first()
    assert run is not None
    after = fsbench("watch", run.pk)
    assert (after.returncode, "done  100%" in after.stdout) == (0, True)
    assert json.loads(fsbench("watch", run.pk, "--json").stdout)["scores"]
    table = fsbench("deltas", "--study", "command-line", "--test", "write")
    assert re.search(r"^xfs ", table.stdout, re.M), table.stdout


def test_a_run_that_fails_or_is_cancelled_is_five(fsbench: Command, document: Path) -> None:
    announced("bench-1")
    job = json.loads(fsbench("submit", document, "--yes-erase", "lun0", "--json").stdout)
    first, second = [run["id"] for run in job["planned"]]
    Run.objects.filter(pk=second).update(state=RunState.FAILED, reason="mkfs failed\x1b[2J")
    cancelled = fsbench("cancel", first)
    assert (cancelled.returncode, cancelled.stdout) == (0, f"Run {first} is cancelled.\n")
    assert fsbench("watch", first).returncode == 5
    failed = fsbench("watch", second)
    assert (failed.returncode, "mkfs failed[2J" in failed.stdout) == (5, True)
    assert f"{fsbench.site}/runs/{second}/" in failed.stderr
    whole = fsbench("watch", "--job", job["id"])
    assert whole.returncode == 5
    assert re.search(rf"^run {second} \(\w+_none\): failed$", whole.stdout, re.M)
    Run.objects.filter(pk=first).update(cause=Cause.OUT_OF_TIME)
    Job.objects.filter(pk=job["id"]).update(stop_before=clock.now())
    # One was left out, and the other has failed.
    late = fsbench("watch", "--job", job["id"])
    assert late.returncode == 5
    pattern = rf"^run {first} \(\w+\): not begun, for lack of time$"
    assert re.search(pattern, late.stdout, re.M), late
    Run.objects.filter(pk=second).update(state=RunState.DONE)
    late = fsbench("watch", "--job", job["id"])
    assert late.returncode == 9
    assert "1 of 2 runs are done, and none failed: the time of the job" in late.stdout
    again = fsbench("cancel", "--job", job["id"])
    assert (again.returncode, "0 runs cancelled" in again.stdout) == (0, True)


def test_watching_ends_with_ctrl_c_and_the_run_goes_on(fsbench: Command, document: Path) -> None:
    import signal
    import subprocess
    import sys

    announced("bench-1")
    job = json.loads(fsbench("submit", document, "--yes-erase", "lun0", "--json").stdout)
    process = subprocess.Popen(
        [sys.executable, "-m", "fsbench", "watch", "--job", str(job["id"])],
        env=fsbench.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert "0 of 2 runs" in process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert Run.objects.filter(state=RunState.QUEUED).count() == 2
